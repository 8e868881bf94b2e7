"""Base class for contacts of points that feel a force while they are in the ground."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..arrays import array, concatenate, less, scale, where
from ..arrays.types import (
    Float_3,
    Float_nv,
    Float_nv_nv,
    Matrix_3_nv,
    Matrix_points_3,
    Scalar,
    Vector,
    Vector_3,
    Vector_nv,
)
from ..dynamics import link_pose
from ..errors import ModelError
from ..geometry.body_touch import nominal_rows
from ..geometry.contact_points import (
    Ground,
    Site,
    check_point_mode,
    checked_points,
    point_motions,
    position,
    touch_at,
    touch_jacobian,
    touches,
)
from ..geometry.point_positions import level_heights, point_coordinates
from ..model import Model, State
from .base import Contact, Jump, Mode
from .support_points import Landing, Pressed
from .theta_weights import ThetaWeights

MAX_START_ENERGY = 5.0
"""J/kg: elastic energy of the ground at the start of a run, per mass of the robot.  It throws a robot up 0.5 m."""
MAX_UNSEEN_PART = 0.05
"""Part of a step before which a point may have come through the ground without being seen: by its weight, at ten times
the speed that it gathers in a step."""


class PointContact(Contact):
    """Base class for contacts whose points feel a force while they are below the ground, with modes for each point.

    A subclass defines the force on a point in the ground, :meth:`pressed`, and the methods for implicit steps
    (:class:`.LinearizedForces`).
    """

    ports = ("floor normal", "floor tangential")
    needs_applied_forces = False
    stiff = True
    acts_with_loops = True
    buried, unburied = "below the ground", "start on it or above it, as model.standing(ground) does"
    max_events = 100_000  # a foot that settles flips between spring and damper every microsecond: that is its physics

    @abstractmethod
    def ground(self, model: Model) -> Ground:
        """Ground under the points."""

    @abstractmethod
    def pressed(self, i: int, site: Site, p: Vector_3, J: Matrix_3_nv, velocity: Vector_nv, memory: Vector) -> Pressed:
        """Force on a point in the ground.

        Args:
            i: Index of the point.
            site: Ground below it.
            p: Position (3, world, m).
            J: Jacobian (3 x nv) along normal and tangents.
            velocity: Quasi-velocity (nv).
            memory: Memory of the point (k).

        Returns:
            Force along normal and tangents, and rate of the memory.
        """

    @abstractmethod
    def point_impedance(self, model: Model) -> tuple[Float_3, Float_3]:
        """Typical stiffness (N/m) and damping (N s/m) along normal and tangents (3 each).

        Args:
            model: Robot.

        Returns:
            Stiffness and damping (3 each).
        """

    @abstractmethod
    def elastic_energy(self, depths: np.ndarray) -> np.ndarray:
        """Energy of the ground under points at rest.

        Args:
            depths: Depths (m).

        Returns:
            Energies (J), of the same shape.
        """

    @abstractmethod
    def unloaded(self, i: int, site: Site, p: Vector_3) -> Vector:
        """Memory of a point that touches down.

        Args:
            i: Index of the point.
            site: Ground below it.
            p: Position (3, world, m).

        Returns:
            Memory (k) without tangential load.
        """

    def check_mode(self, mode: Any) -> None:
        """Check that a mode is one truth value for each point."""
        check_point_mode(mode, self.points, (False, True))

    # modes ----------------------------------------------------------------------------------------------------

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points that start below the ground touch where they are: their springs start without tangential load."""
        checked_points(model, self.points)
        ground, (places,) = self.ground(model), point_coordinates(model, *_single_state(state), self.points, np.eye(3))
        sites = [touch.site for touch in touches(model, state, self.points, ground, self.radii)]
        starts = [self.unloaded(i, site, p) for i, (site, p) in enumerate(zip(sites, places, strict=True))]
        return tuple(bool(site.height < 0.0) for site in sites), np.concatenate([np.zeros(0), *starts])

    def touching(self, mode: Mode) -> frozenset[str]:
        """Names of the points whose entry in the mode is True."""
        return frozenset(place for place, touches in zip(self.points, mode, strict=True) if touches)

    def guards(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Vector:
        """Height of the points in the air, depth of the points in the ground.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration; velocities are not used.
            memory: Memory of the contact (k), not used.
            applied: Generalized forces (nv), not used.

        Returns:
            One value (m) for each point, positive within the mode.
        """
        found = touches(model, state, self.points, self.ground(model), self.radii)
        heights = [touch.site.height for touch in found]
        signed = [-h if below else h for h, below in zip(heights, mode, strict=True)]
        return concatenate([np.zeros(0), *(array([h]) for h in signed)])

    def jump(self, model: Model, mode: Mode, guard: int, state: State, memory: np.ndarray, applied: Float_nv) -> Jump:
        """Touchdown or lift-off of one point.

        Args:
            model: Robot.
            mode: Mode.
            guard: Index of the point.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).
            applied: Generalized forces (nv), not used.

        Returns:
            New mode and memory, and the same state.
        """
        if guard >= len(mode):
            raise ModelError(f"there is no guard {guard}: each of the points {', '.join(self.points)} has one")
        place, lands = self.points[guard], not mode[guard]
        mode = (*mode[:guard], lands, *mode[guard + 1 :])
        if lands:
            own = memory.reshape(len(self.points), -1).copy()
            own[guard] = self.unloaded_at(model, guard, state)
            memory = own.reshape(-1)
        return Jump(f"{'touchdown' if lands else 'lift-off'} {place}", mode, state, memory)

    def unloaded_at(self, model: Model, i: int, state: State) -> Vector:
        """Memory of a point that touches down at a state.

        Args:
            model: Robot.
            i: Index of the point.
            state: Configuration; velocities are not used.

        Returns:
            Memory (k) without tangential load.
        """
        p = position(model, state, self.points[i])
        return self.unloaded(i, self.ground(model).site(p), p)

    def check_start(self, model: Model, state: State) -> None:
        """Refuse states in which the springs of the ground hold too much energy."""
        ground, air = self.ground(model), (False,) * len(self.points)
        if ground.flat:
            heights = level_heights(model, ground, *_single_state(state), self.points, self.radii)[0]
        else:
            heights = self.guards(model, air, state, np.zeros(self.memory_size or 0), np.zeros(model.nv))
        self.check_heights(model, np.asarray(heights, dtype=float)[None])

    def way_out(self, model: Model, i: int) -> str:
        """Advice to a user one of whose points starts too deep.

        Args:
            model: Robot.
            i: Index of the point.

        Returns:
            Text for an error.
        """
        return self.unburied

    def check_heights(self, model: Model, heights: np.ndarray) -> None:
        """Refuse starts in which the springs of the ground hold more than :data:`MAX_START_ENERGY`."""
        depths = np.maximum(-heights, 0.0)
        energy = self.elastic_energy(depths).sum(axis=1)
        robot = int(np.argmax(energy))
        if energy[robot] > MAX_START_ENERGY * model.nominal.mass:
            i = int(np.argmax(depths[robot]))
            whose = f"{self.points[i]!r} of robot {robot}" if len(heights) > 1 else repr(self.points[i])
            raise ModelError(
                f"{whose} starts {depths[robot, i]:.3g} m {self.buried}, whose springs hold {energy[robot]:.3g} J: "
                f"{self.way_out(model, i)}"
            )

    # forces ---------------------------------------------------------------------------------------------------

    def forces(
        self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv
    ) -> dict[str, Vector_nv]:
        """Normal and tangential forces of the points in the ground."""
        normal, tangential = np.zeros(model.nv), np.zeros(model.nv)
        for at in self.pressed_points(model, mode, state, memory):
            if at is not None:
                normal = normal + scale(at.force[0], at.J[0])
                tangential = tangential + at.J[1:].T @ at.force[1:]
        return dict(zip(self.ports, (normal, tangential), strict=True))

    def impedance(self, model: Model, state: State) -> tuple[Float_nv_nv, Float_nv_nv]:
        """``J' K J`` and ``J' D J`` of all points, as if all were in the ground."""
        J = point_rows(self, model, state)
        K, D = (np.einsum("pki,k,pkj->ij", J, x, J) for x in self.point_impedance(model))
        return K, D

    def point_forces(
        self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv
    ) -> Matrix_points_3:
        """Forces (points x 3, N, world) of the points in the ground, else zero."""
        points = self.pressed_points(model, mode, state, memory)
        forces = [np.zeros(3) if at is None else at.axes.T @ at.force for at in points]
        return concatenate([np.zeros((0, 3)), *(np.reshape(force, (1, 3)) for force in forces)])

    def memory_rate(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Vector:
        """Rates of the memory of the points in the ground, else zero."""
        size = len(memory) // max(1, len(mode))
        points = self.pressed_points(model, mode, state, memory) if size else []
        return concatenate([np.zeros(0), *(np.zeros(size) if at is None else at.memory_rate for at in points)])

    def pressed_points(self, model: Model, mode: Mode, state: State, memory: Vector) -> list[Pressed | None]:
        """Points in the ground, and None for each of those in the air.

        Args:
            model: Robot.
            mode: Mode.
            state: Configuration and velocity.
            memory: Memory of the contact (:attr:`.Contact.memory_size` numbers).

        Returns:
            An entry for each point.
        """
        return [self._point(model, i, state, memory) if touches else None for i, touches in enumerate(mode)]

    def _point(self, model: Model, i: int, state: State, memory: Any) -> Pressed:
        """A point in the ground."""
        place, own = self.points[i], memory.reshape(len(self.points), -1)[i]
        H = link_pose(model, state, place)
        p = H[:3, 3]
        site, lever = touch_at(self.ground(model), H, self.radii[i])
        J = site.axes @ touch_jacobian(model, state, place, lever)
        return self.pressed(i, site, p, J, state.velocity, own)

    # steps --------------------------------------------------------------------------------------------------------

    def rolls(self, i: int) -> bool:
        """True if the memory of a point is the way that it has slipped, and not a position.

        Args:
            i: Index of the point.

        Returns:
            False by default.
        """
        return False

    def _predicted_position(self, point: Any, ahead: Any, seen: ThetaWeights) -> Any:
        """The place (3) at which springs see a point in a step that ends with the velocity ``ahead`` (3)."""
        return point.position + scale(point.lasts, seen.beyond(point.velocity, ahead))

    def inside(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Any:
        """Condition: a point is below the ground in a step.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Condition of any kind of number.
        """
        return less(self._predicted_position(point, ahead, seen)[0], 0.0)

    def touchdown(self, position: Vector_3, velocity: Vector_3, anchor: Vector, dt: Scalar) -> Landing:
        """Landing of a point within a step.

        The point is at ``position`` in the middle of the step, if it keeps the velocity of its start: it comes through
        the ground, or did so just before, which the last step did not see because the point accelerated.

        Args:
            position: Position (3, m: normal, tangents) in the middle of the step at constant velocity.
            velocity: Velocity (3, m/s) at its start.
            anchor: Memory of the point (k).
            dt: Step size (s).

        Returns:
            Position, memory, and the part of the step in contact.
        """
        height, way = position[0], dt * velocity[0]
        lands = less(where(less(height, (0.5 + MAX_UNSEEN_PART) * way), 0.0 * way, height + 0.5 * way), 0.0)
        lasts = where(lands, 0.5 + height / where(lands, way, 1.0 + 0.0 * way), 1.0 + 0.0 * way)
        half = 0.5 * dt * lasts
        return Landing(position + scale(0.5 * dt - half, velocity), anchor, lands, lasts)


def _single_state(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Pose and joints of a batch of one state."""
    return np.asarray(state.pose)[None], np.asarray(state.joints)[None]


def point_rows(contact: Contact, model: Model, state: State) -> np.ndarray:
    """``points x 3 x nv``: velocities of all points along normal and tangents; of bodies as if they touched."""
    if contact.pairs:
        return nominal_rows(model, state, contact.pairs)
    ground, motions = contact.ground(model), point_motions(model, state, contact.points)
    found = [motion.touch(ground, around) for motion, around in zip(motions, contact.radii, strict=True)]
    rows = [at.site.axes @ motion.jacobian_at(at.lever) for motion, at in zip(motions, found, strict=True)]
    return np.array(rows, dtype=float).reshape(len(rows), 3, model.nv)
