"""Robots with closed loops: four-bars, parallel ankles, gears, mimic joints; ``model.loops`` says what is closed.

A tree with loops moves under ``M a + C v + g = forces + J' multipliers`` with ``J a + dJ/dt v = 0``.  Rows that depend
on each other (a planar four-bar closes in space by three rows of which two count) are shared evenly, not refused.

>>> import numpy as np
>>> import fallingcat as fc
>>> arm = fc.robots.planar_arm()
>>> geared = arm.close_loops(fc.model.Couple("gear", arm.joint_names[1], arm.joint_names[0], (0.0, -2.0)))
>>> state = assemble(geared, geared.state(joints=[0.3, 0.0, 0.5], rates=[1.0, 0.0, 0.0]), held=[arm.joint_names[0]])
>>> state.joints, state.rates
(array([ 0.3, -0.6,  0.5]), array([ 1., -2.,  0.]))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import argument_sizes, concatenate, is_numeric, scale
from ..arrays.types import Matrix, Pose, Scalar, Vector, Vector_nv
from ..caching import cached_property
from ..dynamics import bias_forces
from ..dynamics import inverse_dynamics as tree_inverse_dynamics
from ..dynamics.checks import check_robot, vector
from ..dynamics.constrained import ConstrainedDynamicsResult
from ..dynamics.geometry import Geometry, geometry
from ..dynamics.kinematics import frame_motion
from ..errors import ModelError, NumericsError, describe
from ..model import Frame, Model, State
from ..model.loops import Rows
from ..records import concise
from .redundant_constraints import check_consistent, check_resolved, solve_constraint_forces, tree_response

__all__ = ["LoopInverseDynamics", "assemble", "equations", "forward_dynamics", "inverse_dynamics"]

MAX_ASSEMBLY_STEPS = 100
"""Steps in which loops have to close when a robot is assembled."""
MAX_LOOP_GAP = 1e-11
"""m or rad: what counts as closed, beside lengths of a metre."""
MAX_ROUNDED_GAP = 1e-6
"""m or rad: what may be left of redundant equations, such as those of parallelograms; files round lengths."""
MIN_SINGULAR_VALUE = 3e-7
"""Singular values of ``J``, relative to the largest, below which a direction counts as redundant, as in dynamics."""
STABILIZATION = 20.0
"""1/s: what rounding and rules of integration open closes at this rate in runs (Baumgarte)"""
MAX_ASSEMBLY_STEP = 0.5
"""rad or m: how far one step of the assembly goes at most."""


@dataclass(frozen=True)
class _Motion:
    """A robot in a state, as :class:`~fallingcat.model.loops.RobotMotion`."""

    model: Model
    state: State

    def frame(self, place: str | None, placement: Pose) -> tuple[Pose, Matrix, Vector]:
        if place is None:
            return placement, np.zeros((6, self.model.nv)), np.zeros(6)
        on = self.model.frame(place)
        frame = Frame(on.name, on.link, on.placement @ placement)
        H, J, J_dot = frame_motion(self.model, self._geometry, self.state, frame)
        return H, J, J_dot @ self.state.velocity

    @cached_property
    def _geometry(self) -> Geometry:
        return geometry(self.model, self.state)

    @property
    def velocity(self) -> Vector:
        return self.state.velocity

    def joint(self, name: str) -> tuple[Scalar, Scalar, Vector]:
        i = self.model.joint_index(name)
        q, v, mimic = self.model.q_slices[i].start, self.model.v_slices[i].start, self.model.joints[i].mimic
        x, rate, row = self.state.joints[q], self.state.rates[v], np.eye(self.model.nv)[self.model.m + v]
        return (mimic.ratio * x + mimic.offset, mimic.ratio * rate, mimic.ratio * row) if mimic else (x, rate, row)


def equations(model: Model, state: State) -> Rows:
    """Constraint equations of all loop closures, stacked.

    The robot is closed where the error is zero, and stays so where ``J v = 0`` and ``J a + bias = 0``.

    Args:
        model: Robot with ``loops``.
        state: Configuration and velocity.

    Returns:
        ``error`` (k; m or rad), ``jacobian`` (k x nv) and ``bias = dJ/dt v`` (k).

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> geared = arm.close_loops(fc.model.Couple("gear", "joint2", "joint1", (0.0, -2.0)))
        >>> equations(geared, geared.state(joints=[0.1, 0.0, 0.0])).error
        array([0.2])
    """
    check_robot(model, state)
    motion = _Motion(model, state)
    rows = [loop.rows(motion) for loop in model.loops]
    empty = Rows(np.zeros(0), np.zeros((0, model.nv)), np.zeros(0))
    return Rows(*(concatenate(list(parts)) for parts in zip(empty, *rows, strict=True)))


def assemble(model: Model, state: State, held: Sequence[str] = (), base: bool = False) -> State:
    """State near ``state`` with closed loops, and with velocities that keep them closed; numeric only.

    Newton's method with the shortest steps; then the velocity is changed as little as possible.

    Args:
        model: Robot with ``loops``.
        state: Configuration and velocity to begin with.
        held: Joints that keep their coordinates and rates.
        base: Let the base move; else it keeps its pose and twist.

    Returns:
        State with closed loops.

    Raises:
        NumericsError: The loops cannot be closed from here; the message names the worst one, and its error.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> geared = arm.close_loops(fc.model.Couple("gear", "joint2", "joint1", (0.0, -2.0)))
        >>> assemble(geared, geared.state(joints=[0.1, 0.0, 0.0]), held=["joint1"]).joints
        array([ 0.1, -0.2,  0. ])
    """
    check_robot(model, state)
    moves = _free_velocity_indices(model, held, base)
    for _ in range(MAX_ASSEMBLY_STEPS):
        rows = equations(model, state)
        if not np.isfinite(rows.error).all():
            break
        if np.abs(rows.error).max(initial=0.0) <= MAX_LOOP_GAP:
            return _with_closed_loops(model, state, rows.jacobian, moves)
        x = _shortest(rows.jacobian, -rows.error, moves)
        left = np.abs(rows.error + rows.jacobian @ x).max()
        if np.abs(x).max() <= MAX_LOOP_GAP and left <= MAX_ROUNDED_GAP:
            return _with_closed_loops(model, state, rows.jacobian, moves)
        state = model.configuration.displace(state, x / max(1.0, np.abs(x).max() / MAX_ASSEMBLY_STEP))
    names, worst = _row_names(model), int(np.abs(rows.error).argmax())
    raise NumericsError(f"loop {names[worst]!r} cannot be closed from here: it stays open", value=rows.error[worst])


@argument_sizes(forces="nv")
def forward_dynamics(
    model: Model, state: State, forces: Vector_nv, stabilization: float = 0.0
) -> ConstrainedDynamicsResult:
    """Acceleration under ``forces`` that keeps the loops closed, and the constraint forces (``J' multipliers``).

    ``J a + bias = -2 w J v - w^2 error`` with ``w = stabilization``: errors decay like ``exp(-w t)`` (Baumgarte's rule,
    critically damped).

    Args:
        model: Robot with ``loops``.
        state: Configuration and velocity.
        forces: Generalized forces (nv).
        stabilization: Rate (1/s) of the decay of errors; 0: none.

    Returns:
        Acceleration (nv) and multipliers (k).

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> geared = arm.close_loops(fc.model.Couple("gear", "joint2", "joint1", (0.0, -2.0)))
        >>> moved = forward_dynamics(geared, geared.neutral(), np.array([0.0, 1.0, 0.0]))
        >>> bool(np.isclose(moved.acceleration[1], -2.0 * moved.acceleration[0]))
        True
    """
    return constrained_motion(model, state, forces, stabilization)[0]


def constrained_motion(
    model: Model, state: State, forces: Vector, stabilization: float
) -> tuple[ConstrainedDynamicsResult, Matrix]:
    """:func:`forward_dynamics`, and the Jacobian of the loops."""
    check_robot(model, state)
    forces = vector(forces, model.nv, "forces")
    if not (isinstance(stabilization, (int, float)) and 0.0 <= stabilization < np.inf):
        raise ModelError(f"stabilization is a rate in 1/s, not negative, and not {describe(stabilization)}")
    error, J, bias = equations(model, state)
    respond, names = tree_response(model, state), _row_names(model)
    demand = -bias
    if stabilization:
        demand = demand - scale(2.0 * stabilization, J @ state.velocity) - scale(stabilization**2, error)
    check_consistent(J, demand, names, "loops")
    free = respond(forces - bias_forces(model, state))
    found = check_resolved(solve_constraint_forces(respond, J, J, free, demand), names, "forces in loops")
    return ConstrainedDynamicsResult(found.motion, found.forces), J


@concise
class LoopInverseDynamics(NamedTuple):
    """Result of :func:`inverse_dynamics`: ``torques`` (nv) and ``multipliers`` (k).

    Torques are zero at joints without drives; the forces of the loops are ``J' multipliers``.

    Example:
        >>> LoopInverseDynamics(np.zeros(3), np.zeros(1))._fields
        ('torques', 'multipliers')
    """

    torques: Vector
    multipliers: Vector


@argument_sizes(acceleration="nv")
def inverse_dynamics(
    model: Model, state: State, acceleration: Vector_nv, actuated: Sequence[str] | None = None
) -> LoopInverseDynamics:
    """Least torques of the actuated joints for an acceleration; numeric only.

    ``M a + C v + g = S' torques + J' multipliers``.

    Args:
        model: Robot with ``loops``.
        state: Configuration and velocity.
        acceleration: Acceleration of the quasi-velocity (nv), which keeps the loops closed.
        actuated: Joints with drives; None: all.

    Returns:
        Torques (nv) and multipliers (k).

    Raises:
        NumericsError: The acceleration opens a loop, or the actuated joints cannot cause it; the message gives the
            error.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> geared = arm.close_loops(fc.model.Couple("gear", "joint2", "joint1", (0.0, -2.0)))
        >>> inverse_dynamics(geared, geared.neutral(), np.zeros(3)).torques.round(9) + 0.0
        array([0., 0., 0.])
    """
    check_robot(model, state)
    a = vector(acceleration, model.nv, "acceleration")
    _, J, bias = equations(model, state)
    if not (is_numeric(J) and is_numeric(a)):
        raise ModelError("the shortest torques are found on numbers only: differentiate forward_dynamics instead")
    opening = J @ a + bias
    # relative to the two terms that cancel in the opening, whose rounding is left over
    if np.abs(opening).max(initial=0.0) > 1e-8 * max(1.0, np.abs(bias).max(initial=0.0), np.abs(a).max()):
        worst = int(np.abs(opening).argmax())
        raise NumericsError(f"this acceleration opens loop {_row_names(model)[worst]!r}", value=opening[worst])
    needed = tree_inverse_dynamics(model, state, a)
    drives = _free_velocity_indices(
        model, [j for j in model.joint_names if actuated is not None and j not in actuated], base=False
    )
    _check_names(model, actuated or ())
    N = _null_space(J)
    S = np.eye(model.nv)[drives]
    # only forces along motions that keep the loops closed matter; among those that do, the shortest torques
    torques = np.linalg.lstsq(N.T @ S.T, N.T @ needed, rcond=None)[0] @ S
    left = N.T @ (needed - torques)
    if np.abs(left).max(initial=0.0) > 1e-9 * max(1.0, np.abs(needed).max()):
        raise NumericsError(
            "the actuated joints cannot cause this motion: forces are missing", value=np.abs(left).max()
        )
    return LoopInverseDynamics(torques, np.linalg.lstsq(J.T, needed - torques, rcond=None)[0])


def _free_velocity_indices(model: Model, held: Sequence[str], base: bool) -> np.ndarray:
    """Places in the quasi-velocity of what may move."""
    _check_names(model, held)
    stays = {k for name in held for k in range(*model.v_slices[model.joint_index(name)].indices(model.n))}
    joints = [model.m + k for k in range(model.n) if k not in stays]
    return np.array([*(range(model.m) if base else ()), *joints], dtype=int)


def _check_names(model: Model, names: Sequence[str]) -> None:
    if isinstance(names, str):
        raise ModelError(f"joints are given as a list of names, not as the text {names!r}")
    for name in names:
        model.leading_index(name)


def _shortest(J: Matrix, wanted: Vector, moves: np.ndarray) -> Vector:
    """The shortest ``x`` (nv), zero where nothing moves, with ``J x`` as near to ``wanted`` as can be."""
    x = np.zeros(J.shape[1])
    # truncated: rows of planar loops depend on each other, and rounding of a dependent row must not be inverted
    x[moves] = np.linalg.lstsq(J[:, moves], wanted, rcond=MIN_SINGULAR_VALUE)[0]
    return x


def _with_closed_loops(model: Model, state: State, J: Matrix, moves: np.ndarray) -> State:
    """The state with the nearest velocity that keeps the loops closed; an error if what is held opens one."""
    v = state.velocity + _shortest(J, -J @ state.velocity, moves)
    opening = J @ v
    if np.abs(opening).max(initial=0.0) > 1e-9 * max(1.0, np.abs(state.velocity).max(initial=0.0)):
        worst = int(np.abs(opening).argmax())
        raise NumericsError(
            f"the velocity of what is held opens loop {_row_names(model)[worst]!r}", value=opening[worst]
        )
    return state._replace(twist=v[: model.m], rates=v[model.m :])


def _null_space(J: Matrix) -> Matrix:
    """An orthonormal basis (nv x k) of the motions that keep the loops closed."""
    if not len(J):
        return np.eye(J.shape[1])
    _, s, Vt = np.linalg.svd(J)
    # redundant rows of a loop leave singular values of rounding
    return np.asarray(Vt[int((s > 1e-10 * s[0]).sum()) :].T)


def _row_names(model: Model) -> list[str]:
    return [loop.name for loop in model.loops for _ in range(loop.count)]
