"""Points that may touch a compliant floor in a step of :class:`.Implicit`."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ...arrays import array, block, concatenate, cross, mirror, scale
from ...compiler import compile
from ...contact.support_points import Landing, Support
from ...dynamics.forward import Response, angular_velocities
from ...dynamics.spatial import motion_to_child
from ...dynamics.sweeps import nodes, outward
from ...geometry.contact_points import positions
from ...lie.rotations import skew
from ...model import Model, State
from ..problem import Problem


class Point(NamedTuple):
    """A point or ball that may touch, in the middle of a step."""

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
    """True if its link has :data:`MIN_PATCH` points or more on flat ground, which have the same axes"""

    def ahead(self, found: Response, dt: Any) -> Any:
        """``3``: its velocity at the end of the step."""
        a, alpha = found.links[self.link][:3], found.links[self.link][3:]
        return self.coasting(dt) + scale(dt, self.along(a, alpha, self.place))

    def coasting(self, dt: Any) -> Any:
        """``3``: the same if the link did not accelerate against gravity: it falls, and turns around as it did."""
        turning = self.along(np.zeros(3), self.spin, cross(self.spin, self.center))
        return self.velocity + scale(dt, turning + self.gravity)

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


MIN_PATCH = 4
"""Points of a link from which on their loads are added up along normal and tangents, and then turned together."""


def loads(points: list[Point], supports: list[Support], dt: Any) -> tuple[list[Any], list[Any]]:
    """``(link, 6)`` and ``(link, 6 x 6)``: wrenches of contact forces on links, and how they resist accelerations."""
    patches: dict[int, list[tuple[Any, Any, Any]]] = {}
    wrenches, resisting = [], []
    for point, support in zip(points, supports, strict=True):
        force, gain = support.at(point.coasting(dt)), scale(dt, support.gain)
        if point.shares:
            patches.setdefault(point.link, []).append((point, force, gain))
        else:
            wrenches.append((point.link, point.wrench(force)))
            resisting.append((point.link, point.resistance(gain)))
    for link, patch in patches.items():
        axes, arms = patch[0][0].axes, [point.axes @ point.place for point, _, _ in patch]
        force = sum((f for _, f, _ in patch), start=np.zeros(3))
        torque = sum((cross(arm, f) for arm, (_, f, _) in zip(arms, patch, strict=True)), start=np.zeros(3))
        wrenches.append((link, concatenate([axes.T @ force, axes.T @ torque])))
        resisting.append((link, _patch_resistance(axes, arms, [gain for _, _, gain in patch])))
    return wrenches, resisting


def _patch_resistance(axes: Any, arms: list[Any], gains: list[Any]) -> Any:
    """``6 x 6``: sum of :meth:`Point.resistance` over points with the same axes, at ``arms`` (3) along these."""
    symmetric, none = gains[0].ndim == 1, np.zeros((3, 3))
    blocks = [none, none, none, none]
    for arm, gain in zip(arms, gains, strict=True):
        G, P = gain[:, None] * np.eye(3) if symmetric else gain, skew(arm)
        GP = G @ P
        turning = mirror(-P @ GP) if symmetric else -P @ GP
        blocks = [a + b for a, b in zip(blocks, (G, -GP, P @ G, turning), strict=True)]
    force, right, left, turning = (axes.T @ x @ axes for x in blocks)
    if symmetric:
        force, left, turning = mirror(force), right.T, mirror(turning)
    return block([[force, right], [left, turning]])


def points_of(
    model: Model, floor: Any, state: State, memory: Any, dt: Any = 0.0, middle: State | None = None
) -> list[Point]:
    """Points of a floor, from one sweep over the robot, with what the floor remembers of them.

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
    on_link = Counter(model.frame(name).link for name in floor.points)
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
        shares = ground.flat and on_link[frame.link] >= MIN_PATCH
        velocity = axes @ v + cross(axes @ w, axes @ place) if shares else axes @ (v + cross(w, place))
        landing: Landing = floor.touchdown(position, velocity, anchor, dt)
        about = (spins[link], site.height, *landing, velocity, base, lever, shares)
        points.append(Point(link, center, place, axes, pull, *about))
    return points


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
