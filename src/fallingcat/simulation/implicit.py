"""Linearly implicit Euler in one sweep of articulated bodies: stable on stiff floors at any step, O(n).

What a spring or a damper will pull with at the end of a step is linear in the acceleration of the step.  A point on a
compliant floor then feels ``f - G (u + dt a)``: a force, a damper ``G = D + dt K``, and an inertia ``dt G`` that
gravity does not pull.  So ``(M + dt sum J' G J) a = forces - C v - g + sum J' (f - G u)`` is forward dynamics of a
robot whose links have a little more inertia where they touch, and joints with springs a little more armature.

Which points touch, stick and slide follows from the velocities ahead, by cases: one code serves all modes, and nothing
is located.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, block, concatenate, cross, less, scale, where
from ..contact import CompliantFloor, Contact
from ..contact.compliant import Support
from ..contact.contact import Mode
from ..contact.points import checked_points, position
from ..control import Law
from ..dynamics.forward import Response, response
from ..dynamics.spatial import motion_to_child
from ..dynamics.sweeps import nodes, outward
from ..errors import ModelError
from ..kernels import compile
from ..kernels.kernel import compile_step
from ..lie.rotations import skew
from ..model import Model, State
from .arguments import whole
from .cases import by_cases
from .compiled import remembered
from .field import layout_of
from .grip import Grip
from .integrator import Integrator
from .numbers import apart, tuned
from .system import System, held


@dataclass(frozen=True)
class Implicit(Integrator):
    """Order 1: for floors under many points, and for runs whose speed counts more than their last digits.

    A step is worked out twice: as if all that touches stuck, then with what lifts off and slides of that.  ``sweeps=1``
    takes half the time: what lifts off and slides follows from the velocities at the start of the step.
    """

    sweeps: int = 2
    name = "implicit"
    order = 1
    stable = True

    def __post_init__(self) -> None:
        whole(self.sweeps, "sweeps")

    def stepper(self, system: System, mode: Mode, memory: int) -> March:
        """Machine code for all modes."""
        if not (system.contact is None or isinstance(system.contact, CompliantFloor)):
            kind = type(system.contact).__name__
            raise ModelError(f"the integrator {self.name!r} takes compliant floors, not {kind}")
        if system.model.loops:
            raise ModelError(f"the integrator {self.name!r} takes trees, not the loops of {system.model.name!r}")
        if system.contact is not None:
            checked_points(system.model, system.contact.points)
        return March(system, memory, self.sweeps)


class March:
    """Steps as machine code: one when it is called, as a :data:`.Step`; many by :meth:`rows`.

    A controller is asked at the start of a step, and what it says is held.
    """

    def __init__(self, system: System, memory: int, sweeps: int) -> None:
        laws, self.numbers = apart(system.laws)
        self.system, self._layout, self._model = system, layout_of(system, memory), system.model
        forces = 0 if system.controller is None else system.model.nv
        self._inputs = {"x": 1 + self._layout.size, "dt": 1, "numbers": len(self.numbers), "forces": forces}
        self._options: dict[str, Any] = {"laws": laws, "contact": system.contact, "memory": memory, "sweeps": sweeps}

    @functools.cached_property
    def kernel(self) -> Any:
        """``(x, dt, numbers, forces) -> x`` a step later, with ``x = [t; packed]``."""
        about = (stepped, self._model, *self._inputs.values(), *self._options.values())
        return remembered(about, lambda: compile_step(self._model, stepped, self._inputs, **self._options))

    def on(self, target: str, dtype: str) -> Any:
        """The same for another machine."""
        return compile(self._model, stepped, target=target, dtype=dtype, inputs=self._inputs, **self._options)

    def __call__(self, packed: np.ndarray, clock: np.ndarray) -> np.ndarray:
        forces = None
        if self.system.controller is not None:
            asked = self.system.asked(clock[0], self._layout.unpack(packed)[0])
            forces = np.concatenate([np.zeros(self._model.nv - len(asked)), asked])
        return np.append(self.rows(clock[0], packed, clock[1], 1, forces=forces)[0], 0.0)  # no guards, no error

    def rows(
        self,
        t: Any,
        packed: np.ndarray,
        dt: float,
        rows: int,
        every: int = 1,
        threads: int = 1,
        forces: np.ndarray | None = None,
    ) -> np.ndarray:
        """``rows x ... x size``: every ``every``-th of ``rows * every`` steps from ``packed`` (..., size), under the
        forces (..., nv) of a controller.
        """
        x = np.concatenate([np.broadcast_to(np.asarray(t)[..., None], (*packed.shape[:-1], 1)), packed], axis=-1)
        more = np.zeros(0) if forces is None else forces
        found = self.kernel.iterate(x, np.array([dt]), self.numbers, more, rows=rows, every=every, threads=threads)
        return np.asarray(found[..., 1:])


def stepped(
    model: Model,
    x: Any,
    dt: Any,
    numbers: Any,
    forces: Any,
    *,
    laws: tuple[Law, ...],
    contact: Contact | None,
    memory: int,
    sweeps: int,
) -> Any:
    """``x = [t; packed]`` a step later, under held ``forces`` if there are any."""
    system = System(model, tuned(laws, numbers), contact, held if len(forces) else None)
    after = advance(system, memory, x[0], x[1:], dt[0], forces, sweeps)
    return concatenate([x[:1] + dt, after])


class Point(NamedTuple):
    """A point or ball that may touch, at the start of a step."""

    link: int
    center: np.ndarray
    """``3``: in the link frame"""
    place: Any
    """``3``: where it touches, in the link frame: below the center of a ball"""
    axes: Any
    """``3 x 3``: normal and tangents of the ground as rows, in the link frame"""
    gravity: Any
    """``3``: in the link frame"""
    spin: Any
    """``3``: angular velocity, in the link frame"""
    position: Any
    """``3``: height over the ground, and where along it, or how far it has slipped"""
    velocity: Any
    """``3``: its rate"""
    anchor: Any
    """``2``: where along the ground it is held"""
    base: Any
    """``3 x 3``: the axes in the base frame"""
    lever: Any
    """``3``: where it touches, in the base frame"""

    def ahead(self, found: Response, dt: Any) -> Any:
        """``3``: its velocity at the end of the step."""
        a, alpha = found.links[self.link][:3] + self.gravity, found.links[self.link][3:]
        a = a + cross(alpha, self.place) + cross(self.spin, cross(self.spin, self.center))
        return self.velocity + self.axes @ scale(dt, a)

    def wrench(self, force: Any) -> Any:
        """``6``: of a force (3) along normal and tangents, in the link frame."""
        f = self.axes.T @ force
        return concatenate([f, cross(self.place, f)])

    def resistance(self, gain: Any) -> Any:
        """``6 x 6``: ``X' G X``, the wrench of dampers along normal and tangents per twist of the link."""
        normal, P = self.axes[0], skew(self.place)
        G = gain[1] * np.eye(3) + (gain[0] - gain[1]) * (normal[:, None] * normal[None, :])
        GP = G @ P
        return block([[G, -GP], [-GP.T, -P @ GP]])


