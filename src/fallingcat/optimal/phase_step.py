"""Step with given contacts: points that hold where they are, pulled and pushed, in semi-implicit Euler steps.

``M a + h = S u + sum J' f`` and ``J a + b = 0`` for the points that are held, both in the axes of their link; then
``v+ = v + dt a`` and ``q+ = q exp(dt v+)``.  The constraint asks that a point loses its velocity with the rate
``damping`` and its distance from where it should be with ``stiffness`` (Baumgarte).  A weight of 0 or 1 for each point
says whether it is held, so that all nodes of a motion, whatever they touch, run through one kernel.

Derivatives are those of the equations: ``[M -J'; J 0] [da; df] = -d(residual)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, factor_tree, scale, sqrt, stack
from ..arrays.differentiate import value_and_jacobian
from ..dynamics.derivative_sweeps import Motion, changes, motion_of
from ..dynamics.derivatives import by_motion, mass_of
from ..dynamics.link_derivatives import LinkDerivatives, link_derivatives
from ..dynamics.spatial import wrench_to_parent
from ..dynamics.sweeps import places_above
from ..lie.rotations import skew
from ..model import Model, State
from ..simulation.integrators.step_jacobian import Displacement
from .riccati import Implied

CONE_ROUNDING = 1e-4
"""Tangential force, relative to the weight, by which the rounded tip of a friction cone is wider than the cone."""


class Node(NamedTuple):
    """Numbers of a node that its step depends on: the last numbers of its row of ``data``."""

    dt: Any
    """s"""
    held: Any
    """weight of each point, 0 or 1"""
    places: Any
    """``points x 3``: where each point should be (m), in the world"""


def node_of(row: Any, points: int) -> Node:
    """Numbers of a node as a record."""
    return Node(row[0], row[1 : 1 + points], np.reshape(row[1 + points :], (points, 3)))


class Next(NamedTuple):
    """Step, and forces (N) of the points on the robot, in the world, ``points x 3``."""

    q: Any
    v: Any
    contact: Any


class Linear(NamedTuple):
    """Step, its derivatives by ``[configuration; velocity; forces]``, and the friction cones of its points."""

    q: Any
    v: Any
    rate: Any
    """derivatives of the velocity, ``nv x (2 nv + n)``; those of the configuration are implied"""
    start: Any
    """derivatives of the first of the configuration by their start, see :func:`implied_by`"""
    way: Any
    """by the velocity after the step"""
    dt: Any
    cones: Any
    """``rows x (1 + 2 nv + n)``: values that must not be positive, and their derivatives"""


def implied_by(model: Model) -> Implied:
    """Configurations of a semi-implicit step: all; the first are those that are displaced by a group, in fours."""
    blocks = Displacement.of(model, np.zeros(model.nv))
    last = max([0, *(at.stop for at, block in zip(blocks.places, blocks.by_way, strict=True) if block is not None)])
    return Implied(model.nv, min(model.nv, -(-last // 4) * 4))


class _Equations:
    """Dynamics of one node, solved for acceleration and contact forces."""

    def __init__(self, model: Model, state: State, forces: Any, node: Node, points: Any, gains: Any) -> None:
        self.model, self.state, self.node, self.points = model, state, node, points
        stiffness, damping = gains
        self.gains = (stiffness, 1.0 / node.dt if damping is None else damping)
        self.motion = motion_of(model, state)
        rest = changes(model, state, self.motion, np.zeros(model.nv))
        self.root = factor_tree(mass_of(model, self.motion), places_above(model))
        self.inverses = self.root.inverses[:, None]
        self.drive = concatenate([np.zeros((model.m, model.n)), np.eye(model.n)])
        pulled = self._inward((self.drive @ forces - _forces_of(model, self.motion))[:, None])
        self.links = _by_point(model, self.motion, rest[1], np.zeros(model.nv), points)
        if not points:
            self.a, self.loads = self._outward(pulled)[:, 0], np.zeros((0, 3))
            return
        # J M^-1 J' = Y' D^-1 Y: columns of Y = L^-T J' are zero off the way from the point to the root
        self.Y = self._inward(concatenate([self._rows(i) for i in range(len(points))]).T)
        self.scaled = self.inverses * self.Y
        held = concatenate([scale(w, np.ones(3)) for w in node.held])
        self.held = held[:, None]
        delassus = factor_tree(self.scaled.T @ self.Y + np.diag(1.0 - held), range(-1, len(held) - 1))
        self.solve = delassus.solve
        b = concatenate([self._constraint(i, self._numbers(i, self.links[i])) for i in range(len(points))])
        loads = self._reactions(b[:, None], pulled)
        self.a, self.loads = self._outward(pulled + self.Y @ loads)[:, 0], np.reshape(loads, (-1, 3))

    def _inward(self, x: Any) -> Any:
        """``L^-T x`` of the mass matrix ``L' D L``."""
        return stack([self.root.solve_transposed(column) for column in x.T], axis=1) if x.size else x

    def _outward(self, x: Any) -> Any:
        """``L^-1 D^-1 x``."""
        return stack([self.root.solve_lower(column) for column in (self.inverses * x).T], axis=1)

    def _reactions(self, constraint: Any, pulled: Any) -> Any:
        """Contact forces that hold the points against ``pulled``, of :meth:`_inward`."""
        missing = self.held * (constraint + self.scaled.T @ pulled)
        return -self.held * stack([self.solve(column) for column in missing.T], axis=1)

    def _rows(self, i: int) -> Any:
        """Velocity of a point (3 x nv) in the axes of its link, weighted."""
        at, (_, place) = self.links[i], self.points[i]
        rows = at.J[:3] - skew(place) @ at.J[3:]
        weighted = scale(self.node.held[i], rows) if rows.dtype != object else self.node.held[i] * rows
        J = np.zeros((3, self.model.nv), dtype=np.asarray(weighted).dtype)  # traced, though rows of the base are not
        J[:, at.columns] = weighted
        return J

    def _numbers(self, i: int, at: LinkDerivatives) -> Any:
        """Displacement, twist and acceleration of a link: arguments of :meth:`_constraint`."""
        return concatenate([np.zeros(6), at.twist, at.acceleration])

    def _constraint(self, i: int, z: Any) -> Any:
        """Acceleration (3) that a point has too much, in the axes of its link."""
        (_, place), (stiffness, damping) = self.points[i], self.gains
        d, nu, a = z[:6], z[6:12], z[12:]
        pose = self.state.pose @ self.links[i].pose
        R = pose[:3, :3] @ (np.eye(3) + skew(d[3:]))  # derivatives are those of the exponential
        own = a[:3] + skew(a[3:]) @ place + skew(nu[3:]) @ (skew(nu[3:]) @ place) + R.T @ self.model.gravity
        speed = nu[:3] + skew(nu[3:]) @ place
        if stiffness == 0.0:
            return own + scale(damping, speed)
        where = pose[:3, 3] + pose[:3, :3] @ d[:3] + R @ place
        return own + scale(damping, speed) + stiffness * (R.T @ (where - self.node.places[i]))

    def contact(self) -> Any:
        """Forces on the robot (points x 3) in the world."""
        pose = self.state.pose
        turned = [pose[:3, :3] @ (at.pose[:3, :3] @ f) for at, f in zip(self.links, self.loads, strict=True)]
        return concatenate([np.zeros(0), *turned]).reshape(-1, 3)

    # derivatives ----------------------------------------------------------------------------------------------

    def linear(self, friction: float | None, kinds: Any) -> tuple[Any, Any]:
        """Derivatives of acceleration and friction cones by ``[configuration; velocity; forces]``."""
        model, nv = self.model, self.model.nv
        needed = list(self.motion.bias_forces)
        for (link, place), at, f in zip(self.points, self.links, self.loads, strict=True):
            wrench = concatenate([f, skew(place) @ f])
            needed[link] = needed[link] - wrench_to_parent(at.pose, wrench)
        motion = self.motion._replace(bias_forces=needed)
        moves = changes(model, self.state, motion, self.a)[1]
        q, v = by_motion(motion, moves)
        pulled = self._inward(concatenate([-q, -v, self.drive], axis=1))
        if not self.points:
            return self._outward(pulled), np.zeros((0, 1 + pulled.shape[1]))
        accelerated = changes(model, self.state, self.motion, self.a)[1]
        own = _by_point(model, self.motion, accelerated, self.a, self.points)
        slopes = []
        for i, at in enumerate(own):
            D = value_and_jacobian(lambda z, i=i: self._constraint(i, z), self._numbers(i, at), kinds)[1]  # type: ignore[misc]
            d, nu, a = D[:, :6], D[:, 6:12], D[:, 12:]
            by_q = d @ at.J + nu @ at.twist_by_q + a @ at.acceleration_by_q
            by_v = nu @ at.J + a @ at.acceleration_by_v
            slopes.append(self.node.held[i] * _scattered_columns(pulled.shape, at.columns, by_q, by_v, nv))
        loads = self._reactions(concatenate(slopes), pulled)
        return self._outward(pulled + self.Y @ loads), self._cones(friction, loads, kinds)

    def _cones(self, friction: float | None, by: Any, kinds: Any) -> Any:
        """Rows ``[value, derivatives]`` of the friction cones, zero for points that are not held."""
        if friction is None:
            return np.zeros((0, 1 + by.shape[1]))
        nv, rows = self.model.nv, []
        for i, (at, f) in enumerate(zip(self.links, self.loads, strict=True)):
            R = self.state.pose[:3, :3] @ at.pose[:3, :3]

            def cone(z: Any, R: Any = R) -> Any:
                force = R @ ((np.eye(3) + skew(z[:3])) @ z[3:])
                return friction_cone(scale(1.0 / weight_of(self.model), force), friction)

            value, D = value_and_jacobian(cone, concatenate([np.zeros(3), f]), kinds)
            turned = _scattered_columns((3, by.shape[1]), at.columns, at.J[3:], np.zeros_like(at.J[3:]), nv)
            slope = D[:, :3] @ turned + D[:, 3:] @ by[3 * i : 3 * i + 3]
            rows.append(self.node.held[i] * concatenate([value[:, None], slope], axis=1))
        return concatenate(rows)


