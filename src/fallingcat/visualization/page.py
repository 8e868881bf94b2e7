"""One self-contained page: a 3-D animation, maps and time series, with a time line that moves them all.

The page is a single file of HTML that opens without a network.  Names and texts travel as JSON whose ``<``, ``>`` and
``&`` are escaped, and the player shows them as text, never as markup.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.types import Matrix, Tensor, Vector
from ..errors import ModelError
from ..escaping import page_json
from ..io.files import write_text
from ..records import concise, short
from .shapes import Shape, Solid
from .thinning import picked, thinned

TIME = "time (s)"
SCRIPTS = ("drawing.js", "triangles.js", "render.js", "scene.js", "charts.js", "tables.js", "record.js", "player.js")


@dataclass(frozen=True)
class Fact:
    """Card with a number.

    Example:
        >>> Fact("mass", "4 kg").note
        ''
    """

    label: str
    """above the number"""
    value: str
    """number and unit"""
    note: str = ""
    """below the number"""


@concise
@dataclass(frozen=True)
class Line:
    """Named series of values.

    Example:
        >>> Line("height", [0.0, 1.0]).name
        'height'
    """

    name: str
    """in the legend"""
    values: Vector
    """one for each time"""


@concise
@dataclass(frozen=True)
class Chart:
    """Lines over time, with a unit; ``log`` for sizes over many decades.

    Over something else than time, which ``x_label`` then names, the time line does not move anything.

    Example:
        >>> chart = Chart("height", [0.0, 1.0], [Line("base", [0.5, 0.4])], unit="m")
        >>> chart.data()["unit"]
        'm'
    """

    title: str
    """above the chart"""
    times: Vector
    """of all lines (s)"""
    lines: Sequence[Line]
    """series of values"""
    unit: str = ""
    """of the values"""
    log: bool = False
    """logarithmic axis"""
    x_label: str = TIME
    """name of the horizontal axis"""
    wide: bool = False
    """as wide as the page"""

    def data(self) -> dict[str, Any]:
        """Plain numbers, no more than can be seen.

        Returns:
            Data for JSON.
        """
        x, values = thinned(self.times, [line.values for line in self.lines])
        lines = [{"name": line.name, "y": numbers(y)} for line, y in zip(self.lines, values, strict=True)]
        return {
            "kind": "chart",
            "title": self.title,
            "unit": self.unit,
            "log": self.log,
            "xLabel": self.x_label,
            "moves": self.x_label == TIME,
            "wide": self.wide,
            "x": numbers(x, 8),
            "lines": lines,
        }


@concise
@dataclass(frozen=True)
class Trace:
    """Curve on a map; with ``times`` a dot runs along it.

    Example:
        >>> Trace("gait", [0.0, 1.0], [0.0, 1.0]).data()["name"]
        'gait'
    """

    name: str
    """in the legend"""
    x: Vector
    """first coordinates"""
    y: Vector
    """second coordinates"""
    times: Vector = ()
    """of the points (s)"""

    def data(self) -> dict[str, Any]:
        """Plain numbers, no more than can be seen.

        Returns:
            Data for JSON.
        """
        keep = picked(len(self.x))
        x, y, t = (numbers(np.asarray(v)[keep]) if len(v) else [] for v in (self.x, self.y, self.times))
        return {"name": self.name, "x": x, "y": y, "t": t}


@concise
@dataclass(frozen=True)
class HeatMap:
    """Map of ``values`` (len(x) x len(y)) as colors, with its zero lines and curves on it.

    Example:
        >>> import numpy as np
        >>> HeatMap("roll", [0.0, 1.0], [0.0, 1.0], np.eye(2)).data()["title"]
        'roll'
    """

    title: str
    """above the map"""
    x: Vector
    """first coordinate"""
    y: Vector
    """second coordinate"""
    values: Matrix
    """``len(x) x len(y)``"""
    x_label: str = ""
    """name of ``x``"""
    y_label: str = ""
    """name of ``y``"""
    unit: str = ""
    """of the values"""
    traces: Sequence[Trace] = ()
    """curves on the map"""
    note: str = ""
    """below the map"""
    equal: bool = False
    """whether both coordinates have the same scale, so that a circle is round"""
    zero: str = "zero"
    """what the legend calls the lines where the values change their sign"""

    def _repr_svg_(self) -> str:
        """Picture for notebooks."""
        from .figures import map_svg

        return map_svg(self)

    def data(self) -> dict[str, Any]:
        """Plain numbers.

        Returns:
            Data for JSON.
        """
        values = np.asarray(self.values, dtype=float)
        if values.shape != (len(self.x), len(self.y)):
            raise ModelError(f"a map has values of shape ({len(self.x)}, {len(self.y)}), not {values.shape}")
        return {
            "kind": "map",
            "title": self.title,
            "x": numbers(self.x),
            "y": numbers(self.y),
            "z": [numbers(row) for row in values],
            "xLabel": self.x_label,
            "yLabel": self.y_label,
            "unit": self.unit,
            "note": self.note,
            "equal": self.equal,
            "zero": self.zero,
            "traces": [trace.data() for trace in self.traces],
        }


@concise
@dataclass(frozen=True)
class Arrows:
    """Arrows beside the parts of a scene, shown or not by a button.

    Example:
        >>> import numpy as np
        >>> arrows = Arrows("forces", np.zeros((2, 1, 3)), np.ones((2, 1, 3)))
        >>> arrows.data(np.arange(2))["name"]
        'forces'
    """

    name: str
    """on the button"""
    starts: Tensor
    """``N x arrows x 3`` (m)"""
    vectors: Tensor
    """``N x arrows x 3`` (m)"""
    color: str = "#ffd166"
    """``#rrggbb``"""
    shown: bool = True
    """at the start"""

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """Plain numbers of the times that are kept.

        Args:
            keep: Indices of these times.

        Returns:
            Data for JSON.
        """
        starts, vectors = (numbers(np.asarray(x, dtype=float)[keep], 5) for x in (self.starts, self.vectors))
        head = {"kind": "arrows", "name": self.name, "color": self.color, "shown": self.shown}
        return head | {"starts": starts, "vectors": vectors}