def advance(system: System, memory: int, t: Any, packed: Any, dt: Any, forces: Any, sweeps: int) -> Any:
    """What is packed, a step of ``dt`` after ``t``, whatever touches."""
    model, layout = system.model, layout_of(system, memory)
    state, anchors, works = layout.unpack(packed)
    points, grip = _points(system, state, anchors), _gripping(system, state, dt) if sweeps > 1 else None
    pulls = _pulls(system, t, state, forces, points, grip)
    ahead, supports = [point.velocity for point in points], []
    for sweep in range(sweeps):
        supports = [
            _floor(system).support(point.position, u, point.anchor, dt, sticks=sweep == 0 and sweeps > 1)
            for point, u in zip(points, ahead, strict=True)
        ]
        found = _answer(model, state, pulls, grip, points, supports, dt)
        ahead = [point.ahead(found, dt) for point in points]
        grip = grip.next(found.beyond) if grip is not None and sweep + 1 < sweeps else grip
    velocity = state.velocity + scale(dt, found.acceleration)
    after = model.configuration.displace(state, scale(dt, velocity))
    after = after._replace(twist=velocity[: model.m], rates=velocity[model.m :])
    felt = [support.force - support.gain * u for support, u in zip(supports, ahead, strict=True)]
    kept = []
    for i, (point, u, force) in enumerate(zip(points, ahead, felt, strict=True)):
        end = point.position + scale(dt, u)
        held = _floor(system).anchor(end, u, force, point.anchor)
        kept.append(end[1:] - held if _floor(system).rolls(i) else held)
    if grip is not None:
        pulls[grip.name] = Pull(grip.forces(found.beyond), *np.zeros((2, model.n)))
    works = works + _works(system, state, velocity, pulls, points, ahead, felt, dt)
    return layout.pack(after, concatenate([np.zeros(0), *kept]), works)


