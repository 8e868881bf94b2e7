"""Robots on contacts: support-consistent inverse dynamics, priorities, virtual models ([ETH] 3.10, 3.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import inverse_root, is_numeric, maximum, numbers_only, solve, solve_tree, sqrt
from ...arrays.types import FloatArray, Matrix, Scalar, Vector
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
    """Dynamics of rigid contacts ``J a + bias = 0`` ([ETH] (3.61)).

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> support_dynamics(dog, dog.neutral(), ["front_left_foot"]).Lambda.shape
        (3, 3)
    """

    J: Matrix
    """``J_c`` (rows x nv), along the world's axes"""
    bias: Vector
    """``dJ_c/dt v`` (rows)"""
    Lambda: Matrix
    """``Lambda_c = (J_c M^-1 J_c')^-1`` (3.68): contact inertia; a pseudo-inverse where rows are dependent"""
    N: Matrix
    """``N_c = 1 - M^-1 J_c' Lambda_c J_c`` (nv x nv, (3.63)): projector to motions without contact motion"""


def support_dynamics(model: Model, state: State, contacts: Sequence[Contact]) -> Support:
    """Contact Jacobian, contact inertia and null-space projector of contacts ([ETH] (3.63), (3.68)).

    After an impact on the contacts, velocities are ``N v`` (3.70).  Numeric states may have rows that depend on each
    other.

    Args:
        model: Robot.
        state: Configuration and velocity.
        contacts: Links or frames whose origins stay, or tasks that stay, such as ``PoseTask("foot")``.

    Returns:
        ``J`` (rows x nv), ``bias`` (rows), ``Lambda`` (rows x rows) and ``N`` (nv x nv).

    Example:
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
    """Result of :func:`floating_inverse_dynamics`.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> floating_inverse_dynamics(arm, arm.neutral(), np.zeros(3), []).rank
        3
    """

    torques: Vector
    """``n`` (N m or N)"""
    forces: Matrix
    """``contacts x 3``, or rows for contacts that are tasks: on the robot, along the world's axes"""
    residual: Vector
    """``nv``: ``N_c' (S' u - (M a + h))``; not zero where drives are too few for the acceleration"""
    slip: Vector
    """rows: ``J_c a + dJ_c/dt v``, zero for an acceleration that contacts allow"""
    rank: int
    """rank of ``N_c' S'``: directions in which drives move the robot; the others change internal contact forces"""


