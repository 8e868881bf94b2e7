"""Points that may touch a compliant floor in a step of :class:`.Implicit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....arrays import block, concatenate, cross, mirror, scale
from ....contact.patches import MIN_POINTS, LinkPatches, PatchActivity, PatchCondition, patches_of, summed
from ....contact.support_points import Landing, Support
from ....contact.theta_weights import ThetaWeights
from ....dynamics.forward import angular_velocities
from ....dynamics.spatial import motion_to_child
from ....dynamics.sweeps import nodes, propagate_outward
from ....geometry.body_touch import BodyTouch, body_touches, relative_biases
from ....geometry.collision_pairs import joints_between
from ....geometry.contact_points import Ground, lowest_on_link, touching
from ....geometry.ellipsoids import lowest_rate, radii_and_margin
from ....lie.rotations import skew
from ....model import Model, State


class Point(NamedTuple):
    """A point or ball that may touch, in the middle of a step."""

    number: int
    """its index among all points of the contact"""
    law: Any
    """contact whose force it feels, which offers :class:`.LinearizedForces`"""
    seen: ThetaWeights
    """weights of the step"""
    link: int
    """index of its link; of a point between two bodies that both move, links + index of the pair"""
    place: Any
    """``3``: where it touches, in the frame of the link or pair: below the center of a ball"""
    axes: Any
    """``3 x 3``: normal and tangents of the ground as rows, in this frame"""
    gravity: Any
    """``3``: along normal and tangents; none of what moves against another body"""
    turning: Any
    """``3``: its acceleration if the link turns around in the middle of the step as it does there"""
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
    rolls: bool
    """see :meth:`.LinearizedForces.rolls`"""
    patch: tuple[int, int] | None
    """name of :data:`.MIN_POINTS` points or more of a link or pair that have the same axes"""
    near: PatchCondition | None = None
    """conditions that its patch may touch; None: it always may"""

    @property
    def mover(self) -> Any:
        """Key of what it moves with: its link or pair, if that has a patch, or itself."""
        return ("point", self.number) if self.patch is None else ("link", self.link)

    def end_velocity(self, link: Any, dt: Any, turned: Any = 1.0) -> Any:
        """``3``: its velocity at the end of the step, given the acceleration (6) of its link as in :class:`.Response`.

        ``turned`` is the part of the acceleration towards the axis about which the link turns that it has.
        """
        a, alpha = link[:3], link[3:]
        return self.coasting(dt, turned) + scale(dt, _along(self.axes, a, alpha, self.place, self.patch is not None))

    def coasting(self, dt: Any, turned: Any = 1.0) -> Any:
        """``3``: the same if the link did not accelerate against gravity: it falls, and turns around as it did."""
        return self.velocity + scale(dt, scale(turned, self.turning) + self.gravity)

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
    speed: Any
    """m/s: of the center along the normal, before the step"""
    spin: Any
    """``3``: along normal and tangents, before the step"""
    axes: Any
    """``3 x 3``: normal and tangents as rows, in the link frame"""
    gravity: Any
    """m/s^2: along the normal"""
    activity: PatchActivity
    """which of them may touch"""

    def touched(self, moves: dict[Any, Any], dt: Any) -> Any:
        """Number of those that were left out, and come near the ground by the acceleration (6) of their link."""
        link = moves["link", self.on_link.link]
        a, alpha = self.axes @ link[:3], self.axes @ link[3:]
        speed = self.speed + dt * (self.gravity + (a + cross(alpha, self.arm))[0])
        low = self.on_link.margin(speed, self.spin + scale(dt, alpha), 0.5 * dt, 0.5)
        return self.activity.touched(low)


def _along(axes: Any, v: Any, w: Any, p: Any, shares: bool) -> Any:
    """Velocity ``v + w x p`` (3) of a link, along normal and tangents.

    Where points ``share`` axes, ``v`` and ``w`` are turned once for all of them.
    """
    return axes @ v + cross(axes @ w, axes @ p) if shares else axes @ (v + cross(w, p))


def loads(points: list[Point], supports: list[Support], dt: Any) -> tuple[list[Any], list[Any]]:
    """``(link, 6)`` and ``(link, 6 x 6)``: wrenches of contact forces on links, and how they resist accelerations."""
    patches: dict[tuple[int, int], list[tuple[Point, Any, Any]]] = {}
    wrenches, resisting = [], []
    for point, support in zip(points, supports, strict=True):
        force, gain = support.at(point.coasting(dt)), scale(dt, support.gain)
        if point.patch is not None:
            patches.setdefault(point.patch, []).append((point, force, gain))
        else:
            wrenches.append((point.link, point.wrench(force)))
            resisting.append((point.link, point.resistance(gain)))
    for patch in patches.values():
        link, axes, nears = patch[0][0].link, patch[0][0].axes, [point.near for point, _, _ in patch]
        arms = [point.axes @ point.place for point, _, _ in patch]
        force = summed(nears, [f for _, f, _ in patch])
        torque = summed(nears, [cross(arm, f) for arm, (_, f, _) in zip(arms, patch, strict=True)])
        wrenches.append((link, concatenate([axes.T @ force, axes.T @ torque])))
        resisting.append((link, _shared_resistance(axes, nears, arms, [gain for _, _, gain in patch])))
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


class Step(NamedTuple):
    """Links in the middle of a step."""

    model: Model
    state: State
    """place in the middle of the step, and velocity before it"""
    middle: State
    """the same place with the velocity that is foreseen there"""
    dt: Any
    poses: list[Any]
    twists: list[Any]
    """``6`` each: before the step, in link frames"""
    spins: list[Any]
    """``3`` each: angular velocities in the middle, in link frames"""

    @classmethod
    def of(cls, model: Model, state: State, dt: Any, middle: State) -> Step:
        """From one sweep over the robot."""
        tree, start = nodes(model, state), model.base.selection @ state.twist
        poses = propagate_outward(tree, state.pose, lambda node, H: H @ node.H)
        twists = propagate_outward(tree, start, lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates)
        return cls(model, state, middle, dt, poses, twists, angular_velocities(model, middle))


def points_of(
    model: Model, contact: Any, state: State, memory: Any, dt: Any, middle: State, seen: Sequence[ThetaWeights]
) -> tuple[list[Point], list[BodyTouch], list[PatchesInStep]]:
    """Points of a contact with what it remembers of them, the pairs of bodies that both move, and patches on ground.

    Args:
        model: Robot.
        contact: Its contact.
        state: Place in the middle of the step, and velocity before it.
        memory: Two numbers for each point.
        dt: Step (s).
        middle: The same place with the velocity that is foreseen there.
        seen: Weights of the step, of each part of the contact.
    """
    return points_in(Step.of(model, state, dt, middle), contact, memory, seen)


def points_in(
    step: Step, contact: Any, memory: Any, seen: Sequence[ThetaWeights]
) -> tuple[list[Point], list[BodyTouch], list[PatchesInStep]]:
    """:func:`points_of` links in the middle of a step."""
    points = list[Point]()
    moving, patches = list[BodyTouch](), list[PatchesInStep]()
    for part, weights in zip(contact.parts, seen, strict=True):
        start = len(points)
        own = memory.reshape(len(contact.points), -1)[start : start + len(part.points)]
        if part.pairs:
            between, coupled = _between_bodies(step, part, weights, own, start, len(moving))
            points, moving = points + between, moving + coupled
        else:
            on_ground, found = _on_ground(step, part, weights, own, start)
            points, patches = points + on_ground, patches + found
    return points, moving, patches


def _on_ground(
    step: Step, floor: Any, seen: ThetaWeights, memory: Any, first: int
) -> tuple[list[Point], list[PatchesInStep]]:
    """Points that are frames of links, the ``first`` of which has this number, and their patches."""
    model, poses = step.model, step.poses
    ground, points, R_base, origin = floor.ground(model), [], step.state.pose[:3, :3], step.state.pose[:3, 3]
    found = _patches(step, floor, ground) if ground.flat else []
    nears = {
        i: near
        for each in found
        for near, part in zip(each.activity.nears, each.on_link.patches, strict=True)
        for i in part
    }
    for i, (name, around, own) in enumerate(zip(floor.points, floor.radii, memory, strict=True)):
        frame = model.frame(name)
        link = model.link_index(frame.link)
        R, hub, spin = poses[link][:3, :3], frame.placement[:3, 3], step.spins[link]
        center, (_, radius) = (
            hub + lowest_on_link(ground, poses[link], frame.placement, around),
            radii_and_margin(around),
        )
        p = R @ center + poses[link][:3, 3]
        site = ground.site(p, radius)
        axes, rolls = site.axes @ R, floor.rolls(i)
        place, below = (center - radius * axes[0], p - radius * site.axes[0]) if radius else (center, p)
        along, anchor = (own, np.zeros(2)) if rolls else (site.axes[1:] @ p, own)
        position = concatenate([np.reshape(site.height, 1), along])
        base, gravity = site.axes @ R_base, site.axes @ model.gravity
        lever = site.axes @ below - site.axes @ origin
        shares = i in nears
        velocity = _along(axes, step.twists[link][:3], step.twists[link][3:], place, shares)
        rate = lowest_rate(around, frame.placement[:3, :3], axes[0], spin)  # what touches moves over the body
        spin, arm, rate = (axes @ spin, axes @ hub, axes @ rate) if shares else (spin, hub, rate)
        turning = cross(spin, cross(spin, arm) + rate)
        landing: Landing = floor.touchdown(position, velocity, anchor, step.dt)
        about = (turning if shares else axes @ turning, site.height, *landing, velocity, base, lever, rolls)
        patch = (first, link) if shares else None
        points.append(Point(first + i, floor, seen, link, place, axes, gravity, *about, patch, nears.get(i)))
    return points, found


def _patches(step: Step, floor: Any, ground: Ground) -> list[PatchesInStep]:
    """Patches over flat ground."""
    model, found = step.model, []
    placements = [model.frame(name).placement for name in floor.points]
    all_links = patches_of(model, floor.points, floor.radii)
    for on_link in all_links:
        pose, twist = step.poses[on_link.link], step.twists[on_link.link]
        R, origin = pose[:3, :3], pose[:3, 3]
        heights = [
            [touching(ground, pose @ H, floor.radii[i]).site.height for i, H in part]
            for part in ([(i, placements[i]) for i in patch] for patch in on_link.patches)
        ]
        site = ground.site(origin)
        axes, gravity = site.axes @ R, (site.axes @ model.gravity)[0]
        arm, v, spin = (axes @ x for x in (on_link.center, twist[:3], twist[3:]))
        speed = (v + cross(spin, arm))[0]
        bottom = on_link.bottom(ground.site(R @ on_link.center + origin).height)
        activity = PatchActivity.of(bottom, heights, on_link.margin(speed, spin, step.dt), len(all_links))
        found.append(PatchesInStep(on_link, arm, speed, spin, axes, gravity, activity))
    return found


def _between_bodies(
    step: Step, bodies: Any, seen: ThetaWeights, memory: Any, first: int, before: int
) -> tuple[list[Point], list[BodyTouch]]:
    """Points between bodies, the ``first`` of which has this number, and the pairs that both move.

    A body that touches a fixed one moves as on the ground.  Others are coupled: their pair counts as one more link,
    whose twist is their relative twist; there are ``before`` such pairs.
    """
    model, points, moving, full_memory = step.model, list[Point](), list[BodyTouch](), iter(memory)
    touches = body_touches(model, step.middle, bodies.pairs)
    for k, (touch, biases) in enumerate(zip(touches, relative_biases(model, step.middle, touches), strict=True)):
        twist, patch = touch.J @ step.state.velocity, (first, k) if len(touch.arms) >= MIN_POINTS else None
        alone = model.m == 0 and not joints_between(model, 0, touch.sides[0].link)
        for arm, height, bias in zip(touch.arms, touch.heights, biases, strict=True):
            number = first + len(points)
            velocity = _along(touch.axes, twist[:3], twist[3:], arm, patch is not None)
            position = concatenate([np.reshape(height, 1), next(full_memory)])
            landing: Landing = bodies.touchdown(position, velocity, np.zeros(2), step.dt)
            link = len(model.links) + before + len(moving)
            frame: tuple[Any, ...] = link, arm, touch.axes, np.zeros(3), bias
            about: tuple[Any, ...] = height, *landing, velocity, np.zeros((3, 3)), np.zeros(3), True, patch
            points.append(Point(number, bodies, seen, *(_on_second(step, touch, arm) if alone else frame), *about))
        moving += [] if alone else [touch]
    return points, moving


def _on_second(step: Step, touch: BodyTouch, arm: Any) -> tuple[Any, ...]:
    """Link, place, axes, gravity and turning of a point of a body that touches a fixed one."""
    side = touch.sides[1]
    H, spin = step.poses[side.link], step.spins[side.link]
    place, axes = H[:3, :3].T @ (touch.center + arm - H[:3, 3]), touch.axes @ H[:3, :3]
    core = place + scale(touch.to_core(1), axes[0])
    return side.link, place, axes, touch.axes @ step.model.gravity, axes @ cross(spin, cross(spin, core))
