"""Motion of the links as force elements, tendons and transmissions see it, and generalized forces of their wrenches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays.types import Pose, Scalar, Twist, Vector
from ..caching import cached_property
from ..lie import SE3
from ..model import Model, State
from ..model.force_elements import Arm, Wrenches
from .geometry import Geometry, geometry, subtree_sums

_SE3 = SE3()


@dataclass(frozen=True, eq=False)
class TreeMotion:
    """A robot in a state, as :class:`~fallingcat.model.force_elements.LinkMotion`.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> TreeMotion(arm, arm.neutral()).gravity
        array([ 0.  ,  0.  , -9.81])
    """

    model: Model
    state: State

    @cached_property
    def _geometry(self) -> Geometry:
        return geometry(self.model, self.state)

    @property
    def gravity(self) -> Vector:
        """``3`` (m/s^2), along the axes of the base."""
        return self.state.pose[:3, :3].T @ self.model.gravity

    def pose(self, place: str | None) -> Pose:
        """``4 x 4`` of a link or frame; None is the world."""
        if place is None:
            return _SE3.inverse(self.state.pose)
        frame = self.model.frame(place)
        return self._geometry.poses[self.model.link_index(frame.link)] @ frame.placement

    def twist(self, place: str | None) -> Twist:
        """``6``: ``[v; w]`` of a link or frame, about the origin of the base."""
        if place is None:
            return np.zeros(6)
        return self._geometry.twists[self.model.link_index(self.model.frame(place).link)]

    def joint(self, name: str) -> tuple[Scalar, Scalar, Vector]:
        """Coordinate, rate, and the row (nv) that picks the rate out of the quasi-velocity."""
        i = self.model.joint_index(name)
        q, v, mimic = self.model.q_slices[i].start, self.model.v_slices[i].start, self.model.joints[i].mimic
        x, rate, row = self.state.joints[q], self.state.rates[v], np.eye(self.model.nv)[self.model.m + v]
        return (mimic.ratio * x + mimic.offset, mimic.ratio * rate, mimic.ratio * row) if mimic else (x, rate, row)

    def generalized_forces(self, wrenches: Wrenches) -> Vector:
        """Generalized forces (nv) of wrenches on links, as :data:`~fallingcat.model.force_elements.Wrenches`."""
        geo, own = self._geometry, [np.zeros(6)] * len(self.model.links)
        for place, wrench in wrenches:
            if place is not None:
                link = self.model.link_index(self.model.frame(place).link)
                own[link] = own[link] + wrench
        sums = subtree_sums(geo, own)
        return geo.places.vector([axes.T @ wrench for axes, wrench in zip(geo.axes, sums, strict=True)])

    def moments(self, arm: Arm) -> Vector:
        """Moment arms (nv) of a length: its derivative by the quasi-velocity, and the forces of 1 N along it."""
        on_links: Vector = self.generalized_forces(arm.wrenches) if arm.wrenches else np.zeros(self.model.nv)
        return on_links if arm.row is None else on_links + arm.row