@numbers_only("the rank of a pseudo-inverse is determined")
def floating_inverse_dynamics(
    model: Model, state: State, acceleration: Vector, contacts: Sequence[Contact], torques: Vector | None = None
) -> FloatingInverseDynamics:
    """Least torques for an acceleration of a robot on contacts ([ETH] (3.100), (3.101)).

    ``u = (N_c' S')^+ N_c' (M a + h)``.

    Args:
        model: Robot.
        state: Configuration and velocity.
        acceleration: Acceleration of the quasi-velocity (nv).
        contacts: Links or frames whose origins stay, or tasks that stay.
        torques: Torques (n) that are added as far as they do not move the robot: they change contact forces alone.

    Returns:
        Torques (n) and contact forces (N); ``residual`` and ``slip`` hold the impossible part of the acceleration.

    Example:
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
    """Strictly prioritized inverse dynamics on contacts, with least torques ([ETH] Algorithm 2).

    Above the tasks stand the equations of motion and ``contacts`` at rest; below them least torques (3.113): joints
    that the tasks leave open are limp, unless a last task is a posture.  A :class:`.ForceTask` asks for the force of a
    contact (3.112), where contacts do not depend on each other.  Contact forces may pull: there are no inequalities
    here, so that all of it is straight-line code, for C too.

    Args:
        tasks: List of priorities, the highest first, each a list of tasks or functions of time (s) that return one.
        contacts: Links or frames whose origins stay, or tasks that stay.
        damping: Regularization near singularities; 0: none.
        name: Line in the energy ledger.

    Example:
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
        """Check the fields, and turn lists into tuples."""
        super().__post_init__()
        levels = names_of(self.tasks, f"tasks of {self.name!r}")
        if any(isinstance(level, Task) or callable(level) for level in levels):
            raise ModelError(f"tasks of {self.name!r} must be a list of priorities, each a list: [[task, ...], ...]")
        object.__setattr__(self, "tasks", tuple(names_of(level, f"tasks of {self.name!r}") for level in levels))
        object.__setattr__(self, "contacts", names_of(self.contacts, f"contacts of {self.name!r}"))
        _as_tasks(self.contacts)
        object.__setattr__(self, "damping", as_damping(self.damping, f"damping of {self.name!r}"))
        for aim in (aim for level in self.tasks for aim in level):
            check_aim(aim, self.name)

    def check(self, model: Model) -> None:
        """Check tasks and contacts against the robot."""
        super().check(model)
        check_tasks(model, [*_as_tasks(self.contacts), *(aim for level in self.tasks for aim in level)])
        forces = [task for level in self.tasks for task in check_tasks(model, level) if task.of_forces]
        for task in forces:
            task.force_demand(model, model.neutral(), point_names(self.contacts, task))
        if forces:
            J = _held(model, model.random_state(np.random.default_rng(0)), self.contacts)[0]
            if np.linalg.matrix_rank(J) < len(J):
                raise ModelError(
                    f"contact forces of {self.name!r} are not unique: contacts constrain the same motion twice"
                )

    def asked(self, model: Model, t: Scalar, state: State) -> Vector:
        """Joint torques of :func:`prioritised_drives`."""
        levels = [[task_at(aim, t) for aim in level] for level in self.tasks]
        u = prioritised_drives(model, state, levels, self.contacts, self.damping)
        return drives(model).S[:, model.m :].T @ u

    def steered(self, model: Model, target: str = "cpu", **options: Any) -> Any:
        """Kernel ``k(q, v, numbers)`` of the joint torques (n), whose goals and gains may change from call to call.

        Args:
            model: Robot.
            target: ``"cpu"`` for machine code, ``"c"`` for C source; see :func:`fallingcat.compile`.
            **options: Further options of :func:`fallingcat.compile`.

        Returns:
            Kernel of coordinates (nq), velocities (nv) and the :meth:`numbers` of this law, or of the same law with
            other goals; or C source.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> tip = fc.control.PositionTask("end_effector", [1.0, 0.0, 3.0], gain=10.0)
            >>> fast = PrioritizedControl([[tip]]).steered(arm)
            >>> law = PrioritizedControl([[tip.replaced(goal=[0.9, 0.0, 3.0])]])
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

    def numbers(self, model: Model) -> FloatArray:
        """Numbers of the tasks for :meth:`steered`.

        Args:
            model: Robot.

        Returns:
            Goal, feed-forward velocity and acceleration, gain and weight of each task, those that it has, in order.
        """
        self.check(model)
        return packed(model, [task for level in self.constant_tasks for task in level])

    @property
    def constant_tasks(self) -> tuple[tuple[Task, ...], ...]:
        """Tasks of the law, none of which is a function of time."""
        if any(not isinstance(aim, Task) for level in self.tasks for aim in level):
            raise ModelError(f"tasks of {self.name!r} must not be functions of time: goals are arguments of each call")
        return tuple(tuple(aim for aim in level if isinstance(aim, Task)) for level in self.tasks)


def control_torques(
    model: Model,
    state: State,
    numbers: Vector,
    *,
    forms: Any,
    contacts: Sequence[Contact],
    damping: float,
    example: Any = None,
) -> Vector:
    """Joint torques (n) of :meth:`PrioritizedControl.steered`, for kernels and C; its test uses ``example``."""
    tasks = iter(filled(model, [form for level in forms for form in level], numbers))
    levels = [[next(tasks) for _ in level] for level in forms]
    return drives(model).S[:, model.m :].T @ prioritised_drives(model, state, levels, contacts, damping)


def prioritised_drives(
    model: Model, state: State, tasks: Sequence[Sequence[Task]], contacts: Sequence[Contact], damping: Scalar = 0.0
) -> Vector:
    """Forces of drives (k) for :class:`PrioritizedControl`, for every kind of number.

    In ``z = R^-1 a`` with ``R' M R = 1`` contacts constrain the rows of ``J_c R``: with an orthonormal basis ``Q`` of
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
    """Contact forces as functions of the drives: ``(J R)' f = z + R' (h - S' u)`` in ``z = R^-1 a``."""

    JR: Any
    bias: Any
    """``R' h`` (nv)"""
    drives: Any
    """``R' S'`` (nv x k)"""
    contacts: tuple[Contact, ...]

    def asked(self, model: Model, state: State, task: Task, R: Any, G: Any, z: Any) -> tuple[Any, Any, Any, Any]:
        """Rows of a task on ``z``, its rows on ``u`` where ``z`` is ``G u + z``, right side and weights."""
        forces = task.force_demand(model, state, point_names(self.contacts, task))
        if forces is None:
            demand = task.demand(model, state)
            JR = demand.J @ R
            return JR, JR @ G, demand.acceleration - demand.bias - JR @ z, demand.weight
        rows = forces.rows @ solve(self.JR @ self.JR.T, self.JR)
        return rows, rows @ (G - self.drives), forces.force - rows @ (z + self.bias), forces.weight


