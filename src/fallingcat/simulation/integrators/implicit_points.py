"""Points that may touch a compliant floor in a step of :class:`.Implicit`."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ...arrays import array, block, concatenate, cross, less, minimum, mirror, scale, where
from ...compiler import compile
from ...contact.patches import LinkPatches, patches_of, summed
from ...contact.support_points import Landing, Support
from ...dynamics.forward import angular_velocities
from ...dynamics.spatial import motion_to_child
from ...dynamics.sweeps import nodes, outward
from ...geometry.contact_points import Ground, positions
from ...lie.rotations import skew
from ...model import Model, State
from ..problem import Problem


class Point(NamedTuple):
    """A point or ball that may touch, in the middle of a step."""

    number: int
    link: int
    center: np.ndarray
    """``3``: in the link frame"""
    place: Any
    """``3``: where it touches, in the link frame: below the center of a ball"""
    axes: Any
    """``3 x 3``: normal and tangents of the ground as rows, in the link frame"""
    gravity: Any
    """``3``: along normal and tangents"""
    spin: Any
    """``3``: angular velocity in the middle of the step, in the link frame"""
    height: Any
    """m: over the ground, in the middle of the step"""
    position: Any
    """``3``: height over the ground, and where along it, or how far it has slipped, while it :attr:`lasts`"""
    anchor: Any
    """``2``: where along the ground it is held"""
    lands: Any
    """True if it comes through the ground in the step"""
    lasts: Any
    """part of the step in which it may touch: see :class:`.Landing`"""
    velocity: Any
    """``3``: its rate, before the step"""
    base: Any
    """``3 x 3``: the axes in the base frame"""
    lever: Any
    """``3``: from the base to where it touches, along normal and tangents"""
    shares: bool = False
    """True if it is in a patch of its link on flat ground, whose points have the same axes"""
    near: Any = None
    """condition that its patch may touch; None: it is in none"""

    @property
    def mover(self) -> Any:
        """Key of what it moves with: its link, if that has patches, or itself."""
        return ("link", self.link) if self.shares else ("point", self.number)

    def ahead(self, link: Any, dt: Any, turned: Any = 1.0) -> Any:
        """``3``: its velocity at the end of the step, given the acceleration (6) of its link as in :class:`.Response`.

        ``turned`` is the part of the acceleration towards the axis about which the link turns that it has.
        """
        a, alpha = link[:3], link[3:]
        return self.coasting(dt, turned) + scale(dt, self.along(a, alpha, self.place))

    def coasting(self, dt: Any, turned: Any = 1.0) -> Any:
        """``3``: the same if the link did not accelerate against gravity: it falls, and turns around as it did."""
        if self.shares:
            spin = self.axes @ self.spin
            turning = cross(spin, cross(spin, self.axes @ self.center))
        else:
            turning = self.axes @ cross(self.spin, cross(self.spin, self.center))
        return self.velocity + scale(dt, scale(turned, turning) + self.gravity)

    def along(self, v: Any, w: Any, p: Any) -> Any:
        """Velocity ``v + w x p`` (3) of the link, along normal and tangents.

        Where points share axes, ``v`` and ``w`` are turned once for all of them.
        """
        if self.shares:
            return self.axes @ v + cross(self.axes @ w, self.axes @ p)
        return self.axes @ (v + cross(w, p))

    def wrench(self, force: Any) -> Any:
        """``6``: of a force (3) along normal and tangents, in the link frame."""
        f = self.axes.T @ force
        return concatenate([f, cross(self.place, f)])

    def resistance(self, gain: Any) -> Any:
        """``6 x 6``: ``X' G X``, the wrench of dampers along normal and tangents per twist of the link."""
        normal, P = self.axes[0], skew(self.place)
        if gain.ndim == 2:
            G = self.axes.T @ gain @ self.axes
            return block([[G, -G @ P], [P @ G, -P @ G @ P]])
        G = gain[1] * np.eye(3) + (gain[0] - gain[1]) * (normal[:, None] * normal[None, :])
        GP = G @ P
        return block([[G, -GP], [-GP.T, -P @ GP]])


