"""Desired motion and desired forces of a task at a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...arrays import concatenate
from ...arrays.types import Matrix, Matrix_k_nv, Vector
from ...records import concise

D = TypeVar("D", "Demand", "ForceDemand")


class Motion(NamedTuple):
    """Error, Jacobian and bias of a task at a state, all rows: ``J v`` should bring ``error`` to zero."""

    error: Vector
    """``rows``: goal relative to the current configuration, by the group logarithm (m, rad)"""
    J: Matrix
    """``rows x nv``: its velocity is ``J [twist; rates]``"""
    bias: Vector
    """``rows``: ``dJ/dt v``, its acceleration at constant quasi-velocity"""


@concise
class Demand(NamedTuple):
    """Desired motion of a task at a state, on the rows that its mask keeps; every kind of number.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> fc.control.JointsTask([0.1, 0.0, 0.0], gain=2.0).demand(arm, arm.neutral()).velocity
        array([0.2, 0. , 0. ])
    """

    error: Vector
    """``rows`` (m, rad)"""
    J: Matrix_k_nv
    """``rows x nv``"""
    bias: Vector
    """``rows``: ``dJ/dt v``"""
    velocity: Vector
    """``rows``: ``J v`` should be this, ``velocity + gain error`` ([ETH] (2.257), (2.258))"""
    acceleration: Vector
    """``rows``: ``J a + bias`` should be this, ``acceleration + 2 ratio gain (velocity - J v) + gain^2 error``:
    errors then decay critically damped, with the same ``gain``, for a ratio of 1"""
    weight: Vector
    """``rows``: weights of the squared residuals, beside other tasks of the same priority"""


class ForceDemand(NamedTuple):
    """Desired contact forces of a task at a state, on the rows that its mask keeps."""

    rows: Matrix
    """``rows x 3 contacts``: on the forces of all contacts, along the world's axes"""
    force: Vector
    """``rows`` (N, N m)"""
    weight: Vector
    """``rows``"""


def mask_rows(demand: D, mask: tuple[bool, ...] | None) -> D:
    """Rows of a demand that a mask keeps."""
    return demand if mask is None else type(demand)(*(x[np.flatnonzero(mask)] for x in demand))


def stack_parts(parts: Sequence[Any], empty: tuple[int, ...]) -> Any:
    """Parts under each other; none at all gives zeros of the shape ``empty``."""
    return concatenate(list(parts)) if parts else np.zeros(empty)