@concise
@dataclass(frozen=True)
class Dot:
    """Point that moves with a scene, shown or not by a button.

    Example:
        >>> import numpy as np
        >>> Dot("center of mass", np.zeros((2, 3))).data(np.arange(2))["name"]
        'center of mass'
    """

    name: str
    """on the button"""
    points: Matrix
    """``N x 3`` (m)"""
    color: str = "#f3f4f8"
    """``#rrggbb``"""
    shown: bool = True
    """at the start"""

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """Plain numbers of the times that are kept.

        Args:
            keep: Indices of these times.

        Returns:
            Data for JSON.
        """
        points = numbers(np.asarray(self.points, dtype=float)[keep], 5)
        return {"kind": "dot", "name": self.name, "color": self.color, "shown": self.shown, "points": points}


@dataclass(frozen=True)
class Axes:
    """Axes of every part of a scene, x red, y green, z blue, shown or not by a button.

    Example:
        >>> Axes().name
        'frames'
    """

    name: str = "frames"
    """on the button"""
    shown: bool = False
    """at the start"""

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """Plain data.

        Args:
            keep: Indices of the times that are kept.

        Returns:
            Data for JSON.
        """
        return {"kind": "frames", "name": self.name, "shown": self.shown}


Extra = Arrows | Dot | Axes


