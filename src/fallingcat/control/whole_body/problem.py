"""Whole-body problem: equations, tasks and limits as rows on accelerations and contact forces, for every number."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...arrays import concatenate, skew, sqrt
from ...arrays.types import FloatArray, Matrix, Vector
from ...dynamics import bias_forces, link_pose, mass_matrix
from ...dynamics.checks import positive
from ...geometry.contact_points import PointMotion, plane, point_motions
from ...lie.group import constant
from ...model import Model, State
from ..limits.joint_limits import Limit
from ..tasks.demand import stack_parts
from ..tasks.packing import fill_tasks
from ..tasks.task import Task

UNBOUNDED = -1e300
"""Lower bound of limits that have none; compiled code needs finite numbers."""
Levels = tuple[tuple[Task, ...], ...]
FINAL_LEVELS = {"forces": ("forces", "torques"), "torques": ("torques", "forces")}
"""Last levels, which settle what tasks leave open, in order."""


@dataclass(frozen=True)
class TorqueLimits:
    """Torque limits ``|torque| <= fraction effort`` of the joints.

    Example:
        >>> TorqueLimits(0.5).fraction
        0.5
    """

    fraction: float = 1.0

    def __post_init__(self) -> None:
        """Check the fraction."""
        positive(self.fraction, "fraction of TorqueLimits")


class ProblemKind(Hashable, Protocol):
    """Kind of problem: all constants of its compiled code; hashable."""

    @property
    def forms(self) -> Levels:
        """Tasks without their numbers, by priority."""

    @property
    def contacts(self) -> tuple[str,]:
        """Names of the contacts."""

    @property
    def limits(self) -> tuple[Limit | TorqueLimits,]:
        """Limits above all tasks."""

    @property
    def torque_level(self) -> int:
        """Index of the level of the torques."""

    @property
    def switches(self) -> int:
        """Number of contacts that a mask switches; 0: contacts are constant."""

    def shape(self, model: Model) -> Shape:
        """Sizes and names of the rows."""

    def problem(self, model: Model, state: State, numbers: Vector) -> Problem:
        """Rows at a state."""

    def motion(self, model: Model, x: np.ndarray) -> np.ndarray:
        """Acceleration (nv) of a solution."""

    def contact_forces(self, model: Model, x: np.ndarray, misses: np.ndarray) -> np.ndarray:
        """Contact forces (N) of a solution; ``misses``: residuals of the levels that settle what tasks leave open."""


class Setup(NamedTuple):
    """Problem on accelerations and forces of points; hashable."""

    forms: Levels
    contacts: tuple[str, ...]
    friction: tuple[float, ...] | None
    """friction coefficient of each contact; None: they hold in every direction"""
    normal: tuple[float, float, float]
    limits: tuple[Limit | TorqueLimits, ...]
    horizon: float
    settle: str
    switched: bool = False
    """True: the last numbers are a mask of the contacts, 1 where one is closed"""
    damping: float = 0.0
    """1/s: rate at which velocities of contacts decay"""

    @property
    def torque_level(self) -> int:
        """Index of the level of the torques."""
        return len(self.forms) + FINAL_LEVELS[self.settle].index("torques")

    @property
    def switches(self) -> int:
        """Number of contacts that a mask switches."""
        return len(self.contacts) if self.switched else 0

    def shape(self, model: Model) -> Shape:
        """Sizes and names of the rows."""
        nf = 3 * len(self.contacts)
        sizes = [sum(form.rows(model) for form in level) for level in self.forms]
        sizes += [{"forces": nf, "torques": model.n}[what] for what in FINAL_LEVELS[self.settle]]
        still = sum(3 if U is None else U.shape[1] for _, _, U in _feet(model, self.contacts))
        return Shape(
            model.nv + nf, model.nv, still, len(_undriven_directions(model)), ends_of(sizes), *limit_names(model, self)
        )

    def problem(self, model: Model, state: State, numbers: Vector) -> Problem:
        """Rows at a state, see :func:`problem`."""
        return problem(model, state, numbers, self)

    def motion(self, model: Model, x: np.ndarray) -> np.ndarray:
        """Acceleration (nv) of a solution."""
        return x[: model.nv].copy()

    def contact_forces(self, model: Model, x: np.ndarray, misses: np.ndarray) -> np.ndarray:
        """Contact forces (contacts x 3; N) of a solution."""
        return x[model.nv :].reshape(-1, 3) * model.mass


class Problem(NamedTuple):
    """Rows on ``x = [acceleration; forces / mass]``.

    In the order equations (contacts, then undriven motion), levels (tasks, then those that settle the rest), limits.
    """

    rows: Matrix
    """``k x n``"""
    value: Vector
    """``k``: right sides; of limits the upper one"""
    root: Vector
    """square root of the weight of each row of a level"""
    lower: Vector
    """lower bound of each limit"""

    @classmethod
    def from_blocks(
        cls,
        blocks: Sequence[tuple[Matrix, Vector]],
        roots: Sequence[Vector],
        bounds: Sequence[tuple[Matrix, Vector, Vector]],
    ) -> Problem:
        """Problem of equations and levels (rows, right sides), roots of their weights, limits (rows, lower, upper)."""
        return cls(
            concatenate([*(G for G, _ in blocks), *(G for G, _, _ in bounds)]),
            concatenate([*(x for _, x in blocks), *(upper for _, _, upper in bounds)]),
            concatenate(list(roots)),
            concatenate([np.zeros(0), *(lower for _, lower, _ in bounds)]),
        )


class Shape(NamedTuple):
    """Sizes and names of a :class:`Problem`, independent of its numbers."""

    n: int
    accelerations: int
    """columns before those of forces"""
    contact_rows: int
    undriven_rows: int
    ends: tuple[int, ...]
    """end row of each level, counted from the first row of the first"""
    limits: tuple[str, ...]
    relaxed: np.ndarray
    """for each limit True if it is relaxed before others, as those of velocities; drives and friction are not"""

    @property
    def equations(self) -> int:
        """Number of equations."""
        return self.contact_rows + self.undriven_rows

    @property
    def first_limit(self) -> int:
        """Index of the first row of the limits."""
        return self.equations + self.ends[-1]


def ends_of(sizes: Sequence[int]) -> tuple[int, ...]:
    """Ends of levels of these sizes, counted from the first row of the first."""
    return (0, *np.cumsum(sizes).tolist())


def problem(model: Model, state: State, numbers: Vector, setup: Setup) -> Problem:
    """[ETH] (3.109)-(3.115): ``M a + h = S' u + J' f``, contacts at rest, tasks, limits; at a state of any kind.

    The Jacobian of an open contact is 0: it holds nothing, its force moves nothing, and the least force is zero.
    """
    points = point_motions(model, state, setup.contacts)
    if setup.damping > 0.0:
        points = [p._replace(bias=p.bias + setup.damping * (p.J @ state.velocity)) for p in points]
    if setup.switched:
        mask = numbers[len(numbers) - len(points) :]
        # an open contact keeps its rows, as 0 = 0: the problem has one shape, and one code, for every mask
        points = [p._replace(J=closed * p.J, bias=closed * p.bias) for p, closed in zip(points, mask, strict=True)]
    h, J = bias_forces(model, state), stack_parts([p.J for p in points], (0, model.nv))
    # forces per mass of the robot: their columns have the size of those of accelerations, whatever it weighs
    dynamics = concatenate([mass_matrix(model, state), -(J.T) * model.mass], axis=1)
    still, bias = _rest_rows(model, state, setup.contacts, points)
    undriven = _undriven_directions(model)
    tasks = fill_tasks(model, [form for level in setup.forms for form in level], numbers)
    asked = [task_rows(model, state, task, setup.contacts) for task in tasks]
    if setup.switched:
        asked = [(_without_open_contacts(model, rows, mask), value, weight) for rows, value, weight in asked]
    levels = [
        *((rows, value, sqrt(weight)) for rows, value, weight in asked),
        *_settling_levels(model, setup, dynamics, h),
    ]
    equations = [(_padded_with_forces(still, len(J)), -bias), (undriven @ dynamics, -(undriven @ h))]
    bounds = [_bounds(model, state, setup, limit, dynamics, h) for limit in setup.limits] + [_cones(model, setup)]
    return Problem.from_blocks(
        [*equations, *((rows, value) for rows, value, _ in levels)], [root for *_, root in levels], bounds
    )


def _settling_levels(model: Model, setup: Setup, dynamics: Matrix, h: Vector) -> list[tuple[Matrix, Vector, Vector]]:
    """Levels of least forces and least torques, to settle what tasks leave open: rows, values, roots of weights."""
    nf = 3 * len(setup.contacts)
    levels = {
        "forces": (np.hstack([np.zeros((nf, model.nv)), np.eye(nf)]), np.zeros(nf), np.ones(nf)),
        "torques": (dynamics[model.m :], -h[model.m :], np.full(model.n, 1.0 / model.mass)),
    }
    return [levels[what] for what in FINAL_LEVELS[setup.settle]]


def task_rows(model: Model, state: State, task: Task, contacts: tuple[str, ...]) -> tuple[Matrix, Vector, Vector]:
    """Rows, right side and weights of a task: on accelerations, (3.111), or on contact forces, (3.112)."""
    forces = task.force_demand(model, state, contacts)
    if forces is not None:
        still = np.zeros((len(forces.rows), model.nv))
        return concatenate([still, forces.rows * model.mass], axis=1), forces.force, forces.weight
    demand = task.demand(model, state)
    return _padded_with_forces(demand.J, 3 * len(contacts)), demand.acceleration - demand.bias, demand.weight


def _without_open_contacts(model: Model, rows: Matrix, mask: Vector) -> Matrix:
    """Rows without their parts on forces of open contacts."""
    forces = [rows[:, model.nv + 3 * k : model.nv + 3 * k + 3] * closed for k, closed in enumerate(mask)]
    return concatenate([rows[:, : model.nv], *forces], axis=1)


def _padded_with_forces(J: Matrix, nf: int) -> Matrix:
    """Rows on accelerations alone."""
    return concatenate([J, np.zeros((len(J), nf))], axis=1)


def _bounds(model: Model, state: State, setup: Setup, limit: Any, dynamics: Matrix, h: Vector) -> tuple[Any, Any, Any]:
    """Rows, lower and upper bounds of a limit: of torques, or of velocities after the horizon."""
    nf = 3 * len(setup.contacts)
    if isinstance(limit, TorqueLimits):
        places, most = efforts(model)
        most = limit.fraction * most
        rows = model.m + places
        return dynamics[rows], -most - h[rows], most - h[rows]
    G, most, _ = limit.rows(model, state)
    return _padded_with_forces(G * setup.horizon, nf), np.full(len(G), UNBOUNDED), most - G @ state.velocity


def _cones(model: Model, setup: Setup) -> tuple[Any, Any, Any]:
    """Pyramids inside the friction cones: ``|t f| <= mu / sqrt(2) n f`` along two tangents ``t``."""
    n, nf = model.nv + 3 * len(setup.contacts), 3 * len(setup.contacts)
    if setup.friction is None or not nf:
        return np.zeros((0, n)), np.zeros(0), np.zeros(0)
    ground, rows = plane(model, setup.normal), []
    for k, mu in enumerate(setup.friction):
        for face in _faces(ground.normal, ground.tangents, mu):
            row = np.zeros(n)
            row[model.nv + 3 * k : model.nv + 3 * k + 3] = face
            rows.append(row)
    return np.array(rows), np.full(len(rows), UNBOUNDED), np.zeros(len(rows))


def _faces(normal: np.ndarray, tangents: np.ndarray, mu: float) -> list[np.ndarray]:
    # 1 / sqrt(2): the pyramid lies inside the cone, also along its edges
    faces = [side * t - mu / np.sqrt(2.0) * normal for t in tangents for side in (1.0, -1.0)]
    # without friction the four faces hold the tangential force at zero and say nothing of the push
    return faces if mu > 0.0 else [*faces, -normal]


def limit_names(model: Model, setup: Setup) -> tuple[tuple[str, ...], np.ndarray]:
    """Meaning of each row of the limits, and the mask of rows that are relaxed before others."""
    names, yields = own_limits(model, setup.limits)
    for place, mu in zip(setup.contacts, setup.friction or (), strict=False):
        names += [f"friction cone of {place!r}"] * (4 if mu > 0.0 else 5)
    return tuple(names), constant(np.array(yields + [False] * (len(names) - len(yields)), dtype=bool))


def own_limits(model: Model, limits: Sequence[Limit | TorqueLimits]) -> tuple[list[str], list[bool]]:
    """Names of the rows of given limits, and which of them may be relaxed."""
    names: list[str] = []
    yields: list[bool] = []
    for limit in limits:
        drives = isinstance(limit, TorqueLimits)
        torques = [f"torque limit of {model.rate_joints[i]!r}" for i in efforts(model)[0]]
        own = torques if isinstance(limit, TorqueLimits) else limit.rows(model, model.neutral()).names
        names += own
        yields += [not drives] * len(own)
    return names, yields


@lru_cache(maxsize=32)
def efforts(model: Model) -> tuple[FloatArray, FloatArray]:
    """Indices of the rates with an effort limit, and these limits."""
    own = [i for i, joint in enumerate(model.joints) if joint.nv]
    all_ = np.concatenate(
        [np.zeros(0), *(np.full(model.joints[i].nv, x.effort) for i, x in zip(own, model.limits, strict=True))]
    )
    places = np.flatnonzero(np.isfinite(all_))
    return constant(places), constant(all_[places])


@lru_cache(maxsize=32)
def _undriven_directions(model: Model) -> np.ndarray:
    """Orthonormal rows (k x nv) of generalized forces that no drive exerts."""
    return unactuated_directions(model.actuation)


def unactuated_directions(S: np.ndarray) -> np.ndarray:
    """Orthonormal rows of forces that drives ``S' u`` do not exert: unit rows where drives are joints."""
    # unit rows without rounding, where they can be had: zeros stay zeros in the compiled code
    if ((S != 0.0).sum(axis=1) <= 1).all():
        return constant(np.eye(S.shape[1])[~S.any(axis=0)])
    return constant(np.linalg.svd(S)[2][len(S) :])


