"""Contact between bodies: robots, the objects that they grasp and push, and the ground."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import any_nonzero, array, concatenate, less, scale, where
from ..arrays.types import Vector, Vector_nv
from ..caching import cached_property
from ..compiler.compilation import compile_step
from ..constraints.redundant_constraints import plane_axes
from ..dynamics.checks import positive
from ..errors import ModelError, describe
from ..geometry.body_pairs import BodyPair, overlap_advice
from ..geometry.body_touch import body_touches
from ..geometry.contact_points import Ground
from ..lie.group import constant
from ..model import Model, State
from ..records import concise
from .base import Contact, Mode
from .default_friction import BETWEEN_BODIES, BY_SURFACES, friction_between
from .default_springs import DEFAULT_STEP
from .rigid.event_driven.contact_kinematics import ContactKinematics, contact_kinematics
from .rigid.event_driven.impacts import restitutions
from .rigid.hard_contacts import HardContacts
from .rigid.joint_stops import beside_stops, with_stops
from .rigid.solvers.cone_projection import STICKING_FRICTION, Cone, ImpulseSet
from .rigid.solvers.delassus import Lever
from .rigid.time_stepping.contact_jacobian import StackedJacobian, stacked_jacobian
from .rigid.time_stepping.stepped_contacts import SteppedContacts, gaps_at

DEEPEST_START = 1e-4
"""m: how deep bodies may be in each other where a run starts; in a step of 1 ms they part with 0.1 m/s."""
DEEPEST_SOFT_START = 5e-3
"""m: the same of compliant bodies."""

_AXES, _NORMAL = constant(np.array([0, 1, 2])), constant(np.array([0]))


@concise
@dataclass(frozen=True)
class BodyContacts(Contact):
    """Contact with Coulomb friction between links of a scene: grasp, push, stack.

    A scene is one model: a fixed base, robots on it, and objects on free joints (``fc.load(..., root="world")``,
    :func:`fallingcat.model.combine`).  A contact force acts on both links at one place: momentum is conserved.
    Boxes touch boxes in up to four points, capsules boxes in two, all others in one; cylinders count as capsules or
    boxes.  Runs take ``moreau`` steps, in which impacts and sliding are solved with the contacts of the floor.

    Contact is rigid, or with a ``stiffness`` the law of :class:`.CompliantFloor` at each point: at a depth ``y``,
    ``k y + d dy/dt`` along the normal, not below 0, and a spring and damper along the tangents within the cone of
    friction.  Its springs are implicit and of first order: what bounces loses energy in steps that are not small.

    Args:
        pairs: Shapes that may touch, as :func:`.body_pairs` finds them.
        friction: Coulomb's coefficient between bodies, one for all pairs or one for each; left out, that of the
            surfaces in the robot's file, or where it has none, 0.5; None: they stick.
        restitution: Newton's, one for all pairs or one for each.
        floor: What touches the ground beside it; None: nothing does.
        stiffness: Of a spring at each contact point, along normal and tangents (N/m); None: contact is rigid.
        damping: Of a damper beside each spring (N s/m).

    Example:
        >>> import fallingcat as fc
        >>> box = fc.model.shapes.Box((0.1, 0.1, 0.1))
        >>> links = [fc.Link(name, fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=(box,)) for name in ("table", "cube")]
        >>> scene = fc.Model("scene", fc.lie.Trivial(), links, [fc.Joint("free", fc.joints.Free(), "table", "cube")])
        >>> start = scene.state(joints=[0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])  # on the table
        >>> touch = BodyContacts(fc.contact.body_pairs(scene), friction=0.5)
        >>> run = fc.simulate(scene, start, 0.1, contact=touch)
        >>> float(run.contact_pushes[-1].sum().round(6))  # the weight (N)
        9.81
    """

    pairs: tuple[BodyPair, ...]
    friction: float | tuple[float, ...] | None = BY_SURFACES
    restitution: float | tuple[float, ...] = 0.0
    floor: HardContacts | None = None
    stiffness: float | None = None
    damping: float = 0.0

    ports = HardContacts.ports
    acts_with_loops = True

    def __post_init__(self) -> None:
        check_body_pairs(self.pairs, self.friction)
        if not isinstance(self.floor, HardContacts | None):
            raise ModelError(f"the floor of rigid bodies is a HardContacts or None, not {describe(self.floor)}")
        bounces = restitutions(self.restitution, [pair.first for pair in self.pairs])
        if self.stiffness is None and self.damping != 0.0:
            raise ModelError("damping between bodies is beside a stiffness: give both")
        if self.stiffness is not None:
            positive(self.stiffness, "stiffness between bodies")
            if not isinstance(self.damping, (int, float, np.number)) or not 0.0 <= self.damping < np.inf:
                raise ModelError(f"damping between bodies is not negative, not {describe(self.damping)}")
            if bounces.any():
                raise ModelError("compliant bodies bounce by their springs: leave restitution out")

    @property
    def passive(self) -> bool:  # type: ignore[override]
        """True for rigid bodies; springs return the energy that they stored."""
        return self.stiffness is None

    @cached_property
    def points(self) -> tuple[str, ...]:
        """Points of the floor, then those of each pair."""
        own = () if self.floor is None else self.floor.points
        return (*own, *(name for pair in self.pairs for name in pair.names))

    def for_robot(self, model: Model, step: float = DEFAULT_STEP) -> BodyContacts:
        """The same with the friction of the robot's file where it was left out."""
        floor = self.floor and self.floor.for_robot(model, step)
        return replace(self, floor=floor, friction=friction_between(model, self.pairs, self.friction))

    def replaces(self) -> frozenset[str]:
        """Names of the passive joint laws that the floor replaces."""
        return frozenset() if self.floor is None else self.floor.replaces()

    def ground(self, model: Model) -> Ground:
        """Ground of the floor; an error where there is no floor."""
        if self.floor is None:
            raise ModelError("these bodies have no floor")
        return self.floor.ground(model)

    def time_stepping(self, further: int) -> Contact:
        """Contact with the memory of time steps, see :class:`.AdmissibleImpulses`.

        Args:
            further: Number of further rows, of loops and dry friction.

        Returns:
            The same contact for time stepping.
        """
        return SteppedBodies.between(self, further)

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """Mode and memory of the contact in time steps."""
        return self.time_stepping(0).begin(model, state)

    def touching(self, mode: Mode) -> frozenset[str]:
        """Names of the points that push."""
        return frozenset(place for place, pushes in zip(self.points, mode, strict=False) if pushes)

    def forces(
        self, model: Model, mode: Mode, state: State, memory: Vector, applied: Vector_nv
    ) -> Mapping[str, Vector_nv]:
        """Raise an error: forces between rigid bodies are those of a time step."""
        raise ModelError("forces between rigid bodies are those of a time step: take the integrator 'moreau'")