@concise
@dataclass(frozen=True)
class Scene:
    """Scene of parts that move: ``poses`` (part: N x 4 x 4, part to world) at ``times``, and the solids fixed to them.

    z is up; ``floor`` says whether there is one at z = 0, or is its pose (4 x 4, z out of it).  ``speed`` is that of
    the player: 0.2 is slow motion.
    ``ghosts`` are times at which the parts leave a faint picture.  With ``follow`` the camera moves along, instead of
    seeing the whole motion: in all directions, or, where it is ``"level"``, at a constant height.  A ``strip`` is as
    wide as the page and goes round: whatever the time is, it shows its own motion again and again.

    Example:
        >>> import numpy as np
        >>> scene = Scene([0.0, 1.0], {"base": np.stack([np.eye(4)] * 2)}, {"base": []})
        >>> scene.data()["kind"]
        'scene'
    """

    times: Vector
    """``N`` (s)"""
    poses: Mapping[str, Tensor]
    """``N x 4 x 4`` by part"""
    shapes: Mapping[str, Sequence[Shape]]
    """solids by part"""
    speed: float = 1.0
    """of the player"""
    floor: bool | np.ndarray = True
    """plane at z = 0, or its pose (4 x 4)"""
    ghosts: Sequence[float] = ()
    """times of faint pictures (s)"""
    azimuth: float = -60.0
    """of the camera (degrees)"""
    elevation: float = 12.0
    """of the camera (degrees)"""
    follow: bool | str = False
    """move the camera along"""
    strip: bool = False
    """as wide as the page, in a loop"""
    caption: str = ""
    """below the picture"""
    extras: Sequence[Extra] = ()
    """arrows, dots and axes"""
    notes: Sequence[str] = ()
    """said below the picture, such as what could not be drawn"""
    ground: Sequence[Shape] = ()
    """what stands still below the parts; the camera does not care for it"""

    def data(self) -> dict[str, Any]:
        """Plain numbers, no more pictures than can be seen: each pose as the 12 numbers of its upper rows.

        Returns:
            Data for JSON.
        """
        parts, keep = [], picked(len(self.times))
        solids = [s for shapes in (self.ground, *self.shapes.values()) for s in shapes if isinstance(s, Solid)]
        meshes = list({id(solid.triangles): solid.triangles for solid in solids}.values())
        number = {id(mesh): i for i, mesh in enumerate(meshes)}

        def drawn(shapes: Sequence[Shape]) -> list[dict[str, Any]]:
            return [s.data() | ({"mesh": number[id(s.triangles)]} if isinstance(s, Solid) else {}) for s in shapes]

        for name, shapes in self.shapes.items():
            poses = np.asarray(self.poses[name], dtype=float)
            if poses.shape != (len(self.times), 4, 4):
                raise ModelError(f"poses of {name!r} have shape ({len(self.times)}, 4, 4), not {poses.shape}")
            if shapes:
                flat = numbers(poses[keep, :3].ravel(), 5)
                parts.append({"name": name, "shapes": drawn(shapes), "poses": flat})
        return {
            "kind": "scene",
            "t": numbers(np.asarray(self.times)[keep]),
            "parts": parts,
            "speed": self.speed,
            "floor": None if self.floor is False else numbers(np.eye(4)[:3] if self.floor is True else self.floor[:3]),
            "ghosts": numbers(self.ghosts),
            "azimuth": self.azimuth,
            "elevation": self.elevation,
            "follow": self.follow,
            "strip": self.strip,
            "caption": self.caption,
            "meshes": [mesh.data() for mesh in meshes],
            "extras": [extra.data(keep) for extra in self.extras],
            "notes": list(self.notes),
            "ground": drawn(self.ground),
        }


