"""Visualization: self-contained pages with plots, maps and 3-D animation; pictures and videos."""

from .._deprecated import former_names
from .appearance import Appearance, appearance, model_shapes, surface
from .figures import Surface, map_svg, side_by_side, surface_svg
from .meshes import Triangles
from .page import Arrows, Axes, Chart, Dot, Fact, HeatMap, Line, Page, Picture, Scene, Table, Text, Trace
from .scenes import picture, play
from .shapes import Box, Capsule, Shape, Solid, Triangle

__all__ = [
    "Appearance",
    "Arrows",
    "Axes",
    "Box",
    "Capsule",
    "Chart",
    "Dot",
    "Fact",
    "HeatMap",
    "Line",
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
    "appearance",
    "map_svg",
    "model_shapes",
    "picture",
    "play",
    "side_by_side",
    "surface",
    "surface_svg",
]

__getattr__ = former_names(__name__)
