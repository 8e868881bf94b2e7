"""Spring, damper and Coulomb cone at single points: the force law of compliant floors and of compliant bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import array, block, concatenate, less, scale, where
from ..arrays.types import Float_3, Vector_2, Vector_3
from ..errors import ModelError
from ..model import Model
from .bristle import anchor_rate, anchor_travel, cone_direction, cone_share
from .default_friction import coefficient
from .point_contact import PointContact
from .support_points import Landing, Support
from .theta_weights import ThetaWeights

UNSPECIFIED: Any = ()
"""In place of springs that follow from the masses of the robot."""


class SpringDamperContact(PointContact):
    """Base class for contacts of springs and dampers along normal and tangents, within a cone of friction."""

    stiffness: Any
    """normal, tangential (N/m)"""
    damping: Any
    """normal, tangential (N s/m)"""
    friction: Any
    """Coulomb's coefficient; None holds every point where it touched down"""

    @property
    def coefficient(self) -> Any:
        """Coulomb's coefficient of all points; None holds them."""
        return coefficient(self.friction)

    def elastic_energy(self, depths: np.ndarray) -> np.ndarray:
        """Energies ``K_n y^2 / 2`` (J) of points at given depths (m)."""
        return np.asarray(0.5 * self._constants[0][0] * depths**2)

    def bristle_force(self, height: Any, stretch: Vector_2, v: Vector_3) -> tuple[Vector_3, Vector_2]:
        """Force on a point in contact, and velocity of its anchor.

        Args:
            height: Height (m), negative.
            stretch: Deflection (2, m) of the tangential spring.
            v: Velocity (3, m/s) along normal and tangents.

        Returns:
            Force (3, N) along normal and tangents, and velocity (2, m/s) of the anchor.
        """
        (K_n, K_t), (D_n, D_t) = self._constants
        push = -K_n * height - D_n * v[0]
        push = where(less(push, 0.0), 0.0 * push, push)
        trial = K_t * stretch + D_t * v[1:]
        if self.coefficient is None:
            return concatenate([array([push]), -trial]), np.zeros(2)
        share = cone_share(trial, self.coefficient * push)
        return concatenate([array([push]), -scale(share, trial)]), anchor_rate(scale(1.0 - share, trial), D_t)

    # steps ----------------------------------------------------------------------------------------------------

    def point_impedance(self, model: Model) -> tuple[Float_3, Float_3]:
        """Stiffness and damping of the springs."""
        return self._springs

    @property
    def _constants(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Stiffness and damping, which must be known."""
        if self.stiffness is UNSPECIFIED or self.damping is UNSPECIFIED:
            raise ModelError("the springs of this floor follow from the robot on it: take floor.for_robot(model)")
        return self.stiffness, self.damping

    @property
    def _springs(self) -> tuple[np.ndarray, np.ndarray]:
        (K_n, K_t), (D_n, D_t) = self._constants
        return np.array([K_n, K_t, K_t]), np.array([D_n, D_t, D_t])

    def support(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Support:
        """Contact force of a step, as a function of the velocity at its end and linearized at ``ahead``.

        A sliding point feels the friction limit.  Along the direction in which it slides this does not depend on its
        velocity, unless the step may stop it: then the slope is that of spring and damper, scaled to the limit, and the
        force fades out with the motion instead of turning it round.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Force as a linear function of the velocity.
        """
        full, gain, carries, share = self._trial(point, ahead, seen)
        slope = 1.0
        if self.coefficient is not None:
            part = cone_share(full[1:], -self.coefficient * full[0])  # of no matter where it would have to pull
            stopping = part * (1.0 + seen.dt * seen.mobility * gain[1])
            share, slope = carries * part, where(less(stopping, 1.0), stopping, 1.0 + 0.0 * part)
        shares, slopes = array([carries, share, share]), array([1.0, slope, slope])
        return Support(shares * (slopes * gain * ahead - full), shares * slopes * gain)

    def step_force(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Vector_3:
        """Contact force of a step.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Force (3, N) along normal and tangents.
        """
        full, _, carries, share = self._trial(point, ahead, seen)
        if self.coefficient is not None:
            share = carries * cone_share(full[1:], -self.coefficient * full[0])
        return -array([carries, share, share]) * full

    @property
    def friction_follows(self) -> bool:
        """True with a friction coefficient."""
        return coefficient(self.friction) is not None

    def tangent(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Support:
        """Contact force of a step, linearized with all its derivatives.

        Unlike in :meth:`support`, the friction limit grows with the normal force, and friction turns with the direction
        in which the point slides.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Force as a linear function of the velocity, with a gain of ``3 x 3``.
        """
        full, gain, carries, _ = self._trial(point, ahead, seen)
        mu = 0.0 if self.coefficient is None else self.coefficient  # it may be a traced number
        limit = -mu * full[0]
        share, along = carries * cone_share(full[1:], limit), cone_direction(full[1:], limit)
        normal, tangential = carries * gain[0], share * gain[1]
        follows = scale(-mu * normal, along)
        across = tangential * (np.eye(2) - along[:, None] * along[None, :])
        G = block([[array([[normal]]), np.zeros((1, 2))], [follows[:, None], across]])
        return Support(G @ ahead - array([carries, share, share]) * full, G)

    def _trial(self, point: Any, ahead: Any, seen: ThetaWeights) -> tuple[Any, Any, Any, Any]:
        """Force (3) of spring and damper on a point without friction, and its slopes (3).

        Beside them the parts of the step in which the ground pushes the point and may hold it.
        """
        free, gain = self._spring_damper_force(point, seen)
        full = free + gain * (ahead - point.velocity)
        lasts = where(less(point.position[0], 0.0), point.lasts, 0.5 * point.lasts)
        inside = where(self.inside(point, ahead, seen), lasts, 0.0 * full[0])
        return full, gain, where(less(full[0], 0.0), inside, 0.0 * full[0]), inside

    def _spring_damper_force(self, point: Any, seen: ThetaWeights) -> tuple[Any, Any]:
        """Force of spring and damper of a point against its velocity, and its derivative by the velocity (3 each).

        A point that is above the ground in the middle of the step may come through it by the velocity ``w`` that it
        gains.  At height ``y`` it is damped by ``D_n (w + 2 y / dt)`` for half of the step: this grows from zero with
        the depth at the end, so that steps have a solution.
        """
        (K, D), velocity, height = self._springs, point.velocity, point.position[0]
        drift, gain = seen.predicted(K, D)
        free = K * concatenate([point.position[:1], point.position[1:] - point.anchor]) + (D + drift) * velocity
        below, late = less(height, 0.0), D[0] * (velocity[0] + 2.0 / seen.dt * height)
        normal = where(below, free[0], late), where(below, gain[0], D[0] + 0.0 * late)
        return array([normal[0], *free[1:]]), array([normal[1], *gain[1:]])

    def inside(self, point: Any, ahead: Vector_3, seen: ThetaWeights) -> Any:
        """Condition: a point is in the ground in the middle of a step, or enters it by its velocity ``ahead`` (3)."""
        height, end = point.position[0], point.position[0] + 0.5 * seen.dt * ahead[0]
        return less(where(less(height, 0.0), self._predicted_position(point, ahead, seen)[0], end), 0.0)

    def touchdown(self, position: Any, velocity: Any, anchor: Any, dt: Any) -> Landing:
        """Landing of a point, whose anchor is where it comes through the ground."""
        there = super().touchdown(position, velocity, anchor, dt)
        half = 0.5 * dt * there.lasts
        return there._replace(anchor=where(there.lands, there.position[1:] - scale(half, velocity[1:]), anchor))

    def anchor(self, point: Any, ahead: Vector_3, friction: Vector_2, seen: ThetaWeights) -> tuple[Vector_2, Any]:
        """Anchor of a point at the end of a step; in the air it is where the point is.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            friction: Tangential force (2, N) of the step.
            seen: Weights of the step.

        Returns:
            Anchor (2, m), and the condition that the point is in the ground.
        """
        (_, K_t), (_, D_t) = self.stiffness, self.damping
        inside, held = self.inside(point, ahead, seen), point.anchor
        if self.coefficient is not None:
            trial, _, _, lasts = self._trial(point, ahead, seen)
            held = held + anchor_travel(scale(lasts, trial[1:]) + friction, K_t, D_t, seen.dt)
        return where(inside, held, point.position[1:] + scale(0.5 * seen.dt, ahead[1:])), inside