class _Touch(NamedTuple):
    """A pair of bodies at a state."""

    J: Any
    """``k x nv``: relative twist ``[v; w]`` of the second body in world axes at its shape, without zero rows"""
    X: list[Any]
    """``3 x k`` of each point: from the twist to its velocity along the axes"""
    heights: Any
    axes: Any
    """``3 x 3``: the normal towards the second body, then two tangents, as rows (world)"""


@dataclass(frozen=True)
class SteppedBodies(SteppedContacts):
    """:class:`BodyContacts` in time steps: points of the floor, then those between bodies, then stops of joints."""

    bodies: BodyContacts | None = None
    """contact of the user"""

    @classmethod
    def between(cls, bodies: BodyContacts, further: int) -> SteppedBodies:
        """Contact in time steps of the one of a user."""
        floor, count = bodies.floor, sum(pair.points for pair in bodies.pairs)
        given = {} if floor is None else {field.name: getattr(floor, field.name) for field in fields(HardContacts)}
        counts = [pair.points for pair in bodies.pairs]
        bounces = np.repeat(restitutions(bodies.restitution, [pair.first for pair in bodies.pairs]), counts)
        if floor is not None:
            bounces = np.append(floor.restitutions[: len(floor.points)], bounces)
        radii = (*(() if floor is None else floor.radii), *[0.0] * count)
        given |= {"points": bodies.points, "radius": radii, "restitution": tuple(bounces.tolist())}
        return cls(**given | {"friction": bodies.friction}, further=further, source=floor, bodies=bodies)

    def __post_init__(self) -> None:
        """Checked by what a user gave."""

    @property
    def passive(self) -> bool:  # type: ignore[override]
        """True for rigid bodies."""
        return self._springs is None

    @property
    def _pairs(self) -> tuple[BodyPair, ...]:
        assert self.bodies is not None
        return self.bodies.pairs

    @property
    def _count(self) -> int:
        """Number of points of the floor."""
        return 0 if self.source is None else len(self.source.points)

    @property
    def _springs(self) -> tuple[float, float] | None:
        """Stiffness (N/m) and damping (N s/m) between bodies."""
        assert self.bodies is not None
        k = self.bodies.stiffness
        return None if k is None else (k, self.bodies.damping)

    @property
    def _sizes(self) -> tuple[int, ...]:
        own = [] if self._springs is None else [2 * (len(self.points) - self._count)]
        return (*super()._sizes, *own)

    # starts -----------------------------------------------------------------------------------------------------

    def begin(self, model: Model, state: State) -> tuple[Mode, np.ndarray]:
        """No point may start below the ground, no body in another."""
        self.check_starts(model, State(*(x[None] for x in state)))
        return (), np.zeros(self.memory_size)

    def check_starts(self, model: Model, many: State) -> None:
        """Refuse states (fields ``N x ...``) in which a point is below the ground, or a body in another."""
        if self.source is not None:
            self.source.begin(model, many.at(0))
        self._check_depths(model, place_kernel(model, gaps_at, self)(many.pose[:, :3], many.joints))

    def _check_depths(self, model: Model, heights: np.ndarray) -> None:
        for i, name in enumerate(self.names):
            deepest = DEEPEST_START if self._springs is None else DEEPEST_SOFT_START
            allowed = deepest if self._count <= i < len(self.points) else self.tolerance
            robot = int(np.argmin(heights[:, i]))
            if heights[robot, i] < -allowed:
                which = f" of scene {robot}" if len(heights) > 1 else ""
                between = self._count <= i < len(self.points)
                way = (
                    overlap_advice(model, self._pairs, i - self._count) if between else "give a state in touch or apart"
                )
                raise ModelError(f"{name!r}{which} starts {-heights[robot, i]:.3g} m deep: {way}")

    # rows -------------------------------------------------------------------------------------------------------

    def axes(self, model: Model) -> tuple[np.ndarray, ...]:
        """0 the normal, 1 and 2 the tangents, for points, and the gap of each stop."""
        floor, radii = self.points[: self._count], self.radii[: self._count]
        own = plane_axes(model, floor, self.normal, radii) if floor else ()
        return (*own, *[_AXES] * (len(self.points) - self._count), *[_NORMAL] * len(self.stops))

    def cones(self, model: Model) -> list[ImpulseSet]:
        """Impulse sets of the points of the floor, of the points between bodies and of the stops."""
        own = [] if self.source is None else self.source.impulse_sets(model)
        between = [
            Cone(1 if isinstance(mu, float) and mu == 0.0 else 3, mu)
            for mu, pair in zip(frictions(self.friction, self._pairs), self._pairs, strict=True)
            for _ in range(pair.points)
        ]
        return [*own[: self._count], *between, *own[self._count :]]

    def stacked_jacobian(self, model: Model, state: State) -> StackedJacobian:
        """Points of the floor move with links, points of a pair of bodies with their relative twist."""
        touches, cones = self._touches(model, state), self.cones(model)
        rows = [touch.J if len(touch.X) > 1 else touch.X[0] @ touch.J for touch in touches]
        floor, radii = self.points[: self._count], self.radii[: self._count]
        axes = [axes[: cone.rows] for axes, cone in zip(self.axes(model), cones, strict=True)]
        further = len(self.stops) + self.further + sum(map(len, rows))
        on = stacked_jacobian(model, state, floor, self._ground(model), radii, axes[: self._count], further)
        start, (jacobian, _) = on.jacobian.size, on.jacobian.with_rows(concatenate(rows))
        levers, heights, place = list(on.levers), list(on.heights), self._count
        for touch, J in zip(touches, rows, strict=True):
            span, start = slice(start, start + len(J)), start + len(J)
            for X, height in zip(touch.X, touch.heights, strict=True):
                own = X if len(touch.X) > 1 else np.eye(3)
                levers.append(Lever(span, own[axes[place]]))
                heights.append(height)
                place += 1
        return beside_stops(StackedJacobian(heights, jacobian, levers), model, state.joints, self.stops)

    def seen(self, model: Model, state: State) -> ContactKinematics:
        """Points of the floor, points between bodies, and stops; accelerations of the second are not worked out."""
        floor, radii = self.points[: self._count], self.radii[: self._count]
        at, touches = contact_kinematics(model, state, floor, self._ground(model), radii), self._touches(model, state)
        points = [
            (h, X @ touch.J, touch.axes) for touch in touches for h, X in zip(touch.heights, touch.X, strict=True)
        ]
        at = at._replace(
            places=[*at.places, *(array([h, 0.0, 0.0]) for h, _, _ in points)],
            J=[*at.J, *(J for _, J, _ in points)],
            biases=[*at.biases, *[np.zeros(3)] * len(points)],
            axes=[*at.axes, *(axes for _, _, axes in points)],
        )
        return with_stops(at, model, self.stops)

    # compliance: impulses P of a spring and a damper at the end of a step, u + P / (dt (dt k + d)) = -k h / (dt k + d)

    def softness(self, dt: Any) -> list[Any] | None:
        """Compliance of each set, ``1 / (dt (dt k + d))`` between bodies and zero elsewhere; None for rigid bodies."""
        if self._springs is None:
            return None
        k, d = self._springs
        between = [1.0 / (dt * (dt * k + d))] * (len(self.points) - self._count)
        return [*[0.0] * self._count, *between, *[0.0] * len(self.stops)]

    def wanted(self, heights: list[Any], sets: list[ImpulseSet], stretch: Any, dt: Any) -> list[Any]:
        """Springs act at a depth, and along tangents at their stretch; what is apart touches as rigid bodies do."""
        asked = super().wanted(heights, sets, stretch, dt)
        if self._springs is None:
            return asked
        k, d = self._springs
        share, stretches = k / (dt * k + d), np.reshape(stretch, (-1, 2))
        for i in range(self._count, len(self.points)):
            normal = where(less(heights[i], 0.0), -share * heights[i], asked[i][0])
            along = scale(-share, stretches[i - self._count])[: len(asked[i]) - 1]
            asked[i] = concatenate([np.reshape(normal, 1), along])
        return asked

    def next_stretch(self, stretch: Any, forces: Any, dt: Any) -> Any:
        """Deflection of the tangential springs after a step, ``k s + d ds/dt = -F``; points have slid by the rest."""
        if self._springs is None:
            return stretch
        (k, d), parts = self._springs, [np.zeros(0)]
        for i, s in enumerate(np.reshape(stretch, (-1, 2)), start=self._count):
            push, drag = forces[3 * i], array(list(forces[3 * i + 1 : 3 * i + 3]))
            held = scale(1.0 / (dt * k + d), scale(d, s) - scale(dt, drag))
            parts.append(where(less(0.0, push), held, 0.0 * held))
        return concatenate(parts)

    def sites(self, model: Model, state: State) -> list[tuple[Any, Any, Any]]:
        """Heights, axes and Jacobians of the points of the floor and between bodies."""
        at = self.seen(model, state)
        return [(at.places[i][0], at.axes[i], at.J[i]) for i in range(len(self.points))]

    def _ground(self, model: Model) -> Any:
        return None if self.source is None else self.source.ground(model)

    def _touches(self, model: Model, state: State) -> list[_Touch]:
        """All pairs, without motions that no joint has."""
        found = []
        for touch in body_touches(model, state, self._pairs):
            ways = [k for k in range(6) if any_nonzero(touch.J[k])]
            X = [touch.lever(arm)[:, ways] for arm in touch.arms]
            found.append(_Touch(touch.J[ways], X, touch.heights, touch.axes))
        return found


