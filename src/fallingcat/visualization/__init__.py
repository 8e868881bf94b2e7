"""Pages that show models, series and maps, and know nothing of where they come from."""

from .appearance import Appearance, looks, model_shapes, surface
from .figures import Surface, map_svg, side_by_side, surface_svg
from .meshes import Triangles
from .page import Arrows, Axes, Chart, Dot, Fact, HeatMap, Line, Page, Picture, Scene, Table, Text, Trace
from .scenes import picture, play
from .shapes import Box, Capsule, Shape, Solid, Triangle

__all__ = [
    "Arrows",
    "Axes",
    "Box",
    "Capsule",
    "Chart",
    "Dot",
    "Fact",
    "HeatMap",
    "Line",
    "Appearance",
    "Page",
    "Picture",
    "Scene",
    "Shape",
    "Solid",
    "Surface",
    "Table",
    "Text",
    "Trace",
    "Triangle",
    "Triangles",
    "looks",
    "map_svg",
    "model_shapes",
    "picture",
    "play",
    "side_by_side",
    "surface",
    "surface_svg",
]