def _by_point(model: Model, motion: Motion, found: Any, acceleration: Any, points: Any) -> list[LinkDerivatives]:
    """Motion of the link of each point about its origin; links with several points are found once."""
    origins = {link: np.zeros(3) for link, _ in points}
    moves = dict(zip(origins, link_derivatives(model, motion, found, acceleration, origins), strict=True))
    return [moves[link] for link, _ in points]


def weight_of(model: Model) -> float:
    """Weight of the robot (N); its mass where nothing pulls it."""
    return float(model.mass * (np.linalg.norm(model.gravity) or 1.0))


def friction_cone(force: Any, friction: float) -> Any:
    """``|tangential| - friction normal`` and ``-normal`` of a force (3) in the world: not positive within the cone."""
    x, y, z = force
    sideways = sqrt(x * x + y * y + CONE_ROUNDING**2) - CONE_ROUNDING
    return concatenate([np.reshape(sideways - friction * z, -1), np.reshape(-z, -1)])


def _scattered_columns(shape: Any, columns: Any, by_q: Any, by_v: Any, nv: int) -> Any:
    """``rows x (2 nv + n)`` from derivatives by some of the configuration and velocity."""
    out = np.full((len(by_q), shape[1]), 0.0, dtype=by_q.dtype if by_q.dtype != object else object)
    out[:, columns], out[:, nv + columns] = by_q, by_v
    return out


