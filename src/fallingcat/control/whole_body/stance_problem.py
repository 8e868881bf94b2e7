"""Whole-body problem with the stance foot as base ([Traversaro] 6): rows on joints and on wrenches of feet."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, sqrt
from ...arrays.types import Matrix, Vector
from ...contact import WrenchCone
from ...dynamics import bias_forces, link_pose, mass_matrix
from ...geometry.contact_points import PointMotion, point_motions
from ...lie import SE3
from ...lie.group import constant
from ...lie.rotations import block_diagonal, homogeneous
from ...model import Model, State
from ..limits.joint_limits import Limit
from ..tasks.demand import stack_parts
from ..tasks.packing import fill_tasks
from .problem import (
    UNBOUNDED,
    Levels,
    Problem,
    Shape,
    TorqueLimits,
    efforts,
    ends_of,
    own_limits,
    unactuated_directions,
)


class StanceSetup(NamedTuple):
    """Problem on joint accelerations and on the wrenches of the feet but the first, which is the base; hashable."""

    forms: Levels
    feet: tuple[WrenchCone, ...]
    limits: tuple[Limit | TorqueLimits, ...]
    horizon: float

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the soles."""
        return tuple(foot.link for foot in self.feet)

    @property
    def torque_level(self) -> int:
        """Index of the level of the torques."""
        return len(self.forms) + 1

    @property
    def switches(self) -> int:
        """Number of contacts that a mask switches: feet are constant."""
        return 0

    def shape(self, model: Model) -> Shape:
        """Sizes and names of the rows."""
        sizes = [sum(form.rows(model) for form in level) for level in self.forms]
        names, yields = own_limits(model, self.limits)
        cones = [f"wrench cone of {foot.link!r}" for foot in self.feet for _ in foot.cone]
        given = constant(np.array(yields + [False] * len(cones), dtype=bool))
        wrenches, ends = 6 * (len(self.feet) - 1), ends_of([*sizes, 6 * len(self.feet), model.n])
        return Shape(
            model.n + wrenches, model.n, wrenches, len(_undriven_directions(model)), ends, (*names, *cones), given
        )

    def problem(self, model: Model, state: State, numbers: Vector) -> Problem:
        """Rows at a state, see :func:`stance_problem`."""
        return stance_problem(model, state, numbers, self)

    def motion(self, model: Model, x: np.ndarray) -> np.ndarray:
        """Acceleration (nv) of a solution: the foot is at rest."""
        return np.concatenate([np.zeros(model.m), x[: model.n]])

    def contact_forces(self, model: Model, x: np.ndarray, misses: np.ndarray) -> np.ndarray:
        """Wrenches (feet x 6) of a solution."""
        spread = misses[: 6 * len(self.feet)].reshape(-1, 6)
        return model.mass * np.array(
            [np.linalg.solve(foot.spread, w) for foot, w in zip(self.feet, spread, strict=True)]
        )


class AtFoot(NamedTuple):
    """Accelerations of a robot whose stance foot has none: ``a = [B ddq + b; ddq]``."""

    back: Matrix
    """``6 x 6``: maps the mixed twist of the foot to the twist of the base, with joints at rest"""
    B: Matrix
    b: Vector

    def joints(self, J: Matrix) -> Matrix:
        """``J^fixed`` (47e): the columns of ``J`` (k x nv) as those of joints (k x n)."""
        return J[:, :6] @ self.B + J[:, 6:]

    def padded_joints(self, J: Matrix, forces: int) -> Matrix:
        """:meth:`joints`, and no part of as many wrench components."""
        return concatenate([self.joints(J), np.zeros((len(J), forces))], axis=1)

    def rest(self, J: Matrix) -> Vector:
        """Part of ``J a`` without joint accelerations."""
        return J[:, :6] @ self.b


def at_foot(state: State, foot: PointMotion) -> AtFoot:
    """``J_F a + dJ_F/dt v = 0`` of the foot, solved for the base."""
    to_base = state.pose[:3, :3].T
    back = SE3().Ad(homogeneous(to_base, to_base @ (foot.position - state.pose[:3, 3])))
    return AtFoot(
        back, -(back @ concatenate([foot.J, foot.J_turn])[:, 6:]), -(back @ concatenate([foot.bias, foot.bias_turn]))
    )