@lru_cache(maxsize=16)
def place_kernel(model: Model, function: Any, contact: Contact) -> Any:
    """Function of poses (N x 3 x 4) and joints (N x n) as machine code: NumPy takes 10 ms for a manifold."""
    return compile_step(model, function, {}, ["pose", "joints"], contact=contact)


def check_body_pairs(pairs: Any, friction: Any) -> None:
    """Refuse what are no pairs of bodies, or no coefficients of friction between them."""
    if not isinstance(pairs, tuple) or not pairs or not all(isinstance(pair, BodyPair) for pair in pairs):
        raise ModelError(f"pairs are those that fc.contact.body_pairs(model) gives, not {describe(pairs)}")
    for mu in frictions(friction, pairs):
        if not isinstance(mu, (int, float, np.number)) or not 0.0 <= mu < np.inf:
            raise ModelError(f"friction between bodies is a finite number that is not negative, not {describe(mu)}")


def frictions(friction: Any, pairs: tuple[BodyPair, ...]) -> list[Any]:
    """A coefficient for each pair; of any kind of number, if it is one for all."""
    if friction is BY_SURFACES:
        return [BETWEEN_BODIES] * len(pairs)
    if friction is None:
        return [STICKING_FRICTION] * len(pairs)
    if isinstance(friction, tuple):
        if len(friction) != len(pairs):
            raise ModelError(
                f"friction between bodies is one number or one for each of {len(pairs)} pairs, not {describe(friction)}"
            )
        return [float(mu) for mu in friction]
    return [friction] * len(pairs)
