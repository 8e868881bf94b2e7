"""Classes of rows, and the verdict on a number of ours beside a published one."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, Literal, NamedTuple

Verdict = Literal["agrees", "differs", "not comparable", "not published"]
Category = Literal["printed number", "printed statement", "identity", "measured"]
"""Class of a row: a number that a document prints, a sentence of a document that a stated rule judges, a law or
reference of our own with a tolerance, or a number beside which nothing stands."""
VERDICT_CATEGORIES: Final[dict[Category, str]] = {
    "printed number": "printed numbers",
    "printed statement": "printed statements",
    "identity": "identities",
}
"""Classes with a verdict, which are counted apart, and their plurals."""
Band = tuple[float, float]
"""Smallest and largest number that agree."""


class Count(NamedTuple):
    """Rows of one class."""

    agreeing: int
    """that agree with their source, or hold"""
    comparable: int
    """that can be compared, or have a tolerance that applies"""
    incomparable: int

    def __str__(self) -> str:
        """``agreeing of comparable``, or a dash.

        >>> str(Count(3, 4, 0)), str(Count(0, 0, 1))
        ('3 of 4', '-')
        """
        return f"{self.agreeing} of {self.comparable}" if self.comparable else "-"


NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?")


def printed_number(printed: str) -> float | None:
    """The number in a text; None for words.

    >>> printed_number("7.15"), printed_number("about 7")
    (7.15, None)
    """
    return float(printed) if NUMBER.fullmatch(printed) else None


def rounds_to(printed: str) -> Band:
    """Interval that rounds to a printed number: half a unit of its last digit to either side.

    >>> rounds_to("7.15"), rounds_to("-0.4"), rounds_to("30")
    ((7.145, 7.155), (-0.45, -0.35), (29.5, 30.5))
    """
    number = Decimal(printed)
    half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
    return float(number - half), float(number + half)


def verdict_of(ours: float | None, published: bool, comparable: bool, band: Band | None) -> Verdict:
    """Verdict on a number; NaN agrees with nothing.

    >>> verdict_of(7.161, True, True, rounds_to("7.15")), verdict_of(7.161, False, True, None)
    ('differs', 'not published')
    """
    if not published:
        return "not published"
    if not comparable or band is None:
        return "not comparable"
    return "agrees" if ours is not None and band[0] <= ours <= band[1] else "differs"
