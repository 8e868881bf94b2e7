"""Blocks of a page that hold still: charts, maps, tables, texts and pictures."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.types import Matrix, Vector
from ..errors import ModelError
from ..records import concise
from .thinning import numbers, sample_indices, thin_series

TIME = "time (s)"
"""Label of the horizontal axis of charts that the time line moves."""


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
    """times of all lines (s)"""
    lines: Sequence[Line]
    """series of values"""
    unit: str = ""
    """unit of the values"""
    log: bool = False
    """logarithmic axis"""
    x_label: str = TIME
    """name of the horizontal axis"""
    wide: bool = False
    """True: as wide as the page"""

    def data(self) -> dict[str, Any]:
        """Plain numbers, no more than can be seen.

        Returns:
            Data for JSON.
        """
        x, values = thin_series(self.times, [line.values for line in self.lines])
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
    """times of the points (s)"""

    def data(self) -> dict[str, Any]:
        """Plain numbers, no more than can be seen.

        Returns:
            Data for JSON.
        """
        keep = sample_indices(len(self.x))
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
    """unit of the values"""
    traces: Sequence[Trace] = ()
    """curves on the map"""
    note: str = ""
    """below the map"""
    equal: bool = False
    """True if both coordinates have the same scale, so that a circle is round"""
    zero: str = "zero"
    """name of the lines where the values change their sign, in the legend"""

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
    """True: as wide as the page"""
    good: Sequence[bool | None] = ()
    """verdict of each row: good news, bad news or neither"""

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
