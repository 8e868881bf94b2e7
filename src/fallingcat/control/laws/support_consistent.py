"""Support-consistent inverse dynamics with strict priorities ([ETH] 3.10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import inverse_root, maximum, solve, sqrt
from ...arrays.types import FloatArray, Matrix, Scalar, Vector, Vector_n
from ...compiler import compile
from ...dynamics import bias_forces, mass_matrix
from ...dynamics.sweeps import places_above
from ...errors import ModelError
from ...model import Model, State
from ...qp.least_squares import MIN_LEVEL_SIZE, Level, hierarchical, norm, orthonormal
from ...records import concise
from ..tasks import Task
from ..tasks.demand import stack_parts
from ..tasks.packing import fill_tasks, pack_tasks
from .support_dynamics import Contact, as_tasks, constrained_motion
from .task_space import Aim, check_aim, check_tasks, task_at
from .torque_law import TorqueLaw, as_damping, drives, names_of


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
        as_tasks(self.contacts)
        object.__setattr__(self, "damping", as_damping(self.damping, f"damping of {self.name!r}"))
        for aim in (aim for level in self.tasks for aim in level):
            check_aim(aim, self.name)

    def check(self, model: Model) -> None:
        """Check tasks and contacts against the robot."""
        super().check(model)
        check_tasks(model, [*as_tasks(self.contacts), *(aim for level in self.tasks for aim in level)])
        forces = [task for level in self.tasks for task in check_tasks(model, level) if task.of_forces]
        for task in forces:
            task.force_demand(model, model.neutral(), point_names(self.contacts, task))
        if forces:
            J = constrained_motion(model, model.random_state(np.random.default_rng(0)), self.contacts)[0]
            if np.linalg.matrix_rank(J) < len(J):
                raise ModelError(
                    f"contact forces of {self.name!r} are not unique: contacts constrain the same motion twice"
                )

    def commanded_torques(self, model: Model, t: Scalar, state: State) -> Vector_n:
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
            Goal, feed-forward velocity and acceleration, gain and weight of each task in turn, flat (k).
        """
        self.check(model)
        return pack_tasks(model, [task for level in self.constant_tasks for task in level])

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
    tasks = iter(fill_tasks(model, [form for level in forms for form in level], numbers))
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
    J, bias, wanted = constrained_motion(model, state, contacts)
    G, z = R.T @ S.T, -(R.T @ h)
    if len(J):
        # a basis of the rows, not J R itself: redundant contacts have dependent rows, whose Gram matrix is singular
        Q = orthonormal(J @ R)
        G, z = G - Q.T @ (Q @ G), z - Q.T @ (Q @ z)
        z = z + hierarchical([Level(J @ R, wanted - bias, np.ones(len(J)))], model.nv).x
    levels, sizes, strength, least = [], [], norm(G), MIN_LEVEL_SIZE * norm(R)
    spread = _ForceDistribution(J @ R, R.T @ h, R.T @ S.T, tuple(contacts))
    for level in tasks:
        asked = [spread.asked(model, state, task, R, G, z) for task in level]
        JR, A, b, weight = (
            stack_parts([part[i] for part in asked], shape)
            for i, shape in enumerate(((0, model.nv), (0, len(S)), (0,), (0,)))
        )
        levels.append(Level(A, b, weight))
        # the rank of a level is judged by what drives could do to it at most, not by what is left of it here: else
        # rounding of a level that contacts hold would be obeyed
        sizes.append(strength * maximum(least, norm(sqrt(weight)[:, None] * JR)))
    return hierarchical(levels, len(S), damping, sizes=sizes).x


class _ForceDistribution(NamedTuple):
    """Contact forces as functions of the drives: ``(J R)' f = z + R' (h - S' u)`` in ``z = R^-1 a``."""

    JR: Any
    bias: Any
    """``R' h`` (nv)"""
    drives: Any
    """``R' S'`` (nv x k)"""
    contacts: tuple[Contact, ...]

    def asked(
        self, model: Model, state: State, task: Task, R: Matrix, G: Matrix, z: Vector
    ) -> tuple[Matrix, Matrix, Vector, Vector]:
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