def anchors(system: System, many: State) -> np.ndarray:
    """``N x memory``: what a floor remembers of ``N`` states from which it starts: where its points are."""
    if system.contact is None:
        return np.zeros((len(many.pose), 0))
    where_at = compile(system.model, anchors_at, state=["pose", "joints"], floor=_floor(system))
    return np.asarray(where_at(many.pose[:, :3], many.joints))


def anchors_at(model: Model, state: State, *, floor: CompliantFloor) -> Any:
    """What the points of a floor remember that have just touched it."""
    ground, places = floor.ground(model), [position(model, state, place) for place in floor.points]
    return concatenate([floor.unloaded(i, ground.site(p), p) + np.zeros(2) for i, p in enumerate(places)])


class Pull(NamedTuple):
    """A law at the start of a step: forces (nv), and how those of joints fall with their coordinates and rates (n)."""

    forces: Any
    stiffness: Any
    damping: Any

    def scaled(self, share: Any) -> Pull:
        """With a share (n) of its stiffness and damping: none where drives give all they can, whatever the motion."""
        return Pull(self.forces, share * self.stiffness, share * self.damping)

    def then(self, rates: Any, change: Any, dt: Any) -> Any:
        """``nv``: the forces at the end of the step, in which the rates (n) change by ``change``."""
        less_ = self.stiffness * scale(dt, rates) + (self.damping + dt * self.stiffness) * change
        return self.forces - concatenate([np.zeros(len(self.forces) - len(less_)), less_])


def _floor(system: System) -> CompliantFloor:
    assert isinstance(system.contact, CompliantFloor)
    return system.contact


def _points(system: System, state: State, memory: Any) -> list[Point]:
    """What may touch, from one sweep over the robot, with what the floor remembers of it."""
    if system.contact is None:
        return []
    model, floor = system.model, _floor(system)
    ground, tree = floor.ground(model), nodes(model, state)
    poses = outward(tree, state.pose, lambda node, H: H @ node.H)
    start = model.base.selection @ state.twist
    twists = outward(tree, start, lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates)
    points, R_base, origin = [], state.pose[:3, :3], state.pose[:3, 3]
    for i, (name, radius, own) in enumerate(zip(floor.points, floor.radii, memory.reshape(-1, 2), strict=True)):
        frame = model.frame(name)
        link = model.link_index(frame.link)
        R, center, (v, w) = poses[link][:3, :3], frame.placement[:3, 3], (twists[link][:3], twists[link][3:])
        p = R @ center + poses[link][:3, 3]
        site = ground.site(p, radius)
        axes, rolls = site.axes @ R, floor.rolls(i)
        place, below = (center - radius * axes[0], p - radius * site.axes[0]) if radius else (center, p)
        along, anchor = (own, np.zeros(2)) if rolls else (site.axes[1:] @ p, own)
        position = concatenate([np.reshape(site.height, 1), along])
        base = site.axes @ R_base
        lever = base.T @ (site.axes @ below - site.axes @ origin)
        velocity = axes @ (v + cross(w, place))
        points.append(Point(link, center, place, axes, R.T @ model.gravity, w, position, velocity, anchor, base, lever))
    return points


def _gripping(system: System, state: State, dt: Any) -> Grip | None:
    """The first law of dry friction."""
    law = next((law for law in system.laws if law.grip(system.model) is not None), None)
    return None if law is None else Grip.begun(law, system.model, state, dt)


