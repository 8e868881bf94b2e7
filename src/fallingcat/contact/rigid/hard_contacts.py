"""Hard contacts: points that a plane holds exactly while they push on it ([ETH] 3.7), with friction and impacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._deprecated import former_arguments
from ...arrays import array, concatenate, is_numeric, scale, sqrt
from ...arrays.types import Matrix_points_3, Vector, Vector_nv
from ...caching import cached_property
from ...constraints.redundant_constraints import plane_axes
from ...errors import ModelError, describe
from ...geometry.collision_points import take_feet
from ...geometry.contact_points import (
    Ground,
    check_point_mode,
    checked_points,
    each_radius,
    floor_normal,
    floor_points,
    plane,
)
from ...geometry.ellipsoids import Around, ball_radii
from ...geometry.reduced_points import shape_points
from ...geometry.terrain import Terrain, check_terrain, ground_surface
from ...lie.group import constant
from ...model import Model, State
from ...records import concise
from ..base import Contact, Jump, Mode, Touch
from ..default_friction import BY_SURFACES, check_friction, coefficient, friction_on
from ..default_springs import DEFAULT_STEP
from .event_driven.complementarity import OPEN, SLIDE, STICK
from .event_driven.constraint_forces import (
    check_constraint_accelerations,
    constraint_forces,
    constraint_rows,
    direction_rate,
)
from .event_driven.contact_kinematics import ContactKinematics, contact_kinematics, kinematics_only
from .event_driven.contact_state import IDLE_TOUCHDOWN_DEPTH, TOUCHDOWN_DEPTH, ContactState
from .event_driven.guards import guard_values
from .event_driven.impacts import restitutions
from .event_driven.mode_transition import ModeTransition
from .joint_stops import LAW, Stop, beyond, checked_stops, with_stops
from .solvers.cone_projection import STICKING_FRICTION, Cone, ImpulseSet

MAX_SLIP_SPEED = 1e-3
"""Speeds (m/s) of points that should be held, together, from which on a step is too long."""
MAX_LOCATED_SIZE = 40
"""Points and stops times degrees of freedom, up to which events are located: every mode is compiled."""

_NORMAL = constant(np.array([0]))


@concise
@former_arguments(relief="terrain")
@dataclass(frozen=True)
class HardContacts(Contact):
    """A rigid plane under the points of the robot.

    A closed point has no acceleration of its own: with ``applied`` the forces of everything else,
    ``M a + C v + g = applied + J' F`` and ``J a + dJ/dt v = -2 damping frequency J v - frequency^2 (p - p_touchdown)``
    give its force ``F`` ([ETH] (3.61)-(3.62)); the right side takes away what an integrator lets drift.  Each point is
    ``open``, or it does ``stick`` (three rows), or it does ``slide`` (one row, and friction against the way it slides).
    Points that depend on each other share the forces of least norm.

    With a ``radius`` it is a ball around the point that touches, where it is lowest: it sticks while it rolls.

    It ends a mode when an open point reaches the plane (impact), a closed one would have to pull (lift-off), friction
    cannot hold a sticking point, or a sliding one comes to rest.

    >>> import fallingcat as fc
    >>> ball = fc.robots.free_body()
    >>> floor = fc.contact.HardContacts(("body",))
    >>> mode, memory = floor.begin(ball, ball.neutral())
    >>> mode
    ('stick',)
    >>> forces = floor.forces(ball, mode, ball.neutral(), memory, np.zeros(6))
    >>> bool(abs(forces["contact normal"][2] - 9.81 * ball.mass) < 1e-12)
    True
    """

    points: tuple[str, ...] = ()
    """links or frames whose origins may touch, or :func:`.feet` of a model; :func:`.corners` makes those of a foot;
    none, and no ``stops``: all collision shapes of the robot"""
    friction: float | tuple[float, ...] | None = BY_SURFACES
    """Coulomb's coefficient, one for all points or one for each; left out, that of the surfaces in the robot's file
    (:class:`fallingcat.model.Surface`), or where it has none, 1.0; None: a point that touches sticks (in steps of
    ``moreau`` in which no motion holds all points that push they have 30, 10, 3 or 1, the first that allows one)"""
    restitution: float | tuple[float, ...] = 0.0
    """Newton's, ``-v+_n / v-_n``; one for all points or one for each"""
    rest_speed: float = 1e-3
    """slower impacts (m/s) do not bounce: so a bouncing ball comes to rest"""
    frequency: float = 50.0
    """natural frequency of the stabilization (rad/s): small against 1 / time step"""
    damping: float = 1.0
    """damping ratio of the stabilization; 1 is critical"""
    normal: tuple[float, float, float] | None = None
    """out of the ground (world); None: against gravity"""
    height: float = 0.0
    """height of the plane along its normal (m)"""
    tolerance: float = 1e-6
    """distance (m) from the plane, and speed (m/s), up to which a point starts at rest on it"""
    radius: Around | tuple[Around, ...] = 0.0
    """radius of a ball around each point (m), or a :class:`.ContactEllipsoid`: one for all or one for each"""
    stops: tuple[Stop, ...] = ()
    """stops of joints, as :func:`.joint_stops` finds them: each is a ground that a coordinate hits and rests on"""
    terrain: Terrain | None = None
    """heights over the plane, such as :class:`.HeightField`; None: it is flat"""

    ports = ("contact normal", "contact tangential")
    passive = True
    acts_with_loops = True

    def __post_init__(self) -> None:
        take_feet(self)
        checked_stops(self.stops)
        object.__setattr__(self, "points", floor_points(self.points) if self.points != () else ())
        object.__setattr__(self, "normal", floor_normal(self.normal))
        restitutions(self.restitution, self.points)
        each_radius(self.radius, self.points)
        check_terrain(self.terrain)
        check_friction(self.friction, self.points, "hard contacts")
        for name in ("rest_speed", "frequency", "damping", "tolerance", "height"):
            given, rule = getattr(self, name), "a finite number" + (" that is not negative" if name != "height" else "")
            try:
                x = float(given)
            except (TypeError, ValueError, OverflowError):
                x = np.nan
            if not np.isfinite(x) or (x < 0.0 and name != "height"):
                raise ModelError(f"{name} of hard contacts is {rule}, not {describe(given)}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of points and stops: modes and memory cover both."""
        return (*self.points, *(stop.name for stop in self.stops))

    @cached_property
    def restitutions(self) -> np.ndarray:
        """Restitution of each of :attr:`names`."""
        return np.append(restitutions(self.restitution, self.points), [stop.restitution for stop in self.stops])

    @property
    def memory_size(self) -> int:
        """Five numbers for each point and stop."""
        return 5 * len(self.names)

    def check_mode(self, mode: Any) -> None:
        """Check that a mode is open, stick or slide for each point and stop."""
        check_point_mode(mode, self.names, (OPEN, STICK, SLIDE))

    def replaces(self) -> frozenset[str]:
        """Law of compliant joint stops, where there are hard ones."""
        return frozenset({LAW} if self.stops else ())

    # modes ----------------------------------------------------------------------------------------------------

    def on_robot(self, model: Model, step: float = DEFAULT_STEP) -> tuple[Model, HardContacts]:
        """Ground under all collision shapes of a robot, where it has no points and no stops, and the model of them."""
        if self.names:
            checked_points(model, self.points)
            return model, self
        found = shape_points(model)
        return found.model, replace(self, points=found.points, radius=found.radii)

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points that rest on the plane are closed, all others open; no point may start below it."""
        if not self.names:
            raise ModelError("the points of this ground follow from the robot on it: take ground.on_robot(model)")
        self.check_points(model)
        far = beyond(model, state.joints, self.stops, self.tolerance)
        if far:
            raise ModelError(f"{far}: start within its limits")
        memory: list[np.ndarray] = []
        mode, at = [], self._without_forces(model, state)
        for i, (place, axes) in enumerate(zip(self.names, self.axes(model), strict=True)):
            if 0 not in axes:
                raise ModelError(f"{place!r} cannot move along the normal of the ground: it cannot touch it")
            if np.abs(np.delete(at.J[i], axes, axis=0)).max(initial=0.0) > 1e-9:
                raise ModelError(f"the ground tilts {place!r} out of the plane in which it moves: it needs a profile")
            p, v = at.places[i], at.speed(i)
            if p[0] < -self.tolerance:
                way = "start on it or above it, as model.standing(ground) does"
                raise ModelError(f"{place!r} starts {-p[0]:.3g} m below the ground: {way}")
            closed = p[0] <= self.tolerance and abs(v[0]) <= self.tolerance
            slides = bool(np.linalg.norm(v[1:]) > self.tolerance)
            mode.append(
                OPEN if not closed or (slides and self.coefficient(i) is None) else self._closed_status(i, slides)
            )
            memory.append(self.remembered(mode[i], at, i).flat)
        check_constraint_accelerations(self, model, tuple(mode), at)
        return tuple(mode), np.concatenate([np.zeros(0), *memory])

    def check_points(self, model: Model) -> None:
        """Refuse points that the robot does not have, and balls that do not fit into the hollows of terrain.

        Args:
            model: Robot.
        """
        checked_points(model, self.points)
        if self.terrain is not None:
            self.terrain.check_radius(max(ball_radii(self.radii), default=0.0))

    def touching(self, mode: Mode) -> frozenset[str]:
        """Names of the closed points."""
        return frozenset(place for place, status in zip(self.points, mode, strict=False) if status != OPEN)

    def coefficient(self, i: int) -> Any:
        """Coulomb's coefficient of a point.

        Args:
            i: Index of the point or stop.

        Returns:
            Number of any kind, or None: it sticks.
        """
        return coefficient(self.friction, i)

    def for_robot(self, model: Model, step: float = DEFAULT_STEP) -> HardContacts:
        """Contact with the friction of the robot's file where it was left out."""
        own = self.friction is BY_SURFACES
        return replace(self, friction=friction_on(model, self.points, self.friction)) if own else self

    def _closed_status(self, i: int, slides: bool) -> str:
        return SLIDE if slides or self.coefficient(i) == 0.0 else STICK

    def remembered(self, status: str, at: ContactKinematics, i: int, resting: bool = False) -> ContactState:
        """Memory of a point whose status changes; one that rests without a load touches down deeper.

        Args:
            status: New status: ``open``, ``stick`` or ``slide``.
            at: Contact kinematics.
            i: Index of the point or stop.
            resting: True if it rests without a load.

        Returns:
            Anchor and sliding direction.
        """
        idle = IDLE_TOUCHDOWN_DEPTH if i < len(self.points) else TOUCHDOWN_DEPTH  # a coordinate does not drift
        return ContactState.at_start(status, at.places[i], at.speed(i)[1:], idle if resting else 0.0)

    # forces ---------------------------------------------------------------------------------------------------

    def touch(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Touch:
        """Forces, rate of the memory and guards, from one solution."""
        at = self.see(model, state)
        loads, held = constraint_forces(self, model, mode, at, memory, applied)
        normal, tangential = np.zeros(model.nv), np.zeros(model.nv)
        for load in loads.values():
            normal = normal + scale(load.push, load.J[0])
            tangential = tangential + load.J[1:].T @ load.drag
        forces = {"contact normal": normal, "contact tangential": tangential}
        still = ContactState(np.zeros(3), np.zeros(2))
        rates = [still] * len(mode)
        for i, status in enumerate(mode):
            if status == SLIDE and self.coefficient(i) and len(loads[i].J) > 2:  # along a line there is nothing to turn
                rates[i] = still._replace(way=direction_rate(self, model, at, memory, i, held.motion))
        guards = guard_values(self, model, mode, at, memory, loads, held)
        v = constraint_rows(self, model, mode, at) @ state.velocity
        rate = concatenate([np.zeros(0), *(one.flat for one in rates)])
        return Touch(forces, rate, guards, sqrt(v @ v) * (1.0 / MAX_SLIP_SPEED), held.motion)

    def forces(
        self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv
    ) -> Mapping[str, Vector_nv]:
        """Normal and tangential forces of the closed points."""
        return self.touch(model, mode, state, memory, applied).forces

    def memory_rate(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Vector:
        """Rate of the sliding directions: ``dw/dt = (1 - w w') (dv/dt + frequency v) / |v|``."""
        return self.touch(model, mode, state, memory, applied).memory_rate

    def point_forces(
        self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv
    ) -> Matrix_points_3:
        """Forces (points x 3, N, world) on the robot at each point; zero where it is open."""
        at, rows = self.see(model, state), [np.zeros((0, 3))]
        loads = constraint_forces(self, model, mode, at, memory, applied)[0]
        for i, axes in enumerate(self.axes(model)[: len(self.points)]):
            if i in loads:
                along = concatenate([array([loads[i].push]), loads[i].drag])
                rows.append(np.reshape(at.axes[i][axes].T @ along, (1, 3)))
            else:
                rows.append(np.zeros((1, 3)))
        return concatenate(rows)

    # guards ---------------------------------------------------------------------------------------------------

    def guards(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Vector:
        """Gaps of open points; normal forces, friction margins and speeds of closed ones, with small tolerances.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            Values (k) of all guards of :func:`.guarded`, then the margin of the solution.
        """
        return self.touch(model, mode, state, memory, applied).guards

    # jumps ----------------------------------------------------------------------------------------------------

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: Vector_nv) -> Jump:
        """Event of a guard; ``applied`` decides which points stay closed, and where a sticking one slides.

        Args:
            model: Robot.
            mode: Mode.
            guard: Index of the guard.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv) of everything else.

        Returns:
            New mode, state and memory.
        """
        return ModeTransition(self, model, mode, self.see(model, state), memory, applied).ended(guard)

    # places ---------------------------------------------------------------------------------------------------

    def ground(self, model: Model) -> Ground:
        """Plane, with terrain if there is one."""
        return ground_surface(plane(model, self.normal, self.height), self.terrain)

    def axes(self, model: Model) -> tuple[np.ndarray, ...]:
        """Axes along which each of :attr:`names` moves: 0 its normal, 1 and 2 its tangents.

        Args:
            model: Robot.

        Returns:
            Indices of axes, for each point and stop.
        """
        return plane_axes(model, self.points, self.normal, self.radii) + (_NORMAL,) * len(self.stops)

    def see(self, model: Model, state: State) -> ContactKinematics:
        """Contact kinematics of points and stops.

        Args:
            model: Robot.
            state: Configuration and velocity.

        Returns:
            Positions, Jacobians and biases.
        """
        at = contact_kinematics(model, state, self.points, self.ground(model), self.radii)
        return with_stops(at, model, self.stops)

    def _without_forces(self, model: Model, state: State) -> ContactKinematics:
        """The same for what asks for no forces."""
        at = kinematics_only(model, state, self.points, self.ground(model), self.radii)
        return with_stops(at, model, self.stops)

    def unlocated_reason(self, model: Model) -> str:
        """Loops, and more points and stops than modes are compiled for."""
        size = len(self.names) * model.nv
        if size <= MAX_LOCATED_SIZE and not model.loops:
            return ""
        most = f"robots without loops whose contacts times degrees of freedom are at most {MAX_LOCATED_SIZE}"
        what = "loops" if model.loops else str(size)
        return f"events of hard contacts are located for {most}; {model.name!r} has {what}: take 'moreau'"

    # time stepping: see AdmissibleImpulses --------------------------------------------------------------------

    def time_stepping(self, further: int) -> Contact:
        """Contact with the memory of time steps.

        Args:
            further: Number of further rows, of loops and dry friction.

        Returns:
            The same contact for time stepping.
        """
        from .time_stepping.stepped_contacts import SteppedContacts

        return SteppedContacts.of(self, further)

    def impulse_sets(self, model: Model) -> list[ImpulseSet]:
        """Set of the admissible impulses of each point and stop; the friction may be a number of each robot.

        Args:
            model: Robot.

        Returns:
            One set for each of :attr:`names`.
        """
        return [_cone(len(axes), self.coefficient(i)) for i, axes in enumerate(self.axes(model))]


def _cone(rows: int, mu: Any) -> Cone:
    """Friction cone of a point with a coefficient of any kind; None: it sticks."""
    smooth = mu is not None and is_numeric(mu) and not mu
    return Cone(1 if smooth else rows, STICKING_FRICTION if mu is None else mu)
