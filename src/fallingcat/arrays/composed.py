"""Functions defined by others, for every kind of number: choices by ``where``, angles by ``arctan2``.

They differentiate and compile as what they are made of; at a kink the derivative is that of one side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import arctan2, less, sqrt, where
from .traced import Traced


def branch(condition: Any, a: Any, b: Any) -> Any:
    """Choice of ``a`` where ``condition`` holds, else of ``b``: :func:`.where` for what is seldom worth computing.

    The result is the same.  Machine code for this processor skips what nothing but such an ``a`` needs where the
    condition does not hold for any state at hand.

    Args:
        condition: Condition, one for all entries.
        a: Array or scalar of any kind.
        b: Array or scalar, broadcast against ``a``; quick to compute.

    Returns:
        Array of the broadcast shape.

    Example:
        >>> branch(less(2.0, 1.0), np.ones(2), 0.0)
        array([0., 0.])
    """
    if type(condition) is Traced:
        condition.graph.guards.add(condition)
    return where(condition, a, b)


def absolute(x: Any) -> Any:
    """Absolute value, entry by entry; of complex numbers, by the sign of the real part (so that complex steps pass).

    Args:
        x: Array or scalar of any kind.

    Returns:
        Absolute value of each entry.

    Example:
        >>> absolute(np.array([-2.0, 3.0]))
        array([2., 3.])
    """
    return where(less(x, 0.0), -x, x)


def sign(x: Any) -> Any:
    """Sign, entry by entry: 1 above zero, -1 below, else ``x`` itself (0, or NaN).

    Args:
        x: Array or scalar of any kind.

    Returns:
        Sign of each entry.

    Example:
        >>> sign(np.array([-2.0, 0.0, 3.0]))
        array([-1.,  0.,  1.])
    """
    return where(less(x, 0.0), -1.0, where(less(0.0, x), 1.0, x))


def maximum(a: Any, b: Any) -> Any:
    """Larger of ``a`` and ``b``, entry by entry; NaN where either is.

    Args:
        a: Array or scalar of any kind.
        b: Array or scalar, broadcast against ``a``.

    Returns:
        Larger one of each pair of entries.

    Example:
        >>> maximum(np.array([-2.0, 3.0]), 0.0)
        array([0., 3.])
    """
    with np.errstate(invalid="ignore"):  # -inf + inf, where it is not taken
        return where(less(a, b), b, a + where(less(b, np.inf), 0.0, b))  # the sum carries a NaN in b on


def minimum(a: Any, b: Any) -> Any:
    """Smaller of ``a`` and ``b``, entry by entry; NaN where either is.

    Args:
        a: Array or scalar of any kind.
        b: Array or scalar, broadcast against ``a``.

    Returns:
        Smaller one of each pair of entries.

    Example:
        >>> minimum(np.array([-2.0, 3.0]), 0.0)
        array([-2.,  0.])
    """
    with np.errstate(invalid="ignore"):
        # comparisons with NaN are false: the second term adds b where it is NaN, so that NaN is never lost
        return where(less(b, a), b, a + where(less(-np.inf, b), 0.0, b))


def clip(x: Any, low: Any, high: Any) -> Any:
    """Entries of ``x`` clipped to the interval from ``low`` to ``high``.

    Args:
        x: Array or scalar of any kind.
        low: Lower bounds, broadcast against ``x``; not above ``high``.
        high: Upper bounds, broadcast against ``x``.

    Returns:
        Clipped entries.

    Example:
        >>> clip(np.array([-2.0, 0.5, 3.0]), -1.0, 1.0)
        array([-1. ,  0.5,  1. ])
    """
    return minimum(maximum(x, low), high)


def arctan(x: Any) -> Any:
    """Angle (rad) between -pi/2 and pi/2 whose tangent is ``x``, entry by entry.

    Args:
        x: Array or scalar of any kind.

    Returns:
        Angle of each entry (rad).

    Example:
        >>> arctan(np.array([0.0, 1.0])).round(4)
        array([0.    , 0.7854])
    """
    return arctan2(x, 1.0 + 0.0 * x)


def arcsin(x: Any) -> Any:
    """Angle (rad) between -pi/2 and pi/2 whose sine is ``x``, entry by entry; NaN beyond 1.

    Args:
        x: Array or scalar of any kind.

    Returns:
        Angle of each entry (rad).

    Example:
        >>> arcsin(np.array([0.0, 1.0])).round(4)
        array([0.    , 1.5708])
    """
    # (1 - x) (1 + x) and not 1 - x^2, which cancels near 1
    return arctan2(x, sqrt((1.0 - x) * (1.0 + x)))


def arccos(x: Any) -> Any:
    """Angle (rad) between 0 and pi whose cosine is ``x``, entry by entry; NaN beyond 1.

    Args:
        x: Array or scalar of any kind.

    Returns:
        Angle of each entry (rad).

    Example:
        >>> arccos(np.array([0.0, 1.0])).round(4)
        array([1.5708, 0.    ])
    """
    return arctan2(sqrt((1.0 - x) * (1.0 + x)), x)
