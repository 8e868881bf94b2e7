"""A robot as one picture: its tree, the mass of every link, and what every joint does to the base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...model import Model
from ...visualization.svg import EDGE, INK, document, text

WIDTH, ROW, TOP = 1240, 22, 40
INDENT, LEFT, MASS, TURN, BAR, LETTER = 18, 26, 640, 950, 210, 6.4
"""Places of the columns, length of bars, width of a letter (px)."""
BLUE, ORANGE = "#2f7fd1", "#e08a3c"


def robot_picture(model: Model, turns: Mapping[str, float]) -> str:
    """SVG: a row for each link, below the link that it hangs on."""
    order, depth = _rows(model)
    return document(WIDTH, TOP + ROW * len(order) + 16, list(_parts(model, turns, order, depth)))


def _rows(model: Model) -> tuple[list[str], dict[str, int]]:
    """Links in the order in which a tree is read, and how deep each hangs."""
    below: dict[str, list[str]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent, []).append(joint.child)
    order, depth, todo = [], {model.links[0].name: 0}, [model.links[0].name]
    while todo:
        name = todo.pop()
        order.append(name)
        children = below.get(name, [])
        depth |= dict.fromkeys(children, depth[name] + 1)
        todo += children[::-1]
    return order, depth


def _parts(model: Model, turns: Mapping[str, float], order: list[str], depth: dict[str, int]) -> Iterator[str]:
    bold = 'font-weight="600"'
    yield text(LEFT - 10, 24, "link, and the joint that carries it", "start", INK, bold)
    yield text(MASS, 24, "mass (kg)", "start", INK, bold)
    yield text(TURN, 24, "turn of the base per turn of the joint", "start", INK, bold)
    above = {joint.child: joint for joint in model.joints}
    masses = {link.name: link.body.mass for link in model.links}
    heaviest, most = max([*masses.values(), 1e-12]), max([*turns.values(), 1e-12])
    step = min(INDENT, 240 // max([1, *depth.values()]))
    place = {name: (LEFT + step * depth[name], TOP + ROW * i + ROW / 2) for i, name in enumerate(order)}
    for i, name in enumerate(order):
        x, y = place[name]
        if i % 2:
            yield f'<rect x="0" y="{y - ROW / 2:.1f}" width="{WIDTH}" height="{ROW}" fill="#f5f7fa"/>'
    for name in order:
        (x, y), joint = place[name], above.get(name)
        if joint is not None:
            px, py = place[joint.parent]
            yield f'<path d="M{px:.1f} {py:.1f}V{y:.1f}H{x:.1f}" fill="none" stroke="{EDGE}" stroke-width="1.4"/>'
    for name in order:
        (x, y), joint, mass = place[name], above.get(name), masses[name]
        radius = 2.0 + 6.0 * float(np.cbrt(mass / heaviest))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{BLUE}"/>'
        room = int((MASS - x - 30.0) / LETTER)
        yield text(x + 13, y + 4, _cut_text(name, room), "start", INK)
        if joint is not None and (left := room - len(name) - 3) > 12:
            words = _cut_text(f"{joint.name}, {joint.kind.name}", left)
            yield text(x + 13 + LETTER * (len(name) + 2), y + 4, words, "start")
        yield _bar(MASS, y, BAR * mass / heaviest, BLUE)
        yield text(MASS + BAR * mass / heaviest + 6, y + 4, f"{mass:.3g}", "start")
        turn = None if joint is None else turns.get(joint.name)
        if turn is not None:
            yield _bar(TURN, y, BAR * turn / most, ORANGE)
            yield text(TURN + BAR * turn / most + 6, y + 4, f"{turn:.3g}", "start")


def _bar(x: float, y: float, length: float, fill: str) -> str:
    return f'<rect x="{x}" y="{y - 5:.1f}" width="{max(length, 0.0):.1f}" height="10" rx="2" fill="{fill}"/>'


def _cut_text(name: str, most: int) -> str:
    """Text cut to a number of characters.

    >>> _cut_text("a" * 50, 10)
    'aaaaaaaaa…'
    """
    clean = "".join(c if c.isprintable() else "?" for c in name)
    return clean if len(clean) <= most else clean[: max(most - 1, 1)] + "…"
