"""Robots on contacts: what the ground carries, inverse dynamics, priorities, virtual models ([ETH] 3.10, 3.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import inverse_root, is_numeric, maximum, numbers_only, solve, solve_tree, sqrt
from ...arrays.types import Matrix, Vector
from ...compiler import compile
from ...dynamics import bias_forces, gravity_forces, mass_matrix
from ...dynamics.checks import check_robot, vector
from ...dynamics.sweeps import places_above
from ...errors import ModelError, describe
from ...model import Model, State
from ...qp.least_squares import LEAST, RANK, Level, hierarchical, norm, orthonormal
from ...records import concise
from ..tasks import PositionTask, Task
from ..tasks.task import as_numbers, filled, packed, stacked
from .task_space import Aim, check_aim, check_tasks, task_at
from .torque_law import TorqueLaw, as_damping, as_gain, drives, names_of, per_row

Contact = str | Task
"""A link or frame whose origin stays where it is, or a task: ``PoseTask("foot")`` for a sole that lies flat."""


@concise
class Support(NamedTuple):
    """Contacts that hold: ``J a + bias = 0`` ([ETH] (3.61))."""

    J: Matrix
    """``J_c`` (rows x nv), along the world's axes"""
    bias: Vector
    """``dJ_c/dt v`` (rows)"""
    Lambda: Matrix
    """``Lambda_c = (J_c M^-1 J_c')^-1`` (3.68): the inertia that contacts feel; a pseudo-inverse where rows depend"""
    N: Matrix
    """``N_c = 1 - M^-1 J_c' Lambda_c J_c`` (nv x nv, (3.63)): what moves no contact"""


def support_dynamics(model: Model, state: State, contacts: Sequence[Contact]) -> Support:
    """What contacts hold back, and what they leave ([ETH] (3.63), (3.68)).

    After an impact on them, velocities are ``N v`` (3.70).  Plain numbers may have rows that depend on each other.

    >>> import fallingcat as fc
    >>> dog = fc.robots.quadruped()
    >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
    >>> found = support_dynamics(dog, dog.neutral(), feet)
    >>> found.J.shape, bool(np.abs(found.J @ found.N).max() < 1e-12)
    ((12, 18), True)
    """
    check_robot(model, state)
    J, bias, _ = _held(model, state, contacts)
    M = mass_matrix(model, state)
    MinvJt = solve_tree(M, J.T, places_above(model)) if len(J) else np.zeros((model.nv, 0))
    inertia = J @ MinvJt
    if is_numeric(inertia):
        U, d, _ = np.linalg.svd(J @ inverse_root(M, places_above(model)), full_matrices=False)
        kept = d > RANK * np.linalg.norm(d)
        Lambda = (U[:, kept] / d[kept] ** 2) @ U[:, kept].T
    else:
        Lambda = solve(inertia, np.eye(len(inertia)))
    return Support(J, bias, Lambda, np.eye(model.nv) - MinvJt @ (Lambda @ J))


@concise
class FloatingInverseDynamics(NamedTuple):
    """What :func:`floating_inverse_dynamics` found."""

    torques: Vector
    """``n``"""
    forces: Matrix
    """``contacts x 3``, or rows for contacts that are tasks: on the robot, along the world's axes"""
    residual: Vector
    """``nv``: ``N_c' (S' u - (M a + h))``, what drives leave of the motion; not zero where they are too few for it"""
    slip: Vector
    """rows: ``J_c a + dJ_c/dt v``, zero for an acceleration that contacts allow"""
    rank: int
    """of ``N_c' S'``: in how many ways drives move the robot; the others press contacts against each other"""


