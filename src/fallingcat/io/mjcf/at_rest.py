"""A robot at rest at given coordinates: lengths, moment arms and inertias that a file leaves to the compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...caching import cached_property
from ...lie import SE3
from ...model import Model
from ...model.force_elements import Arm
from .bodies import BodyPart
from .joints import JointPart
from .parts import Naming

_SE3 = SE3()


class AtRest:
    """Robot at joint coordinates, as :class:`~fallingcat.model.force_elements.LinkMotion`; numbers only."""

    def __init__(self, model: Model, joints: Mapping[str, float], base: np.ndarray | None = None) -> None:
        self.model, self.base = model, np.eye(4) if base is None else base
        self.q = model.neutral().joints.copy()
        for joint, place in zip(model.joints, model.q_slices, strict=True):
            if joint.name in joints and joint.nq == 1:
                self.q[place] = joints[joint.name]

    @property
    def gravity(self) -> np.ndarray:
        """``3`` (m/s^2), along the axes of the base."""
        return np.asarray(self.base[:3, :3].T @ self.model.gravity)

    @cached_property
    def _poses(self) -> list[np.ndarray]:
        poses = [np.eye(4)]
        for joint, parent, q in zip(self.model.joints, self.model.parents, self.model.q_slices, strict=True):
            poses.append(poses[parent] @ joint.transform(self.q[q]))
        return poses

    @cached_property
    def _jacobians(self) -> list[np.ndarray]:
        """``6 x nv`` of each link, in the frame of the base."""
        model, unit = self.model, np.eye(self.model.nv)
        found = [model.base.selection @ unit[: model.m]]
        for i, joint in enumerate(model.joints):
            S = _SE3.Ad(self._poses[i + 1]) @ joint.motion_subspace(self.q[model.q_slices[i]])
            found.append(found[model.parents[i]] + S @ unit[model.m :][model.v_slices[i]])
        return found

    def pose(self, place: str | None) -> np.ndarray:
        """``4 x 4`` of a link or frame; None is the world."""
        if place is None:
            return np.asarray(_SE3.inverse(self.base))
        frame = self.model.frame(place)
        return np.asarray(self._poses[self.model.link_index(frame.link)] @ frame.placement)

    def twist(self, place: str | None) -> np.ndarray:
        """Zero."""
        return np.zeros(6)

    def joint(self, name: str) -> tuple[float, float, np.ndarray]:
        """Coordinate, no rate, and the row (nv) that picks the rate out of the quasi-velocity."""
        i = self.model.joint_index(name)
        joint = self.model.joints[i]
        row = np.eye(self.model.nv)[self.model.m + self.model.v_slices[i].start]
        q = float(joint.coordinates(self.q[self.model.q_slices[i]])[0])
        return q, 0.0, row * (joint.mimic.ratio if joint.mimic else 1.0)

    def moments(self, arm: Arm) -> np.ndarray:
        """Moment arms (nv) of a length."""
        total = np.zeros(self.model.nv) if arm.row is None else np.asarray(arm.row, dtype=float)
        for place, wrench in arm.wrenches:
            if place is not None:
                link = self.model.link_index(self.model.frame(place).link)
                total = total + self._jacobians[link].T @ np.asarray(wrench, dtype=float)
        return total

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        """``nv x nv``, link by link."""
        M = np.diag([*np.zeros(self.model.m), *self.model.armature])
        for link, H, J in zip(self.model.links, self._poses, self._jacobians, strict=True):
            M = M + J.T @ link.body.moved(H).spatial_inertia @ J
        return np.asarray(M)


def joints_by_name(bodies: Sequence[BodyPart]) -> dict[str, JointPart]:
    """Joints of all bodies by their names in the model."""
    naming = Naming(bodies)
    return {naming.joint(part.element): part for body in bodies for part in body.joints}


def refs(bodies: Sequence[BodyPart]) -> dict[str, float]:
    """Coordinates at which the robot stands as drawn."""
    return {name: part.ref for name, part in joints_by_name(bodies).items()}


def base_pose(bodies: Sequence[BodyPart], kept: Sequence[bool], model: Model) -> np.ndarray | None:
    """World pose (4 x 4) of a free base as drawn."""
    drawn = (body.H for body, own in zip(bodies, kept, strict=True) if own and body.free is not None)
    return next(drawn, None) if model.m else None
