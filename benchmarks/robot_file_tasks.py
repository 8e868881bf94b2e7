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

    model, warnings = read(path, **options)
    peer = beside_pinocchio if path.endswith(".urdf") else beside_mujoco
    state, M, g, T, poses = peer(path, model)
    ours = fc.forward_kinematics(model, state)
    found = {"poses": max((relative(ours[name], H) for name, H in poses.items() if name in ours), default=0.0)}
    if not model.kinematic:
        found["mass_matrix"] = relative(T.T @ fc.mass_matrix(model, state) @ T, M)
        found["gravity"] = relative(T.T @ fc.gravity_forces(model, state), g)
    cause = {"cause": cause_of(max(found.values()), model, warnings)} if max(found.values()) > 1e-9 else {}
    return {"ok": True, "kinematic": model.kinematic, "differences": found, **cause}


def cause_of(difference: float, model: Any, warnings: list[str]) -> str:
    """Why numbers differ: what a warning says that is not read, or MuJoCo's axes of meshes."""
    lines = [line.replace("\n", " ").split(": ", 1)[-1] for line in warnings]
    said = next((line for line in lines if any(w in line for w in ("armature", "align", "of an attached model"))), "")
    if said:
        return f"warned of: {said}"
    meshes = any(shape.kind == "mesh" for link in model.links for shape in (*link.collisions, *link.visuals))
    axes = "principal axes of meshes, which MuJoCo finds to eight digits"
    return axes if meshes and difference < 1e-7 else "not known"


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
    if theirs.nflex:
        raise ValueError("not compared: flexible bodies are left out")
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


DURATION, STEP, FINE_STEP, EQUAL = 0.2, 5e-5, 5e-6, 1e-3
LIMITS, FRICTION = ("joint stops", "tendon limits"), ("dry friction", "tendon friction")
RIGID = (2e-4, 1.0), (0.9999, 0.9999, 1e-3, 0.5, 2.0)
"""`solref` and `solimp` of constraints of MuJoCo that are nearly rigid."""
SMOOTH = {"friction": "off", "limits": "off"}
CAUSES = (
    ("", {}),
    ("compliance of MuJoCo's dry friction", {"friction": "rigid"}),
    ("compliance of joint limits, MuJoCo's and ours", {"friction": "rigid", "limits": "rigid"}),
    ("joint limits", {"friction": "rigid", "limits": "off"}),
    ("joint limits and dry friction", SMOOTH),
    ("actuators", {**SMOOTH, "driven": False}),
)
"""Causes of a difference, each with the change of both runs that takes it away."""


def motion(path: str, options: dict[str, Any]) -> Outcome:
    """Largest difference of joint coordinates after 0.2 s, and the cause where it is above 1e-3.

    `smooth` is the difference without limits and dry friction, of which MuJoCo's are soft.
    """
    from fallingcat.errors import ModelError
    from fallingcat.io import read

    model, said = read(path, **options)
    pair = Pair(path, model)
    found: Outcome = {"ok": True, "nv": model.nv, "actuators": len(model.actuators)}
    lines = [line.split(": ", 1)[-1][:150] for line in said if "not read" in line or "left out" in line]
    words = ("damping", "armature", "stiffness", "actuator", "fluidshape")
    unread = [line for line in lines if any(word in line for word in words)]
    for cause, change in CAUSES:
        try:
            off = pair.apart(**change)
        except (ValueError, ModelError) as error:
            if not cause:
                found["difference"], found["as_it_is"] = None, str(error)
            continue
        found.setdefault("difference", off)
        found["left"] = off
        if change == SMOOTH:
            found["smooth"] = off
        if off <= EQUAL:
            found["cause"] = cause or found.get("as_it_is", "")
            break
    if "left" not in found:
        raise ValueError(found["as_it_is"])
    if "cause" not in found:
        found["cause"] = f"not read: {'; '.join(unread)}" if unread else "not known"
    if "smooth" not in found:
        found["smooth"] = pair.apart(**SMOOTH)
    return found


