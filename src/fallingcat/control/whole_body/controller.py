"""Whole-body control: torques for prioritized tasks, with contacts, within limits; once, or in a control loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dynamics.checks import check_dynamic, check_model, choice, positive
from ...errors import ModelError, describe
from ...geometry.contact_points import checked_points, floor_normal, plane
from ...model import Model, State
from ...records import concise
from ..inverse_kinematics.differential import Levels, checked_levels
from ..limits.joint_limits import Limit, all_limits
from ..tasks.packing import pack_tasks
from ..tasks.task import Task
from .loop import WholeBodyLoop, WholeBodyResult, result_with_status
from .plan import plan_of
from .problem import FINAL_LEVELS, Setup, TorqueLimits
from .solver import Solver


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
    """Joint torques, accelerations and contact forces for prioritized tasks (whole-body inverse dynamics, [ETH] 3.10).

    Tasks ask for accelerations, or for contact forces (:class:`.ForceTask`, :class:`.WrenchTask`).  Contacts stay at
    rest, with forces inside pyramids inside the friction cones.  ``M a + h = S' u + J' f`` and ``J a + dJ/dt v = 0``
    hold to rounding: :func:`fallingcat.forward_dynamics` of these torques and forces gives this acceleration.  No
    answer
    depends on the link that is the base.  The first call for a robot and these kinds of tasks compiles code.

    Args:
        model: Robot.
        state: Configuration and velocity.
        tasks: List of priorities, the highest first, each a list of tasks that share it by their weights.
        contacts: Links or frames whose origins stay at rest, or the result of :func:`fallingcat.contact.feet`.
        friction: Friction coefficient, one or one for each contact; None: contacts hold in every direction.
        limits: Limits above all tasks: :class:`TorqueLimits`, and those of velocities.
        settle: ``"forces"``: what tasks leave open is settled by the least contact forces and then the least torques;
            ``"torques"``: the other way round.
        normal: Axis of the friction cones (3, world); None: against gravity.
        horizon: Time (s) after which limits of velocities hold.

    Returns:
        Torques (n; N m or N), acceleration (nv) and contact forces (contacts x 3; N), with status and residuals.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> state = dog.state(joints=np.tile([0.0, 0.7, -1.4], 4))
        >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
        >>> tasks = [[fc.control.CenterOfMassTask(acceleration=[0.0, 0.0, 1.0])], [fc.control.RotationTask("trunk")]]
        >>> found = torques(dog, state, tasks, contacts=feet, limits=[TorqueLimits()])
        >>> found.status, bool(np.isclose(found.forces[:, 2].sum(), 10.81 * dog.mass))
        ('solved', True)
    """
    levels = checked_levels(model, state, tasks)
    setup = _setup(model, levels, contacts, friction, limits, settle, normal, horizon)
    solver = Solver(model, plan_of(model, setup))
    numbers = pack_tasks(model, [task for level in levels for task in level])
    return result_with_status(model, levels, solver, solver.solve(*model.flatten(state), numbers))


@concise
@dataclass(frozen=True)
class WholeBody:
    """Whole-body controller for a control loop: ``loop = WholeBody(...).compile(); tau = loop(q, v, t)``.

    Args:
        model: Robot.
        tasks: List of priorities, as of :func:`torques`.
        contacts: Links or frames whose origins stay at rest, or the result of :func:`fallingcat.contact.feet`.
        friction: Friction coefficient, one or one for each contact; None: contacts hold in every direction.
        limits: Limits above all tasks.
        settle: ``"forces"`` or ``"torques"``, as of :func:`torques`.
        normal: Axis of the friction cones (3, world); None: against gravity.
        horizon: Time (s) after which limits of velocities hold.
        late: Longest time (s) between two ticks, longer ones are an error; None: any.
        switched: True: each tick has a mask of the contacts that are closed, see :meth:`.WholeBodyLoop.switch`; one
            compiled problem serves all of them.
        rounds: Largest number of solver rounds of a tick.  A tick that needs more is interrupted: its answer fulfils
            the equations of motion and the torque limits, and friction cones where an iterate did.  Contacts that
            contradict each other are then no error, but left out.  None: every tick is solved to the end, by a slow
            reference method if need be.
        damping: Rate (1/s) at which velocities of contacts decay, ``J a + dJ/dt v = -damping J v``: feet on soft ground
            come to rest.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> reach = fc.control.PositionTask("end_effector", [1.0, 0.0, 2.0], gain=5.0)
        >>> loop = WholeBody(arm, [[reach], [fc.control.JointsTask(np.zeros(3))]]).compile()
        >>> q, v = arm.flatten(arm.state(joints=[0.3, 0.4, 0.5]))
        >>> tau = loop(q, v, 0.0)
        >>> loop.change(reach, goal=[1.2, 0.0, 2.0])  # at once, nothing is compiled anew
        >>> bool(np.abs(loop(q, v, 0.001) - tau).max() > 1.0), loop.found.status
        (True, 'compromise')
        >>> sampled = fc.control.SampledController(loop, rate=1000.0)
        >>> run = fc.simulate(arm, arm.state(joints=[0.3, 0.4, 0.5]), 0.01, sampled)
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
    switched: bool = False
    rounds: int | None = None
    damping: float = 0.0

    def __post_init__(self) -> None:
        """Check all fields."""
        self._check_arguments()

    def compile(self) -> WholeBodyLoop:
        """Compile the control loop for this robot and these kinds of tasks.

        Returns:
            Loop with machine code and a memory of its own.
        """
        levels, setup, late = self._check_arguments()
        return WholeBodyLoop(self.model, levels, Solver(self.model, plan_of(self.model, setup), self.rounds), late)

    def _check_arguments(self) -> tuple[Levels, Setup, float | None]:
        check_model(self.model)
        levels = checked_levels(self.model, self.model.neutral(), self.tasks)
        asked = (self.contacts, self.friction, self.limits, self.settle, self.normal, self.horizon)
        late = None if self.late is None else positive(self.late, "late")
        if self.rounds is not None:
            _check_rounds(self.model, self.rounds)
        damping = self.damping
        if isinstance(damping, bool) or not isinstance(damping, (int, float)) or not 0.0 <= damping < np.inf:
            raise ModelError(f"damping must be finite and not negative (1/s), got {describe(damping)}")
        setup = _setup(self.model, levels, *asked)
        return levels, setup._replace(switched=bool(self.switched), damping=float(damping)), late


