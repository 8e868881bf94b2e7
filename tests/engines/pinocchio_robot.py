"""Equations of motion of whole robots by Pinocchio, for :mod:`reference_floor`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin

import fallingcat as fc

from .bare import urdf_of

CREEP = 1e-3  # rad/s: below it the dry friction of a joint is viscous


def _quaternion_rate(q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Time derivative of a quaternion ``xyzw`` of a body that turns with ``w`` (body axes)."""
    (x, y, z, s), (a, b, c) = q, w
    return 0.5 * np.array([s * a + y * c - z * b, s * b + z * a - x * c, s * c + x * b - y * a, -x * a - y * b - z * c])


@dataclass
class PinocchioRobot:
    """A robot with a free base, springs and dampers in its joints: ``y = [q, v]`` as Pinocchio has them.

    Joint torques are ``-kp (q - rest) - kd dq/dt - friction sign(dq/dt) + drive(t)``.
    """

    ours: fc.Model
    names: tuple[str, ...]
    """contact points: frames of the model"""
    kp: Any = 0.0
    kd: Any = 0.0
    friction: Any = 0.0
    rest: Any = 0.0
    drive: Any = None
    """joint torques (n) as a function of time, or None"""
    model: Any = field(init=False)

    def __post_init__(self) -> None:
        self.model = pin.buildModelFromXML(urdf_of(self.ours), pin.JointModelFreeFlyer())
        self.model.gravity.linear[:] = self.ours.gravity
        self.data = self.model.createData()
        for joint in self.ours.joints:
            if joint.nv:
                self.model.armature[self.model.idx_vs[self.model.getJointId(joint.name)]] = float(joint.armature[0])
        frames = [self.ours.frame(name) for name in self.names]
        bodies = [self.model.frames[self.model.getFrameId(frame.link)] for frame in frames]
        self.parents = [body.parentJoint for body in bodies]
        self.places = [body.placement.act(frame.placement[:3, 3]) for body, frame in zip(bodies, frames, strict=True)]
        # our order of joints to Pinocchio's
        self.order = np.array([self.model.idx_vs[self.model.getJointId(n)] - 6 for n in self.ours.joint_names])

    def start(self, state: fc.State) -> np.ndarray:
        return np.concatenate(self.ours.to_pinocchio(state, self.model))

    def state(self, y: np.ndarray) -> fc.State:
        q = y[: self.model.nq].copy()
        q[3:7] /= np.linalg.norm(q[3:7])
        return self.ours.from_pinocchio(q, y[self.model.nq :], like=self.model)

    def _configuration(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = y[: self.model.nq].copy()
        q[3:7] /= np.linalg.norm(q[3:7])
        return q, y[self.model.nq :]

    def points(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pin.forwardKinematics(self.model, self.data, *self._configuration(y))
        places, velocities = [], []
        for joint, place in zip(self.parents, self.places, strict=True):
            H, V = self.data.oMi[joint], self.data.v[joint]
            places.append(H.act(place))
            velocities.append(H.rotation @ (V.linear + np.cross(V.angular, place)))
        return np.array(places), np.array(velocities)

    def rate(self, t: float, y: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """As :class:`reference_floor.Mechanism` asks; :meth:`points` has been called for the same ``y``."""
        q, v = self._configuration(y)
        wrenches = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for joint, place, force in zip(self.parents, self.places, forces, strict=True):
            f = self.data.oMi[joint].rotation.T @ force
            wrenches[joint] += pin.Force(f, np.cross(place, f))
        torques = np.zeros(self.model.nv)
        joints, rates = q[7:][self.order], v[6:][self.order]
        own = -self.kp * (joints - self.rest) - self.kd * rates
        own = own - self.friction * np.clip(rates / CREEP, -1.0, 1.0)
        torques[6 + self.order] = own if self.drive is None else own + self.drive(t)
        dv = pin.aba(self.model, self.data, q, v, torques, wrenches)
        R = pin.Quaternion(q[3:7]).toRotationMatrix()
        dq = np.concatenate([R @ v[:3], _quaternion_rate(y[3:7], v[3:6]), v[6:]])
        return np.concatenate([dq, dv])