class Pair:
    """A file in MuJoCo and in ours; each run of ours is done once."""

    def __init__(self, path: str, model: Any) -> None:
        self.path, self.model, self.ends = path, model, dict[tuple[Any, ...], Any]()

    def apart(self, friction: str = "", limits: str = "", driven: bool = True) -> float:
        """Difference of coordinates (rad, m) between ours and MuJoCo's run.

        Args:
            friction: "rigid": MuJoCo's dry friction is nearly rigid; "off": there is none.
            limits: The same of limits; rigid ones of ours are solved as hard stops.
            driven: Actuators act, each with a constant control.
        """
        import mujoco as mj

        theirs, model = mj.MjModel.from_xml_path(self.path), self.model
        driven = driven and bool(model.actuators)
        soften(theirs, friction, limits, driven)
        low, high = theirs.actuator_ctrlrange.T
        controls = (
            np.where(theirs.actuator_ctrllimited, low + 0.6 * (high - low), 0.1) if driven else np.zeros(theirs.nu)
        )
        start = next(iter(model.keyframes.values()), model.neutral())
        asked = (friction == "off", limits, driven)
        if asked not in self.ends:
            self.ends[asked] = self.ours(start, self.known(theirs, controls) if driven else None, *asked[:2])
        end = model.from_mujoco(*converged(theirs, controls, model.to_mujoco(start)))
        return float(np.abs(model.configuration.difference(self.ends[asked], end)).max(initial=0.0))

    def known(self, theirs: Any, controls: np.ndarray) -> tuple[float, ...]:
        """Controls of our actuators, which have the names of MuJoCo's; disabled ones are left out."""
        off = [theirs.opt.disableactuator >> int(group) & 1 for group in theirs.actuator_group]
        read = [float(u) for u, without in zip(controls, off, strict=True) if not without]
        if len(self.model.actuators) != len(read):
            raise ValueError(f"{len(read) - len(self.model.actuators)} of {len(read)} actuators are not read")
        return tuple(read)

    def ours(self, start: Any, controls: tuple[float, ...] | None, frictionless: bool, limits: str) -> Any:
        """State of ours after the run."""
        import fallingcat as fc

        model, off = self.model, (LIMITS if limits else ()) + (FRICTION if frictionless else ())
        laws = [law for law in fc.control.passive(model) if law.name not in off]
        laws += [] if controls is None else [fc.control.Actuators(controls)]
        stops = fc.contact.joint_stops(model) if limits == "rigid" else ()
        rules: dict[str, Any] = {"contact": fc.contact.HardContacts(stops=stops), "dt": 1e-4} if stops else {}
        run = fc.simulate(model, start, DURATION, tuple(laws), passive=False, **rules)
        if run.warnings and not stops:  # default steps that are too long for this motion say so
            run = fc.simulate(model, start, DURATION, tuple(laws), passive=False, integrator="scipy")
        if run.times[-1] < DURATION - 1e-9:
            raise ValueError(run.status)
        return run.state(-1)


def soften(theirs: Any, friction: str, limits: str, driven: bool) -> None:
    """Switch constraints of a model of MuJoCo off, or make them nearly rigid; contact and equalities are off."""
    import mujoco as mj

    flags = mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_EQUALITY
    flags |= mj.mjtDisableBit.mjDSBL_LIMIT if limits == "off" else 0
    flags |= mj.mjtDisableBit.mjDSBL_FRICTIONLOSS if friction == "off" else 0
    flags |= 0 if driven else mj.mjtDisableBit.mjDSBL_ACTUATION
    theirs.opt.disableflags |= int(flags)
    rows = [("dof_solref", "dof_solimp"), ("tendon_solref_fri", "tendon_solimp_fri")] if friction == "rigid" else []
    rows += [("jnt_solref", "jnt_solimp"), ("tendon_solref_lim", "tendon_solimp_lim")] if limits == "rigid" else []
    for names in rows:
        for name, numbers in zip(names, RIGID, strict=True):
            getattr(theirs, name)[:] = numbers
    if rows:
        theirs.opt.tolerance, theirs.opt.iterations = 0.0, 100


def converged(theirs: Any, controls: np.ndarray, start: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's `qpos` and `qvel` after the run: by Runge-Kutta, or by implicit steps where that is not stable.

    Halving the steps changes them by less than a tenth of what counts as equal; implicit steps, of first order, are
    extrapolated.
    """
    import mujoco as mj

    explicit, implicit = mj.mjtIntegrator.mjINT_RK4, mj.mjtIntegrator.mjINT_IMPLICIT
    rules = (explicit, STEP), (explicit, 0.4 * STEP), (explicit, 0.2 * STEP), (implicit, STEP), (implicit, FINE_STEP)
    for integrator, longest in rules:
        ends = []
        for step in (longest, 0.5 * longest):
            theirs.opt.timestep, theirs.opt.integrator, data = step, integrator, mj.MjData(theirs)
            data.qpos[:], data.qvel[:] = start
            data.ctrl[:] = controls
            for _ in range(round(DURATION / step)):
                mj.mj_step(theirs, data)
            ends.append((data.qpos.copy(), data.qvel.copy()))
        if not data.warning.number.any() and np.abs(ends[0][0] - ends[1][0]).max() < 0.1 * EQUAL:
            if integrator == implicit:
                change, (q, v) = np.zeros(theirs.nv), ends[1]
                mj.mj_differentiatePos(theirs, change, 1.0, ends[0][0], q)
                mj.mj_integratePos(theirs, q, change, 1.0)
                return q, 2.0 * v - ends[0][1]
            return ends[1]
    raise ValueError("MuJoCo does not converge")
