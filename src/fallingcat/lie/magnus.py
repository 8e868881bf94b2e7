"""Steps of ``dg/dt = g hat(xi(t))`` by Magnus' series."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays.types import Vector

_ROOT = float(np.sqrt(15.0))
NODES = 0.5 + np.array([-_ROOT, 0.0, _ROOT]) / 10.0
"""Nodes of Gauss' rule of order 6 on [0, 1]."""


def step_logarithm(bracket: Callable[[Vector, Vector], Vector], first: Vector, middle: Vector, last: Vector) -> Vector:
    """Logarithm of a step by Magnus' series of order 6, from slopes times step (..., m) at the three nodes.

    For ``dg/dt = g hat(xi)``; brackets change sign against ``dg/dt = hat(xi) g``.
    """
    a, b, c = middle, _ROOT / 3.0 * (last - first), 10.0 / 3.0 * (last - 2.0 * middle + first)
    ab = -bracket(a, b)
    d = bracket(a, 2.0 * c + ab) / 60.0
    return a + c / 12.0 - bracket(-20.0 * a - c + ab, b + d) / 240.0
