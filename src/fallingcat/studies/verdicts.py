"""What may be said of our number beside a published one: one of four words, never a softer one than the source's."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, Literal

Verdict = Literal["agrees", "differs", "not comparable", "not published"]
Band = tuple[float, float]
"""Smallest and largest number that agree."""

NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?")


def printed_number(printed: str) -> float | None:
    """The number in a text; None for words.

    >>> printed_number("7.15"), printed_number("about 7")
    (7.15, None)
    """
    return float(printed) if NUMBER.fullmatch(printed) else None


def rounds_to(printed: str) -> Band:
    """All that rounds to a printed number: half a unit of its last digit to either side.

    >>> rounds_to("7.15"), rounds_to("-0.4"), rounds_to("30")
    ((7.145, 7.155), (-0.45, -0.35), (29.5, 30.5))
    """
    number = Decimal(printed)
    half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
    return float(number - half), float(number + half)


def verdict_of(ours: float | None, published: bool, comparable: bool, band: Band | None) -> Verdict:
    """In a word; where ours is not a number, it agrees with nothing.

    >>> verdict_of(7.161, True, True, rounds_to("7.15")), verdict_of(7.161, False, True, None)
    ('differs', 'not published')
    """
    if not published:
        return "not published"
    if not comparable or band is None:
        return "not comparable"
    return "agrees" if ours is not None and band[0] <= ours <= band[1] else "differs"
