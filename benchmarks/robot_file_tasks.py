"""One third-party file beside Pinocchio and MuJoCo: tasks of `robot_files.py`, done in another process."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from robot_file_exchange import mass_matrix_of_mujoco, relative

OPTION = re.compile(r'\b(\w+)=(?:"([^"]+)"|(True))')
Outcome = dict[str, Any]


def ours(path: str, options: dict[str, Any]) -> Outcome:
    """What `fallingcat.io.read` says: a model, or the rule that was broken and the options that the message names."""
    from fallingcat.errors import FallingCatError
    from fallingcat.io import read

    try:
        model, warnings = read(path, **options)
    except FallingCatError as error:
        named = [(name, text or True) for name, text, _ in OPTION.findall(str(error))]
        return {"ok": False, "rule": getattr(error, "rule", str(error)), "message": str(error), "named": named}
    return {"ok": True, "links": len(model.links), "nv": model.nv, "mass": model.mass, "warnings": warnings}


def pinocchio(path: str, _: dict[str, Any]) -> Outcome:
    """Whether Pinocchio reads it, on a free base."""
    import pinocchio as pin

    if path.endswith(".urdf"):
        pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    else:
        pin.buildModelFromMJCF(path)
    return {"ok": True}


def mujoco(path: str, _: dict[str, Any]) -> Outcome:
    """Whether MuJoCo reads it."""
    import mujoco as mj

    model = mj.MjModel.from_xml_path(path)
    return {"ok": True, "nv": int(model.nv), "nu": int(model.nu)}


def numbers(path: str, options: dict[str, Any]) -> Outcome:
    """Poses, mass matrix and gravity beside the peer's: the largest difference over the largest entry."""
    import fallingcat as fc
    from fallingcat.io import read

    model, _ = read(path, **options)
    peer = beside_pinocchio if path.endswith(".urdf") else beside_mujoco
    state, M, g, T, poses = peer(path, model)
    ours = fc.forward_kinematics(model, state)
    found = {"poses": max((relative(ours[name], H) for name, H in poses.items() if name in ours), default=0.0)}
    if not model.kinematic:
        found["mass_matrix"] = relative(T.T @ fc.mass_matrix(model, state) @ T, M)
        found["gravity"] = relative(T.T @ fc.gravity_forces(model, state), g)
    return {"ok": True, "kinematic": model.kinematic, "differences": found}


def beside_pinocchio(path: str, model: Any) -> tuple[Any, ...]:
    """A random state, Pinocchio's `M` and `g` there, the matrix that turns its velocity to ours, and poses of links."""
    import pinocchio as pin

    free = model.m == 6
    theirs = pin.buildModelFromUrdf(path, mimic=True)
    if free and theirs.nv != model.nv:  # equal where the file itself has a floating joint below its root
        theirs = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer(), mimic=True)
    theirs.gravity.linear = model.gravity
    data = theirs.createData()
    state = model.random_state(np.random.default_rng(0))
    q, _ = model.flatten(state)
    q_theirs, T = pin.neutral(theirs), np.zeros((model.nv, theirs.nv))
    if free:
        q_theirs[:7], T[:6, :6] = q[:7], np.eye(6)
    for i, joint in enumerate(model.joints):
        if not joint.kind.nv or joint.mimic:
            continue
        other = theirs.joints[theirs.getJointId(joint.name)]
        value = state.joints[model.q_slices[i]]
        if joint.kind.nv == 1:
            value = [np.cos(value[0]), np.sin(value[0])] if other.nq == 2 else value
        elif joint.kind.nv != 6:
            raise ValueError(f"not compared: a joint of the kind {joint.kind.name}")
        q_theirs[other.idx_q : other.idx_q + other.nq] = value
        rows = slice(model.m + model.v_slices[i].start, model.m + model.v_slices[i].stop)
        T[rows, other.idx_v : other.idx_v + other.nv] = np.eye(joint.kind.nv)
    M = np.triu(pin.crba(theirs, data, q_theirs))
    g = pin.computeGeneralizedGravity(theirs, data, q_theirs)
    pin.framesForwardKinematics(theirs, data, q_theirs)
    bodies = [(i, frame.name) for i, frame in enumerate(theirs.frames) if frame.type == pin.FrameType.BODY]
    return state, M + np.triu(M, 1).T, g, T, {name: data.oMf[i].homogeneous for i, name in bodies}