class PatchesInStep(NamedTuple):
    """Patches of a link in the middle of a step."""

    on_link: LinkPatches
    arm: Any
    """``3``: center of their ball, along normal and tangents"""
    heights: list[Any]
    """m: of the lowest point of each"""
    speed: Any
    """m/s: of the center along the normal, before the step"""
    spin: Any
    """``3``: along normal and tangents, before the step"""
    axes: Any
    """``3 x 3``: normal and tangents as rows, in the link frame"""
    gravity: Any
    """m/s^2: along the normal"""
    nears: list[Any]
    """conditions that each may touch"""

    def touched(self, moves: dict[Any, Any], dt: Any) -> Any:
        """Number of those that were left out, and come near the ground by the acceleration (6) of their link."""
        link = moves["link", self.on_link.link]
        a, alpha = self.axes @ link[:3], self.axes @ link[3:]
        speed = self.speed + dt * (self.gravity + (a + cross(alpha, self.arm))[0])
        low = self.on_link.margin(speed, self.spin + scale(dt, alpha), 0.5 * dt, 0.5)
        return sum(
            where(near, 0.0, where(less(height, low), 1.0, 0.0))
            for near, height in zip(self.nears, self.heights, strict=True)
        )


def loads(points: list[Point], supports: list[Support], dt: Any) -> tuple[list[Any], list[Any]]:
    """``(link, 6)`` and ``(link, 6 x 6)``: wrenches of contact forces on links, and how they resist accelerations."""
    shared: dict[int, list[tuple[Point, Any, Any]]] = {}
    wrenches, resisting = [], []
    for point, support in zip(points, supports, strict=True):
        force, gain = support.at(point.coasting(dt)), scale(dt, support.gain)
        if point.shares:
            shared.setdefault(point.link, []).append((point, force, gain))
        else:
            wrenches.append((point.link, point.wrench(force)))
            resisting.append((point.link, point.resistance(gain)))
    for link, on_link in shared.items():
        axes, nears = on_link[0][0].axes, [point.near for point, _, _ in on_link]
        arms = [point.axes @ point.place for point, _, _ in on_link]
        force = summed(nears, [f for _, f, _ in on_link])
        torque = summed(nears, [cross(arm, f) for arm, (_, f, _) in zip(arms, on_link, strict=True)])
        wrenches.append((link, concatenate([axes.T @ force, axes.T @ torque])))
        resisting.append((link, _shared_resistance(axes, nears, arms, [gain for _, _, gain in on_link])))
    return wrenches, resisting


def _shared_resistance(axes: Any, nears: list[Any], arms: list[Any], gains: list[Any]) -> Any:
    """``6 x 6``: sum of :meth:`Point.resistance` over points with the same axes, at ``arms`` (3) along these."""
    symmetric, terms = gains[0].ndim == 1, []
    for arm, gain in zip(arms, gains, strict=True):
        G, P = gain[:, None] * np.eye(3) if symmetric else gain, skew(arm)
        GP = G @ P
        turning = mirror(-P @ GP) if symmetric else -P @ GP
        terms.append((G, -GP, P @ G, turning))
    blocks = [summed(nears, parts, np.zeros((3, 3))) for parts in zip(*terms, strict=True)]
    force, right, left, turning = (axes.T @ x @ axes for x in blocks)
    if symmetric:
        force, left, turning = mirror(force), right.T, mirror(turning)
    return block([[force, right], [left, turning]])


