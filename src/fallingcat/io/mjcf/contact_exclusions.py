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
from .surfaces import Pairs

MAX_LINKS: Final = 1_000
"""Links, whose pairs are MAX_PAIRS at most."""


def contact_exclusions(
    root: Element, geoms: Mapping[str, Sequence[Geom]], pairs: Pairs, tally: Tally
) -> tuple[tuple[str, str], ...]:
    """Pairs of links that a file excludes, or of which no two geoms touch.

    MuJoCo lets two touch where the ``contype`` of one and the ``conaffinity`` of the other have a bit in common, and
    geoms that a ``<pair>`` names in any case, even of links that are excluded.

    Two links of which some geoms touch and others do not are not among them: then all their shapes touch here.
    """
    excluded = {
        frozenset((element.get("body1"), element.get("body2")))
        for section in root.all("contact")
        for element in section.all("exclude")
    }
    both = {name: [reduce(or_, own, 0) for own in zip(*map(bits, of), strict=True)] for name, of in geoms.items() if of}
    link_of = {geom.element.get("name"): name for name, of in geoms.items() for geom in of if geom.element.get("name")}
    paired = {
        frozenset((link_of[one], link_of[other]))
        for one, others in pairs.items()
        for other, _ in others
        if one in link_of and other in link_of
    }
    in_pairs = {name for pair in paired for name in pair}
    shaped = [name for name, own in both.items() if any(own) or name in in_pairs]
    plain = not excluded and all(both[name] == [1, 1] for name in shaped)
    if len(shaped) > MAX_LINKS and not plain:
        tally.note(f"which of more than {MAX_LINKS:,} bodies do not touch each other is not read", root)
    return tuple(
        (first, second)
        for first, second in (combinations(shaped, 2) if len(shaped) <= MAX_LINKS and not plain else ())
        if frozenset((first, second)) not in paired
        and (not _meet(*both[first], *both[second]) or frozenset((first, second)) in excluded)
    )


def _meet(contype: int, conaffinity: int, other_contype: int, other_conaffinity: int) -> bool:
    return bool(contype & other_conaffinity or other_contype & conaffinity)