@numbers_only("its torques are those of a pseudo-inverse, whose rank is found")
def floating_inverse_dynamics(
    model: Model, state: State, acceleration: Vector, contacts: Sequence[Contact], torques: Vector | None = None
) -> FloatingInverseDynamics:
    """The least torques for an ``acceleration`` (nv) of a robot on ``contacts`` ([ETH] (3.100), (3.101)).

    ``u = (N_c' S')^+ N_c' (M a + h)``; ``torques`` (n) are added as far as they do not move the robot: they change the
    forces of contacts alone.  What is not possible is in ``residual`` and ``slip``.

    >>> import fallingcat as fc
    >>> dog = fc.robots.quadruped()
    >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
    >>> stand = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))
    >>> found = floating_inverse_dynamics(dog, stand, np.zeros(dog.nv), feet)
    >>> found.rank, bool(np.isclose(found.forces[:, 2].sum(), 9.81 * dog.mass))
    (6, True)
    """
    check_robot(model, state)
    a = vector(acceleration, model.nv, "acceleration")
    J, bias, _, N = support_dynamics(model, state, contacts)
    S = model.actuation
    f = mass_matrix(model, state) @ a + bias_forces(model, state)
    U, d, Vt = np.linalg.svd(N.T @ S.T, full_matrices=False)
    rank = int((d > RANK * max(1.0, float(np.linalg.norm(d)))).sum())
    u = Vt[:rank].T @ ((U[:, :rank].T @ (N.T @ f)) / d[:rank])
    if torques is not None:
        own = drives(model).right[model.m :].T @ vector(torques, model.n, "torques")
        u = u + own - Vt[:rank].T @ (Vt[:rank] @ own)
    forces = np.linalg.lstsq(J.T, f - S.T @ u, rcond=RANK)[0] if len(J) else np.zeros(0)
    points = all(isinstance(contact, str) for contact in contacts)
    return FloatingInverseDynamics(
        S[:, model.m :].T @ u, forces.reshape(-1, 3) if points else forces, N.T @ (S.T @ u - f), J @ a + bias, rank
    )


@concise
@dataclass(frozen=True)
class PrioritizedControl(TorqueLaw):
    """Tasks by strict priorities, on contacts, with the least torques: hierarchical least squares ([ETH] Algorithm 2).

    ``tasks`` is an outer list of priorities, as in :func:`fallingcat.control.velocities`; a task may be a function of
    time.  Above them stand the equations of motion and ``contacts`` that do not move; below them, least torques
    (3.113): what tasks leave open hangs loosely, unless a last task is a posture.  A :class:`.ForceTask` asks for the
    force of a contact (3.112), where contacts do not depend on each other.  A force on a contact may pull: there
    are no inequalities here, so that all of it is straight-line code, for C too.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> tip = fc.control.PositionTask("end_effector", [1.0, 0.0, 3.0], gain=10.0, mask=(True, False, True))
    >>> law = PrioritizedControl([[tip], [fc.control.JointsTask([0.1, 0.6, 0.6], gain=5.0)]])
    >>> run = fc.simulate(arm, arm.state(joints=[0.2, 0.5, 0.7]), 2.0, law)
    >>> fc.link_pose(arm, run.state(len(run) - 1), "end_effector")[:3, 3].round(6) + 0.0
    array([1., 0., 3.])
    """

    tasks: Sequence[Sequence[Aim]]
    contacts: Sequence[Contact] = ()
    damping: float = 0.0
    name: str = "priorities"

    def __post_init__(self) -> None:
        super().__post_init__()
        levels = names_of(self.tasks, f"tasks of {self.name!r}")
        if any(isinstance(level, Task) or callable(level) for level in levels):
            raise ModelError(f"tasks of {self.name!r} are a list of priorities, each a list: [[task, ...], ...]")
        object.__setattr__(self, "tasks", tuple(names_of(level, f"tasks of {self.name!r}") for level in levels))
        object.__setattr__(self, "contacts", names_of(self.contacts, f"contacts of {self.name!r}"))
        _as_tasks(self.contacts)
        object.__setattr__(self, "damping", as_damping(self.damping, f"damping of {self.name!r}"))
        for aim in (aim for level in self.tasks for aim in level):
            check_aim(aim, self.name)

    def check(self, model: Model) -> None:
        super().check(model)
        check_tasks(model, [*_as_tasks(self.contacts), *(aim for level in self.tasks for aim in level)])
        forces = [task for level in self.tasks for task in check_tasks(model, level) if task.of_forces]
        for task in forces:
            task.force_demand(model, model.neutral(), point_names(self.contacts, task))
        if forces:
            J = _held(model, model.random_state(np.random.default_rng(0)), self.contacts)[0]
            if np.linalg.matrix_rank(J) < len(J):
                raise ModelError(f"forces of {self.name!r} are not determined: its contacts hold the same motion twice")

    def asked(self, model: Model, t: Any, state: State) -> Any:
        levels = [[task_at(aim, t) for aim in level] for level in self.tasks]
        u = prioritised_drives(model, state, levels, self.contacts, self.damping)
        return drives(model).S[:, model.m :].T @ u

    def steered(self, model: Model, target: str = "cpu", **options: Any) -> Any:
        """A kernel ``k(q, v, numbers)`` that gives the joint torques (n): goals and gains may change from call to call.

        ``numbers`` are those of :meth:`numbers`, or of the same law with other goals; ``target="c"`` is its text.

        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> tip = fc.control.PositionTask("end_effector", [1.0, 0.0, 3.0], gain=10.0)
        >>> fast, law = PrioritizedControl([[tip]]).steered(arm), PrioritizedControl([[tip.replaced(goal=[0.9, 0.0, 3.0])]])
        >>> found, at = fast(np.ones(3), np.zeros(3), law.numbers(arm)), arm.state(joints=[1.0, 1.0, 1.0])
        >>> bool(np.allclose(found, law.torques(arm, at)))
        True
        """
        self.check(model)
        forms, numbers = tuple(tuple(task.form for task in level) for level in self.constant_tasks), self.numbers(model)
        options |= {"forms": forms, "contacts": self.contacts, "damping": self.damping}
        if target == "c":
            options["example"] = (("numbers", tuple(numbers.tolist())),)
        return compile(model, control_torques, target=target, inputs={"numbers": len(numbers)}, **options)

    def numbers(self, model: Model) -> np.ndarray:
        """Goal, feed-forward velocity and acceleration, gain and weight of each task, those that it has, in order."""
        self.check(model)
        return packed(model, [task for level in self.constant_tasks for task in level])

    @property
    def constant_tasks(self) -> tuple[tuple[Task, ...], ...]:
        """Its tasks, none of which is a function of time."""
        if any(not isinstance(aim, Task) for level in self.tasks for aim in level):
            raise ModelError(f"tasks of {self.name!r} are functions of time: what steers it is given from call to call")
        return tuple(tuple(aim for aim in level if isinstance(aim, Task)) for level in self.tasks)


