"""Compliant contacts whose force follows from position and velocity of a point in the ground."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..arrays import array, concatenate, less, scale, where
from ..arrays.types import Matrix_3_nv, Vector, Vector_2, Vector_3, Vector_nv
from ..geometry.contact_points import Site
from ..model import Model
from .point_contact import PointContact
from .support_points import Pressed, Support
from .theta_weights import ThetaWeights

MIN_REST_DEPTH, MAX_REST_DEPTH, WEIGHTLESS_DEPTH = 1e-12, 1.0, 1e-3
"""m: depths between which a point is sought that carries a robot, and depth of robots without weight"""


class CompliantContact(PointContact):
    """Base class for compliant contacts whose force follows from position and velocity of a point.

    A subclass defines the :meth:`ground`, the force on a point in it, :meth:`point_force`, and its gains,
    :meth:`point_gains`.  It offers :class:`.HybridModes` and :class:`.LinearizedForces`: integrators that locate
    events, implicit steps, batches and GPUs support it.

    Example:
        >>> import fallingcat as fc
        >>> class Rubber(CompliantContact):
        ...     points = ("body",)
        ...     def ground(self, model):
        ...         return fc.contact.plane(model)
        ...     def point_force(self, position, velocity):
        ...         return np.array([-1e4, -1e3, -1e3]) * position
        ...     def point_gains(self, position, velocity):
        ...         return np.array([1e4, 1e3, 1e3]), np.zeros(3)
        >>> ball = fc.robots.free_body()
        >>> Rubber().begin(ball, ball.neutral())[0]
        (False,)
    """

    @abstractmethod
    def point_force(self, position: Vector_3, velocity: Vector_3) -> Vector_3:
        """Force on a point in the ground.

        Args:
            position: Position (3, m): height, which is negative, and coordinates along the ground.
            velocity: Velocity (3, m/s) along normal and tangents.

        Returns:
            Force (3, N) along normal and tangents.
        """

    @abstractmethod
    def point_gains(self, position: Vector_3, velocity: Vector_3) -> tuple[Vector_3, Vector_3]:
        """Stiffness and damping of :meth:`point_force`.

        They are not negative, and the same along both tangents.  Steps are solved again with the gains at the velocity
        that they have found until the force is that of the law, so gains need not be exact.

        Args:
            position: Position (3, m), as of :meth:`point_force`.
            velocity: Velocity (3, m/s).

        Returns:
            Stiffness (N/m) and damping (N s/m) along normal and tangents (3 each).
        """

    @property
    def memory_size(self) -> int:
        """0: nothing is remembered."""
        return 0

    def unloaded(self, i: int, site: Site, p: Vector_3) -> Vector:
        """Empty memory."""
        return np.zeros(0)

    def pressed(self, i: int, site: Site, p: Vector_3, J: Matrix_3_nv, velocity: Vector_nv, memory: Vector) -> Pressed:
        """:meth:`point_force` at the position and velocity of the point."""
        position = concatenate([array([site.height]), site.axes[1:] @ p])
        return Pressed(site.axes, J, self.point_force(position, J @ velocity), np.zeros(0))

    def point_impedance(self, model: Model) -> tuple[Vector_3, Vector_3]:
        """Gains of a point that carries the robot at rest."""
        weight = model.mass * float(np.linalg.norm(model.gravity))
        depth = self.resting_shift(model, np.zeros(1)) if weight else WEIGHTLESS_DEPTH
        K, D = (np.asarray(x, dtype=float) for x in self.point_gains(np.array([-depth, 0.0, 0.0]), np.zeros(3)))
        return K, D

    def resting_shift(self, model: Model, heights: np.ndarray) -> float:
        """Distance (m) at which the points carry the weight at rest, by bisection."""
        weight = model.mass * float(np.linalg.norm(model.gravity))
        low, high = MIN_REST_DEPTH, MAX_REST_DEPTH
        for _ in range(80):
            middle = float(np.sqrt(low * high))
            carried = sum(self._push(middle + float(heights.min() - h)) for h in heights)
            low, high = (low, middle) if carried > weight else (middle, high)
        return high + float(heights.min())

    def elastic_energy(self, depths: np.ndarray) -> np.ndarray:
        """Energies (J) of points at rest at given depths (m), by the trapezoidal rule over the force."""
        grid = np.linspace(0.0, max(float(depths.max(initial=0.0)), MIN_REST_DEPTH), 65)
        force = np.array([self._push(depth) for depth in grid])
        energy = np.append(0.0, np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(grid)))
        return np.interp(depths, grid, energy)

    def _push(self, depth: float) -> float:
        """Force (N) out of the ground on a point at rest."""
        return float(self.point_force(np.array([-depth, 0.0, 0.0]), np.zeros(3))[0]) if depth > 0.0 else 0.0

    def support(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Support:
        """Contact force of a step, linearized at the velocity at its end.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Force as a linear function of the velocity.
        """
        position = self._predicted_position(point, ahead, seen)
        velocity = point.velocity + seen.damper * (ahead - point.velocity)
        K, D = self.point_gains(position, velocity)
        gain = seen.damper * D + scale(point.lasts * seen.dt, (0.25 + seen.spring) * K)
        lasts = where(less(position[0], 0.0), point.lasts, 0.0 * point.lasts)
        return Support(scale(lasts, self.point_force(position, velocity) + gain * ahead), scale(lasts, gain))

    def step_force(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Vector_3:
        """Contact force of a step.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Force (3, N) along normal and tangents.
        """
        return self.support(point, ahead, seen).at(ahead)

    def anchor(self, point: Any, ahead: Vector_3, friction: Vector_2, seen: ThetaWeights) -> tuple[Vector, Any]:
        """Memory of a point at the end of a step, which is empty.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            friction: Tangential force (2, N) of the step, not used.
            seen: Weights of the step.

        Returns:
            Memory (k), and the condition that the point is in the ground.
        """
        return point.anchor, self.inside(point, ahead, seen)
