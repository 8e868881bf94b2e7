"""Points that may touch a compliant floor in a step of :class:`.Implicit`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import array, block, concatenate, cross, scale
from ..contact.points import position
from ..contact.supports import Landing
from ..dynamics.forward import Response, angular_velocities
from ..dynamics.spatial import motion_to_child
from ..dynamics.sweeps import nodes, outward
from ..kernels import compile
from ..lie.rotations import skew
from ..model import Model, State
from .system import System


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
    """whether it comes through the ground in the step"""
    lasts: Any
    """how much of the step it may touch: see :class:`.Landing`"""
    velocity: Any
    """``3``: its rate, before the step"""
    base: Any
    """``3 x 3``: the axes in the base frame"""
    lever: Any
    """``3``: from the base to where it touches, along normal and tangents"""

    def ahead(self, found: Response, dt: Any) -> Any:
        """``3``: its velocity at the end of the step."""
        a, alpha = found.links[self.link][:3], found.links[self.link][3:]
        return self.coasting(dt) + scale(dt, self.axes @ (a + cross(alpha, self.place)))

    def coasting(self, dt: Any) -> Any:
        """``3``: the same if the link did not accelerate against gravity: it falls, and turns around as it did."""
        turning = cross(self.spin, cross(self.spin, self.center))
        return self.velocity + scale(dt, self.axes @ turning + self.gravity)

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
        velocity = axes @ (v + cross(w, place))
        landing: Landing = floor.touchdown(position, velocity, anchor, dt)
        points.append(Point(link, center, place, axes, pull, spins[link], site.height, *landing, velocity, base, lever))
    return points


def anchors(system: System, many: State) -> np.ndarray:
    """``N x memory``: what a floor remembers of ``N`` states from which it starts: where its points are."""
    if system.contact is None:
        return np.zeros((len(many.pose), 0))
    floor: Any = system.contact
    start = compile(system.model, starts_at, state=["pose", "joints"], floor=floor)
    found = np.asarray(start(many.pose[:, :3], many.joints))
    memory = found.shape[1] - len(floor.points)
    floor.check_heights(system.model, found[:, memory:])
    return found[:, :memory]


def starts_at(model: Model, state: State, *, floor: Any) -> Any:
    """:func:`anchors_at`, then the heights of the points over the ground (m)."""
    ground, balls = floor.ground(model), zip(floor.points, floor.radii, strict=True)
    heights = [ground.site(position(model, state, place), r).height for place, r in balls]
    return concatenate([anchors_at(model, state, floor=floor), array(heights)])


def anchors_at(model: Model, state: State, *, floor: Any) -> Any:
    """What the points of a floor remember that have just touched it."""
    ground, places = floor.ground(model), [position(model, state, place) for place in floor.points]
    return concatenate([np.zeros(0), *(floor.unloaded(i, ground.site(p), p) for i, p in enumerate(places))])