def stance_problem(model: Model, state: State, numbers: Vector, setup: StanceSetup) -> Problem:
    """[Traversaro] (46)-(48) on ``x = [ddq; wrenches of the other feet / mass]``, with tasks, limits and wrench cones.

    With ``a = E ddq + [b; 0]`` the equations of motion ``M a + h = [0; tau] + sum J' w`` have the joint rows
    ``E' (M a + h - sum J' w) = tau``, which are (46), and base rows that say what the wrench of the foot is, (48).
    """
    feet, mass = point_motions(model, state, setup.contacts), model.mass
    at, turns = at_foot(state, feet[0]), [_turn(model, state, place) for place in setup.contacts]
    J = [turn @ concatenate([foot.J, foot.J_turn]) for foot, turn in zip(feet, turns, strict=True)]
    bias = [turn @ concatenate([foot.bias, foot.bias_turn]) for foot, turn in zip(feet, turns, strict=True)]
    M, h = mass_matrix(model, state), bias_forces(model, state)
    others = stack_parts(J[1:], (0, model.nv))
    rows, rest = concatenate([at.joints(M), -(others.T) * mass], axis=1), at.rest(M) + h  # M a + h - sum J' w, by x
    torque, torque_rest = at.joints(rows.T).T, at.B.T @ rest[:6] + rest[6:]
    first = turns[0] @ at.back.T * (1.0 / mass)
    wrenches = [(first @ rows[:6], first @ rest[:6]), *_fixed_wrenches(model, len(feet) - 1)]
    tasks = fill_tasks(model, [form for level in setup.forms for form in level], numbers)
    demands = [task.demand(model, state) for task in tasks]
    blocks = [
        (at.padded_joints(others, len(others)), -(at.rest(others) + stack_parts(bias[1:], (0,)))),
        (_undriven_directions(model) @ torque, -(_undriven_directions(model) @ torque_rest)),
    ]
    blocks += [(at.padded_joints(d.J, len(others)), d.acceleration - d.bias - at.rest(d.J)) for d in demands]
    blocks += [(foot.spread @ W, -(foot.spread @ w)) for foot, (W, w) in zip(setup.feet, wrenches, strict=True)]
    blocks += [(torque, -torque_rest)]
    roots = [*(sqrt(d.weight) for d in demands), np.ones(6 * len(J)), np.full(model.n, 1.0 / mass)]
    bounds = [_bounds(model, state, setup, limit, at, (torque, torque_rest)) for limit in setup.limits]
    for foot, (W, w) in zip(setup.feet, wrenches, strict=True):
        bounds.append((foot.cone @ W, np.full(len(foot.cone), UNBOUNDED), -(foot.cone @ w)))
    return Problem.from_blocks(blocks, roots, bounds)


def _bounds(
    model: Model, state: State, setup: StanceSetup, limit: Any, at: AtFoot, torques: tuple[Matrix, Vector]
) -> tuple[Matrix, Vector, Vector]:
    """Rows, lower and upper bounds of a limit: of torques (rows and rest), or of velocities after the horizon."""
    if isinstance(limit, TorqueLimits):
        rows, rest = torques
        places, most = efforts(model)
        most = limit.fraction * most
        return rows[places], -most - rest[places], most - rest[places]
    G, room, _ = limit.rows(model, state)
    room = room - G @ state.velocity - setup.horizon * at.rest(G)
    return at.padded_joints(G, 6 * len(setup.feet) - 6) * setup.horizon, np.full(len(G), UNBOUNDED), room


def _turn(model: Model, state: State, place: str) -> Matrix:
    """Rotation (6 x 6) from the world's axes to those of a sole."""
    R = link_pose(model, state, place)[:3, :3].T
    return block_diagonal([R, R])


def _fixed_wrenches(model: Model, others: int) -> list[tuple[Any, Any]]:
    """Wrenches / mass that are columns of ``x``: rows, and constant part."""
    return [(np.eye(6, model.n + 6 * others, model.n + 6 * k), np.zeros(6)) for k in range(others)]


@lru_cache(maxsize=32)
def _undriven_directions(model: Model) -> np.ndarray:
    """Orthonormal rows (k x n) of joint forces that no drive exerts."""
    return unactuated_directions(model.actuation[:, model.m :])
