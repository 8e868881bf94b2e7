"""Displacement and effort of a Fourier gait as functions of its coefficients, in CasADi: exact gradients for a solver.

The reconstruction ``dg/dt = g hat(-A dq)`` ([Mishra] (9)) is integrated by Magnus' series of order 6 with a fixed
number of steps; attitudes are unit quaternions that are followed from the identity, so that angles pass 180 degrees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import array, concatenate, cos, from_casadi, scale, sin, sqrt, to_casadi
from ...arrays.types import Twist, Vector
from ...compiler import compile
from ...errors import ExtraMissingError
from ...formulations import connection
from ...lie import Group, rotations
from ...lie.magnus import NODES, step_logarithm
from ...model import Model, State
from .displacement import WEIGHTS
from .shape_forces import shape_forces

EFFORTS = ("rates", "forces")
"""Efforts: integrals of the squares of joint rates, or of joint forces, over one cycle of 1 s."""


def casadi_module(purpose: str) -> Any:
    """CasADi, or an error that names the extra to install."""
    try:
        import casadi
    except ImportError:
        raise ExtraMissingError("casadi", purpose=purpose) from None
    return casadi


def following_twist(model: Model, state: State) -> Twist:
    """Twist ``-A rates`` (m) of the base that follows the joints without momentum."""
    return -(connection(model, state) @ state.rates)


def fourier_basis(s: np.ndarray, harmonics: int) -> np.ndarray:
    """``3 x (1 + 2 H) x N``: ``1, cos(2 pi h s), sin(2 pi h s)`` and their first two derivatives by ``s``.

    >>> fourier_basis(np.array([0.25]), 1)[0].round(12).ravel().tolist()
    [1.0, 0.0, 1.0]
    """
    rates = 2.0 * np.pi * np.arange(1, harmonics + 1)[:, None]
    C, S = np.cos(rates * s), np.sin(rates * s)
    one, zero = np.ones((1, len(s))), np.zeros((1, len(s)))
    return np.array(
        [
            np.vstack([one, C, S]),
            np.vstack([zero, -rates * S, rates * C]),
            np.vstack([zero, -(rates**2) * C, -(rates**2) * S]),
        ]
    )


def advance_pose(group: Group, pose: Vector, x: Vector) -> Vector:
    """Pose (7) ``[position; quaternion xyzw]`` after the step ``exp(x)``; the sign of the quaternion is continuous."""
    position, u, w = pose[:3], pose[3:6], pose[6]
    twist = group.selection @ x
    v, turn = twist[:3], twist[3:]
    half = sqrt(0.25 * (turn @ turn) + 1e-40)  # 1e-40: the derivative of sqrt is infinite at zero
    step, real = scale(0.5 * sin(half) / half, turn), cos(half)
    R, J = rotations.matrix_from_quaternion(pose[3:]), rotations.left_jacobian(turn)
    vector = scale(w, step) + scale(real, u) + rotations.skew(u) @ step
    return concatenate([position + R @ (J @ v), vector, array([w * real - u @ step])])


class Transcription:
    """Robot whose joints all follow Fourier series: ``q = mean + sum of cosines and sines`` (k joints).

    Coefficients are a flat vector: ``mean, cosines[0], ..., sines[0], ...`` with k numbers each.
    """

    def __init__(self, model: Model, harmonics: int, steps: int, effort: str) -> None:
        """Build the function of displacement and effort."""
        self.casadi = casadi_module("the optimisation of gaits")
        self.model, self.harmonics, self.steps, self.effort = model, harmonics, steps, effort
        self.size = model.n * (1 + 2 * harmonics)
        x = self.casadi.MX.sym("x", self.size)
        self._coefficients = self.casadi.reshape(x, model.n, 1 + 2 * harmonics)
        starts = np.arange(steps)[:, None] / steps
        self._basis = fourier_basis((starts + NODES / steps).ravel(), harmonics)
        twists = self._twists()
        pose, logs = self._pose(twists)
        self.function = self.casadi.Function("gait", [x], [pose, self._effort(twists), self.casadi.sum2(logs)])
        """coefficients -> pose (7) at the end, effort, sum (m) of the logarithms of the steps"""

    def shapes(self, coefficients: Any, s: np.ndarray) -> Any:
        """Shapes (k x N) at parameters ``s``, linear in the coefficients (an ``MX``)."""
        matrix = self.casadi.reshape(coefficients, self.model.n, 1 + 2 * self.harmonics)
        return matrix @ self.casadi.DM(fourier_basis(s, self.harmonics)[0])

    def _joints(self, order: int) -> Any:
        return self._coefficients @ self.casadi.DM(self._basis[order])

    def _twists(self) -> Any:
        """``m x 3 N``: of the base at the nodes."""
        twist = compile(self.model, following_twist, target="casadi", state=["joints", "rates"])
        return twist.map(self._basis.shape[2])(self._joints(0), self._joints(1))

    def _pose(self, twists: Any) -> tuple[Any, Any]:
        casadi, G, m = self.casadi, self.model.base, self.model.m
        slopes, here, x = (casadi.SX.sym(name, *size) for name, size in (("s", (m, 3)), ("g", (7, 1)), ("x", (m, 1))))
        nodes = [np.array([slopes[i, j] for i in range(m)], dtype=object) for j in range(3)]
        log = casadi.Function("log", [slopes], [to_casadi(step_logarithm(lambda x, y: G.ad(x) @ y, *nodes))])
        column = np.array([x[i] for i in range(m)], dtype=object)
        move = casadi.Function("move", [here, x], [to_casadi(advance_pose(G, from_casadi(here), column))])
        logs = log.map(self.steps)(twists / self.steps)
        pose = casadi.DM([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        for i in range(self.steps):
            pose = move(pose, logs[:, i])
        return pose, logs

    def _effort(self, twists: Any) -> Any:
        casadi = self.casadi
        if self.effort == "rates":
            H, n = self.harmonics, self.model.n
            size = np.repeat(0.5 * (2.0 * np.pi * np.arange(1, H + 1)) ** 2, n)
            weights = np.concatenate([np.zeros(n), size, size])
            return casadi.dot(casadi.DM(weights), casadi.vec(self._coefficients) ** 2)
        forces = compile(self.model, shape_forces, target="casadi", state=["joints", "twist", "rates"])
        found = forces.map(self._basis.shape[2])(self._joints(0), twists, self._joints(1), self._joints(2))
        weights = np.tile(WEIGHTS, self.steps) / self.steps
        return casadi.dot(casadi.DM(weights), casadi.sum1(found**2).T)