@concise
@dataclass(frozen=True)
class Table:
    """Rows of text under a header; a ``wide`` one is as wide as the page, and its last column is prose.

    ``good`` says of each row whether it is good news, bad news or neither.

    Example:
        >>> Table("masses", ["link", "kg"], [["trunk", "2"]]).data()["title"]
        'masses'
    """

    title: str
    """above the table"""
    header: Sequence[str]
    """names of the columns"""
    rows: Sequence[Sequence[str]]
    """texts, row by row"""
    note: str = ""
    """below the table"""
    wide: bool = False
    """as wide as the page"""
    good: Sequence[bool | None] = ()
    """of each row: good news, bad news or neither"""

    def data(self) -> dict[str, Any]:
        """Plain text.

        Returns:
            Data for JSON.
        """
        rows = [[str(cell) for cell in row] for row in self.rows]
        if any(len(row) != len(self.header) for row in rows):
            raise ModelError(f"a row of the table {self.title!r} has not {len(self.header)} cells")
        return {
            "kind": "table",
            "title": self.title,
            "header": list(self.header),
            "rows": rows,
            "note": self.note,
            "wide": self.wide,
            "good": list(self.good),
        }


@concise
@dataclass(frozen=True)
class Text:
    """Heading across the page, with a text.

    Example:
        >>> Text("Results").data()["title"]
        'Results'
    """

    title: str
    """heading"""
    text: str = ""
    """below it"""

    def data(self) -> dict[str, Any]:
        """Plain text.

        Returns:
            Data for JSON.
        """
        return {"kind": "text", "title": self.title, "text": self.text}


@concise
@dataclass(frozen=True)
class Picture:
    """SVG picture, shown as an image: nothing in it runs.

    Example:
        >>> Picture("map", "<svg></svg>").data()["title"]
        'map'
    """

    title: str
    """above the picture"""
    svg: str
    """SVG text"""
    note: str = ""
    """below the picture"""

    def data(self) -> dict[str, Any]:
        """Data with the picture in base 64.

        Returns:
            Data for JSON.
        """
        code = base64.b64encode(self.svg.encode("utf-8")).decode("ascii")
        return {"kind": "picture", "title": self.title, "svg": code, "note": self.note}


Block = Scene | HeatMap | Chart | Table | Picture | Text


@dataclass(frozen=True)
class Page:
    """Page with a title, cards with facts, and blocks in the order in which they are shown.

    Example:
        >>> "4 kg" in Page("cat", facts=[Fact("mass", "4 kg")]).html()
        True
    """

    title: str
    """of the page"""
    subtitle: str = ""
    """below the title"""
    facts: Sequence[Fact] = ()
    """cards"""
    blocks: Sequence[Block] = field(default_factory=tuple)
    """charts, maps, scenes, tables, texts and pictures"""

    def html(self) -> str:
        """Whole page as text.

        Returns:
            HTML text.

        Example:
            >>> "</script><b>" in Page("<b>", facts=[Fact("</script><b>", "1")]).html()
            False
        """
        folder = resources.files(__package__)
        data = {
            "title": self.title,
            "subtitle": self.subtitle,
            "facts": [vars(fact) for fact in self.facts],
            "blocks": [block.data() for block in self.blocks],
        }
        parts = {
            "style": (folder / "page.css").read_text(encoding="utf-8"),
            "script": "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS),
            "data": page_json(data),
        }
        page = (folder / "page.html").read_text(encoding="utf-8")
        for name, text in parts.items():
            page = page.replace(f"/*{name}*/", text, 1)
        return page

    def __repr__(self) -> str:
        return f"<Page {short(self.title)}: {', '.join(type(block).__name__ for block in self.blocks[:8])}>"

    def _repr_html_(self) -> str:
        """Page for notebooks, in a frame of its own, which cannot reach the notebook."""
        size = 'width="100%" height="640" style="border:0"'
        return f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts allow-downloads" {size}></iframe>'

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, as a whole or not at all.

        Args:
            path: File to write.

        Returns:
            Its path.
        """
        write_text(path, self.html())
        return Path(path)


def numbers(values: Vector, digits: int = 6) -> list[float | None]:
    """Floats with a few digits; None for what is not finite."""
    array = np.asarray(values, dtype=float).ravel()
    return [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in array.tolist()]
