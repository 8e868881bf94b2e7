"""An ``MjModel`` in memory to a model, through the same parts as a file; MuJoCo itself is not imported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...errors import ModelError, describe
from ...lie import SE3, Trivial
from ...lie.rotations import about, homogeneous, matrix_from_quaternion
from ...model import (
    Body,
    Continuous,
    JointKind,
    Limits,
    Model,
    Passive,
    Prismatic,
    Revolute,
    Spherical,
)
from ..assembly import Parts, assemble
from ..diagnostics import Reader
from ..safe_xml import Element
from .actuators import driven_joints
from .base import find_robot
from .bodies import BodyPart
from .force_elements import fluid_drag, gravity_compensation
from .ignored import Tally
from .joints import FREE_ROTOR, JointPart
from .keyframes import Coordinates, start_of
from .mujoco_forces import MujocoForces
from .parts import make_pieces
from .poses import clean
from .settings import Settings
from .sites import Place, Sites, read_sites

_FREE, _BALL, _SLIDE, _HINGE = range(4)
_KINDS: Final = ("free", "ball", "slide", "hinge")
_ON_JOINTS: Final = (0, 1)  # mjTRN_JOINT, mjTRN_JOINTINPARENT


def read_mujoco_model(peer: Any, reader: Reader) -> Model:
    """See :func:`fallingcat.from_mujoco_model`."""
    if hasattr(peer, "compile"):  # an MjSpec
        peer = peer.compile()
    if not all(hasattr(peer, name) for name in ("body_mass", "jnt_type", "qpos0", "dof_armature")):
        raise ModelError(f"peer is a mujoco.MjModel or a mujoco.MjSpec, not {describe(peer)}")
    tally = Tally(reader)
    bodies = [_body(peer, i) for i in range(peer.nbody)]
    masses = [_mass(peer, i) for i in range(peer.nbody)]
    robot = find_robot(bodies, reader, tally)
    free = bodies[robot.base].free
    if free is not None and peer.dof_armature[peer.jnt_dofadr[peer.body_jntadr[robot.base]]]:
        tally.note(FREE_ROTOR, free)
    pieces = make_pieces(bodies, masses, robot.base, robot.kept, lambda _: None, reader)
    sites = read_sites(bodies, robot.kept, [*pieces.link_places], tally)
    states = Coordinates(bodies, robot.base)
    parts = Parts(
        name=peer.names.split(b"\0", 1)[0].decode() or "robot",
        base=SE3() if robot.base else Trivial(),
        links=pieces.links,
        joints=pieces.joints,
        link_places=pieces.link_places,
        joint_places=pieces.joint_places,
        gravity=np.array(peer.opt.gravity),
        virtual=pieces.virtual,
        frames=sites.frames,
        force_elements=[
            *gravity_compensation(bodies, masses, robot.kept),
            *fluid_drag(bodies, masses, robot.kept, _fluid(peer), tally),
        ],
        start=start_of(bodies, robot.base),
        named_states=[
            states.keyframe(peer.key(i).name or f"key{i}", peer.key_qpos[i], peer.key_qvel[i]) for i in range(peer.nkey)
        ],
    )
    model = _with_forces(assemble(parts, reader), peer, MujocoForces(peer, bodies, robot.kept, tally), sites)
    tally.report()
    return model


def _fluid(peer: Any) -> Settings:
    """The fluid around the robot."""
    opt = peer.opt
    return Settings(density=float(opt.density), viscosity=float(opt.viscosity), wind=tuple(opt.wind.tolist()))


def _with_forces(model: Model, peer: Any, forces: MujocoForces, sites: Sites) -> Model:
    """The model with its tendons and actuators."""

    def site(j: int) -> Place | None:
        return forces.place(int(peer.site_bodyid[j]), _pose(peer.site_pos[j], peer.site_quat[j]))

    def geom(j: int) -> Place | None:
        return forces.place(int(peer.geom_bodyid[j]), _pose(peer.geom_pos[j], peer.geom_quat[j]))

    model = replace(model, tendons=tuple(forces.tendons(model, site, geom)))
    places = [sites.places.get(str(peer.site(j).name)) for j in range(peer.nsite)]
    actuators = forces.actuators(model, [None if place is None else place.name for place in places])
    named = {_actuated_joint(peer, i) for i in range(peer.nu)} - {""}
    return replace(model, actuators=tuple(actuators), driven=driven_joints(named, model.joints, actuators))


def _actuated_joint(peer: Any, i: int) -> str:
    """The joint that an actuator pulls on, if it is one."""
    return str(peer.joint(peer.actuator_trnid[i, 0]).name) if peer.actuator_trntype[i] in _ON_JOINTS else ""


def _body(peer: Any, i: int) -> BodyPart:
    """A body with its joints; the world is its own parent in MuJoCo."""
    element = Element("body", _named(peer.body(i).name), 0)
    part = BodyPart(element, int(peer.body_parentid[i]) if i else -1, _pose(peer.body_pos[i], peer.body_quat[i]))
    first = int(peer.body_jntadr[i])
    for j in range(first, first + int(peer.body_jntnum[i])):
        joint = Element("joint", _named(peer.joint(j).name) | {"type": _KINDS[peer.jnt_type[j]]}, 0, element)
        if peer.jnt_type[j] == _FREE:
            part.free, part.free_damping = joint, float(peer.dof_damping[peer.jnt_dofadr[j]])
        else:
            part.joints.append(_joint(peer, j, joint))
    part.moves = bool(peer.body_weldid[i])
    part.gravcomp = float(peer.body_gravcomp[i])
    part.inertial_axes = _pose(np.zeros(3), peer.body_iquat[i])[:3, :3]
    for j in (j for j in range(peer.nsite) if peer.site_bodyid[j] == i):
        site = Element("site", _named(peer.site(j).name), 0, element)
        part.sites.append((site, _pose(peer.site_pos[j], peer.site_quat[j])))
    return part


def _joint(peer: Any, j: int, element: Element) -> JointPart:
    """A joint turns about its anchor; its coordinate is ``qpos0`` where the body stands as drawn."""
    anchor, axis = np.array(peer.jnt_pos[j]), np.array(peer.jnt_axis[j])
    kind, ref = int(peer.jnt_type[j]), float(peer.qpos0[peer.jnt_qposadr[j]])
    before, after = homogeneous(np.eye(3), anchor), homogeneous(np.eye(3), -anchor)
    limited = bool(peer.jnt_limited[j]) and kind != _BALL
    lower, upper = map(float, peer.jnt_range[j]) if limited else (-np.inf, np.inf)
    limits = Limits(lower, upper, effort=_effort(peer, j))
    if kind == _SLIDE:
        before, after = homogeneous(np.eye(3), -ref * axis), np.eye(4)
    elif kind == _HINGE and ref:
        before = before @ homogeneous(clean(about(axis, -ref)), np.zeros(3))
    armature = float(peer.dof_armature[peer.jnt_dofadr[j]])
    own = 0.0 if kind == _BALL else ref
    return JointPart(element, _kind(kind, axis, limited), before, after, limits, armature, _passive(peer, j), own)


def _passive(peer: Any, j: int) -> Passive:
    dof, stiffness = peer.jnt_dofadr[j], float(peer.jnt_stiffness[j])
    rest = float(peer.qpos_spring[peer.jnt_qposadr[j]]) if stiffness and peer.jnt_type[j] != _BALL else 0.0
    return Passive(float(peer.dof_damping[dof]), float(peer.dof_frictionloss[dof]), stiffness, rest)


def _effort(peer: Any, j: int) -> float:
    """Largest force of all actuators of a joint, where it is the same both ways."""
    lower, upper = map(float, peer.jnt_actfrcrange[j])
    return upper if peer.jnt_actfrclimited[j] and lower == -upper and peer.jnt_type[j] != _BALL else np.inf


def _kind(kind: int, axis: np.ndarray, limited: bool) -> JointKind:
    if kind == _BALL:
        return Spherical()
    x, y, z = axis.tolist()
    made = Prismatic if kind == _SLIDE else Revolute if limited else Continuous
    return made((x, y, z))


def _mass(peer: Any, i: int) -> Body:
    inertia = Body(float(peer.body_mass[i]), np.zeros(3), np.diag(peer.body_inertia[i]))
    return inertia.moved(_pose(peer.body_ipos[i], peer.body_iquat[i]))


def _pose(position: Any, quaternion: Any) -> np.ndarray:
    return homogeneous(matrix_from_quaternion(np.roll(np.array(quaternion), -1)), np.array(position))


def _named(name: str) -> dict[str, str]:
    return {"name": name} if name else {}
