"""Least-time turn as a nonlinear program: direct collocation on compiled dynamics, for IPOPT through CasADi.

Without momentum the base follows the shape, and joint forces go with the square of its speed: on the clock ``s = t/T``

    R' = R hat(-A_w(q) q'),    |q'| <= T speed,    |F(q, q', q'')| <= T^2 effort,

where ``F`` are the forces of the same motion in one second.  So ``T`` stands in bounds alone.  The shape is a cubic
spline whose points and slopes are the unknowns: shapes and speeds keep their limits everywhere, since the Bezier points
do; forces are those of inverse dynamics, held on both sides of every node and in the middle of every interval.
Attitudes are unit quaternions that go from node to node on the group, by Magnus' series of order 6.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, cross, stack
from ...arrays.types import Vector
from ...compiler import compile
from ...errors import Interrupted
from ...lie import SO3, rotations
from ...lie.magnus import NODES, step_logarithm
from ...lie.quaternions import inverse, left_matrix
from ...model import Model, State
from ..gaits.gait import turning_axes
from ..gaits.interrupts import ctrl_c, interrupt_callback
from ..gaits.shape_forces import shape_forces
from ..gaits.splines import Spline, hermite
from ..gaits.transcription import advance_pose, casadi_module, following_twist

UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])
"""Quaternion ``xyzw`` of no rotation."""
FORCE_POINTS = (0.0, 0.5, 1.0)
"""Parts of an interval at which forces are held within limits."""
FIRST_BARRIER = 1e-3
"""First barrier parameter of IPOPT: a larger one would only leave the start, which is near the optimum."""


# one interval ---------------------------------------------------------------------------------------------------------


def joint_forces(model: Model, joints: Vector, slopes: Vector, bends: Vector) -> Vector:
    """Joint forces (n) of a motion without momentum, from the shape and its first two derivatives (n each)."""
    return shape_forces(model, _momentum_free_state(model, joints, slopes), bends)


def interval_motion(model: Model, first: Vector, second: Vector, *, h: float) -> Vector:
    """Attitude (4) at the end and forces (n) at the start, in the middle and at the end of an interval of length ``h``.

    ``first`` and ``second`` are its nodes ``[shape; slope; attitude]``.
    """
    n = model.n
    ends = stack([first[:n], second[:n], h * first[n : 2 * n], h * second[n : 2 * n]])
    places, steps, _ = (weights @ ends for weights in hermite(NODES))
    turns = [
        model.base.selection[3:] @ _momentum_free_state(model, q, dq).twist for q, dq in zip(places, steps, strict=True)
    ]
    attitude = advance_pose(SO3(), concatenate([np.zeros(3), first[2 * n :]]), step_logarithm(cross, *turns))[3:]
    q, dq, ddq = (weights @ ends for weights in hermite(FORCE_POINTS))
    forces = [joint_forces(model, q[k], (1.0 / h) * dq[k], (1.0 / h**2) * ddq[k]) for k in range(len(FORCE_POINTS))]
    return concatenate([attitude, *forces])


def _momentum_free_state(model: Model, joints: Vector, rates: Vector) -> State:
    """State with the twist of the base that follows without momentum."""
    state = State(np.eye(4), joints, np.zeros(model.m), rates)
    return state._replace(twist=following_twist(model, state))


# all intervals --------------------------------------------------------------------------------------------------------


class Bounds(NamedTuple):
    """Limits of the joints (n each; rad, rad/s, N m; m, m/s, N)."""

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    effort: np.ndarray

    @classmethod
    def from_model(cls, model: Model) -> Bounds:
        """Limits of the model."""
        names = ("lower", "upper", "velocity", "effort")
        return cls(*(np.array([getattr(x, name) for x in model.limits]) for name in names))

    def time(self, slopes: np.ndarray, forces: np.ndarray) -> float:
        """Least time (s) within speeds and efforts, of a motion with these slopes and forces (N x n) in 1 s."""
        return float(max((np.abs(slopes) / self.speed).max(), np.sqrt((np.abs(forces) / self.effort).max())))


class Solution(NamedTuple):
    """Solution of IPOPT."""

    spline: Spline
    time: float
    """s: least time at which limits hold at the collocation points"""
    message: str
    iterations: int


class Collocation:
    """Least ``T`` over N intervals: ``x = [T; shape, slope, attitude of every node]``.

    With a rotation vector ``turn`` (3) the base ends there.  Everything nonlinear is ``T^2`` or in
    :func:`interval_motion`, whose derivatives are taken for one interval and mapped over all:
    ``g = linear x + passing interval_motion(x) + square T^2``.
    """

    def __init__(self, model: Model, bounds: Bounds, turn: np.ndarray | None, intervals: int) -> None:
        """Build the program and its derivatives."""
        casadi = self.casadi = casadi_module("the least time")
        self.model, self.bounds, self.intervals, self.width = model, bounds, intervals, 2 * model.n + 4
        inputs = {"first": self.width, "second": self.width}
        self.interval_motion = compile(model, interval_motion, target="casadi", inputs=inputs, h=1.0 / intervals)
        x = casadi.MX.sym("x", 1 + self.width * (intervals + 1))
        nodes = casadi.reshape(x[1:], self.width, intervals + 1)
        known = casadi.MX.sym("known", 4 + len(FORCE_POINTS) * model.n, intervals), casadi.MX.sym("square")
        rows = self._rows(x[0], nodes, *known, turn)
        g = casadi.vertcat(*(casadi.vec(row) for row, _, _ in rows))
        self.low, self.high = (
            np.concatenate([np.broadcast_to(row[side], row[0].numel()) for row in rows]) for side in (1, 2)
        )
        parts = tuple(casadi.evalf(casadi.jacobian(g, y)) for y in (x, *known))
        self.problem, self.options = self._with_derivatives(x, nodes[:, :-1], nodes[:, 1:], parts)

    def _rows(self, T: Any, nodes: Any, out: Any, square: Any, turn: np.ndarray | None) -> list[tuple[Any, Any, Any]]:
        """Constraints with bounds, linear in ``T``, nodes, outputs of intervals, and the square of ``T``."""
        casadi, n, N, bounds = self.casadi, self.model.n, self.intervals, self.bounds
        shapes, slopes, attitudes = nodes[:n, :], nodes[n : 2 * n, :], nodes[2 * n :, :]
        before, after = slice(0, N), slice(1, N + 1)
        rows: list[tuple[Any, Any, Any]] = [(out[:4, :] - attitudes[:, after], 0.0, 0.0)]
        if turn is not None:
            rows.append((casadi.DM(turning_axes(self.model) @ attitude_error_map(turn)) @ attitudes[:, N], 0.0, 0.0))
        # a spline is within the hull of its Bezier points, and its slope within that of theirs
        rise, third = shapes[:, after] - shapes[:, before], slopes / (3.0 * N)
        hull = casadi.horzcat(shapes[:, before] + third[:, before], shapes[:, after] - third[:, after])
        rows.append((hull, np.tile(bounds.lower, 2 * N), np.tile(bounds.upper, 2 * N)))
        quick = casadi.horzcat(slopes[:, 1:N], 3.0 * N * rise - slopes[:, before] - slopes[:, after])
        efforts = np.tile(bounds.effort, len(FORCE_POINTS))
        for values, most, share in ((out[4:, :], efforts, square), (quick, bounds.speed, T)):
            limited = np.flatnonzero(np.isfinite(most)).tolist()
            part = casadi.diag(casadi.DM(1.0 / most[limited])) @ values[limited, :]
            rows += [(part - share, -np.inf, 0.0), (part + share, 0.0, np.inf)]
        return rows

    def _with_derivatives(self, x: Any, first: Any, second: Any, parts: tuple[Any, ...]) -> tuple[dict[str, Any], Any]:
        """The program, and the derivatives of its constraints: those of one interval, at their places."""
        casadi, N, (linear, passing, square) = self.casadi, self.intervals, parts
        a, b = casadi.SX.sym("a", self.width), casadi.SX.sym("b", self.width)
        weights, z = casadi.SX.sym("weights", self.interval_motion.size1_out(0)), casadi.vertcat(a, b)
        out, size = self.interval_motion(a, b), (self.interval_motion.size1_out(0) * N, x.numel())
        slopes, bends = casadi.jacobian(out, z), casadi.triu(casadi.hessian(casadi.dot(weights, out), z)[0])
        J = casadi.Function("slopes", [a, b], [_entries(casadi, slopes)]).map(N)(first, second)
        p, f, m = casadi.MX.sym("p", 0), casadi.MX.sym("f"), casadi.MX.sym("m", linear.shape[0])
        pulls = casadi.reshape(passing.T @ m, out.numel(), N)
        H = casadi.Function("bends", [a, b, weights], [_entries(casadi, bends)]).map(N)(first, second, pulls)
        rows = np.arange(N)[:, None] * (out.numel(), self.width)
        J = _assemble_sparse(casadi, J, slopes, rows[:, 0], 1 + rows[:, 1], size)
        H = _assemble_sparse(casadi, H, bends, 1 + rows[:, 1], 1 + rows[:, 1], (size[1], size[1]))
        T = casadi.MX(casadi.DM.triplet([0], [0], [1.0], size[1], 1))
        g = linear @ x + passing @ casadi.vec(self.interval_motion.map(N)(first, second)) + square * x[0] ** 2
        jacobian = linear + passing @ J + 2.0 * (square * x[0]) @ T.T
        hessian = H + 2.0 * casadi.dot(square, m) * (T @ T.T)
        options = {
            "jac_g": casadi.Function("jac_g", [x, p], [g, jacobian]),
            "hess_lag": casadi.Function("hess_lag", [x, p, f, m], [hessian]),
        }
        return {"x": x, "p": p, "f": x[0], "g": g}, options

    def solve(self, spline: Spline, T: float, most: int, tolerance: float) -> Solution:
        """Solve from a spline on these intervals that takes ``T``; its ends stay.

        Ctrl-C raises :class:`Interrupted` after the current iteration, with the answer so far.
        """
        n, nodes = self.model.n, np.hstack([spline.points, spline.slopes])
        start = [np.append(nodes[0], UPRIGHT)]
        for node in nodes[1:]:
            attitude = np.asarray(self.interval_motion(start[-1], np.append(node, UPRIGHT))).ravel()[:4]
            start.append(np.append(node, attitude))
        low, high = (np.full((len(start), self.width), side) for side in (-np.inf, np.inf))
        low[:, :n], high[:, :n] = self.bounds.lower, self.bounds.upper
        for side in (low, high):
            side[0], side[-1, : 2 * n] = start[0], nodes[-1]
        ipopt: dict[str, Any] = {
            "print_level": 0,
            "sb": "yes",
            "max_iter": most,
            "tol": tolerance,
            "mu_init": FIRST_BARRIER,
        }
        ipopt |= {
            "dual_inf_tol": 10.0 * tolerance,
            "acceptable_iter": 0,
        }  # else a point with large multipliers is accepted as optimum
        with ctrl_c() as pressed:
            look = interrupt_callback(self.casadi, self.problem, pressed)
            options = {"print_time": False, "ipopt": ipopt, "iteration_callback": look, **self.options}
            solver = self.casadi.nlpsol("least_time", "ipopt", self.problem, options)
            found = solver(
                x0=np.append(T, start), lbx=np.append(0.0, low), ubx=np.append(np.inf, high),
                lbg=self.low, ubg=self.high,
            )  # fmt: skip
        x, stats = np.asarray(found["x"]).ravel(), solver.stats()
        table = x[1:].reshape(-1, self.width)
        spline = Spline(table[:, :n], table[:, n : 2 * n])
        answer = Solution(spline, float(x[0]), stats["return_status"], stats["iter_count"])
        if pressed.is_set():
            raise Interrupted("interrupted in the search for the least time", answer)
        return answer


def attitude_error_map(turn: np.ndarray) -> np.ndarray:
    """Matrix (3 x 4) from an attitude to the vector part of its error to the rotation vector ``turn``."""
    wanted = rotations.quaternion_from_matrix(np.asarray(rotations.exp(turn)))
    return np.asarray(left_matrix(inverse(wanted)))[:3]


def _entries(casadi: Any, matrix: Any) -> Any:
    """The entries of a matrix that are not zero by structure."""
    return casadi.vertcat(*matrix.nonzeros())


def _assemble_sparse(casadi: Any, entries: Any, block: Any, rows: Any, columns: Any, size: tuple[int, int]) -> Any:
    """The sum of blocks with the sparsity of ``block``: the entries (E x N) of each, at rows and columns (N) on."""
    own = np.array(block.sparsity().get_triplet())
    i, j = ((own[k] + first[:, None]).ravel() for k, first in enumerate((rows, columns)))
    # entries of neighbouring intervals at one place are added: their node is common
    places, which = np.unique(j * size[0] + i, return_inverse=True)  # CasADi stores column by column
    adding = casadi.DM.triplet(which.tolist(), list(range(len(i))), np.ones(len(i)), len(places), len(i))
    pattern = casadi.Sparsity.triplet(*size, (places % size[0]).tolist(), (places // size[0]).tolist())
    return casadi.MX(pattern, adding @ casadi.vec(entries))
