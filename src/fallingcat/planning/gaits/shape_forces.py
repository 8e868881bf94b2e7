"""What a shape asks of the joints while the base floats."""

from __future__ import annotations

from typing import Any

from ...arrays import solve, takes
from ...dynamics import bias_forces, mass_matrix
from ...model import Model, State


@takes(shape_acceleration="n")
def shape_forces(model: Model, state: State, shape_acceleration: Any) -> Any:
    """The joint forces (n) that give the joints an acceleration (n), with no wrench on the base.

    The base accelerates as it must: ``Mb a + Mbq ddq + bias_b = 0``; then ``tau = Mbq' a + Mq ddq + bias_q``.  Where
    the base can slide along gravity, it falls and gravity asks nothing of the joints; else its attitude matters.
    """
    m = model.m
    M, bias = mass_matrix(model, state), bias_forces(model, state)
    base = -solve(M[:m, :m], M[:m, m:] @ shape_acceleration + bias[:m])
    return M[m:, :m] @ base + M[m:, m:] @ shape_acceleration + bias[m:]
