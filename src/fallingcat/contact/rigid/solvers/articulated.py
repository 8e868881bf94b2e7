"""Delassus operator by articulated bodies: ``(M + J' K J) dv = J' f + impulse`` in O(n) operations.

All is in one frame (world axes, at the origin of the base), so nothing has to be transformed from link to link.  ``K``
need not be symmetric: the stiffness of a sliding point is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....arrays import array, concatenate, map_each, mirror, scale, solve, solver
from ....dynamics.geometry import Geometry
from ....dynamics.spatial import rigid_inertias
from ....model import Model
from .delassus import Block, Lever, Solve

if TYPE_CHECKING:
    from .link_twists import TreeJacobian


SolveTree = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]
"""Wrenches on links, forces of base and joints -> twists of links, rates of base and joints."""


class Joint(NamedTuple):
    """Articulated body ``A`` (6 x 6) behind a joint with axes ``s`` (6 x nv)."""

    U: Any
    """``A s``"""
    inverse: Any
    """``(s' A s + armature)^-1``"""
    gain: Any
    """``inverse s' A`` (nv x 6): the rate with which the joint gives way to the twist of its parent"""


class Factors(NamedTuple):
    """Articulated bodies of all links."""

    geo: Geometry
    base: Any
    """``s' A s`` (m x m) of the base"""
    joints: dict[int, Joint]
    """for each link but the base"""

    @classmethod
    def of(cls, geo: Geometry, inertias: Sequence[Any], armatures: Sequence[Any], symmetric: bool) -> Factors:
        """Factors of 6 x 6 matrices of links and ``nv x nv`` matrices of their joints."""
        bodies, joints = list(inertias), {}
        for node in reversed(geo.tree):
            A, s = bodies[node.link], geo.axes[node.link]
            U = A @ s
            inverse = _inverse(s.T @ U + armatures[node.link])
            gain = inverse @ (U.T if symmetric else s.T @ A)
            rest = A - U @ gain
            bodies[node.parent] = bodies[node.parent] + (mirror(rest) if symmetric else rest)
            joints[node.link] = Joint(U, inverse, gain)
        return cls(geo, geo.axes[0].T @ bodies[0] @ geo.axes[0], joints)

    def solver(self) -> SolveTree:
        """Elimination of the base, once for several right-hand sides."""
        axes, of_base = self.geo.axes, solver(self.base)

        def solve(wrenches: Sequence[Any], forces: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            pushes, joint_forces = list(wrenches), list(forces)
            for node in reversed(self.geo.tree):
                i, joint = node.link, self.joints[node.link]
                joint_forces[i] = joint.inverse @ (joint_forces[i] + axes[i].T @ pushes[i])
                pushes[node.parent] = pushes[node.parent] + pushes[i] - joint.U @ joint_forces[i]
            rates = [of_base(joint_forces[0] + axes[0].T @ pushes[0]) if len(self.base) else np.zeros(0)]
            twists = [axes[0] @ rates[0]]
            for node in self.geo.tree:
                above = twists[node.parent]
                rates.append(joint_forces[node.link] - self.joints[node.link].gain @ above)
                twists.append(above + axes[node.link] @ rates[-1])
            return twists, rates

        return solve

    def mobilities(self) -> tuple[list[Any], list[Any]]:
        """``J M^-1 J'`` of the twist of each link (6 x 6), and ``M^-1`` of each joint (nv x nv)."""
        s = self.geo.axes[0]
        links, joints = [mirror(s @ _inverse(self.base) @ s.T)], [np.zeros((0, 0))]
        for node in self.geo.tree:
            s, (_, inverse, gain), above = self.geo.axes[node.link], self.joints[node.link], links[node.parent]
            yielded = above @ gain.T
            joints.append(inverse + gain @ yielded)
            half = s @ yielded.T
            # symmetric but for rounding, which such differences would carry on from link to link
            links.append(mirror(above - half - half.T + s @ joints[-1] @ s.T))
        return links, joints


def _inverse(D: Any) -> Any:
    if len(D) == 1:
        return array([[1.0 / D[0, 0]]])
    return solve(D, np.eye(len(D))) if len(D) else D


class ArticulatedResponse(NamedTuple):
    """``G`` as a product of sparse operators; Newton systems by articulated bodies."""

    jacobian: TreeJacobian
    inertias: list[Any]
    """``6 x 6`` of each link"""
    armature: Any
    """``n``"""
    solve: SolveTree
    mobilities: tuple[list[Any], list[Any]]
    """mobilities of links and of joints"""
    impulse: Any
    """``nv`` in world axes"""

    @classmethod
    def of(cls, jacobian: TreeJacobian, armature: Any, impulse: Any) -> ArticulatedResponse:
        """Response for an armature (n) beyond that of the model, and a generalized impulse (nv, world axes)."""
        model, geo = jacobian.model, jacobian.geo
        bodies = map_each(lambda body, H: body.to_parent(H), rigid_inertias(model), geo.poses)
        own, armature = [body.matrix() for body in bodies], armature + model.armature
        factors = Factors.of(geo, own, armatures(model, armature), symmetric=True)
        return cls(jacobian, own, armature, factors.solver(), factors.mobilities(), impulse)

    @property
    def size(self) -> int:
        """Number of rows of the Jacobian."""
        return self.jacobian.size

    @property
    def free(self) -> Any:
        """Velocities ``J M^-1 impulse`` without reactions."""
        return self._row_velocities(self.solve(*self._split(np.zeros(self.size), self.impulse)))

    def change(self, f: Any) -> Any:
        """Change of the quasi-velocity (nv) under the impulse and the reactions ``f``."""
        _, rates = self.solve(*self._split(f, self.impulse))
        return self.jacobian.turn.T @ concatenate(rates)

    def velocities(self, f: Any) -> Any:
        """Velocities ``G f`` under reactions alone."""
        return self._row_velocities(self.solve(*self._split(f)))

    def mean_diagonal(self, lever: Lever) -> Any:
        """Mean of the diagonal of ``X G X'`` over the rows of a lever."""
        links, joints = self.mobilities
        start = lever.span.start - 6 * len(self.jacobian.links)
        if start < 0:
            G = links[self.jacobian.links[lever.span.start // 6]]
            return sum((row @ (G @ row) for row in lever.X), start=0.0) * (1.0 / len(lever.X))
        link, axis = self._axis(start)
        return joints[link][axis, axis]

    def scaled(self, units: Any) -> ArticulatedResponse:
        """The same response: its levers carry the units."""
        return self

    def newton(self, blocks: Sequence[Block]) -> Solve:
        """Solver of a Newton step: the blocks are added to the inertias of links and joints."""
        model, links = self.jacobian.model, self.jacobian.links
        inertias, resisted = list(self.inertias), armatures(model, self.armature)
        for span, K in blocks:
            start = span.start - 6 * len(links)
            if start < 0:
                inertias[links[span.start // 6]] = inertias[links[span.start // 6]] + K
            else:
                link, axis = self._axis(start)
                one = np.eye(len(resisted[link]))[axis]
                resisted[link] = resisted[link] + scale(K[0, 0], one[:, None] * one[None, :])
        # blocks of sliding points are not symmetric: friction follows the normal impulse, and not the reverse
        solve = Factors.of(self.jacobian.geo, inertias, resisted, symmetric=False).solver()
        return lambda f: (self._row_velocities(solve(*self._split(f))), None)

    def _axis(self, row: int) -> tuple[int, int]:
        """Link and axis of the joint that a further row is about."""
        place = int(np.flatnonzero(self.jacobian.rows[row])[0]) - self.jacobian.model.m
        slices = self.jacobian.model.v_slices
        joint = next(i for i, v in enumerate(slices) if v.start <= place < v.stop)
        return joint + 1, place - slices[joint].start

    def _split(self, f: Any, impulse: Any = None) -> tuple[list[Any], list[Any]]:
        """Wrenches of links and forces of base and joints."""
        model, links, end = self.jacobian.model, self.jacobian.links, 6 * len(self.jacobian.links)
        wrenches = [np.zeros(6)] * len(self.inertias)
        for k, link in enumerate(links):
            wrenches[link] = f[6 * k : 6 * k + 6]
        forces = self.jacobian.rows.T @ f[end:] + (0.0 if impulse is None else impulse)
        return wrenches, [forces[: model.m], *(forces[model.m :][v] for v in model.v_slices)]

    def _row_velocities(self, moved: tuple[list[Any], list[Any]]) -> Any:
        """Velocities along the rows of the Jacobian."""
        twists, rates = moved
        return concatenate([*(twists[i] for i in self.jacobian.links), self.jacobian.rows @ concatenate(rates)])


def armatures(model: Model, armature: Any) -> list[Any]:
    """Diagonal matrix of each link's joint, given the armature of all joints (n)."""
    return [np.zeros((0, 0)), *(armature[v][:, None] * np.eye(v.stop - v.start) for v in model.v_slices)]
