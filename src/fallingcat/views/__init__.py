"""Pages that show models, series and maps, and know nothing of where they come from."""

from .page import Chart, Fact, HeatMap, Line, Page, Scene, Trace
from .shapes import Box, Capsule, Shape, Triangle, body_shape, model_shapes

__all__ = [
    "Box",
    "Capsule",
    "Chart",
    "Fact",
    "HeatMap",
    "Line",
    "Page",
    "Scene",
    "Shape",
    "Trace",
    "Triangle",
    "body_shape",
    "model_shapes",
]
