"""Compliant contacts: points that feel a force while they are in the ground."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..arrays import array, concatenate, less, scale, where
from ..errors import ModelError
from ..geometry.contact_points import (
    Ground,
    PointMotion,
    Site,
    check_point_mode,
    checked_points,
    point_motions,
    position,
    positions,
    rim_jacobian,
)
from ..model import Model, State
from .base import Contact, Jump, Mode
from .support_points import Landing, Pressed, Support
from .theta_weights import ThetaWeights

MAX_START_ENERGY = 5.0
"""J/kg: elastic energy of the ground at the start of a run, per mass of the robot.  It throws a robot up 0.5 m."""
MAX_UNSEEN_PART = 0.05
"""Part of a step before which a point may have come through the ground without being seen: by its weight, at ten times
the speed that it gathers in a step."""
MIN_REST_DEPTH, MAX_REST_DEPTH, WEIGHTLESS_DEPTH = 1e-12, 1.0, 1e-3
"""m: depths between which a point is sought that carries a robot, and depth of robots without weight"""


class PointContact(Contact):
    """Base class for contacts whose points feel a force while they are below the ground, with modes for each point.

    A subclass says what a point in the ground feels, :meth:`pressed`, and what implicit steps ask for
    (:class:`.LinearizedForces`).
    """

    ports = ("floor normal", "floor tangential")
    asks_forces = False
    stiff = True
    beside_loops = True
    most_events = 100_000  # a foot that settles flips between spring and damper every microsecond: that is its physics

    @abstractmethod
    def ground(self, model: Model) -> Ground:
        """What points touch."""

    @abstractmethod
    def pressed(self, i: int, site: Site, p: Any, J: Any, velocity: Any, memory: Any) -> Pressed:
        """Point ``i`` in the ground: at ``p`` (3, world), with the velocity ``J velocity`` along normal and tangents,
        and its ``memory``.
        """

    @abstractmethod
    def point_impedance(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Typical stiffness (N/m) and damping (N s/m) along normal and tangents (3 each)."""

    @abstractmethod
    def elastic_energy(self, depths: np.ndarray) -> np.ndarray:
        """Energy (J) that the ground holds under points at rest at these depths (m); of the same shape."""

    @abstractmethod
    def unloaded(self, i: int, site: Site, p: Any) -> Any:
        """What point ``i`` remembers when it touches down at ``p`` (3, world)."""

    def check_mode(self, mode: Any) -> None:
        check_point_mode(mode, self.points, (False, True))

    # modes ----------------------------------------------------------------------------------------------------

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points that start below the ground touch where they are: their springs start without tangential load."""
        checked_points(model, self.points)
        ground, places = self.ground(model), positions(model, state, self.points)
        sites = [ground.site(p, r) for p, r in zip(places, self.radii, strict=True)]
        starts = [self.unloaded(i, site, p) for i, (site, p) in enumerate(zip(sites, places, strict=True))]
        return tuple(bool(site.height < 0.0) for site in sites), np.concatenate([np.zeros(0), *starts])

    def touching(self, mode: Mode) -> frozenset[str]:
        return frozenset(place for place, touches in zip(self.points, mode, strict=True) if touches)

    def guards(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        """Height of the points in the air, depth of the points in the ground."""
        ground = self.ground(model)
        balls = zip(self.points, self.radii, strict=True)
        heights = [ground.site(position(model, state, place), r).height for place, r in balls]
        signed = [-h if touches else h for h, touches in zip(heights, mode, strict=True)]
        return concatenate([np.zeros(0), *(array([h]) for h in signed)])

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: np.ndarray) -> Jump:
        if guard >= len(mode):
            raise ModelError(f"there is no guard {guard}: each of the points {', '.join(self.points)} has one")
        place, lands = self.points[guard], not mode[guard]
        mode = (*mode[:guard], lands, *mode[guard + 1 :])
        if lands:
            own, p = memory.reshape(len(self.points), -1).copy(), position(model, state, place)
            own[guard] = self.unloaded(guard, self.ground(model).site(p), p)
            memory = own.reshape(-1)
        return Jump(f"{'touchdown' if lands else 'lift-off'} {place}", mode, state, memory)

    def check_start(self, model: Model, state: State) -> None:
        air = (False,) * len(self.points)
        heights = self.guards(model, air, state, np.zeros(self.memory_size or 0), np.zeros(model.nv))
        self.check_heights(model, np.asarray(heights, dtype=float)[None])

    def check_heights(self, model: Model, heights: np.ndarray) -> None:
        """Refuses starts in which the points have these heights over the ground (N x points, m) and its springs hold
        more than :data:`MAX_START_ENERGY`.
        """
        depths = np.maximum(-heights, 0.0)
        energy = self.elastic_energy(depths).sum(axis=1)
        robot = int(np.argmax(energy))
        if energy[robot] > MAX_START_ENERGY * model.nominal.mass:
            i = int(np.argmax(depths[robot]))
            whose = f"{self.points[i]!r} of robot {robot}" if len(heights) > 1 else repr(self.points[i])
            raise ModelError(
                f"{whose} starts {depths[robot, i]:.3g} m below the ground, whose springs hold {energy[robot]:.3g} J: "
                "start on it or above it, as model.standing(ground) does"
            )

    # forces ---------------------------------------------------------------------------------------------------

    def forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> dict[str, Any]:
        normal, tangential = np.zeros(model.nv), np.zeros(model.nv)
        for i, touches in enumerate(mode):
            if touches:
                at = self._point(model, i, state, memory)
                normal = normal + scale(at.force[0], at.J[0])
                tangential = tangential + at.J[1:].T @ at.force[1:]
        return dict(zip(self.ports, (normal, tangential), strict=True))

    def impedance(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
        """``J' K J`` and ``J' D J`` of all points, as if all were in the ground."""
        J = point_rows(self, model, state)
        K, D = (np.einsum("pki,k,pkj->ij", J, x, J) for x in self.point_impedance(model))
        return K, D

    def point_forces(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        rows = [np.zeros((0, 3))]
        for i, (touches, motion) in enumerate(zip(mode, point_motions(model, state, self.points), strict=True)):
            at = self._point(model, i, state, memory, motion)
            rows.append(np.reshape(at.axes.T @ at.force if touches else np.zeros(3), (1, 3)))
        return concatenate(rows)

    def memory_rate(self, model: Model, mode: Mode, state: State, memory: Any, applied: Any) -> Any:
        rates, size = [np.zeros(0)], len(memory) // max(1, len(mode))
        for i, touches in enumerate(mode):
            rates.append(self._point(model, i, state, memory).memory_rate if touches and size else np.zeros(size))
        return concatenate(rates)

    def _point(self, model: Model, i: int, state: State, memory: Any, motion: PointMotion | None = None) -> Pressed:
        """A point in the ground, whose ``motion`` may be known."""
        place, radius, own = self.points[i], self.radii[i], memory.reshape(len(self.points), -1)[i]
        p = position(model, state, place)
        site = self.ground(model).site(p, radius)
        rim = motion.rim(site.axes[0], radius)[0] if motion else rim_jacobian(model, state, place, site.axes[0], radius)
        return self.pressed(i, site, p, site.axes @ rim, state.velocity, own)

    # steps --------------------------------------------------------------------------------------------------------

    def rolls(self, i: int) -> bool:
        """Whether the memory of point ``i`` is how far it has slipped, and not a place."""
        return False

    def _seen(self, point: Any, ahead: Any, seen: ThetaWeights) -> Any:
        """The place (3) at which springs see a point in a step that ends with the velocity ``ahead`` (3)."""
        return point.position + scale(point.lasts, seen.beyond(point.velocity, ahead))

    def inside(self, point: Any, ahead: Any, seen: ThetaWeights) -> Any:
        """Whether a spring sees a point below the plane in a step that ends with the velocity ``ahead`` (3)."""
        return less(self._seen(point, ahead, seen)[0], 0.0)

    def touchdown(self, position: Any, velocity: Any, anchor: Any, dt: Any) -> Landing:
        """A point that is at ``position`` in the middle of a step of ``dt`` (s), if it keeps the ``velocity`` of its
        start (3 each: out of the ground, along it): does it come through the ground, or did it just before, which the
        last step did not see because the point gathered speed.
        """
        height, way = position[0], dt * velocity[0]
        lands = less(where(less(height, (0.5 + MAX_UNSEEN_PART) * way), 0.0 * way, height + 0.5 * way), 0.0)
        lasts = where(lands, 0.5 + height / where(lands, way, 1.0 + 0.0 * way), 1.0 + 0.0 * way)
        half = 0.5 * dt * lasts
        return Landing(position + scale(0.5 * dt - half, velocity), anchor, lands, lasts)


class CompliantContact(PointContact):
    """Base class for compliant contacts whose force follows from the place and the velocity of a point.

    A subclass says where the :meth:`ground` is, what a point feels in it, :meth:`point_force`, and how this grows,
    :meth:`point_gains`.  It offers :class:`.HybridModes` and :class:`.LinearizedForces`: integrators that locate
    events, implicit steps, batches and GPUs take it.
    """

    @abstractmethod
    def point_force(self, place: Any, velocity: Any) -> Any:
        """Force (3, N) on a point in the ground, out of it and along it: at the ``place`` (3, m: height, which is
        negative, and where along it) with the ``velocity`` (3, m/s).
        """

    @abstractmethod
    def point_gains(self, place: Any, velocity: Any) -> tuple[Any, Any]:
        """Stiffness (N/m) and damping (N s/m) of :meth:`point_force` along normal and tangents (3 each).

        They are not negative, and the same along both tangents.  Steps are solved again with the gains at the velocity
        that they have found until the force is that of the law, so gains need not be exact.
        """

    @property
    def memory_size(self) -> int:
        return 0

    def unloaded(self, i: int, site: Site, p: Any) -> Any:
        return np.zeros(0)

    def pressed(self, i: int, site: Site, p: Any, J: Any, velocity: Any, memory: Any) -> Pressed:
        place = concatenate([array([site.height]), site.axes[1:] @ p])
        return Pressed(site.axes, J, self.point_force(place, J @ velocity), np.zeros(0))

    def point_impedance(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Gains of a point that carries the robot at rest."""
        weight = model.mass * float(np.linalg.norm(model.gravity))
        depth = self.resting_shift(model, np.zeros(1)) if weight else WEIGHTLESS_DEPTH
        K, D = (np.asarray(x, dtype=float) for x in self.point_gains(np.array([-depth, 0.0, 0.0]), np.zeros(3)))
        return K, D

    def resting_shift(self, model: Model, heights: np.ndarray) -> float:
        """Lowers the points until they carry the weight at rest."""
        weight = model.mass * float(np.linalg.norm(model.gravity))
        low, high = MIN_REST_DEPTH, MAX_REST_DEPTH
        for _ in range(80):
            middle = float(np.sqrt(low * high))
            carried = sum(self._push(middle + float(heights.min() - h)) for h in heights)
            low, high = (low, middle) if carried > weight else (middle, high)
        return high + float(heights.min())

    def elastic_energy(self, depths: np.ndarray) -> np.ndarray:
        grid = np.linspace(0.0, max(float(depths.max(initial=0.0)), MIN_REST_DEPTH), 65)
        force = np.array([self._push(depth) for depth in grid])
        energy = np.append(0.0, np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(grid)))
        return np.interp(depths, grid, energy)

    def _push(self, depth: float) -> float:
        """Force (N) out of the ground on a point at rest."""
        return float(self.point_force(np.array([-depth, 0.0, 0.0]), np.zeros(3))[0]) if depth > 0.0 else 0.0

    def support(self, point: Any, ahead: Any, seen: ThetaWeights) -> Support:
        """Contact force of a step, as a function of the velocity at its end and linearised at ``ahead`` (3)."""
        place, velocity = self._seen(point, ahead, seen), point.velocity + seen.damper * (ahead - point.velocity)
        K, D = self.point_gains(place, velocity)
        gain = seen.damper * D + scale(point.lasts * seen.dt, (0.25 + seen.spring) * K)
        lasts = where(less(place[0], 0.0), point.lasts, 0.0 * point.lasts)
        return Support(scale(lasts, self.point_force(place, velocity) + gain * ahead), scale(lasts, gain))

    def step_force(self, point: Any, ahead: Any, seen: ThetaWeights) -> Any:
        """Contact force (3, N) of a step at whose end the point has the velocity ``ahead`` (3)."""
        return self.support(point, ahead, seen).at(ahead)

    def anchor(self, point: Any, ahead: Any, friction: Any, seen: ThetaWeights) -> tuple[Any, Any]:
        """Nothing is remembered; and whether the point is in the ground."""
        return point.anchor, self.inside(point, ahead, seen)


def point_rows(contact: Contact, model: Model, state: State) -> np.ndarray:
    """``points x 3 x nv``: velocities of all points along normal and tangents of the ground."""
    ground, motions = contact.ground(model), point_motions(model, state, contact.points)
    axes = [ground.site(motion.position).axes for motion in motions]
    rims = zip(axes, motions, contact.radii, strict=True)
    return np.array([axes @ motion.rim(axes[0], r)[0] for axes, motion, r in rims], dtype=float)