def points_of(
    model: Model, floor: Any, state: State, memory: Any, dt: Any = 0.0, middle: State | None = None
) -> tuple[list[Point], list[PatchesInStep]]:
    """Points of a floor and their patches, from one sweep over the robot, with what the floor remembers of them.

    Args:
        model: Robot.
        floor: Its contact.
        state: Place in the middle of the step, and velocity before it.
        memory: Two numbers for each point.
        dt: Step (s).
        middle: The same place with the velocity that is foreseen there; None: that of ``state``.
    """
    ground, tree = floor.ground(model), nodes(model, state)
    poses = outward(tree, state.pose, lambda node, H: H @ node.H)
    start = model.base.selection @ state.twist
    twists = outward(tree, start, lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates)
    spins = angular_velocities(model, state if middle is None else middle)
    points, R_base, origin = [], state.pose[:3, :3], state.pose[:3, 3]
    found = _patches(model, floor, ground, poses, twists, dt) if ground.flat else []
    nears = {
        i: near for each in found for near, part in zip(each.nears, each.on_link.patches, strict=True) for i in part
    }
    for i, (name, radius, own) in enumerate(
        zip(floor.points, floor.radii, memory.reshape(len(floor.points), -1), strict=True)
    ):
        frame = model.frame(name)
        link = model.link_index(frame.link)
        R, center, (v, w) = poses[link][:3, :3], frame.placement[:3, 3], (twists[link][:3], twists[link][3:])
        p = R @ center + poses[link][:3, 3]
        site = ground.site(p, radius)
        axes, rolls = site.axes @ R, floor.rolls(i)
        place, below = (center - radius * axes[0], p - radius * site.axes[0]) if radius else (center, p)
        along, anchor = (own, np.zeros(2)) if rolls else (site.axes[1:] @ p, own)
        position = concatenate([np.reshape(site.height, 1), along])
        base, pull = site.axes @ R_base, site.axes @ model.gravity
        lever = site.axes @ below - site.axes @ origin
        shares = i in nears
        velocity = axes @ v + cross(axes @ w, axes @ place) if shares else axes @ (v + cross(w, place))
        landing: Landing = floor.touchdown(position, velocity, anchor, dt)
        about = (spins[link], site.height, *landing, velocity, base, lever, shares, nears.get(i))
        points.append(Point(i, link, center, place, axes, pull, *about))
    return points, found


def _patches(
    model: Model, floor: Any, ground: Ground, poses: list[Any], twists: list[Any], dt: Any
) -> list[PatchesInStep]:
    """Patches over flat ground."""
    found, centers = [], [model.frame(name).placement[:3, 3] for name in floor.points]
    for on_link in patches_of(model, floor.points):
        R, origin = poses[on_link.link][:3, :3], poses[on_link.link][:3, 3]
        heights = [
            functools.reduce(minimum, [ground.site(R @ centers[i] + origin, floor.radii[i]).height for i in part])
            for part in on_link.patches
        ]
        site = ground.site(origin)
        axes, gravity = site.axes @ R, (site.axes @ model.gravity)[0]
        arm, v, spin = (axes @ x for x in (on_link.center, twists[on_link.link][:3], twists[on_link.link][3:]))
        speed = (v + cross(spin, arm))[0]
        nears = [less(height, on_link.margin(speed, spin, dt)) for height in heights]
        found.append(PatchesInStep(on_link, arm, heights, speed, spin, axes, gravity, nears))
    return found


def anchors(problem: Problem, many: State) -> np.ndarray:
    """``N x memory``: what a floor remembers of ``N`` states from which it starts: where its points are."""
    if problem.contact is None:
        return np.zeros((len(many.pose), 0))
    floor: Any = problem.contact
    start = compile(problem.model, starts_at, state=["pose", "joints"], floor=floor)
    found = np.asarray(start(many.pose[:, :3], many.joints))
    memory = found.shape[1] - len(floor.points)
    floor.check_heights(problem.model, found[:, memory:])
    return found[:, :memory]


def starts_at(model: Model, state: State, *, floor: Any) -> Any:
    """:func:`anchors_at`, then the heights of the points over the ground (m)."""
    ground, balls = floor.ground(model), zip(positions(model, state, floor.points), floor.radii, strict=True)
    heights = [ground.site(p, r).height for p, r in balls]
    return concatenate([anchors_at(model, state, floor=floor), array(heights)])


def anchors_at(model: Model, state: State, *, floor: Any) -> Any:
    """Memory of the points of a floor that have just touched it."""
    ground, places = floor.ground(model), positions(model, state, floor.points)
    return concatenate([np.zeros(0), *(floor.unloaded(i, ground.site(p), p) for i, p in enumerate(places))])
