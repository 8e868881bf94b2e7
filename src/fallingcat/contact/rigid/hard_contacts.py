"""Hard contacts: points that a plane holds exactly while they push on it ([ETH] 3.7), with friction and impacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ..._deprecated import former_arguments
from ...arrays import array, concatenate, is_numeric, scale, sqrt
from ...arrays.types import Matrix, Scalar, Vector
from ...caching import cached_property
from ...constraints.redundant_constraints import MAX_ACCELERATION_ERROR, Held, check_consistent, hold, plane_axes
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
    stacked,
)
from ...geometry.terrain import Terrain, check_terrain, grounded
from ...lie.group import constant
from ...model import Model, State
from ...records import concise
from ..base import Contact, Jump, Mode, Touch
from .event_driven.complementarity import OPEN, SLIDE, STICK
from .event_driven.contact_kinematics import ContactKinematics, kinematics_only, situation
from .event_driven.contact_state import IDLE_TOUCHDOWN_DEPTH, TOUCHDOWN_DEPTH, ContactState
from .event_driven.impacts import restitutions
from .event_driven.loop_projection import project_onto_loops
from .event_driven.mode_transition import ROUNDING_SPEED, ModeTransition
from .joint_stops import LAW, Stop, beyond, checked_stops, with_stops
from .solvers.cone_projection import STICKING_FRICTION, Cone, ImpulseSet

FRICTION_TURNING_SPEED = 2e-3
"""Below about this speed (m/s) the direction of friction is slow to turn: it keeps the equations from being stiff."""
MAX_SLIP_SPEED = 1e-3
"""Speeds (m/s) of points that should be held, together, from which on a step is too long."""
MAX_COMPILED_SIZE = 40
"""Points times degrees of freedom: up to here every mode is compiled."""
ROUNDING_FORCE = 1e-10
"""Forces below this part of the robot's weight are rounding."""

_NORMAL = constant(np.array([0]))


class Load(NamedTuple):
    """A closed point: what the plane does to it."""

    J: Any
    """``rows x nv``: the normal first, then the tangents along which the point can move"""
    push: Any
    """N, out of the ground"""
    drag: Any
    """N, along the ground, one for each tangential row"""


