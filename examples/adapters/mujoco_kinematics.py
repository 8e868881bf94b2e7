"""MuJoCo's kinematics on top of fallingcat.

``MjModel``, ``MjData`` and geometry stay MuJoCo's; poses, Jacobians and steps of configurations are replaced: what mink
asks of MuJoCo.  ``install()`` does that to the imported ``mujoco``; pytest does it with ``-p mujoco_kinematics``, which
comes before tests are read.  Loops and tendons of a model are not among these.
"""

from __future__ import annotations

import warnings
from typing import Any

import mujoco as mj
import numpy as np

import fallingcat as fc

TWINS: dict[int, tuple[Any, Twin]] = {}
"""our robot for the ``MjModel`` with an ``id``, which is kept so that no other gets it"""


class Twin:
    """A model of MuJoCo as one of ours."""

    def __init__(self, peer: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what kinematics does not need
            self.model = fc.from_mujoco_model(peer)
        if self.model.nv != peer.nv:
            raise ValueError(f"of {peer.nv} degrees of freedom one robot has {self.model.nv}")
        self.exchange = fc.exchange.mujoco(self.model)

    def state(self, data: Any) -> Any:
        """State of ours with MuJoCo's coordinates."""
        return self.model.from_mujoco(bounded(data.qpos))

    def carrier(self, peer: Any, body: int) -> int:
        """The body of MuJoCo that is a link of ours and to which a body is welded; 0: it is fixed, or moved by hand."""
        while body and peer.body(body).name not in self.model.link_names:
            body = peer.body_parentid[body]
        return body

    def theirs(self, data: Any, J: np.ndarray) -> np.ndarray:
        """Columns of a Jacobian for MuJoCo's velocities: these are ``T`` times ours."""
        q = self.exchange.from_(bounded(data.qpos))[0]
        return np.asarray(np.linalg.solve(self.exchange.velocity_map(q).T, J.T).T)


def bounded(qpos: Any) -> np.ndarray:
    """Coordinates, of which mink writes joints without limits as infinite."""
    return np.nan_to_num(np.ravel(qpos), posinf=mj.mjMAXVAL, neginf=-mj.mjMAXVAL)


def twin(peer: Any) -> Twin:
    """Our robot for a model of MuJoCo, made once."""
    if id(peer) not in TWINS:
        TWINS[id(peer)] = (peer, Twin(peer))
    return TWINS[id(peer)][1]


# poses --------------------------------------------------------------------------------------------------------------


def mj_kinematics(m: Any, d: Any) -> None:
    """Poses of bodies, inertias, geoms and sites."""
    ours = twin(m)
    links = fc.forward_kinematics(ours.model, ours.state(d))
    pose = np.tile(np.eye(4), (m.nbody, 1, 1))
    for body in range(1, m.nbody):
        name, mocap = m.body(body).name, m.body_mocapid[body]
        if mocap >= 0:
            pose[body] = homogeneous(d.mocap_pos[mocap], d.mocap_quat[mocap])
        elif name in links:
            pose[body] = links[name]
        else:
            pose[body] = pose[m.body_parentid[body]] @ homogeneous(m.body_pos[body], m.body_quat[body])
    d.xpos[:], d.xmat[:] = pose[:, :3, 3], pose[:, :3, :3].reshape(-1, 9)
    for body in range(m.nbody):
        mj.mju_mat2Quat(d.xquat[body], d.xmat[body])
    parts = (
        (np.arange(m.nbody), m.body_ipos, m.body_iquat, d.xipos, d.ximat),
        (m.geom_bodyid, m.geom_pos, m.geom_quat, d.geom_xpos, d.geom_xmat),
        (m.site_bodyid, m.site_pos, m.site_quat, d.site_xpos, d.site_xmat),
    )
    for bodies, positions, quaternions, xpos, xmat in parts:
        for i, body in enumerate(bodies):
            H = pose[body] @ homogeneous(positions[i], quaternions[i])
            xpos[i], xmat[i] = H[:3, 3], H[:3, :3].ravel()


def homogeneous(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """Pose of a position and a quaternion ``wxyz`` of any length."""
    H, R = np.eye(4), np.empty(9)
    mj.mju_quat2Mat(R, quaternion / np.linalg.norm(quaternion))
    H[:3, :3], H[:3, 3] = R.reshape(3, 3), position
    return H


def mj_comPos(m: Any, d: Any) -> None:
    """Centers of mass of all subtrees."""
    mass, moment = m.body_mass.copy(), m.body_mass[:, None] * d.xipos
    for body in range(m.nbody - 1, 0, -1):
        mass[m.body_parentid[body]] += mass[body]
        moment[m.body_parentid[body]] += moment[body]
    heavy = mass > mj.mjMINVAL
    d.subtree_com[:] = np.where(heavy[:, None], moment / np.where(heavy, mass, 1.0)[:, None], d.xipos)


# Jacobians ----------------------------------------------------------------------------------------------------------


def mj_jac(m: Any, d: Any, jacp: Any, jacr: Any, point: Any, body: int) -> None:
    """Jacobian of a point that moves with a body, along the axes of the world."""
    ours, J = twin(m), np.zeros((6, m.nv))
    if carrier := ours.carrier(m, body):
        name, state = m.body(carrier).name, ours.state(d)
        J = ours.theirs(d, fc.jacobian(ours.model, state, name, "mixed"))
        arm = np.ravel(point) - fc.forward_kinematics(ours.model, state)[name][:3, 3]
        J[:3] -= np.cross(arm, J[3:], axisa=0, axisb=0, axisc=0)
    for out, part in ((jacp, J[:3]), (jacr, J[3:])):
        if out is not None:
            out[:] = part


def mj_jacBody(m: Any, d: Any, jacp: Any, jacr: Any, body: int) -> None:
    """Jacobian of the origin of a body."""
    mj_jac(m, d, jacp, jacr, d.xpos[body], body)


def mj_jacGeom(m: Any, d: Any, jacp: Any, jacr: Any, geom: int) -> None:
    """Jacobian of the center of a geom."""
    mj_jac(m, d, jacp, jacr, d.geom_xpos[geom], m.geom_bodyid[geom])


def mj_jacSite(m: Any, d: Any, jacp: Any, jacr: Any, site: int) -> None:
    """Jacobian of a site."""
    mj_jac(m, d, jacp, jacr, d.site_xpos[site], m.site_bodyid[site])


def mj_jacSubtreeCom(m: Any, d: Any, jacp: Any, body: int) -> None:
    """Jacobian of the center of mass of a subtree; of the whole robot it is ours."""
    ours, top = twin(m), body == 0 or m.body(body).name == twin(m).model.link_names[0]
    if top and np.isclose(m.body_subtreemass[body], ours.model.mass):
        jacp[:] = ours.theirs(d, fc.dynamics.center_of_mass_jacobian(ours.model, ours.state(d)))
        return
    total, each = np.zeros((3, m.nv)), np.zeros((3, m.nv))
    for i in range(body, m.nbody):
        ancestor = i
        while ancestor > body:
            ancestor = m.body_parentid[ancestor]
        if ancestor == body:
            mj_jac(m, d, each, None, d.xipos[i], i)
            total += m.body_mass[i] * each
    jacp[:] = total / max(m.body_subtreemass[body], mj.mjMINVAL)


# configurations -----------------------------------------------------------------------------------------------------


def mj_integratePos(m: Any, qpos: Any, qvel: Any, dt: float) -> None:
    """``qpos`` after ``dt`` with constant velocities; those of free bodies are constant in the world."""
    ours, start = twin(m), np.array(qpos)
    q, v = ours.exchange.from_(start, np.ravel(qvel))
    qpos[:] = ours.exchange.to(ours.model.integrate(q, dt * v))[0]
    for at, rate in free_joints(m):
        qpos[at : at + 3] = start[at : at + 3] + dt * np.ravel(qvel)[rate : rate + 3]
    balls = m.jnt_qposadr[m.jnt_type == mj.mjtJoint.mjJNT_BALL]
    for at in (*(at + 3 for at, _ in free_joints(m)), *balls):  # of two quaternions the nearer one
        qpos[at : at + 4] *= np.copysign(1.0, qpos[at : at + 4] @ start[at : at + 4])


def mj_differentiatePos(m: Any, qvel: Any, dt: float, qpos1: Any, qpos2: Any) -> None:
    """Velocities that bring ``qpos1`` to ``qpos2`` within ``dt``."""
    ours, here, there = twin(m), bounded(qpos1), bounded(qpos2)
    q = ours.exchange.from_(here)[0]
    qvel[:] = ours.exchange.to(q, ours.model.difference(q, ours.exchange.from_(there)[0]) / dt)[1]
    for at, rate in free_joints(m):
        qvel[rate : rate + 3] = (there - here)[at : at + 3] / dt
    apart = np.subtract(np.ravel(qpos2), np.ravel(qpos1))
    for at, rate in zip(m.jnt_qposadr, m.jnt_dofadr, strict=True):
        if np.isinf(apart[at]):  # as of MuJoCo, no large number
            qvel[rate] = apart[at] / dt


def free_joints(m: Any) -> list[tuple[int, int]]:
    """First places of free joints in ``qpos`` and ``qvel``."""
    free = m.jnt_type == mj.mjtJoint.mjJNT_FREE
    return list(zip(m.jnt_qposadr[free], m.jnt_dofadr[free], strict=True))


REPLACED = [name for name in list(globals()) if name.startswith("mj_")]


def install() -> None:
    """Replace MuJoCo's functions by those above."""
    for name in REPLACED:
        setattr(mj, name, globals()[name])


def pytest_configure() -> None:
    """What pytest calls in a plugin."""
    install()
