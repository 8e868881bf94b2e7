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
    """A number worth a card of its own."""

    label: str
    value: str
    note: str = ""


@concise
@dataclass(frozen=True)
class Line:
    """A named series of values."""

    name: str
    values: Any


@concise
@dataclass(frozen=True)
class Chart:
    """Lines over time, with a unit; ``log`` for sizes over many decades.

    Over something else than time, which ``x_label`` then names, the time line does not move anything.
    """

    title: str
    times: Any
    lines: Sequence[Line]
    unit: str = ""
    log: bool = False
    x_label: str = TIME
    wide: bool = False
    """as wide as the page"""

    def data(self) -> dict[str, Any]:
        """As plain numbers, no more than can be seen."""
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
    """A curve on a map; with ``times`` a dot runs along it."""

    name: str
    x: Any
    y: Any
    times: Any = ()

    def data(self) -> dict[str, Any]:
        """As plain numbers, no more than can be seen."""
        keep = picked(len(self.x))
        x, y, t = (numbers(np.asarray(v)[keep]) if len(v) else [] for v in (self.x, self.y, self.times))
        return {"name": self.name, "x": x, "y": y, "t": t}


@concise
@dataclass(frozen=True)
class HeatMap:
    """``values`` (len(x) x len(y)) as colors, with its zero lines and curves on it."""

    title: str
    x: Any
    y: Any
    values: Any
    x_label: str = ""
    y_label: str = ""
    unit: str = ""
    traces: Sequence[Trace] = ()
    note: str = ""
    equal: bool = False
    """whether both coordinates have the same scale, so that a circle is round"""
    zero: str = "zero"
    """what the legend calls the lines where the values change their sign"""

    def _repr_svg_(self) -> str:
        """In notebooks."""
        from .figures import map_svg

        return map_svg(self)

    def data(self) -> dict[str, Any]:
        """As plain numbers."""
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
    """Arrows beside the parts of a scene: ``starts`` and ``vectors`` (N x arrows x 3, m), shown or not by a button."""

    name: str
    starts: Any
    vectors: Any
    color: str = "#ffd166"
    shown: bool = True

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """As plain numbers, of the times that are kept."""
        starts, vectors = (numbers(np.asarray(x, dtype=float)[keep], 5) for x in (self.starts, self.vectors))
        head = {"kind": "arrows", "name": self.name, "color": self.color, "shown": self.shown}
        return head | {"starts": starts, "vectors": vectors}


@concise
@dataclass(frozen=True)
class Dot:
    """A point that moves with a scene: ``points`` (N x 3, m), shown or not by a button."""

    name: str
    points: Any
    color: str = "#f3f4f8"
    shown: bool = True

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """As plain numbers, of the times that are kept."""
        points = numbers(np.asarray(self.points, dtype=float)[keep], 5)
        return {"kind": "dot", "name": self.name, "color": self.color, "shown": self.shown, "points": points}


@dataclass(frozen=True)
class Axes:
    """The axes of every part of a scene, x red, y green, z blue, shown or not by a button."""

    name: str = "frames"
    shown: bool = False

    def data(self, keep: np.ndarray) -> dict[str, Any]:
        """What it is."""
        return {"kind": "frames", "name": self.name, "shown": self.shown}


Extra = Arrows | Dot | Axes


@concise
@dataclass(frozen=True)
class Scene:
    """Parts that move: ``poses`` (part: N x 4 x 4, part to world) at ``times``, and the solids fixed to them.

    z is up; ``floor`` says whether there is one at z = 0, or is its pose (4 x 4, z out of it).  ``speed`` is that of
    the player: 0.2 is slow motion.
    ``ghosts`` are times at which the parts leave a faint picture.  With ``follow`` the camera moves along, instead of
    seeing the whole motion: in all directions, or, where it is ``"level"``, at a constant height.  A ``strip`` is as
    wide as the page and goes round: whatever the time is, it shows its own motion again and again.
    """

    times: Any
    poses: Mapping[str, Any]
    shapes: Mapping[str, Sequence[Shape]]
    speed: float = 1.0
    floor: bool | np.ndarray = True
    ghosts: Sequence[float] = ()
    azimuth: float = -60.0
    elevation: float = 12.0
    follow: bool | str = False
    strip: bool = False
    caption: str = ""
    extras: Sequence[Extra] = ()
    notes: Sequence[str] = ()
    """said below the picture, such as what could not be drawn"""
    ground: Sequence[Shape] = ()
    """what stands still below the parts; the camera does not care for it"""

    def data(self) -> dict[str, Any]:
        """As plain numbers, no more pictures than can be seen: each pose as the 12 numbers of its upper rows."""
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
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    wide: bool = False
    good: Sequence[bool | None] = ()

    def data(self) -> dict[str, Any]:
        """As plain text."""
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
    """A heading across the page, and what there is to say."""

    title: str
    text: str = ""

    def data(self) -> dict[str, Any]:
        """As plain text."""
        return {"kind": "text", "title": self.title, "text": self.text}


@concise
@dataclass(frozen=True)
class Picture:
    """An SVG picture, shown as an image: nothing in it runs."""

    title: str
    svg: str
    note: str = ""

    def data(self) -> dict[str, Any]:
        """With the picture in base 64."""
        code = base64.b64encode(self.svg.encode("utf-8")).decode("ascii")
        return {"kind": "picture", "title": self.title, "svg": code, "note": self.note}


Block = Scene | HeatMap | Chart | Table | Picture | Text


@dataclass(frozen=True)
class Page:
    """A page: a title, cards with facts, and blocks in the order in which they are shown."""

    title: str
    subtitle: str = ""
    facts: Sequence[Fact] = ()
    blocks: Sequence[Block] = field(default_factory=tuple)

    def html(self) -> str:
        """The whole page.

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
        """For notebooks: the page in a frame of its own, which cannot reach the notebook."""
        size = 'width="100%" height="640" style="border:0"'
        return f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts allow-downloads" {size}></iframe>'

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, as a whole or not at all; returns its path."""
        write_text(path, self.html())
        return Path(path)


def numbers(values: Any, digits: int = 6) -> list[float | None]:
    """Floats with a few digits; None for what is not finite."""
    array = np.asarray(values, dtype=float).ravel()
    return [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in array.tolist()]