def beside_mujoco(path: str, model: Any) -> tuple[Any, ...]:
    """A random state, MuJoCo's `M` and `g` there, the matrix that turns its velocity to ours, and poses of bodies."""
    import mujoco as mj

    theirs = mj.MjModel.from_xml_path(path)
    data = mj.MjData(theirs)
    mj.mj_integratePos(theirs, data.qpos, np.random.default_rng(0).normal(size=theirs.nv), 1.0)
    mj.mj_forward(theirs, data)
    M = mass_matrix_of_mujoco(theirs, data)
    state = model.from_mujoco(data.qpos)
    T = np.stack([model.from_mujoco(data.qpos, column).velocity for column in np.eye(theirs.nv)], axis=1)
    poses = {theirs.body(i).name: np.eye(4) for i in range(1, theirs.nbody)}
    for i in range(1, theirs.nbody):
        poses[theirs.body(i).name][:3] = np.column_stack([data.xmat[i].reshape(3, 3), data.xpos[i]])
    return state, M, data.qfrc_bias.copy(), T, poses


SOFT = ("joint stops", "dry friction", "tendon friction", "tendon limits", "drive limits")
DURATION, STEP, EQUAL = 0.2, 5e-5, 1e-3


def motion(path: str, options: dict[str, Any]) -> Outcome:
    """Largest difference of joint coordinates after 0.2 s, and the cause where it is above 1e-3."""
    from fallingcat.io import read

    model, _ = read(path, **options)
    found: Outcome = {"ok": True, "nv": model.nv, "actuators": len(model.actuators)}
    causes = (("", True, True), ("limits and dry friction", False, True), ("actuators", False, False))
    for cause, soft, driven in causes:
        off = moved_apart(path, model, soft, driven)
        found.setdefault("difference", off)
        if off <= EQUAL:
            return found | {"cause": cause}
    return found | {"cause": "not known", "left": off}


def moved_apart(path: str, model: Any, soft: bool, driven: bool) -> float:
    """Difference of coordinates (rad, m) between ours and MuJoCo's run, with or without soft constraints and drives."""
    import mujoco as mj

    import fallingcat as fc

    theirs = mj.MjModel.from_xml_path(path)
    flags = mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_EQUALITY
    if not soft:
        flags |= mj.mjtDisableBit.mjDSBL_LIMIT | mj.mjtDisableBit.mjDSBL_FRICTIONLOSS
    theirs.opt.disableflags |= int(flags)
    data = mj.MjData(theirs)
    if driven and model.actuators:
        if len(model.actuators) != theirs.nu:
            raise ValueError(f"{theirs.nu - len(model.actuators)} of {theirs.nu} actuators are not read")
        low, high = theirs.actuator_ctrlrange.T
        data.ctrl[:] = np.where(theirs.actuator_ctrllimited, low + 0.6 * (high - low), 0.1)
    elif not driven:
        theirs.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_ACTUATION)
    start = model.from_mujoco(data.qpos, data.qvel)
    laws = [fc.control.Actuators(tuple(data.ctrl))] if driven and model.actuators else []
    passive = [law for law in fc.control.passive(model) if soft or law.name not in SOFT[:4]]
    run = fc.simulate(model, start, DURATION, tuple(laws + passive), passive=False)
    end = model.from_mujoco(*converged(theirs, data.ctrl))
    return float(np.abs(model.configuration.difference(run.state(-1), end)).max(initial=0.0))


def converged(theirs: Any, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's `qpos` and `qvel` after the run: by Runge-Kutta, or by implicit steps where that is not stable.

    Halving the steps changes them by less than a tenth of what counts as equal.
    """
    import mujoco as mj

    for integrator in (mj.mjtIntegrator.mjINT_RK4, mj.mjtIntegrator.mjINT_IMPLICIT):
        ends = []
        for step in (STEP, 0.5 * STEP):
            theirs.opt.timestep, theirs.opt.integrator, data = step, integrator, mj.MjData(theirs)
            data.ctrl[:] = controls
            for _ in range(round(DURATION / step)):
                mj.mj_step(theirs, data)
            ends.append((data.qpos.copy(), data.qvel.copy()))
        if not data.warning.number.any() and np.abs(ends[0][0] - ends[1][0]).max() < 0.1 * EQUAL:
            return ends[1]
    raise ValueError("MuJoCo does not converge")