def _check_rounds(model: Model, rounds: Any) -> None:
    if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)) or rounds < 1:
        raise ModelError(f"rounds must be None or a positive integer, got {describe(rounds)}")
    if ((model.actuation != 0.0).sum(axis=1) > 1).any():
        raise ModelError(f"rounds need drives of single joints; drives of {model.name!r} are coupled")


def _setup(
    model: Model, levels: Levels, contacts: Any, friction: Any, limits: Any, settle: Any, normal: Any, horizon: Any
) -> Setup:
    check_dynamic(model)
    if model.loops:
        raise ModelError(f"{model.name!r} has loop closures, which whole-body control does not support")
    places = _places(contacts)
    checked_points(model, places)
    for task in (task for level in levels for task in level):
        task.force_demand(model, model.neutral(), places)  # an error where it is about no contact
    forms = tuple(tuple(task.form for task in level) for level in levels)
    up = tuple(plane(model, floor_normal(normal)).normal.tolist())
    choice(settle, tuple(FINAL_LEVELS), "settle")
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
    """Names of the contacts, or of the points of :func:`fallingcat.contact.feet`."""
    given = getattr(given, "points", given)
    rule = "contacts must be a list of names of links and frames, such as ['foot']"
    if not isinstance(given, (list, tuple)):
        raise ModelError(f"{rule}, got {describe(given)}")
    for place in given:
        if not isinstance(place, str):
            raise ModelError(f"{rule}, got {place.name if isinstance(place, Task) else describe(place)} in it")
    return tuple(given)


def checked_limits(limits: Any) -> tuple[Limit | TorqueLimits, ...]:
    """Limits of torques and velocities as a tuple."""
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
            f"friction must be None, one number or {contacts} numbers, not negative, got {describe(given)}"
        )
    return tuple(mu.tolist())
