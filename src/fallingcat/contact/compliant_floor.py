"""The compliant floor: springs and dampers under the feet ([Feurstein] 4.1.4, [ETH] 3.7.1), with friction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import array, block, concatenate, less, scale, where
from ..arrays.types import Matrix, Vector
from ..errors import ModelError
from ..geometry.collision_points import take_feet
from ..geometry.contact_points import Ground, Site, each_radius, floor_normal, floor_points, plane
from ..geometry.terrain import Terrain, check_terrain, grounded
from ..model import Model, State
from ..records import concise
from .base import Mode
from .bristle import anchor_rate, anchor_travel, cone_direction, cone_share
from .compliant_contact import PointContact
from .default_springs import DEFAULT_STEP, default_springs
from .support_points import Landing, Pressed, Support
from .theta_weights import ThetaWeights

UNSAID: Any = ()
"""In place of springs that follow from the mass of the robot."""

_PAIR, _ONE = "two finite numbers that are not negative, (normal, tangential)", "a finite number"
_NUMBERS = (
    ("stiffness", _PAIR, (2,)),
    ("damping", _PAIR, (2,)),
    ("height", _ONE, ()),
    ("friction", f"{_ONE} that is not negative", ()),
)
"""What the numbers of a floor have to be, and their shapes."""


def _fits(given: Any, shape: tuple[int, ...], *, signed: bool) -> bool:
    """True if ``given`` holds finite numbers of a shape, none negative unless ``signed``."""
    try:
        numbers = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(numbers.shape == shape and np.isfinite(numbers).all() and (signed or (numbers >= 0.0).all()))


@concise
@dataclass(frozen=True)
class CompliantFloor(PointContact):
    """Visco-elastic plane, with a ``relief`` or without, under the points of the robot.

    A point below the plane, at depth ``y < 0``, feels ``F_n = max(-K_n y - D_n dy/dt, 0)`` out of it and, along it,
    ``F_t = -K_t (x - x_touchdown) - D_t dx/dt``: [Feurstein] (4.13)-(4.14) with their signs put right and the place of
    touchdown remembered.  ``F_t`` stays on while ``F_n`` is clipped at zero, until the point is above the plane.

    With ``friction`` (Coulomb's coefficient) ``|F_t| <= friction F_n``: beyond that the anchor is dragged along, at
    the rate at which the force of spring and damper together is exactly the limit.

    With a ``radius`` it is a ball around the point that touches, at its lowest place, which moves over the body as it
    rolls: velocities are those of the body there, ``v + r n x w``, and ``x - x_touchdown`` is the way that it has
    slipped.

    Example:
        >>> import fallingcat as fc
        >>> floor = fc.contact.CompliantFloor(("foot",), stiffness=(1e4, 1e4), damping=(1e3, 1e3))
        >>> hopper = fc.robots.revolute_hopper()
        >>> floor.begin(hopper, hopper.neutral())[0]
        (False,)

        Springs may be left out: a simulation takes those that suit the robot and the step.

        >>> soft = fc.contact.CompliantFloor(("foot",), friction=0.8)
        >>> soft.for_robot(hopper) == fc.contact.CompliantFloor(
        ...     ("foot",), *fc.contact.default_springs(hopper, ["foot"]), friction=0.8
        ... )
        True
    """

    points: tuple[str, ...]
    """links or frames whose origins may touch, or :func:`.feet` of a model, with their radii"""
    stiffness: tuple[float, float] = UNSAID
    """normal, tangential (N/m); left out, both are ``K = m w^2 / points``, with the mass ``m`` of the robot and
    ``w = min(70 rad/s, 0.2 / step)``: it rests 2 mm deep on all points; see :func:`.default_springs`"""
    damping: tuple[float, float] = UNSAID
    """normal, tangential (N s/m); left out, both are ``D = m w / points``: half of critical damping"""
    friction: float | None = None
    """Coulomb's coefficient; None holds every point where it touched down"""
    normal: tuple[float, float, float] | None = None
    """out of the ground (world); None: against gravity"""
    height: float = 0.0
    """of the plane along its normal (m)"""
    radius: float | tuple[float, ...] = 0.0
    """of a ball around each point (m): one for all or one for each"""
    relief: Terrain | None = None
    """heights over the plane, such as :class:`.HeightField`; None: it is flat"""

    def __post_init__(self) -> None:
        feet = take_feet(self)
        if feet is not None:
            for name, pair in self._defaults(feet.model).items():
                object.__setattr__(self, name, pair)
        object.__setattr__(self, "points", floor_points(self.points))
        object.__setattr__(self, "normal", floor_normal(self.normal))
        each_radius(self.radius, self.points)
        check_terrain(self.relief)
        for name, rule, shape in _NUMBERS:
            given = getattr(self, name)
            if given is UNSAID:
                continue
            if not _fits(given, shape, signed=name == "height") and not (name == "friction" and given is None):
                raise ModelError(f"{name} of a floor is {rule}, not {given!r}")
        if self.friction is not None and self.damping is not UNSAID and not self.damping[1] > 0.0:
            raise ModelError(
                "a floor with friction needs tangential damping: it says how fast a sliding anchor follows"
            )

    def _defaults(self, model: Model, step: float = DEFAULT_STEP) -> dict[str, Any]:
        """Springs that were left out: those of :func:`.default_springs`."""
        missing = [name for name in ("stiffness", "damping") if getattr(self, name) is UNSAID]
        found: Any = default_springs(model, self.points, step) if missing else ((), ())
        return {name: pair for name, pair in zip(("stiffness", "damping"), found, strict=True) if name in missing}

    def for_robot(self, model: Model, step: float = DEFAULT_STEP) -> CompliantFloor:
        """Floor with the springs of :func:`.default_springs` where they were left out."""
        missing = self._defaults(model, step)
        return replace(self, **missing) if missing else self

    @property
    def memory_size(self) -> int:
        """Two numbers for each point."""
        return 2 * len(self.points)

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points below the ground touch; balls must fit into the hollows of terrain."""
        if self.relief is not None:
            self.relief.check_radius(max(self.radii))
        return super().begin(model, state)

    def elastic_energy(self, depths: np.ndarray) -> np.ndarray:
        """Energies ``K_n y^2 / 2`` (J) of points at given depths (m)."""
        return np.asarray(0.5 * self._pairs[0][0] * depths**2)

    def resting_shift(self, model: Model, heights: np.ndarray) -> float:
        """Distance (m) at which the springs carry the weight: ``sum K_n max(s - h, 0) = m g``."""
        load = model.mass * abs(float(model.gravity @ self.ground(model).site(np.zeros(3)).axes[0]))
        h = np.sort(heights)
        shifts = (load / self.for_robot(model).stiffness[0] + np.cumsum(h)) / np.arange(1, len(h) + 1)
        return float(shifts[np.argmax(shifts <= np.append(h[1:], np.inf))])

    def pressed(self, i: int, site: Site, p: Vector, J: Matrix, velocity: Vector, memory: Vector) -> Pressed:
        """Forces of spring and damper on a point in the ground, within the friction cone, and the anchor's rate."""
        v = J @ velocity
        (K_n, K_t), (D_n, D_t) = self._pairs
        push = -K_n * site.height - D_n * v[0]
        push = where(less(push, 0.0), 0.0 * push, push)
        trial = K_t * self.stretch(i, site, p, memory) + D_t * v[1:]
        slipping = v[1:] if self.rolls(i) else np.zeros(2)
        if self.friction is None:
            return Pressed(site.axes, J, concatenate([array([push]), -trial]), slipping)
        share = cone_share(trial, self.friction * push)
        moves = anchor_rate(scale(1.0 - share, trial), D_t)
        force = concatenate([array([push]), -scale(share, trial)])
        return Pressed(site.axes, J, force, slipping - moves if self.rolls(i) else moves)

    # what it remembers: where a point is held, or how far a ball has slipped ------------------------------------

    def rolls(self, i: int) -> bool:
        """True for balls, and for all points on terrain: they remember the way that they have slipped."""
        return self.radii[i] > 0.0 or self.relief is not None

    def unloaded(self, i: int, site: Site, p: Vector) -> Vector:
        """Anchor (2) at ``p``, or zero slip."""
        return np.zeros(2) if self.rolls(i) else site.axes[1:] @ p

    def stretch(self, i: int, site: Site, p: Vector, remembered: Vector) -> Vector:
        """Deflection of the tangential spring of a point.

        Args:
            i: Index of the point.
            site: Ground below it.
            p: Position (3, world, m).
            remembered: Memory (2) of the point.

        Returns:
            Deflection (2, m) along the tangents.
        """
        return remembered if self.rolls(i) else site.axes[1:] @ p - remembered

    # steps ----------------------------------------------------------------------------------------------------

    def point_impedance(self, model: Model) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping of the springs."""
        return self._springs

    @property
    def _pairs(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Stiffness and damping, which must be known."""
        if self.stiffness is UNSAID or self.damping is UNSAID:
            raise ModelError("the springs of this floor follow from the robot on it: take floor.for_robot(model)")
        return self.stiffness, self.damping

    @property
    def _springs(self) -> tuple[np.ndarray, np.ndarray]:
        (K_n, K_t), (D_n, D_t) = self._pairs
        return np.array([K_n, K_t, K_t]), np.array([D_n, D_t, D_t])

    def support(self, point: Any, ahead: Vector, seen: ThetaWeights) -> Support:
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
        if self.friction is not None:
            part = cone_share(full[1:], -self.friction * full[0])  # of no matter where it would have to pull
            stopping = part * (1.0 + seen.dt * seen.mobility * gain[1])
            share, slope = carries * part, where(less(stopping, 1.0), stopping, 1.0 + 0.0 * part)
        shares, slopes = array([carries, share, share]), array([1.0, slope, slope])
        return Support(shares * (slopes * gain * ahead - full), shares * slopes * gain)

    def step_force(self, point: Any, ahead: Vector, seen: ThetaWeights) -> Vector:
        """Contact force of a step.

        Args:
            point: Point in the step.
            ahead: Velocity (3, m/s) at the end of the step.
            seen: Weights of the step.

        Returns:
            Force (3, N) along normal and tangents.
        """
        full, _, carries, share = self._trial(point, ahead, seen)
        if self.friction is not None:
            share = carries * cone_share(full[1:], -self.friction * full[0])
        return -array([carries, share, share]) * full

    @property
    def friction_follows(self) -> bool:
        """True with a friction coefficient."""
        return self.friction is not None

    def tangent(self, point: Any, ahead: Vector, seen: ThetaWeights) -> Support:
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
        mu = 0.0 if self.friction is None else self.friction  # it may be a traced number
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
        free, gain = self._pull(point, seen)
        full = free + gain * (ahead - point.velocity)
        lasts = where(less(point.position[0], 0.0), point.lasts, 0.5 * point.lasts)
        inside = where(self.inside(point, ahead, seen), lasts, 0.0 * full[0])
        return full, gain, where(less(full[0], 0.0), inside, 0.0 * full[0]), inside

    def _pull(self, point: Any, seen: ThetaWeights) -> tuple[Any, Any]:
        """Force of spring and damper of a point against its velocity, and its derivative by the velocity (3 each).

        A point that is above the ground in the middle of the step may come through it by the velocity ``w`` that it
        gains.  At height ``y`` it is damped by ``D_n (w + 2 y / dt)`` for half of the step: this grows from zero with
        the depth at the end, so that steps have a solution.
        """
        (K, D), velocity, height = self._springs, point.velocity, point.position[0]
        drift, gain = seen.foreseen(K, D)
        free = K * concatenate([point.position[:1], point.position[1:] - point.anchor]) + (D + drift) * velocity
        below, late = less(height, 0.0), D[0] * (velocity[0] + 2.0 / seen.dt * height)
        normal = where(below, free[0], late), where(below, gain[0], D[0] + 0.0 * late)
        return array([normal[0], *free[1:]]), array([normal[1], *gain[1:]])

    def inside(self, point: Any, ahead: Vector, seen: ThetaWeights) -> Any:
        """Condition: a point is in the ground in the middle of a step, or enters it by its velocity ``ahead`` (3)."""
        height, end = point.position[0], point.position[0] + 0.5 * seen.dt * ahead[0]
        return less(where(less(height, 0.0), self._seen(point, ahead, seen)[0], end), 0.0)

    def touchdown(self, position: Any, velocity: Any, anchor: Any, dt: Any) -> Landing:
        """Landing of a point, whose anchor is where it comes through the ground."""
        there = super().touchdown(position, velocity, anchor, dt)
        half = 0.5 * dt * there.lasts
        return there._replace(anchor=where(there.lands, there.position[1:] - scale(half, velocity[1:]), anchor))

    def anchor(self, point: Any, ahead: Vector, friction: Vector, seen: ThetaWeights) -> tuple[Vector, Any]:
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
        if self.friction is not None:
            trial, _, _, lasts = self._trial(point, ahead, seen)
            held = held + anchor_travel(scale(lasts, trial[1:]) + friction, K_t, D_t, seen.dt)
        return where(inside, held, point.position[1:] + scale(0.5 * seen.dt, ahead[1:])), inside

    def ground(self, model: Model) -> Ground:
        """Plane, with terrain if there is one."""
        return grounded(plane(model, self.normal, self.height), self.relief)
