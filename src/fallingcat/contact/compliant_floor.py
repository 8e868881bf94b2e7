"""The compliant floor: springs and dampers under the feet ([Feurstein] 4.1.4, [ETH] 3.7.1), with friction."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._deprecated import former_arguments
from ..arrays.types import Matrix_3_nv, Vector, Vector_2, Vector_3, Vector_nv
from ..errors import ModelError
from ..geometry.collision_points import take_feet
from ..geometry.contact_points import Ground, Site, checked_points, each_radius, floor_normal, floor_points, plane
from ..geometry.ellipsoids import Around, ball_radii
from ..geometry.reduced_points import shape_points
from ..geometry.terrain import Terrain, check_terrain, ground_surface
from ..model import Model, State
from ..records import concise
from .base import Mode
from .default_friction import BY_SURFACES, check_friction, coefficient, friction_on
from .default_springs import DEFAULT_STEP, default_springs
from .spring_damper import UNSPECIFIED, SpringDamperContact
from .support_points import Pressed

SUPPORTING_POINTS = 4
"""Points that carry a robot whose collision shapes all may touch."""
_PAIR, _ONE = "two finite numbers that are not negative, (normal, tangential)", "a finite number"
_NUMBERS = (
    ("stiffness", _PAIR, (2,)),
    ("damping", _PAIR, (2,)),
    ("height", _ONE, ()),
)
"""Parameters of a floor with the rule that they obey and their shapes."""


def _fits(given: Any, shape: tuple[int, ...], *, signed: bool) -> bool:
    """True if ``given`` holds finite numbers of a shape, none negative unless ``signed``."""
    try:
        numbers = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(numbers.shape == shape and np.isfinite(numbers).all() and (signed or (numbers >= 0.0).all()))


@concise
@former_arguments(relief="terrain")
@dataclass(frozen=True)
class CompliantFloor(SpringDamperContact):
    """Visco-elastic plane, with a ``terrain`` or without, under the points of the robot.

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

    points: tuple[str, ...] = ()
    """links or frames whose origins may touch, or :func:`.feet` of a model, with their radii; left out, all collision
    shapes of the robot"""
    stiffness: tuple[float, float] = UNSPECIFIED
    """normal, tangential (N/m); left out, both are ``K = m w^2 / points``, with the mass ``m`` of the robot and
    ``w = min(70 rad/s, 0.2 / step)``: it rests 2 mm deep on all points; see :func:`.default_springs`"""
    damping: tuple[float, float] = UNSPECIFIED
    """normal, tangential (N s/m); left out, both are ``D = m w / points``: half of critical damping"""
    friction: float | tuple[float, ...] | None = BY_SURFACES
    """Coulomb's coefficient, one for all points or one for each; left out, that of the surfaces in the robot's file
    (:class:`fallingcat.model.Surface`), or where it has none, 1.0; None holds every point where it touched down"""
    normal: tuple[float, float, float] | None = None
    """out of the ground (world); None: against gravity"""
    height: float = 0.0
    """height of the plane along its normal (m)"""
    radius: Around | tuple[Around, ...] = 0.0
    """radius of a ball around each point (m), or a :class:`.ContactEllipsoid`: one for all or one for each"""
    terrain: Terrain | None = None
    """heights over the plane, such as :class:`.HeightField`; None: it is flat"""

    def __post_init__(self) -> None:
        feet = take_feet(self)
        if feet is not None:
            for name, pair in self._defaults(feet.model).items():
                object.__setattr__(self, name, pair)
        object.__setattr__(self, "points", floor_points(self.points) if self.points != () else ())
        object.__setattr__(self, "normal", floor_normal(self.normal))
        each_radius(self.radius, self.points)
        check_terrain(self.terrain)
        for name, rule, shape in _NUMBERS:
            given = getattr(self, name)
            if given is UNSPECIFIED:
                continue
            if not _fits(given, shape, signed=name == "height"):
                raise ModelError(f"{name} of a floor is {rule}, not {given!r}")
        check_friction(self.friction, self.points, "a floor")
        if coefficient(self.friction) is not None and self.damping is not UNSPECIFIED and not self.damping[1] > 0.0:
            raise ModelError(
                "a floor with friction needs tangential damping: it says how fast a sliding anchor follows; "
                "friction=None holds points where they touch down"
            )

    def _defaults(
        self, model: Model, step: float = DEFAULT_STEP, points: tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """Springs that were left out: those of :func:`.default_springs`, on all points or some."""
        missing = [name for name in ("stiffness", "damping") if getattr(self, name) is UNSPECIFIED]
        found: Any = default_springs(model, points or self.points, step) if missing else ((), ())
        return {name: pair for name, pair in zip(("stiffness", "damping"), found, strict=True) if name in missing}

    def on_robot(self, model: Model, step: float = DEFAULT_STEP) -> tuple[Model, CompliantFloor]:
        """Floor under all collision shapes of a robot, where it has no points, and the model with their frames.

        Springs that were left out are those of a robot on four points, since it never lies on all of them.
        """
        if self.points:
            checked_points(model, self.points)
            return model, self
        found = shape_points(model)
        springs = self._defaults(model, step, found.points[:SUPPORTING_POINTS])
        return found.model, replace(self, points=found.points, radius=found.radii, **springs)

    def for_robot(self, model: Model, step: float = DEFAULT_STEP) -> CompliantFloor:
        """Floor with springs of :func:`.default_springs` and friction of the robot's file where they were left out."""
        missing = self._defaults(model, step)
        missing |= {"friction": friction_on(model, self.points, BY_SURFACES)} if self.friction is BY_SURFACES else {}
        return replace(self, **missing) if missing else self

    @property
    def parts(self) -> tuple[CompliantFloor, ...]:
        """Floors with one coefficient of friction each, in the order of the points: itself, where it has one."""
        if not isinstance(self.friction, tuple):
            return (self,)
        ends = [i for i, mu in enumerate(self.friction) if i == 0 or mu != self.friction[i - 1]]
        return tuple(self._part(slice(a, b)) for a, b in zip(ends, [*ends[1:], len(self.points)], strict=True))

    def _part(self, some: slice) -> CompliantFloor:
        """Floor under some points with one coefficient of friction."""
        part = copy.copy(self)  # past __post_init__: other numbers may be traced
        part.__dict__.pop("radii", None)
        own = {"points": self.points[some], "radius": self.radii[some], "friction": self.friction[some][0]}  # type: ignore[index]
        for name, value in own.items():
            object.__setattr__(part, name, value)
        return part

    @property
    def memory_size(self) -> int:
        """Two numbers for each point."""
        return 2 * len(self.points)

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points below the ground touch; balls must fit into the hollows of terrain."""
        if not self.points:
            raise ModelError("the points of this floor follow from the robot on it: take floor.on_robot(model)")
        if self.terrain is not None:
            self.terrain.check_radius(max(ball_radii(self.radii)))
        return super().begin(model, state)

    def resting_shift(self, model: Model, heights: np.ndarray) -> float:
        """Distance (m) at which the springs carry the weight: ``sum K_n max(s - h, 0) = m g``."""
        load = model.mass * abs(float(model.gravity @ self.ground(model).site(np.zeros(3)).axes[0]))
        h = np.sort(heights)
        shifts = (load / self.for_robot(model).stiffness[0] + np.cumsum(h)) / np.arange(1, len(h) + 1)
        return float(shifts[np.argmax(shifts <= np.append(h[1:], np.inf))])

    def pressed(self, i: int, site: Site, p: Vector_3, J: Matrix_3_nv, velocity: Vector_nv, memory: Vector) -> Pressed:
        """Forces of spring and damper on a point in the ground, within the friction cone, and the anchor's rate."""
        v = J @ velocity
        law = self._part(slice(i, i + 1)) if isinstance(self.friction, tuple) else self
        force, moves = law.bristle_force(site.height, self.stretch(i, site, p, memory), v)
        return Pressed(site.axes, J, force, v[1:] - moves if self.rolls(i) else moves)

    # what it remembers: where a point is held, or how far a ball has slipped ------------------------------------

    def rolls(self, i: int) -> bool:
        """True for balls, ellipsoids and all points on terrain: they remember the way that they have slipped."""
        return bool(self.radii[i]) or self.terrain is not None

    def unloaded(self, i: int, site: Site, p: Vector_3) -> Vector_2:
        """Anchor (2) at ``p``, or zero slip."""
        return np.zeros(2) if self.rolls(i) else site.axes[1:] @ p

    def stretch(self, i: int, site: Site, p: Vector_3, remembered: Vector_2) -> Vector_2:
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

    def ground(self, model: Model) -> Ground:
        """Plane, with terrain if there is one."""
        return ground_surface(plane(model, self.normal, self.height), self.terrain)
