"""Visualization: self-contained pages with plots, maps and 3-D animation; pictures and videos."""

from .._deprecated import former_names
from .animation import Arrows, Axes, Dot, Scene
from .appearance import Appearance, appearance, model_shapes, surface
from .charts import Chart, HeatMap, Line, Picture, Table, Text, Trace
from .figures import map_svg
from .meshes import Triangles
from .page import Fact, Page
from .scenes import picture, play
from .shapes import Box, Capsule, Shape, Solid, Triangle
from .surface_figure import Surface, surface_svg
from .svg import side_by_side

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
