"""Torques that do what tasks ask for, by priority, with contacts, within limits: once, or in a control loop."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...caching import cached_property
from ...compiler import Kernel, compile
from ...dynamics.checks import check_dynamic, check_model, choice, positive
from ...errors import ModelError, NumericsError, describe
from ...geometry.contact_points import checked_points, floor_normal, plane
from ...model import Model, State
from ...model.states import check_record
from ...records import concise, tabulated
from ..inverse_kinematics.differential import MET, Levels, checked_levels
from ..limits.joint_limits import Limit, all_limits
from ..tasks.task import Task, as_numbers, count, packed
from .problem import SETTLED, Setup, TorqueLimits, plan_of
from .solver import Answer, Solver


@tabulated
@dataclass(frozen=True)
class WholeBodyResult:
    """What :func:`torques` found."""

    torques: np.ndarray
    """``n``: joint forces (N m or N)"""
    acceleration: np.ndarray
    """``nv``: of the quasi-velocity ``[twist; rates]``; of a :class:`.Stance` the twist is that of its first foot"""
    forces: np.ndarray
    """``contacts x 3``: on the robot, along the world's axes (N); of a :class:`.Stance` ``feet x 6``, in the frames of
    its soles"""
    status: str
    """``solved``: every task is met; ``compromise``: those of ``unmet`` are not, because of limits, rank or tasks
    beside and above them; ``infeasible``: the limits of ``conflicts`` contradict each other, and some gave way, by the
    least sum of squares, those of velocities before drives and friction"""
    residuals: tuple[np.ndarray, ...]
    """for each task, in the order given, ``J a + dJ/dt v``, or the contact force (N, N m), less what it asks for"""
    ranks: tuple[int, ...]
    """for each level how many of its rows are independent of each other and of all before, held limits too"""
    unmet: tuple[str, ...]
    active: dict[str, float]
    """limits that hold something back, with their multipliers, of the first level that feels them; of a friction cone
    their sum"""
    conflicts: tuple[str, ...]
    optimality: float
    """the largest violation of the optimality conditions, relative to the gradients"""
    rounds: int
    """times that what is held was guessed anew; 1: the first guess was right; 0: the slow, careful way was needed"""


def torques(
    model: Model,
    state: State,
    tasks: Sequence[Sequence[Task]],
    *,
    contacts: Sequence[str] = (),
    friction: float | Sequence[float] | None = 0.6,
    limits: Sequence[Limit | TorqueLimits] = (),
    settle: str = "forces",
    normal: Sequence[float] | None = None,
    horizon: float = 0.02,
) -> WholeBodyResult:
    """The joint torques, with the motion and the contact forces that go with them, for tasks by priority.

    ``tasks`` is a list of priorities, each a list of tasks that share it by their weights, as in :func:`.velocities`;
    they ask for accelerations, or for forces of contacts (:class:`.ForceTask`, :class:`.WrenchTask`). ``contacts`` are
    links or frames whose origins stay at rest, with forces inside pyramids inside friction cones around ``normal``
    (against gravity by default); with ``friction=None`` they hold in every direction. ``limits`` are above all tasks:
    :class:`TorqueLimits`, and those of velocities, which hold for the velocity after ``horizon`` (s). What tasks leave
    open is settled by the least contact forces and then the least torques, or with ``settle="torques"`` the other way
    round ([ETH] 3.10). No answer depends on the link that is the base.

    ``M a + h = S' u + J' f`` and ``J a + dJ/dt v = 0`` hold to rounding: :func:`fallingcat.forward_dynamics` of these
    torques and forces gives this acceleration.  The first call for a robot and these kinds of tasks compiles.

    >>> import fallingcat as fc
    >>> dog = fc.robots.quadruped()
    >>> state = dog.state(joints=np.tile([0.0, 0.7, -1.4], 4))
    >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
    >>> up = fc.control.CenterOfMassTask(acceleration=[0.0, 0.0, 1.0])
    >>> found = torques(dog, state, [[up], [fc.control.RotationTask("trunk")]], contacts=feet, limits=[TorqueLimits()])
    >>> found.status, bool(np.isclose(found.forces[:, 2].sum(), 10.81 * dog.mass))
    ('solved', True)
    """
    levels = checked_levels(model, state, tasks)
    setup = _setup(model, levels, contacts, friction, limits, settle, normal, horizon)
    solver = Solver(model, plan_of(model, setup))
    numbers = packed(model, [task for level in levels for task in level])
    return _judged(model, levels, solver, solver.solve(*model.flatten(state), numbers))


@concise
@dataclass(frozen=True)
class WholeBody:
    """:func:`torques` for a control loop: ``loop = WholeBody(robot, tasks, contacts).compile(); tau = loop(q, v, t)``.

    The arguments are those of :func:`torques`; ``late`` (s) is the longest time between two ticks, longer ones are an
    error.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> reach = fc.control.PositionTask("end_effector", [1.0, 0.0, 2.0], gain=5.0)
    >>> loop = WholeBody(arm, [[reach], [fc.control.JointsTask(np.zeros(3))]]).compile()
    >>> q, v = arm.flatten(arm.state(joints=[0.3, 0.4, 0.5]))
    >>> tau = loop(q, v, 0.0)
    >>> loop.change(reach, goal=[1.2, 0.0, 2.0])  # at once, nothing is compiled anew
    >>> bool(np.abs(loop(q, v, 0.001) - tau).max() > 1.0), loop.found.status
    (True, 'compromise')
    >>> run = fc.simulate(arm, arm.state(joints=[0.3, 0.4, 0.5]), 0.01, fc.control.Sampled(loop, rate=1000.0))
    """

    model: Model
    tasks: Sequence[Sequence[Task]]
    contacts: Sequence[str] = ()
    friction: float | Sequence[float] | None = 0.6
    limits: Sequence[Limit | TorqueLimits] = ()
    settle: str = "forces"
    normal: Sequence[float] | None = None
    horizon: float = 0.02
    late: float | None = None

    def __post_init__(self) -> None:
        self._checked()

    def compile(self) -> WholeBodyLoop:
        """The loop, with machine code for this robot and these kinds of tasks."""
        levels, setup, late = self._checked()
        return WholeBodyLoop(self.model, levels, Solver(self.model, plan_of(self.model, setup)), late)

    def _checked(self) -> tuple[Levels, Setup, float | None]:
        check_model(self.model)
        levels = checked_levels(self.model, self.model.neutral(), self.tasks)
        asked = (self.contacts, self.friction, self.limits, self.settle, self.normal, self.horizon)
        late = None if self.late is None else positive(self.late, "late")
        return levels, _setup(self.model, levels, *asked), late


class WholeBodyLoop:
    """A whole-body controller with its memory; it starts each tick from the limits that held in the last one."""

    def __init__(self, model: Model, levels: Levels, solver: Solver, late: float | None) -> None:
        self.model, self.levels, self._solver, self.late = model, levels, solver, late
        flat = [task for level in levels for task in level]
        self._numbers = packed(model, flat)
        starts = np.cumsum([0, *(count(model, (task,)) for task in flat)]).tolist()
        self._places = [(task, start) for task, start in zip(flat, starts, strict=False)]
        self._last: float | None = None
        self._answer: Answer | None = None
        self._held = np.zeros((0, 0), np.int64)

    def __call__(self, q: Any, v: Any, t: float = 0.0) -> np.ndarray:
        """Joint torques (n) for measured ``q`` and ``v``, flat (see :meth:`.Model.flatten`), at time ``t`` (s).

        Given a time and a state instead, it is a controller of :func:`fallingcat.simulate`.
        """
        if isinstance(v, State):
            t, (q, v) = q, self.model.flatten(v)
        if self.late is not None:
            self._look_at(t, self.late)
        self._answer = self._solver.solve(q, v, self._numbers)
        return self._solver.torques(self._answer)

    def together(self, t: float, states: State) -> np.ndarray:
        """Joint torques (N x n) of many robots at once, in states whose fields have a first axis over them, as those of
        a :class:`fallingcat.simulation.BatchSimulator`; :func:`fallingcat.rollout` asks a :class:`.Sampled` loop in this way.

        Each starts from the limits that held in its own last tick.  One whose numbers are not finite any more gets
        torques that are not either.
        """
        check_record(self.model, states)
        if len(states.batch) != 1:
            raise ModelError(f"states of many robots have one axis over them in front, not {len(states.batch)}")
        if self.late is not None:
            self._look_at(t, self.late)
        poses, joints, twists, rates = states
        if len(self._held) != len(poses):
            self._held = np.zeros((len(poses), len(self._solver.found.held)), np.int64)
        q = self._coordinates(poses[:, :3], joints)
        return self._solver.each(q, np.hstack([twists, rates]), self._numbers, self._held)

    @cached_property
    def _coordinates(self) -> Kernel:
        kernel: Kernel = compile(self.model, coordinates, state=("pose", "joints"))
        return kernel

    def __copy__(self) -> WholeBodyLoop:
        """A loop with a memory of its own, for the same robot and tasks."""
        return copy.deepcopy(self, {id(x): x for x in (self.model, *(task for task, _ in self._places))})

    def change(self, task: Task, **numbers: Any) -> None:
        """Other numbers for one of the tasks that the loop was made of: ``loop.change(hand, goal=H, velocity=v)``.

        Only numbers that it had from the start can change.  A loop that was copied or came from another process knows
        the task by its numbers at the start.
        """
        named = [start for own, start in self._places if own is task]
        start = next(iter(named or [start for own, start in self._places if own == task]), None)
        if start is None:
            raise ModelError(
                f"{task.name if isinstance(task, Task) else describe(task)} is none of the tasks of this loop"
            )
        shapes = task.number_shapes(self.model)
        for name, given in numbers.items():
            if name not in shapes:
                raise ModelError(f"{task.name} began without {name}: what a loop changes, it has from the start")
            x = as_numbers(given, f"{name} of {task.name}")
            if np.shape(x) != shapes[name] and (name == "goal" or np.shape(x) != ()):
                raise ModelError(f"{name} of {task.name} has shape {shapes[name]}, not {np.shape(x)}")
            if name == "goal":
                task.check_goal(x)
            before = [int(np.prod(shapes[k], dtype=int)) for k in list(shapes)[: list(shapes).index(name)]]
            place = start + sum(before)
            self._numbers[place : place + int(np.prod(shapes[name], dtype=int))] = np.reshape(x, -1)

    @property
    def found(self) -> WholeBodyResult:
        """All that is known of the last tick."""
        if self._answer is None:
            raise ModelError("this loop has not been called yet")
        return _judged(self.model, self.levels, self._solver, self._answer)

    def _look_at(self, t: Any, late: float) -> None:
        """An error where measurements come too late."""
        if not np.isfinite(t):
            raise NumericsError(f"the time of a tick is a finite number (s), not {describe(t)}")
        gap, self._last = 0.0 if self._last is None else t - self._last, t
        if gap < 0.0 or gap > late:
            raise NumericsError(f"t = {t:.6g} s is {gap:.6g} s after the tick before, not within {late:g} s")


def coordinates(model: Model, state: State) -> Any:
    """Flat (nq), for kernels."""
    return model.flatten(state)[0]


def _judged(model: Model, levels: Levels, solver: Solver, found: Answer) -> WholeBodyResult:
    """With the status that the residuals say."""
    setup, shape, x = solver.plan.setup, solver.plan.shape, found.x
    acceleration = setup.motion(model, x)
    asked = solver.value[shape.equations : shape.equations + shape.ends[len(levels)]]
    flat = [task for level in levels for task in level]
    residuals = np.split(found.misses[: len(asked)].copy(), np.cumsum([task.rows(model) for task in flat])[:-1])
    residuals = residuals if flat else []
    size = max(1.0, float(np.abs(acceleration).max(initial=0.0)), float(np.abs(asked).max(initial=0.0)))
    missed = [float(np.abs(r).max(initial=0.0)) for r in residuals]
    unmet = tuple(task.name for task, miss in zip(flat, missed, strict=True) if miss > MET * size)
    active: dict[str, float] = {}
    for i in np.flatnonzero(found.multipliers):
        active[shape.limits[i]] = active.get(shape.limits[i], 0.0) + abs(float(found.multipliers[i]))
    conflicts = tuple(active) if found.excess.any() else ()
    return WholeBodyResult(
        torques=solver.torques(found),
        acceleration=acceleration,
        forces=setup.pushes(model, x, found.misses[len(asked) :]),
        status="infeasible" if conflicts else "compromise" if unmet else "solved",
        residuals=tuple(residuals),
        ranks=found.ranks[: len(levels)],
        unmet=unmet,
        active=active,
        conflicts=conflicts,
        optimality=found.optimality,
        rounds=found.rounds,
    )


# what was given -------------------------------------------------------------------------------------------------------


def _setup(
    model: Model, levels: Levels, contacts: Any, friction: Any, limits: Any, settle: Any, normal: Any, horizon: Any
) -> Setup:
    check_dynamic(model)
    if model.loops:
        raise ModelError(f"{model.name!r} has loops, whose forces are not part of the whole-body problem")
    places = _places(contacts)
    checked_points(model, places)
    for task in (task for level in levels for task in level):
        task.force_demand(model, model.neutral(), places)  # an error where it is about no contact
    forms = tuple(tuple(task.form for task in level) for level in levels)
    up = tuple(plane(model, floor_normal(normal)).normal.tolist())
    choice(settle, tuple(SETTLED), "settle")
    return Setup(
        forms,
        places,
        _friction(friction, len(places)),
        up,
        checked_limits(limits),
        positive(horizon, "horizon"),
        settle,
    )


def _places(given: Any) -> tuple[str, ...]:
    """The names of contacts."""
    rule = "contacts are a list of names of links and frames, such as ['foot']"
    if not isinstance(given, (list, tuple)):
        raise ModelError(f"{rule}, not {describe(given)}")
    for place in given:
        if not isinstance(place, str):
            raise ModelError(f"{rule}: {place.name if isinstance(place, Task) else describe(place)} in it is none")
    return tuple(given)


def checked_limits(limits: Any) -> tuple[Limit | TorqueLimits, ...]:
    return all_limits(limits, "[TorqueLimits(), JointLimits()]", (Limit, TorqueLimits))


def _friction(given: Any, contacts: int) -> tuple[float, ...] | None:
    if given is None:
        return None
    try:
        each = np.array(given, dtype=float)
        mu = np.broadcast_to(each, (contacts,))
    except (TypeError, ValueError):
        each = mu = np.array([np.nan])
    if not ((each >= 0.0) & (each < 1e6)).all():
        raise ModelError(
            f"friction is not negative, one number or one for each of {contacts} contacts, or None, not {describe(given)}"
        )
    return tuple(mu.tolist())
