"""Checks of arguments of environments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics.checks import positive
from ..errors import ModelError, describe
from ..model import Model

COPIES, MAX_BYTES = 20, {"cpu": 8_000_000_000, "cuda": 100_000_000_000}
"""Numbers of a robot that are kept, as a multiple of those of its state, and bytes that all of them may take"""


def as_seed(seed: Any) -> int:
    """Seed of random numbers."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**63:
        raise ModelError(f"seed is a whole number, not negative, got {describe(seed)}")
    return int(seed)


def as_level(level: Any) -> float:
    """Level of a curriculum."""
    if positive(level, "level", zero=True) > 1.0:
        raise ModelError(f"level is a number from 0 to 1, not {describe(level)}")
    return float(level)


def check_size(model: Model, count: int, what: str, most: int) -> None:
    """Refuse numbers of robots that do not fit into memory, before it is allocated."""
    size = 8 * count * COPIES * (model.nq + model.nv)
    if size > most:
        given = f"{describe(count)} {what} of {model.name!r}"
        raise ModelError(f"{given} take more than {most // 10**9} GB: take at most {most * count // size:,}")


def steps_per_period(period: float, dt: float) -> int:
    """Number of steps from action to action."""
    steps = round(period / dt)
    if steps < 1 or abs(period / dt - steps) > 1e-6 * steps:
        raise ModelError(f"period is a whole number of steps of {dt:g} s, not {period:g} s")
    return steps
