"""Exchange of third-party robots with other libraries and formats: tasks of `robot_files.py`.

`peer_model`: a `pinocchio.Model` of the file to a model and back; `written`: the model to MJCF (checked by MuJoCo: mass
matrix, bias, 0.02 s under constant controls) and to URDF (checked by Pinocchio).
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

Outcome = dict[str, Any]
STEPS, STEP = 200, 1e-4


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference over the largest entry."""
    return float(np.abs(a - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), 1e-9))


def mass_matrix_of_mujoco(theirs: Any, data: Any) -> np.ndarray:
    """`M` of MuJoCo after `mj_forward`."""
    import mujoco as mj

    M = np.zeros((theirs.nv, theirs.nv))
    mj.mj_fullM(theirs, *((M, data.qM) if hasattr(data, "qM") else (data, M)))  # since version 4
    return M


def peer_model(path: str, _: dict[str, Any]) -> Outcome:
    """`fc.from_pinocchio_model` of what Pinocchio reads: mass matrix and bias at a random state."""
    import pinocchio as pin

    import fallingcat as fc

    theirs = pin.buildModelFromUrdf(path) if path.endswith(".urdf") else pin.buildModelFromMJCF(path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = fc.from_pinocchio_model(theirs)
    exchange = fc.exchange.pinocchio(model, theirs)
    state = model.random_state(np.random.default_rng(0))
    q, v = model.flatten(state)
    q_theirs, v_theirs = exchange.to(q, v)
    back = exchange.back(q_theirs, v_theirs)
    found = {"round_trip": max(relative(back[0], q), relative(back[1], v))}
    if not model.kinematic:
        data = theirs.createData()
        M = np.triu(pin.crba(theirs, data, q_theirs))
        bias = pin.nonLinearEffects(theirs, data, q_theirs, v_theirs)
        T = np.asarray(exchange.velocity_map(q))  # ours to theirs
        found["mass_matrix"] = relative(T.T @ (M + np.triu(M, 1).T) @ T, fc.mass_matrix(model, state))
        size = np.abs(fc.mass_matrix(model, state)).max() * np.abs(v).max(initial=1.0) ** 2  # of terms that may cancel
        off = np.abs(T.T @ bias - fc.bias_forces(model, state)).max(initial=0.0)
        found["bias"] = float(off / max(np.abs(bias).max(initial=0.0), size))
    kinds = sorted({joint.shortname() for joint in theirs.joints[1:]})
    cause = [line for line in left_out(said) if max(found.values()) > 1e-9]
    return {"ok": True, "differences": found, "kinds": kinds, **({"cause": "; ".join(cause)} if cause else {})}


def written_mjcf(path: str, options: dict[str, Any]) -> Outcome:
    """`fc.save(model, "x.xml")`: MuJoCo's mass matrix and bias of it beside ours, and 0.02 s beside the first file."""
    import mujoco as mj

    import fallingcat as fc
    from fallingcat.io import read

    model, _ = read(path, **options)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fc.save(model, Path(folder) / "again.xml")
        again, _ = read(Path(folder) / "again.xml", loops="open")
        theirs = mj.MjModel.from_xml_path(str(Path(folder) / "again.xml"))
    state = model.random_state(np.random.default_rng(0))
    M, bias = _seen(theirs, again, again.unflatten(*model.flatten(state)))
    cause, found = "", {"mass_matrix": relative(M, fc.mass_matrix(model, state))}
    first = mj.MjModel.from_xml_path(path)
    if first.nv == theirs.nv:
        found["bias"] = relative(bias, _seen(first, model, state)[1])
    if first.nv == theirs.nv and first.nu == theirs.nu:
        start = model.neutral()
        pair = (first, model, start), (theirs, again, again.unflatten(*model.flatten(start)))
        found["motion"] = float(np.abs(np.subtract(*(_moved(*each) for each in pair))).max(initial=0.0))
        if found["motion"] > 1e-9:  # of soft constraints MJCF here has no `solref`
            found["motion"] = float(np.abs(np.subtract(*(_moved(*each, hard=True) for each in pair))).max(initial=0.0))
            cause = "solref and solimp of limits and friction" if found["motion"] <= 1e-9 else "not known"
    return {"ok": True, "differences": found, "cause": cause, "left_out": left_out(said)}


def left_out(said: list[Any]) -> list[str]:
    """What a writer warned about, without names of files."""
    return [line.split(": ", 1)[-1] for warning in said for line in str(warning.message).splitlines()]


def _seen(theirs: Any, ours: Any, state: Any) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's mass matrix and bias in our velocities; of the bias without the rate at which these turn."""
    import mujoco as mj

    data = mj.MjData(theirs)
    data.qpos[:], data.qvel[:] = ours.to_mujoco(state)
    mj.mj_forward(theirs, data)
    T = np.stack([ours.from_mujoco(data.qpos, column).velocity for column in np.eye(theirs.nv)], axis=1)
    half = np.linalg.solve(T.T, mass_matrix_of_mujoco(theirs, data))
    return np.linalg.solve(T.T, half.T), np.linalg.solve(T.T, data.qfrc_bias)


def _moved(theirs: Any, ours: Any, start: Any, hard: bool = False) -> np.ndarray:
    """Joint coordinates of ours after 0.02 s of MuJoCo under constant controls, without contact and equalities."""
    import mujoco as mj

    theirs.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_EQUALITY)
    if hard:
        theirs.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_LIMIT | mj.mjtDisableBit.mjDSBL_FRICTIONLOSS)
    theirs.opt.timestep = STEP
    low, high = theirs.actuator_ctrlrange.T
    for integrator in (mj.mjtIntegrator.mjINT_RK4, mj.mjtIntegrator.mjINT_IMPLICIT):
        theirs.opt.integrator, data = integrator, mj.MjData(theirs)
        data.ctrl[:] = np.where(theirs.actuator_ctrllimited, low + 0.6 * (high - low), 0.1)
        data.qpos[:] = ours.to_mujoco(start)[0]
        for _ in range(STEPS):
            mj.mj_step(theirs, data)
        if not data.warning.number.any():
            return np.concatenate(ours.flatten(ours.from_mujoco(data.qpos, data.qvel)))
    raise ValueError("MuJoCo's run is not stable")