def point_names(contacts: Sequence[Contact], task: Task) -> list[str]:
    """Names of the contacts of a force task, which are points."""
    names = [contact for contact in contacts if isinstance(contact, str)]
    if task.of_forces and len(names) != len(contacts):
        raise ModelError(f"{task.name} needs contacts that are given by their names, not by tasks")
    return names


@concise
@dataclass(frozen=True)
class VirtualModel(TorqueLaw):
    """Virtual model control: torques of virtual springs and dampers, with gravity compensation ([ETH] 3.11).

    Each task is pulled by ``F_v = stiffness error + damping (velocity - J v)``, plus ``force``.  Forces on the base,
    and
    on joints without a drive, are exerted by the ``contacts``, the least that balance them (3.120); all is
    quasi-static: inertia is not used.

    Args:
        tasks: Tasks, or functions of time (s) that return one.
        stiffness: N/m or N m/rad, one number or one for each row of all tasks.
        damping: N s/m or N m s/rad, one number or one for each row of all tasks.
        force: Feed-forward of all rows of all tasks (N, N m); None: zero.
        contacts: Links or frames whose origins stay, or tasks that stay.
        name: Line in the energy ledger.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
        >>> stand = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))
        >>> law = VirtualModel([fc.control.BaseTask(stand.pose)], 500.0, 50.0, contacts=feet)
        >>> law.torques(dog, stand)[:3].round(2)  # of the first leg: roll, hip, knee
        array([-2.  ,  0.74,  3.48])
    """

    tasks: Sequence[Aim]
    stiffness: Scalar | Vector = 0.0
    damping: Scalar | Vector = 0.0
    force: Vector | None = None
    """feedforward force of all rows of all tasks, or None"""
    contacts: Sequence[Contact] = ()
    name: str = "virtual model"

    def __post_init__(self) -> None:
        """Check the fields, and turn them into plain data."""
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
        """Check tasks, contacts and gains against the robot."""
        super().check(model)
        check_tasks(model, [*_as_tasks(self.contacts), *self.tasks])
        self.virtual_force(model, 0.0, model.neutral())

    def virtual_force(self, model: Model, t: Scalar, state: State) -> Vector:
        """Generalized forces ``J_v' F_v`` of the virtual springs and dampers.

        Args:
            model: Robot.
            t: Time (s).
            state: Configuration and velocity.

        Returns:
            Generalized forces (nv).
        """
        demands = [task_at(aim, t).replaced(gain=0.0).demand(model, state) for aim in self.tasks]
        J = stacked([d.J for d in demands], (0, model.nv))
        k, d, f = (
            per_row(0.0 if x is None else x, len(J), f"{what} of {self.name!r}")
            for what, x in (("stiffness", self.stiffness), ("damping", self.damping), ("force", self.force))
        )
        error, velocity = (stacked([getattr(d, part) for d in demands], (0,)) for part in ("error", "velocity"))
        return J.T @ (k * error + d * (velocity - J @ state.velocity) + f)

    def asked(self, model: Model, t: Scalar, state: State) -> Vector:
        """Virtual and gravity forces, less those of the contacts."""
        pull = self.virtual_force(model, t, state) + gravity_forces(model, state)
        S, right, Z, _ = drives(model)
        if self.contacts and Z.shape[1]:
            Jt = _held(model, state, self.contacts)[0].T
            onto = Z.T @ Jt
            pull = pull - Jt @ hierarchical([Level(onto, Z.T @ pull, np.ones(len(onto)))], Jt.shape[1]).x
        return S[:, model.m :].T @ (right.T @ pull)


def _as_tasks(contacts: Any) -> list[Task]:
    if isinstance(contacts, str) or not isinstance(contacts, Sequence):
        raise ModelError(f"contacts must be names of links and frames, or tasks, got {describe(contacts)}")
    found: list[Task] = []
    for each in contacts:
        if not isinstance(each, (str, Task)):
            raise ModelError(f"a contact must be the name of a link or frame, or a task, got {describe(each)}")
        found.append(PositionTask(each, gain=0.0) if isinstance(each, str) else each)
    return found


def _held(model: Model, state: State, contacts: Any) -> tuple[Matrix, Vector, Vector]:
    """``J_c``, ``dJ_c/dt v`` and the desired ``J_c a + dJ_c/dt v`` of all contacts."""
    demands = [task.demand(model, state) for task in _as_tasks(contacts)]
    J = stacked([d.J for d in demands], (0, model.nv))
    return J, *(stacked([getattr(d, part) for d in demands], (0,)) for part in ("bias", "acceleration"))