def control_torques(
    model: Model,
    state: State,
    numbers: Any,
    *,
    forms: Any,
    contacts: Sequence[Contact],
    damping: float,
    example: Any = None,
) -> Any:
    """Joint torques (n) of :meth:`PrioritizedControl.steered`, for kernels and as a C function; its test uses ``example``."""
    tasks = iter(filled(model, [form for level in forms for form in level], numbers))
    levels = [[next(tasks) for _ in level] for level in forms]
    return drives(model).S[:, model.m :].T @ prioritised_drives(model, state, levels, contacts, damping)


def prioritised_drives(
    model: Model, state: State, tasks: Sequence[Sequence[Task]], contacts: Sequence[Contact], damping: Any = 0.0
) -> Any:
    """Forces of drives (k) for :class:`PrioritizedControl`, on every kind of number.

    In ``z = R^-1 a`` with ``R' M R = 1`` contacts hold back the rows of ``J_c R``: with an orthonormal basis ``Q`` of
    them ``z = z_c + (1 - Q' Q) R' (S' u - h)``, and each task is linear in ``u``.
    """
    R = inverse_root(mass_matrix(model, state), places_above(model))
    h, S = bias_forces(model, state), model.actuation
    J, bias, wanted = _held(model, state, contacts)
    G, z = R.T @ S.T, -(R.T @ h)
    if len(J):
        Q = orthonormal(J @ R)
        G, z = G - Q.T @ (Q @ G), z - Q.T @ (Q @ z)
        z = z + hierarchical([Level(J @ R, wanted - bias, np.ones(len(J)))], model.nv).x
    levels, sizes, strength, least = [], [], norm(G), LEAST * norm(R)
    spread = _Spread(J @ R, R.T @ h, R.T @ S.T, tuple(contacts))
    for level in tasks:
        asked = [spread.asked(model, state, task, R, G, z) for task in level]
        JR, A, b, weight = (
            stacked([part[i] for part in asked], shape)
            for i, shape in enumerate(((0, model.nv), (0, len(S)), (0,), (0,)))
        )
        levels.append(Level(A, b, weight))
        sizes.append(strength * maximum(least, norm(sqrt(weight)[:, None] * JR)))
    return hierarchical(levels, len(S), damping, sizes=sizes).x


class _Spread(NamedTuple):
    """How drives load contacts: ``(J R)' f = z + R' (h - S' u)`` in ``z = R^-1 a``."""

    JR: Any
    bias: Any
    """``R' h`` (nv)"""
    drives: Any
    """``R' S'`` (nv x k)"""
    contacts: tuple[Contact, ...]

    def asked(self, model: Model, state: State, task: Task, R: Any, G: Any, z: Any) -> tuple[Any, Any, Any, Any]:
        """Of a task its rows on ``z``, its rows on ``u`` where ``z`` is ``G u + z``, right side and weights."""
        forces = task.force_demand(model, state, point_names(self.contacts, task))
        if forces is None:
            demand = task.demand(model, state)
            JR = demand.J @ R
            return JR, JR @ G, demand.acceleration - demand.bias - JR @ z, demand.weight
        rows = forces.rows @ solve(self.JR @ self.JR.T, self.JR)
        return rows, rows @ (G - self.drives), forces.force - rows @ (z + self.bias), forces.weight


