"""Equations of the reference documents, each evaluated as it is printed: the left side against the right side.

A section is a function that returns `{"(2.12)": (left, right), ...}`; an item with several equations, such as (2.2a) to
(2.2d), has a list of pairs.  One side comes from the library or from its oracles, the other one from the formula.
`tests/test_coverage.py` asks which items are evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TOLERANCE = 1e-9
"""Relative to the larger side; derivatives are complex steps, so that nothing but rounding is left."""
STEP = 1e-30
Sides = tuple[Any, Any]
Section = Callable[[], dict[str, Sides | list[Sides]]]


class Printed:
    """The evaluated equations of one document: `@PRINTED` registers a section."""

    def __init__(self) -> None:
        self.sections: list[Section] = []

    def __call__(self, section: Section) -> Section:
        self.sections.append(section)
        return section

    def items(self) -> list[str]:
        """All items that are evaluated, after they were compared."""
        return [item for section in self.sections for item in compared(section)]


def compared(section: Section) -> list[str]:
    """Compare all equations of a section; its items."""
    found = section()
    for item, sides in found.items():
        for left, right in sides if isinstance(sides, list) else [sides]:
            compare(f"{section.__name__}, {item}", np.asarray(left), np.asarray(right))
    return list(found)


def compare(what: str, left: np.ndarray, right: np.ndarray) -> None:
    """Both sides have one shape, agree, and are not zero: 0 = 0 shows nothing."""
    assert left.shape == right.shape, f"{what}: {left.shape} beside {right.shape}"
    size = float(np.abs(left).max(initial=0.0))
    assert size > 1e-9, f"{what}: the left side is zero, which shows nothing"
    off = float(np.abs(left - right).max())
    assert off <= TOLERANCE * max(1.0, size), f"{what}: sides differ by {off:.1e} of {size:.1e}"


def rate(function: Callable[[Any], Any], at: Any, direction: Any) -> Any:
    """The derivative of `function` of an array along a direction."""
    return np.imag(function(np.asarray(at) + 1j * STEP * np.asarray(direction))) / STEP


def slopes(function: Callable[[Any], Any], at: Any) -> np.ndarray:
    """All partial derivatives, the last axis of the result."""
    return np.stack([rate(function, at, unit) for unit in np.eye(len(at))], axis=-1)
