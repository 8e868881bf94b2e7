"""Parts of SVG pictures: text, lines, ticks, colors, and the document around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ..arrays.types import Matrix
from ..escaping import html

INK, SOFT, EDGE = "#1d2430", "#5c6678", "#c9d0db"
"""Colors of titles, of labels, and of frames."""
STOPS = (
    (-1.0, (33, 91, 178)),
    (-0.5, (120, 170, 224)),
    (0.0, (247, 246, 242)),
    (0.5, (240, 165, 98)),
    (1.0, (196, 78, 20)),
)
"""Colors (RGB) of values from -1 to 1, mixed between them."""


def document(width: int, height: int, parts: Sequence[str] | Iterator[str]) -> str:
    """Picture of these parts on white."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif" font-size="12"'
    return (
        f'{head} {font}>\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def color(value: float) -> str:
    """Color of a value between -1 and 1.

    Example:
        >>> color(0.0)
        '#f7f6f2'
    """
    x = min(max(value, -1.0), 1.0)
    for (a, low), (b, high) in pairwise(STOPS):
        if x <= b:
            mixed = [round(p + (x - a) / (b - a) * (q - p)) for p, q in zip(low, high, strict=True)]
            return "#{:02x}{:02x}{:02x}".format(*mixed)
    return "#000000"


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers between two ends.

    Example:
        >>> ticks(-1.0, 1.0, 4)
        [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    raw = (high - low) / max(count, 1)
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(x * power for x in (1.0, 2.0, 2.5, 5.0, 10.0) if x * power >= 0.75 * raw)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(float(k * step), 12) for k in range(first, last + 1)]


def text(x: float, y: float, words: str, anchor: str = "middle", fill: str = SOFT, more: str = "") -> str:
    """Text at a point; never markup."""
    inner = html(words)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" {more}>{inner}</text>'


def path(points: Matrix, stroke: str, width: float = 1.8, more: str = "") -> str:
    """Line through points (N x 2)."""
    line = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in np.asarray(points, dtype=float))
    return f'<path d="{line}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round" {more}/>'


def side_by_side(pictures: Sequence[str], width: int = 460, height: int = 400, columns: int = 3) -> str:
    """Pictures of one size in rows, as one picture.

    Args:
        pictures: SVG texts.
        width: Width of each (pixels).
        height: Height of each (pixels).
        columns: Pictures in a row.

    Returns:
        SVG text.

    Example:
        >>> empty = document(460, 400, [])
        >>> side_by_side([empty, empty]).count("<svg")
        3
    """
    rows = -(-len(pictures) // columns)
    parts = []
    for k, picture in enumerate(pictures):
        at = f'<svg x="{width * (k % columns)}" y="{height * (k // columns)}"'
        parts.append(picture.replace("<svg", at, 1))
    return document(width * min(columns, len(pictures)), height * rows, parts)