# contacts ------------------------------------------------------------------------------------------------------------


def _rest_rows(model: Model, state: State, contacts: tuple[str, ...], points: Sequence[PointMotion]) -> tuple[Any, Any]:
    """``J`` and ``dJ/dt v`` of points at rest, without rows that one rigid link repeats: at most six for each link."""
    none: Any = np.zeros(1)
    rows, bias = [np.zeros((0, model.nv))], [np.zeros(0)]
    for link, members, U in _feet(model, contacts):
        if U is None:
            rows += [points[i].J for i in members]
            bias += [points[i].bias for i in members]
            continue
        R = link_pose(model, state, link)[:3, :3]
        parts = [U[3 * j : 3 * j + 3].T @ R.T for j in range(len(members))]
        rows.append(sum((P @ points[i].J for P, i in zip(parts, members, strict=True)), start=none))
        bias.append(sum((P @ points[i].bias for P, i in zip(parts, members, strict=True)), start=none))
    return concatenate(rows), concatenate(bias)


@lru_cache(maxsize=64)
def _feet(model: Model, contacts: tuple[str, ...]) -> tuple[tuple[str, tuple[int, ...], np.ndarray | None], ...]:
    """Contact indices of each link, and an orthonormal basis (3 k x rank) of their rigid motion."""
    feet: dict[str, list[int]] = {}
    for i, place in enumerate(contacts):
        feet.setdefault(model.frame(place).link, []).append(i)
    found = []
    for link, members in feet.items():
        U = None
        if len(members) > 1:
            X = np.vstack([np.hstack([np.eye(3), -skew(model.frame(contacts[i]).placement[:3, 3])]) for i in members])
            U, d, _ = np.linalg.svd(X, full_matrices=False)
            # points beyond three, or in a line, repeat others: six rows for a rigid foot at most, five on a line
            U = constant(U[:, d > 1e-9 * d[0]])
        found.append((link, tuple(members), U))
    return tuple(found)