def _forces_of(model: Model, motion: Motion) -> Any:
    """Generalised forces (nv) that keep the quasi-velocity constant."""
    needed = motion.sums(motion.bias_forces)
    return concatenate([np.zeros(0), *(s.T @ f for s, f in zip(motion.axes, needed, strict=True))])


def _state(model: Model, q: Any, v: Any) -> State:
    joints, m = model.base.nq, model.m
    return State(model.base.element(q[:joints]), q[joints:], v[:m], v[m:])


def phase_step(model: Model, q: Any, v: Any, forces: Any, node: Any, *, points: Any, gains: Any) -> Next:
    """Step of a node."""
    about = node_of(node, len(points))
    found = _Equations(model, _state(model, q, v), forces, about, points, gains)
    after = v + scale(about.dt, found.a)
    return Next(model.integrate(q, scale(about.dt, after)), after, found.contact())


def linear_phase_step(
    model: Model, q: Any, v: Any, forces: Any, node: Any, *, points: Any, gains: Any, friction: float | None
) -> Linear:
    """Step of a node with its derivatives."""
    about, nv = node_of(node, len(points)), model.nv
    found = _Equations(model, _state(model, q, v), forces, about, points, gains)
    da, cones = found.linear(friction, [q, v, forces, node])
    after = v + scale(about.dt, found.a)
    way, first = scale(about.dt, after), slice(implied_by(model).lead)
    end = Displacement.of(model, way)
    dv = concatenate([np.zeros((nv, nv)), np.eye(nv), np.zeros((nv, model.n))], axis=1) + scale(about.dt, da)
    by_start, by_way = end.start(np.eye(nv))[first, first], end.way(scale(about.dt, np.eye(nv)))[first, first]
    return Linear(model.integrate(q, way), after, dv, by_start, by_way, about.dt, cones)