def written_urdf(path: str, options: dict[str, Any]) -> Outcome:
    """`fc.save(model, "x.urdf")`: Pinocchio's mass matrix of it beside ours (without armature, which URDF lacks)."""
    import pinocchio as pin

    import fallingcat as fc
    from fallingcat.io import read

    model, _ = read(path, **options)
    state = model.random_state(np.random.default_rng(0))
    q, v = model.flatten(state)
    rotors = np.zeros(model.nv)
    rotors[model.m :] = model.armature
    ours = fc.mass_matrix(model, state) - np.diag(rotors)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fc.save(model, file := Path(folder) / "again.urdf")
        again, _ = read(file, base=None if model.m else "fixed", physics="warn")
        found: Outcome = {"ours": relative(fc.mass_matrix(again, again.unflatten(q, v)), ours)}
        if not any(joint.kind.name == "spherical" for joint in model.joints):  # which urdfdom does not know
            theirs = pin.buildModelFromUrdf(str(file), *([pin.JointModelFreeFlyer()] if model.m else []), mimic=True)
            exchange = fc.exchange.pinocchio(model, theirs)
            M = np.triu(pin.crba(theirs, theirs.createData(), exchange.to(q, v)[0]))
            T = np.asarray(exchange.velocity_map(q))
            found["pinocchio"] = relative(T.T @ (M + np.triu(M, 1).T) @ T, ours)
    return {"ok": True, "differences": found, "left_out": left_out(said)}
