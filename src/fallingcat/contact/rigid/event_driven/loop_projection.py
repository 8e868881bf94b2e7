"""Hard contacts of robots with closed loops: what points do within the motions that keep the loops closed."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ....arrays import concatenate
from ....arrays.types import Vector
from ....compiler import compile, fields
from ....constraints.loop_closure import STABILIZATION, equations
from ....dynamics import mass_matrix
from ....model import Model, State
from .contact_kinematics import ContactKinematics

MIN_LOOP_SINGULAR_VALUE = 1e-10
"""Singular values of loops, relative to the largest, that say nothing: a planar loop closes in space by more rows."""


def project_onto_loops(at: ContactKinematics, model: Model) -> ContactKinematics:
    """A situation as those motions see it, on numbers.

    Accelerations that keep loops closed are ``a = r + N y`` with ``N`` the motions that ``J_l`` lets be and ``r`` what
    the loops ask for.  So ``y = (N' M N)^-1 N' (forces - C v - g - M r)``: a robot without loops that has the response
    ``N (N' M N)^-1 N'``, more bias, and points that move by ``J N N'`` only.  Impulses pass through loops as forces do.
    """
    if not model.loops:
        return at
    M, error, J_loops, bias = _rows(model)(at.state)
    w = STABILIZATION
    asked = -bias - 2.0 * w * (J_loops @ at.state.velocity) - w**2 * error
    U, s, Vt = np.linalg.svd(J_loops)
    rank = int((s > MIN_LOOP_SINGULAR_VALUE * s.max(initial=0.0)).sum())
    r, N = Vt[:rank].T @ ((U[:, :rank].T @ asked) / s[:rank]), Vt[rank:].T
    respond = N @ np.linalg.solve(N.T @ M @ N, N.T)
    J = np.array(at.J, dtype=float).reshape(-1, 3, model.nv)
    return at._replace(
        J=J @ (N @ N.T),
        biases=np.array(at.biases, dtype=float).reshape(-1, 3) + J @ r,
        bias_forces=at.bias_forces + M @ r,
        respond=respond.__matmul__,
        motions=N,
    )


@functools.lru_cache(maxsize=8)
def _rows(model: Model) -> Callable[[State], list[np.ndarray]]:
    """``M``, and error, Jacobian and bias of all loops, in native code."""
    kernel, k, nv = compile(model, flat_rows, state=State._fields), sum(loop.count for loop in model.loops), model.nv
    ends = np.cumsum([nv * nv, k, k * nv])

    def at(state: State) -> list[np.ndarray]:
        M, error, J, bias = np.split(kernel(*fields(state)), ends)
        return [M.reshape(nv, nv), error, J.reshape(k, nv), bias]

    return at


def flat_rows(model: Model, state: State) -> Vector:
    """``[M; error; J; bias]``, flat."""
    error, J, bias = equations(model, state)
    return concatenate([mass_matrix(model, state).reshape(-1), error, J.reshape(-1), bias])
