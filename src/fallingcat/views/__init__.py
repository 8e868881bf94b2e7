"""Pages that show models, series and maps, and know nothing of where they come from."""

from .figures import Surface, map_svg, side_by_side, surface_svg
from .page import Chart, Fact, HeatMap, Line, Page, Picture, Scene, Table, Text, Trace
from .shapes import Box, Capsule, Shape, Triangle, body_shape, model_shapes

__all__ = [
    "Box",
    "Capsule",
    "Chart",
    "Fact",
    "HeatMap",
    "Line",
    "Page",
    "Picture",
    "Scene",
    "Shape",
    "Surface",
    "Table",
    "Text",
    "Trace",
    "Triangle",
    "body_shape",
    "map_svg",
    "model_shapes",
    "side_by_side",
    "surface_svg",
]