def _pulls(
    system: System, t: Any, state: State, forces: Any, points: list[Point], grip: Grip | None
) -> dict[str, Pull]:
    """All laws, and the controller, by their names; of one that grips, nothing yet."""
    names = _floor(system).points if points else ()
    touching = {name: less(point.position[0], 0.0) for name, point in zip(names, points, strict=True)}
    pulls, zero, drives = {}, np.zeros(system.model.n), set(system.driven_ports)
    for law in system.laws:
        if grip is not None and law.name == grip.name:
            pulls[law.name] = Pull(np.zeros(system.model.nv), zero, zero)
        elif not law.answers:
            pull = by_cases(lambda known, law=law: law.forces(system.model, t, state, known), touching)  # type: ignore[misc]
            pulls[law.name] = Pull(pull, *_of_joints(law, system.model, state))
    if system.controller is not None:
        pulls["controller"] = Pull(forces, zero, zero)
    asked = system.total({name: pull.forces for name, pull in pulls.items() if name in drives})
    for law in system.laws:
        if law.answers:
            taken = law.beside(system.model, t, state, frozenset(), asked)
            free = where(less(0.0, absolute(taken[system.model.m :])), 0.0, np.ones(system.model.n))
            pulls = {name: pull.scaled(free) if name in drives else pull for name, pull in pulls.items()}
            pulls[law.name] = Pull(taken, zero, zero)
    return {port: pulls[port] for port in system.ports if port in pulls}


def _of_joints(law: Law, model: Model, state: State) -> tuple[Any, Any]:
    """Stiffness and damping (n each) of a law in single joints; what is negative stays explicit, it is not stable."""
    said = law.impedance(model, state)
    if said is None:
        return np.zeros(model.n), np.zeros(model.n)
    K, D = (np.diagonal(x)[model.m :] for x in said)
    return where(less(0.0, K), K, 0.0 * K), where(less(0.0, D), D, 0.0 * D)


def _answer(
    model: Model,
    state: State,
    pulls: dict[str, Pull],
    grip: Grip | None,
    points: list[Point],
    supports: list[Support],
    dt: Any,
) -> Response:
    """The accelerations of a step on given supports."""
    zero = np.zeros(model.n)
    forces = sum((pull.then(state.rates, zero, dt) for pull in pulls.values()), start=np.zeros(model.nv))
    armature = sum((scale(dt, pull.damping + dt * pull.stiffness) for pull in pulls.values()), start=zero)
    wrenches = [(p.link, p.wrench(s.force - s.gain * p.velocity)) for p, s in zip(points, supports, strict=True)]
    resisting = [(p.link, p.resistance(scale(dt, s.gain))) for p, s in zip(points, supports, strict=True)]
    if grip is None:
        return response(model, state, forces, wrenches, resisting, armature)
    forces = forces + grip.sliding - concatenate([np.zeros(model.m), armature * grip.given])
    return response(model, state, forces, wrenches, resisting, armature + grip.armature, grip.given)


def _works(
    system: System,
    state: State,
    velocity: Any,
    pulls: dict[str, Pull],
    points: list[Point],
    ahead: list[Any],
    felt: list[Any],
    dt: Any,
) -> Any:
    """J, two for each port: what the forces of the step do along the mean of the velocities before and after."""
    m, mean = system.model.m, 0.5 * (state.velocity + velocity)
    change = velocity[m:] - state.rates
    by_law = [(F[:m] @ mean[:m], F[m:] @ mean[m:]) for F in (p.then(state.rates, change, dt) for p in pulls.values())]
    along = [0.5 * (point.velocity + u) for point, u in zip(points, ahead, strict=True)]
    carried = [_with_base(system, point, mean[:m]) for point in points]
    by_floor: list[tuple[Any, Any]] = []
    for part in (slice(0, 1), slice(1, 3)) if system.contact else ():
        base = sum((f[part] @ u[part] for f, u in zip(felt, carried, strict=True)), start=0.0)
        whole = sum((f[part] @ u[part] for f, u in zip(felt, along, strict=True)), start=0.0)
        by_floor.append((base, whole - base))
    impacts = [(0.0, 0.0)] if system.contact else []
    powers = [np.reshape(x, 1) for pair in (*by_law, *by_floor, *impacts) for x in pair]
    return scale(dt, concatenate([np.zeros(0), *powers]))


def _with_base(system: System, point: Point, twist: Any) -> Any:
    """``3``: the velocity of a point, along normal and tangents, if the robot were rigid."""
    nu = system.model.base.selection @ twist
    return point.base @ (nu[:3] + cross(nu[3:], point.lever))