@concise
@former_arguments(relief="terrain")
@dataclass(frozen=True)
class HardContacts(Contact):
    """A rigid plane under the points of the robot.

    A closed point has no acceleration of its own: with ``applied`` the forces of everything else,
    ``M a + C v + g = applied + J' F`` and ``J a + dJ/dt v = -2 damping frequency J v - frequency^2 (p - p_touchdown)``
    give its force ``F`` ([ETH] (3.61)-(3.62)); the right side takes away what an integrator lets drift.  Each point is
    ``open``, or it does ``stick`` (three rows), or it does ``slide`` (one row, and friction against the way it slides).
    Points that depend on each other, such as the corners of a foot, share the forces of least norm; where one of them
    would have to pull or slip by that, all keep as near as they can to the shares with which the mode began.

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
    """links or frames whose origins may touch, or :func:`.feet` of a model; :func:`.corners` makes those of a foot"""
    friction: float | None = None
    """Coulomb's coefficient; None: a point that touches sticks"""
    restitution: float | tuple[float, ...] = 0.0
    """Newton's, ``-v+_n / v-_n``; one for all points or one for each"""
    rest_speed: float = 1e-3
    """slower impacts (m/s) do not bounce: so a bouncing ball comes to rest"""
    frequency: float = 50.0
    """of the stabilisation (rad/s): small against 1 / time step"""
    damping: float = 1.0
    """of the stabilisation, relative to critical"""
    normal: tuple[float, float, float] | None = None
    """out of the ground (world); None: against gravity"""
    height: float = 0.0
    """of the plane along its normal (m)"""
    tolerance: float = 1e-6
    """distance (m) from the plane, and speed (m/s), up to which a point starts at rest on it"""
    radius: float | tuple[float, ...] = 0.0
    """of a ball around each point (m): one for all or one for each"""
    stops: tuple[Stop, ...] = ()
    """of joints, as :func:`.joint_stops` finds them: each is a ground that a coordinate hits and rests on"""
    terrain: Terrain | None = None
    """heights over the plane, such as :class:`.HeightField`; None: it is flat"""

    ports = ("contact normal", "contact tangential")
    passive = True
    beside_loops = True

    def __post_init__(self) -> None:
        take_feet(self)
        stops_only = checked_stops(self.stops) and self.points == ()
        object.__setattr__(self, "points", () if stops_only else floor_points(self.points))
        object.__setattr__(self, "normal", floor_normal(self.normal))
        restitutions(self.restitution, self.points)
        each_radius(self.radius, self.points)
        check_terrain(self.terrain)
        for name in ("friction", "rest_speed", "frequency", "damping", "tolerance", "height"):
            given, rule = getattr(self, name), "a finite number" + (" that is not negative" if name != "height" else "")
            try:
                x = 0.0 if given is None and name == "friction" else float(given)
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
        """Eight numbers for each point and stop."""
        return 8 * len(self.names)

    def check_mode(self, mode: Any) -> None:
        """Check that a mode is open, stick or slide for each point and stop."""
        check_point_mode(mode, self.names, (OPEN, STICK, SLIDE))

    def replaces(self) -> frozenset[str]:
        """Law of compliant joint stops, where there are hard ones."""
        return frozenset({LAW} if self.stops else ())

    # modes ----------------------------------------------------------------------------------------------------

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points that rest on the plane are closed, all others open; no point may start below it."""
        checked_points(model, self.points)
        if self.terrain is not None:
            self.terrain.check_radius(max(self.radii, default=0.0))
        far = beyond(model, state.joints, self.stops, self.tolerance)
        if far:
            raise ModelError(f"{far}: start within its limits")
        memory: list[np.ndarray] = []
        mode, at = [], self.see(model, state) if model.loops else self._without_forces(model, state)
        for i, (place, axes) in enumerate(zip(self.names, self.axes(model), strict=True)):
            if 0 not in axes:
                raise ModelError(f"{place!r} cannot move along the normal of the ground: it cannot touch it")
            if np.abs(np.delete(at.J[i], axes, axis=0)).max(initial=0.0) > 1e-9:
                raise ModelError(f"the ground tilts {place!r} out of the plane in which it moves: it needs a profile")
            p, v = at.places[i], at.speed(i)
            if p[0] < -self.tolerance:
                raise ModelError(f"{place!r} starts {-p[0]:.3g} m below the ground: start on it or above it")
            closed = p[0] <= self.tolerance and abs(v[0]) <= self.tolerance
            slides = bool(np.linalg.norm(v[1:]) > self.tolerance)
            mode.append(OPEN if not closed or (slides and self.friction is None) else self._closed(slides))
            memory.append(self.remembered(mode[i], at, i).flat)
        self.check(model, tuple(mode), at)
        return tuple(mode), np.concatenate([np.zeros(0), *memory])

    def touching(self, mode: Mode) -> frozenset[str]:
        """Names of the closed points."""
        return frozenset(place for place, status in zip(self.points, mode, strict=False) if status != OPEN)

    def _closed(self, slides: bool) -> str:
        return SLIDE if slides or self.friction == 0.0 else STICK

    def remembered(self, status: str, at: ContactKinematics, i: int, resting: bool = False) -> ContactState:
        """Memory of a point whose status changes; one that rests without a load touches down deeper.

        Args:
            status: New status: ``open``, ``stick`` or ``slide``.
            at: Contact kinematics.
            i: Index of the point or stop.
            resting: True if it rests without a load.

        Returns:
            Anchor, sliding direction and share of the force.
        """
        idle = IDLE_TOUCHDOWN_DEPTH if i < len(self.points) else TOUCHDOWN_DEPTH  # a coordinate does not drift
        return ContactState.begun(status, at.places[i], at.speed(i)[1:], idle if resting else 0.0)

    # forces ---------------------------------------------------------------------------------------------------

    def touch(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector) -> Touch:
        """Forces, rate of the memory and guards, from one solution."""
        at = self.see(model, state)
        loads, held = self.loads(model, mode, at, memory, applied)
        normal, tangential = np.zeros(model.nv), np.zeros(model.nv)
        for load in loads.values():
            normal = normal + scale(load.push, load.J[0])
            tangential = tangential + load.J[1:].T @ load.drag
        forces = {"contact normal": normal, "contact tangential": tangential}
        still = ContactState(np.zeros(3), np.zeros(2), np.zeros(3))
        rates = [still] * len(mode)
        for i, status in enumerate(mode):
            if status == SLIDE and self.friction and len(loads[i].J) > 2:  # along a line there is nothing to turn
                rates[i] = still._replace(way=self._turn(model, at, memory, i, held.motion))
        guards = self._guards(model, mode, at, memory, loads, held)
        v = self._held_rows(model, mode, at) @ state.velocity
        rate = concatenate([np.zeros(0), *(one.flat for one in rates)])
        return Touch(forces, rate, guards, sqrt(v @ v) * (1.0 / MAX_SLIP_SPEED), held.motion)

    def forces(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector) -> Mapping[str, Vector]:
        """Normal and tangential forces of the closed points."""
        return self.touch(model, mode, state, memory, applied).forces

    def memory_rate(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector) -> Vector:
        """Rate of the sliding directions: ``dw/dt = (1 - w w') (dv/dt + frequency v) / |v|``."""
        return self.touch(model, mode, state, memory, applied).memory_rate

    def point_forces(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector) -> Matrix:
        """Forces (points x 3, N, world) on the robot at each point; zero where it is open."""
        at, rows = self.see(model, state), [np.zeros((0, 3))]
        loads = self.loads(model, mode, at, memory, applied)[0]
        for i, axes in enumerate(self.axes(model)[: len(self.points)]):
            if i in loads:
                along = concatenate([array([loads[i].push]), loads[i].drag])
                rows.append(np.reshape(at.axes[i][axes].T @ along, (1, 3)))
            else:
                rows.append(np.zeros((1, 3)))
        return concatenate(rows)

    def _turn(self, model: Model, at: ContactKinematics, memory: Any, i: int, a: Any) -> Any:
        v, w = at.speed(i)[1:], self.way(model, memory, i)
        change = at.J[i][1:] @ a + at.biases[i][1:] + self.frequency * v
        across = change - scale(w @ change, w)
        return scale(1.0 / sqrt(v @ v + FRICTION_TURNING_SPEED**2), across)

    def loads(
        self, model: Model, mode: Mode, at: ContactKinematics, memory: Vector, applied: Vector
    ) -> tuple[dict[int, Load], Held]:
        """Forces of the closed points, and the acceleration under all forces.

        Args:
            model: Robot.
            mode: Mode.
            at: Contact kinematics.
            memory: Memory of the contact.
            applied: Generalized forces (nv) of everything else.

        Returns:
            Loads by index of the point, and the solution with its residual.
        """
        J_of: dict[int, Any] = {}
        held, pulled, biases, errors, shares = [], [], [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        for i, (status, axes) in enumerate(zip(mode, self.axes(model), strict=True)):
            if status == OPEN:
                continue
            J_of[i] = J = at.J[i][axes]
            count = len(J) if status == STICK else 1
            held.append(J[:count])
            pulled.append(J if status == STICK else J[:1] - self._dragged(model, memory, i, J))
            biases.append(at.biases[i][axes[:count]])
            place, _, share = self.kept(memory, i)
            errors.append((at.places[i] - place)[axes[:count]])
            shares.append(share[axes[:count]])
        J, K, share = stacked(held, model.nv), stacked(pulled, model.nv), concatenate(shares)
        bias = concatenate(biases) + self.drift(J @ at.state.velocity, concatenate(errors))
        found = hold(at.respond, J, K, at.respond(applied - at.bias_forces), -bias, share)
        return self._split(model, mode, memory, J_of, found.forces), found

    def drift(self, speeds: Vector, errors: Vector) -> Vector:
        """Acceleration of the stabilization against drift.

        Args:
            speeds: Velocities of held rows (m/s).
            errors: Position errors of held rows (m).

        Returns:
            ``2 damping frequency speeds + frequency^2 errors``.
        """
        return 2.0 * self.damping * self.frequency * speeds + self.frequency**2 * errors

    def _split(self, model: Model, mode: Mode, memory: Any, J_of: dict[int, Any], x: Any) -> dict[int, Load]:
        loads, start = {}, 0
        for i, J in J_of.items():
            if mode[i] == STICK:
                loads[i] = Load(J, x[start], x[start + 1 : start + len(J)])
                start += len(J)
            else:
                drag = scale(-(self.friction or 0.0) * x[start], self.way(model, memory, i)[: len(J) - 1])
                loads[i] = Load(J, x[start], drag)
                start += 1
        return loads

    def _dragged(self, model: Model, memory: Any, i: int, J: Any) -> Any:
        """``friction w' J_t`` (1 x nv): what friction takes for each newton of normal force."""
        w = self.way(model, memory, i)[: len(J) - 1]
        return np.reshape((self.friction or 0.0) * (w @ J[1:]), (1, model.nv)) if len(J) > 1 else 0.0 * J

    def kept(self, memory: Vector, i: int) -> ContactState:
        """Memory of one point.

        Args:
            memory: Memory of the contact.
            i: Index of the point or stop.

        Returns:
            Anchor, sliding direction and share of the force.
        """
        return ContactState.of(ContactState.table(memory)[i])

    def way(self, model: Model, memory: Vector, i: int) -> Vector:
        """Unit vector along which a point slides, in the tangents along which it can move.

        Args:
            model: Robot.
            memory: Memory of the contact.
            i: Index of the point.

        Returns:
            Vector of one entry for each tangent.
        """
        w = self.kept(memory, i).way
        if self.friction == 0.0 or len(self.axes(model)[i]) < 3:
            return w[np.array(self.axes(model)[i][1:], dtype=int) - 1]
        return scale(1.0 / sqrt(w @ w), w)

    # guards ---------------------------------------------------------------------------------------------------

    def guards(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector) -> Vector:
        """Gaps of open points; normal forces, friction margins and speeds of closed ones, with small tolerances.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration and velocity.
            memory: Memory of the contact.
            applied: Generalized forces (nv) of everything else.

        Returns:
            Values of all guards of :meth:`guarded`, then the margin of the solution.
        """
        return self.touch(model, mode, state, memory, applied).guards

    def _guards(
        self, model: Model, mode: Mode, at: ContactKinematics, memory: Any, loads: dict[int, Load], held: Held
    ) -> Any:
        values, hair = [], self.hair(model)
        for i, what in self.guarded(model, mode):
            if what == "gap":
                value = self.gap(at, memory, i) + TOUCHDOWN_DEPTH
            elif what == "push":
                value = loads[i].push + hair
            elif what == "stop":
                value = self.way(model, memory, i) @ (loads[i].J[1:] @ at.state.velocity) + ROUNDING_SPEED
            else:
                drag, limit = loads[i].drag, (self.friction or 0.0) * loads[i].push + hair
                value = limit - (sqrt(drag @ drag) if what == "cone" else drag[0] if what == "hold -" else -drag[0])
            values.append(value)
        return array([*values, held.reserve + MAX_ACCELERATION_ERROR**2])

    def resolved(self, held: Held) -> bool:
        """Check that the accelerations of a solution are those that the contact demands; on numbers.

        Args:
            held: Solution with its residual.

        Returns:
            True if the residual is small enough.
        """
        return bool(held.reserve + MAX_ACCELERATION_ERROR**2 >= 0.0)

    def hair(self, model: Model) -> float:
        """Largest force that counts as rounding.

        Args:
            model: Robot.

        Returns:
            Force (N).
        """
        return ROUNDING_FORCE * model.mass * max(1.0, float(np.linalg.norm(model.gravity)))

    def guarded(self, model: Model, mode: Mode) -> list[tuple[int, str]]:
        """Guards of a mode.

        Args:
            model: Robot.
            mode: Mode.

        Returns:
            Index of a point and kind of its guard, for each guard.
        """
        found = []
        for i, (status, axes) in enumerate(zip(mode, self.axes(model), strict=True)):
            found.append((i, "gap" if status == OPEN else "push"))
            if len(axes) > 1 and self.friction and status != OPEN:
                holds = ["cone"] if len(axes) > 2 else ["hold -", "hold +"]
                found += [(i, what) for what in (holds if status == STICK else ["stop"])]
        return found

    # jumps ----------------------------------------------------------------------------------------------------

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: np.ndarray) -> Jump:
        """Event of a guard; ``applied`` decides which points stay closed, and where a sticking one slides.

        Args:
            model: Robot.
            mode: Mode.
            guard: Index of the guard.
            state: Configuration and velocity.
            memory: Memory of the contact.
            applied: Generalized forces (nv) of everything else.

        Returns:
            New mode, state and memory.
        """
        return ModeTransition(self, model, mode, self.see(model, state), memory, applied).ended(guard)

    def seize(
        self, model: Model, mode: Mode, state: State, memory: np.ndarray, applied: np.ndarray, within: float
    ) -> Jump:
        """Event of jamming, where friction drives points into the ground the harder they push: one stops."""
        jump = ModeTransition(self, model, mode, self.see(model, state), memory, applied).seized(within)
        if jump is None:
            raise self.unheld(mode)
        return jump

    def check(self, model: Model, mode: Mode, at: ContactKinematics) -> None:
        """Raise an error that names closed points whose accelerations cannot all be zero.

        Args:
            model: Robot.
            mode: Mode.
            at: Contact kinematics.
        """
        held = self._held(model, mode)
        biases = np.concatenate([np.zeros(0), *(at.biases[i][axes] for i, axes in held)])
        names = [self.names[i] for i, axes in held for _ in axes]
        check_consistent(self._held_rows(model, mode, at), biases, names, "the contacts")

    def _held(self, model: Model, mode: Mode) -> list[tuple[int, np.ndarray]]:
        """The closed points, and the axes along which they are held."""
        pairs = enumerate(zip(mode, self.axes(model), strict=True))
        return [(i, axes if status == STICK else axes[:1]) for i, (status, axes) in pairs if status != OPEN]

    def _held_rows(self, model: Model, mode: Mode, at: ContactKinematics) -> Any:
        """``J`` of what is held."""
        return stacked([at.J[i][axes] for i, axes in self._held(model, mode)], model.nv)

    # places ---------------------------------------------------------------------------------------------------

    def ground(self, model: Model) -> Ground:
        """Plane, with terrain if there is one."""
        return grounded(plane(model, self.normal, self.height), self.terrain)

    def axes(self, model: Model) -> tuple[np.ndarray, ...]:
        """Axes along which each of :attr:`names` moves: 0 its normal, 1 and 2 its tangents.

        Args:
            model: Robot.

        Returns:
            Indices of axes, for each point and stop.
        """
        return plane_axes(model, self.points, self.normal, self.radii) + (_NORMAL,) * len(self.stops)

    def see(self, model: Model, state: State) -> ContactKinematics:
        """Contact kinematics of points and stops, within loop closures.

        Args:
            model: Robot.
            state: Configuration and velocity.

        Returns:
            Positions, Jacobians and biases.
        """
        at = situation(model, state, self.points, self.ground(model), self.radii)
        return project_onto_loops(with_stops(at, model, self.stops), model)

    def _without_forces(self, model: Model, state: State) -> ContactKinematics:
        """The same without loops, for what asks for no forces."""
        at = kinematics_only(model, state, self.points, self.ground(model), self.radii)
        return with_stops(at, model, self.stops)

    def prepared(self, model: Model) -> Contact | None:
        """Contact for many points of a large robot, whose modes take long to compile; and for loops."""
        from .event_driven.numeric_modes import NumericModes

        small = len(self.names) * model.nv <= MAX_COMPILED_SIZE and not model.loops
        return None if small else NumericModes(*(getattr(self, field.name) for field in fields(self)))

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
        mu = STICKING_FRICTION if self.friction is None else self.friction
        smooth = is_numeric(mu) and not mu
        return [Cone(1 if smooth else len(axes), mu) for axes in self.axes(model)]

    def gap(self, at: ContactKinematics, memory: Vector, i: int) -> Scalar:
        """Distance of an open point from touchdown.

        Args:
            at: Contact kinematics.
            memory: Memory of the contact.
            i: Index of the point or stop.

        Returns:
            Distance (m).
        """
        return at.places[i][0] - self.kept(memory, i).place[0]
