"""Pairs of links that do not touch each other, by ``<exclude>`` and by the bits of their geoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import or_
from typing import Final

from ..safe_xml import Element
from .geometry import Geom
from .ignored import Tally
from .shapes import bits

MOST: Final = 1_000
"""Links, whose pairs are MAX_PAIRS at most."""


def links_apart(root: Element, geoms: Mapping[str, Sequence[Geom]], tally: Tally) -> tuple[tuple[str, str], ...]:
    """Pairs of links that a file excludes, or of which no two geoms touch.

    MuJoCo lets two touch where the ``contype`` of one and the ``conaffinity`` of the other have a bit in common.

    Two links of which some geoms touch and others do not are not among them: then all their shapes touch here.
    """
    excluded = {
        frozenset((element.get("body1"), element.get("body2")))
        for section in root.all("contact")
        for element in section.all("exclude")
    }
    both = {name: [reduce(or_, own, 0) for own in zip(*map(bits, of), strict=True)] for name, of in geoms.items() if of}
    shaped = [name for name, own in both.items() if any(own)]
    plain = not excluded and all(own == [1, 1] for own in both.values() if any(own))
    if len(shaped) > MOST and not plain:
        tally.note(f"which of more than {MOST:,} bodies do not touch each other is not read", root)
    return tuple(
        (first, second)
        for first, second in (combinations(shaped, 2) if len(shaped) <= MOST and not plain else ())
        if not _meet(*both[first], *both[second]) or frozenset((first, second)) in excluded
    )


def _meet(contype: int, conaffinity: int, other_contype: int, other_conaffinity: int) -> bool:
    return bool(contype & other_conaffinity or other_contype & conaffinity)
