"""A moment later: the independent clock of the certificates."""

from __future__ import annotations

from typing import Any

from ..dynamics import displace
from ..model import Model, State

STEP = 1e-40
"""Imaginary time step: the imaginary part of a function, over it, is its derivative to rounding."""


def later(model: Model, state: State, step: complex, acceleration: Any | None = None) -> State:
    """The state after the (complex, infinitesimal) time ``step`` along its own velocity, and acceleration if given."""
    moved = displace(model, state, step * state.velocity)
    if acceleration is None:
        return moved
    return moved._replace(
        twist=state.twist + step * acceleration[: model.m], rates=state.rates + step * acceleration[model.m :]
    )