def point_names(contacts: Sequence[Contact], task: Task) -> list[str]:
    """Contacts of a force task, which are points given by their names."""
    names = [contact for contact in contacts if isinstance(contact, str)]
    if task.of_forces and len(names) != len(contacts):
        raise ModelError(f"{task.name} is about contacts that are given by their names, not by tasks")
    return names


@concise
@dataclass(frozen=True)
class VirtualModel(TorqueLaw):
    """Torques as if springs and dampers pulled on the robot, and no gravity: virtual model control ([ETH] 3.11).

    Each task is pulled by ``F_v = stiffness error + damping (velocity - J v)`` (N/m, N s/m; N m/rad), plus ``force``.
    What acts on the base, and on joints without a drive, is left to the forces of ``contacts``, the least that balance
    it (3.120); all is quasi-static: inertia is not asked.

    >>> import fallingcat as fc
    >>> dog = fc.robots.quadruped()
    >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
    >>> stand = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))
    >>> law = VirtualModel([fc.control.BaseTask(stand.pose)], 500.0, 50.0, contacts=feet)
    >>> law.torques(dog, stand)[:3].round(2)  # of the first leg: roll, hip, knee
    array([-2.  ,  0.74,  3.48])
    """

    tasks: Sequence[Aim]
    stiffness: Any = 0.0
    damping: Any = 0.0
    force: Any = None
    """of all rows of all tasks, or None"""
    contacts: Sequence[Contact] = ()
    name: str = "virtual model"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "tasks", names_of(self.tasks, f"tasks of {self.name!r}"))
        object.__setattr__(self, "contacts", names_of(self.contacts, f"contacts of {self.name!r}"))
        _as_tasks(self.contacts)
        for aim in self.tasks:
            check_aim(aim, self.name)
        for part in ("stiffness", "damping"):
            object.__setattr__(self, part, as_gain(getattr(self, part), f"{part} of {self.name!r}"))
        if self.force is not None:
            force = as_numbers(self.force, f"force of {self.name!r}")
            object.__setattr__(self, "force", tuple(np.ravel(force).tolist()))

    def check(self, model: Model) -> None:
        super().check(model)
        check_tasks(model, [*_as_tasks(self.contacts), *self.tasks])
        self.virtual_force(model, 0.0, model.neutral())

    def virtual_force(self, model: Model, t: Any, state: State) -> Any:
        """``J_v' F_v`` (nv)."""
        demands = [task_at(aim, t).replaced(gain=0.0).demand(model, state) for aim in self.tasks]
        J = stacked([d.J for d in demands], (0, model.nv))
        k, d, f = (
            per_row(0.0 if x is None else x, len(J), f"{what} of {self.name!r}")
            for what, x in (("stiffness", self.stiffness), ("damping", self.damping), ("force", self.force))
        )
        error, velocity = (stacked([getattr(d, part) for d in demands], (0,)) for part in ("error", "velocity"))
        return J.T @ (k * error + d * (velocity - J @ state.velocity) + f)

    def asked(self, model: Model, t: Any, state: State) -> Any:
        pull = self.virtual_force(model, t, state) + gravity_forces(model, state)
        S, right, Z, _ = drives(model)
        if self.contacts and Z.shape[1]:
            Jt = _held(model, state, self.contacts)[0].T
            onto = Z.T @ Jt
            pull = pull - Jt @ hierarchical([Level(onto, Z.T @ pull, np.ones(len(onto)))], Jt.shape[1]).x
        return S[:, model.m :].T @ (right.T @ pull)


def _as_tasks(contacts: Any) -> list[Task]:
    if isinstance(contacts, str) or not isinstance(contacts, Sequence):
        raise ModelError(f"contacts are names of links and frames, or tasks that stay, not {describe(contacts)}")
    found: list[Task] = []
    for each in contacts:
        if not isinstance(each, (str, Task)):
            raise ModelError(f"a contact is the name of a link or frame, or a task that stays, not {describe(each)}")
        found.append(PositionTask(each, gain=0.0) if isinstance(each, str) else each)
    return found


def _held(model: Model, state: State, contacts: Any) -> tuple[Any, Any, Any]:
    """``J_c``, ``dJ_c/dt v`` and what ``J_c a + dJ_c/dt v`` should be, all contacts."""
    demands = [task.demand(model, state) for task in _as_tasks(contacts)]
    J = stacked([d.J for d in demands], (0, model.nv))
    return J, *(stacked([getattr(d, part) for d in demands], (0,)) for part in ("bias", "acceleration"))
