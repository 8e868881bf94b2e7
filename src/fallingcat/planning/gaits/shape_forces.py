"""Joint forces of a shape motion on a floating base."""

from __future__ import annotations

from ...arrays import argument_sizes, solve
from ...arrays.types import Vector
from ...dynamics import bias_forces, mass_matrix
from ...model import Model, State


@argument_sizes(shape_acceleration="n")
def shape_forces(model: Model, state: State, shape_acceleration: Vector) -> Vector:
    """Joint forces (n) for an acceleration (n) of the joints, with no wrench on the base.

    The base accelerates freely: ``Mb a + Mbq ddq + bias_b = 0``; then ``tau = Mbq' a + Mq ddq + bias_q``.  Where the
    base can slide along gravity, it falls and gravity loads no joint; else its attitude matters.
    """
    m = model.m
    M, bias = mass_matrix(model, state), bias_forces(model, state)
    base = -solve(M[:m, :m], M[:m, m:] @ shape_acceleration + bias[:m])
    return M[m:, :m] @ base + M[m:, m:] @ shape_acceleration + bias[m:]
