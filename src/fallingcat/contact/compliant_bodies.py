"""Compliant contact between bodies: springs, dampers and friction where they touch."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import array
from ..arrays.types import Float_nv_nv, Matrix_3_nv, Vector, Vector_3, Vector_nv
from ..caching import cached_property
from ..errors import ModelError, describe
from ..geometry.body_pairs import BodyPair, overlap_advice
from ..geometry.body_touch import body_touches
from ..geometry.contact_points import Ground, Site
from ..model import Model, State
from ..records import concise
from .base import Contact, Mode
from .bodies import check_body_pairs, place_kernel
from .compliant_floor import CompliantFloor
from .default_friction import BETWEEN_BODIES, BY_SURFACES, coefficient, friction_between
from .default_springs import DEFAULT_STEP, body_springs
from .rigid.hard_contacts import HardContacts
from .spring_damper import UNSPECIFIED, SpringDamperContact
from .support_points import Pressed


@concise
@dataclass(frozen=True)
class CompliantBodies(SpringDamperContact):
    """Springs, dampers and Coulomb friction between links of a scene: grasp, push, stack.

    The law of :class:`.CompliantFloor` at the points of :class:`.BodyContacts`: at a depth ``y``, ``K_n y + D_n dy/dt``
    along the normal, not below 0, and a spring and damper along the tangents, within the cone of friction.  Forces act
    on both links at one place: momentum is conserved.  Runs take ``implicit`` steps, beside joint stops, dry friction
    and a floor.

    Args:
        pairs: Shapes that may touch, as :func:`.body_pairs` finds them.
        stiffness: Of each contact point (N/m), along normal and tangents or ``(normal, tangential)``; left out,
            that of :func:`.body_springs`.
        damping: Beside it (N s/m).
        friction: Coulomb's coefficient, one for all pairs or one for each; None: bodies do not slide.
        floor: Ground under points of links beside it; None: there is none.

    Example:
        >>> import fallingcat as fc
        >>> box = fc.model.shapes.Box((0.1, 0.1, 0.1))
        >>> table, cube = fc.model.rigid_object(box), fc.model.rigid_object(box, mass=1.0)
        >>> scene = fc.model.combine({"table": table, "cube": cube})
        >>> start = scene.state(joints=[0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])  # on the table
        >>> touch = CompliantBodies(fc.contact.body_pairs(scene), stiffness=1e4, damping=100.0)
        >>> run = fc.simulate(scene, start, 0.5, contact=touch)
        >>> round(1e3 * (0.1 - float(run.joints[-1, 2])), 3)  # mm: 9.81 / (4 * 1e4)
        0.245
    """

    pairs: tuple[BodyPair, ...]
    stiffness: float | tuple[float, float] = UNSPECIFIED
    damping: float | tuple[float, float] = UNSPECIFIED
    friction: float | tuple[float, ...] | None = BY_SURFACES
    floor: CompliantFloor | None = None

    ports = HardContacts.ports
    acts_with_loops = False
    buried = "deep in another body"

    def __post_init__(self) -> None:
        check_body_pairs(self.pairs, self.friction)
        if not isinstance(self.floor, CompliantFloor | None):
            raise ModelError(f"the floor of compliant bodies is a CompliantFloor or None, not {describe(self.floor)}")
        for name in ("stiffness", "damping"):
            given = getattr(self, name)
            if given is not UNSPECIFIED:
                object.__setattr__(self, name, _pair(given, name))
        if self.coefficient is not None and self.damping is not UNSPECIFIED and not self.damping[1] > 0.0:  # type: ignore[index]
            raise ModelError("friction between bodies needs damping: it says how fast a sliding anchor follows")

    def for_robot(self, model: Model, step: float = DEFAULT_STEP) -> CompliantBodies:
        """The same with the springs that were left out: see :func:`.body_springs`."""
        floor = self.floor and self.floor.for_robot(model, step)
        own = {"floor": floor, "friction": friction_between(model, self.pairs, self.friction)}
        if UNSPECIFIED not in (self.stiffness, self.damping):
            return replace(self, **own)
        stiffness, damping = body_springs(model, self.pairs, step)
        return replace(self, stiffness=self.stiffness or stiffness, damping=self.damping or damping, **own)

    # parts: a floor, and bodies with one coefficient of friction each ---------------------------------------------

    @cached_property
    def points(self) -> tuple[str, ...]:
        """Points of the floor, then those of each pair."""
        own = () if self.floor is None else self.floor.points
        return (*own, *(name for pair in self.pairs for name in pair.names))

    @property
    def parts(self) -> tuple[SpringDamperContact, ...]:
        """The floor, if there is one, then the pairs, one by one where they have coefficients of their own."""
        own = () if self.floor is None else self.floor.parts
        if self.floor is None and not self._uneven:
            return (self,)
        if not isinstance(self.friction, tuple):
            return (*own, self._part(self.pairs, self.friction))
        return (*own, *(self._part((pair,), mu) for pair, mu in zip(self.pairs, self.friction, strict=True)))

    @property
    def on_ground(self) -> CompliantFloor | None:
        """The floor, if there is one."""
        return self.floor

    @property
    def _uneven(self) -> bool:
        """True if pairs have coefficients of their own."""
        return isinstance(self.friction, tuple)

    @property
    def coefficient(self) -> Any:
        """Coulomb's coefficient between bodies; None holds them."""
        return BETWEEN_BODIES if self.friction is BY_SURFACES else coefficient(self.friction)

    def _part(self, pairs: tuple[BodyPair, ...], friction: Any) -> CompliantBodies:
        part = copy.copy(self)  # past __post_init__: friction may be a traced number
        part.__dict__.pop("points", None)
        for name, value in (("pairs", pairs), ("friction", friction), ("floor", None)):
            object.__setattr__(part, name, value)
        return part

    @property
    def friction_follows(self) -> bool:
        """True with a friction coefficient."""
        return all(part.coefficient is not None for part in self.parts)

    @property
    def memory_size(self) -> int:
        """Two numbers for each point."""
        return 2 * len(self.points)

    def ground(self, model: Model) -> Ground:
        """Ground of the floor; an error where there is no floor."""
        if self.floor is None:
            raise ModelError("these bodies have no floor")
        return self.floor.ground(model)

    def place(self, model: Model, state: State) -> State:
        """State with the base on the floor."""
        if self.floor is None:
            raise ModelError("these bodies have no floor")
        return self.floor.place(model, state)

    # points ---------------------------------------------------------------------------------------------------------

    def rolls(self, i: int) -> bool:
        """True: points between bodies remember how far they have slipped."""
        return True

    def unloaded(self, i: int, site: Site, p: Vector_3) -> Vector:
        """No slip."""
        return np.zeros(2)

    def pressed(self, i: int, site: Site, p: Vector_3, J: Matrix_3_nv, velocity: Vector_nv, memory: Vector) -> Pressed:
        """Forces of spring and damper on the second body, within the friction cone, and the rate of its slip."""
        v = J @ velocity
        force, moves = self.bristle_force(site.height, memory, v)
        return Pressed(site.axes, J, force, v[1:] - moves)

    def sites(self, model: Model, state: State) -> list[tuple[Any, Any, Any]]:
        """Heights, axes and Jacobians of the points of the floor and between bodies."""
        own = [] if self.floor is None else self.floor.sites(model, state)
        touches = body_touches(model, state, self.pairs)
        return own + [
            (height, touch.axes, touch.lever(arm) @ touch.J)
            for touch in touches
            for arm, height in zip(touch.arms, touch.heights, strict=True)
        ]

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Points that start in the ground or in a body touch where they are, without tangential load."""
        own = np.zeros(0) if self.floor is None else self.floor.begin(model, state)[1]
        heights = self._heights(model, state)
        return tuple((heights < 0.0).tolist()), np.append(own, np.zeros(2 * len(heights) - len(own)))

    def check_start(self, model: Model, state: State) -> None:
        """Refuse states in which springs hold too much energy."""
        self.check_heights(model, self._heights(model, state)[None])

    def _heights(self, model: Model, state: State) -> np.ndarray:
        """Heights (m) of all points at one state."""
        return np.asarray(place_kernel(model, heights_at, self)(state.pose[None, :3], state.joints[None]))[0]

    def guards(self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv) -> Vector:
        """Height of the points that are apart, depth of the points that touch."""
        signed = [
            -height if touches else height
            for (height, _, _), touches in zip(self.sites(model, state), mode, strict=True)
        ]
        return array(signed)

    def pressed_points(self, model: Model, mode: Mode, state: State, memory: Vector) -> list[Pressed | None]:
        """Points of the floor and between bodies that touch, and None for each of the others."""
        count, own = len(self.points), memory.reshape(len(self.points), -1)
        first = 0 if self.floor is None else len(self.floor.points)
        found = [] if self.floor is None else self.floor.pressed_points(model, mode[:first], state, memory[: 2 * first])
        laws = [part for part in self.parts if part.pairs for _ in part.points]
        sites = self._part(self.pairs, None).sites(model, state)
        for i, law, (height, axes, J) in zip(range(first, count), laws, sites, strict=True):
            at = law.pressed(i, Site(height, axes), None, J, state.velocity, own[i])
            found.append(at if mode[i] else None)
        return found

    def unloaded_at(self, model: Model, i: int, state: State) -> Vector:
        """Memory of a point that touches down at a state."""
        if self.floor is not None and i < len(self.floor.points):
            return self.floor.unloaded_at(model, i, state)
        return np.zeros(2)

    def check_heights(self, model: Model, heights: np.ndarray) -> None:
        """Refuse starts in which the springs of a floor or between bodies hold too much energy."""
        start = 0
        for part in self.parts:
            own = heights[:, start : start + len(part.points)]
            SpringDamperContact.check_heights(part, model, own)
            start += len(part.points)

    def way_out(self, model: Model, i: int) -> str:
        """Advice to a user whose bodies start in each other."""
        return overlap_advice(model, self.pairs, i)

    def impedance(self, model: Model, state: State) -> tuple[Float_nv_nv, Float_nv_nv]:
        """Stiffness and damping of all points, as if all touched."""
        K, D = super().impedance(model, state)
        if self.floor is None:
            return K, D
        more = self.floor.impedance(model, state)
        return K + more[0], D + more[1]


def heights_at(model: Model, state: State, *, contact: Contact) -> Any:
    """Heights (m) of the points of a contact."""
    return array([height for height, _, _ in contact.sites(model, state)])


def _pair(given: Any, name: str) -> tuple[float, float]:
    """A number along normal and tangents, or one for each; not negative, a stiffness along the normal not zero."""
    try:
        numbers = np.broadcast_to(np.array(given, dtype=float), (2,))
    except (TypeError, ValueError, OverflowError):
        numbers = np.full(2, np.nan)
    if not ((numbers >= 0.0) & (numbers < np.inf)).all() or (name == "stiffness" and numbers[0] == 0.0):
        rule = "one finite number or two, (normal, tangential), that are not negative"
        raise ModelError(f"{name} between bodies is {rule}, not {describe(given)}")
    return float(numbers[0]), float(numbers[1])
