"""Which links do not touch each other, by ``<exclude>`` and by the bits of their geoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from ..safe_xml import Element
from .geometry import Geom
from .shapes import bits
from .tally import Tally

MOST: Final = 1_000
"""Links, whose pairs are MAX_PAIRS at most."""


def links_apart(root: Element, geoms: Mapping[str, Sequence[Geom]], tally: Tally) -> tuple[tuple[str, str], ...]:
    """Pairs of links that a file excludes, or of which no two geoms touch: MuJoCo lets two touch where the ``contype``
    of one and the ``conaffinity`` of the other have a bit in common.

    Two links of which some geoms touch and others do not are not among them: then all their shapes touch here.
    """
    excluded = {
        frozenset((element.get("body1"), element.get("body2")))
        for section in root.all("contact")
        for element in section.all("exclude")
    }
    touching = {name: {bits(geom) for geom in own} - {(0, 0)} for name, own in geoms.items()}
    shaped = [name for name, own in touching.items() if own]
    if len(shaped) > MOST:
        tally.note(f"which of more than {MOST:,} bodies do not touch each other is not read", root)
        return ()
    return tuple(
        (first, second)
        for first, second in combinations(shaped, 2)
        if frozenset((first, second)) in excluded
        or not any(a & d or b & c for a, b in touching[first] for c, d in touching[second])
    )
