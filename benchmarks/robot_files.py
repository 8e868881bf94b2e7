"""Third-party robot files: how many load, beside Pinocchio and MuJoCo, and why the others do not.

Given folders, every `.urdf` with a moving joint and every `.xml` that MuJoCo loads is read in another process, with a
time limit: as it is, with `physics="warn"`, and with each single option that the message of the refusal names.  With
`--numbers` mass matrix and gravity at a random state are compared: URDF with Pinocchio, MJCF with MuJoCo.  With
`--motion` MJCF robots move for 0.2 s under constant controls, without contact, beside MuJoCo in Runge-Kutta or implicit
steps of 0.025 ms that have converged; those that differ by more than 1e-3 move again without joint limits and dry
friction, which MuJoCo has as soft constraints of its own, and then without the actuators: the first that makes them
equal is named as the cause.

    python benchmarks/robot_files.py FOLDER ... [--numbers] [--motion] [--json results.json] [--without random_urdfs]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

LIMIT = 30.0  # seconds for one file and one library
OPTION = re.compile(r'\b(\w+)=(?:"([^"]+)"|(True))')
MOVING = re.compile(rb'type\s*=\s*["\'](revolute|continuous|prismatic|floating|planar)["\']')
INCLUDE = re.compile(rb'<include\s+file\s*=\s*["\']([^"\']+)["\']')
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
Outcome = dict[str, Any]


# in the other process -----------------------------------------------------------------------------------------------


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
    found = {"poses": max((_relative(ours[name], H) for name, H in poses.items() if name in ours), default=0.0)}
    if not model.kinematic:
        found["mass_matrix"] = _relative(T.T @ fc.mass_matrix(model, state) @ T, M)
        found["gravity"] = _relative(T.T @ fc.gravity_forces(model, state), g)
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
    M = np.zeros((theirs.nv, theirs.nv))
    mj.mj_fullM(theirs, *((M, data.qM) if hasattr(data, "qM") else (data, M)))  # since version 4
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


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), 1e-300))


TASKS: dict[str, Callable[[str, dict[str, Any]], Outcome]] = {
    f.__name__: f for f in (ours, pinocchio, mujoco, numbers, motion)
}


def serve(connection: Connection) -> None:
    """Answer tasks until there are none; what the peers print goes nowhere."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    while (task := connection.recv()) is not None:
        name, path, options = task
        try:
            outcome = TASKS[name](path, options)
        except Exception as error:  # of a peer, or a bug of ours: both are to be counted
            outcome = {"ok": False, "rule": f"{type(error).__name__}: {error}", "message": str(error), "named": []}
        connection.send(outcome)


# in this process ----------------------------------------------------------------------------------------------------


class Worker:
    """Another process that may crash or hang: then it is ended, and the next task gets a new one."""

    def __init__(self) -> None:
        self.process: Any = None

    def __call__(self, name: str, path: Path, options: dict[str, Any] | None = None) -> Outcome:
        if self.process is None:
            self.connection, there = multiprocessing.Pipe()
            context = multiprocessing.get_context("spawn")
            self.process = context.Process(target=serve, args=(there,), daemon=True)
            self.process.start()
            there.close()
        start = time.perf_counter()
        self.connection.send((name, str(path), options or {}))
        try:
            outcome: Outcome = self.connection.recv() if self.connection.poll(LIMIT) else {"rule": f"{LIMIT:g} s"}
        except EOFError:
            outcome = {"rule": "crash"}
        if "ok" not in outcome:
            outcome |= {"ok": False, "message": outcome["rule"], "named": []}
            self.process.kill()
            self.process = None
        return outcome | {"seconds": time.perf_counter() - start}


def robot_files(folders: list[Path], without: list[str]) -> Iterator[Path]:
    """URDF with a moving joint and MJCF, each content once (with its includes); what it means shows later."""
    seen: set[str] = set()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.suffix in (".urdf", ".xml", ".mjcf") and p.is_file()):
            if any(word in str(path) for word in without):
                continue
            data = content(path)
            digest = hashlib.sha256(data).hexdigest()
            moves = MOVING.search(data) if path.suffix == ".urdf" else b"<mujoco" in data and b"<worldbody" in data
            if moves and digest not in seen:
                seen.add(digest)
                yield path


def content(path: Path, depth: int = 5) -> bytes:
    """Text of a file and of those that it includes, without comments."""
    data = COMMENT.sub(b"", path.read_bytes())
    parts = (path.parent / os.fsdecode(name) for name in INCLUDE.findall(data)) if depth else ()
    return data + b"".join(content(part, depth - 1) for part in parts if part.is_file())


def measure(path: Path, worker: Worker, compare: bool, moves: bool = False) -> Outcome | None:
    """One file: who reads it, and what it takes; None for an MJCF that MuJoCo does not read."""
    kind, theirs = path.suffix[1:].replace("mjcf", "xml"), worker("mujoco", path)
    row: Outcome = {"file": str(path), "kind": kind, "mujoco": theirs["ok"]}
    if kind == "xml" and not theirs.get("nv"):
        return None
    row["pinocchio"] = worker("pinocchio", path)["ok"]
    outcome = worker("ours", path)
    row |= {"strict": outcome["ok"], "seconds": outcome["seconds"], "options": {}, "named": outcome["ok"]}
    row["warn"] = outcome["ok"] or worker("ours", path, {"physics": "warn"})["ok"]
    if not outcome["ok"]:
        row |= {"rule": outcome["rule"], "message": outcome["message"]}
        for name, value in outcome["named"]:
            again = worker("ours", path, {name: value})
            if again["ok"]:
                outcome, row["named"], row["options"] = again, True, {name: value}
                break
            row["message_with_option"] = again["message"]
    row["warnings"] = len(outcome.get("warnings", ()))
    if compare and outcome["ok"]:
        row["numbers"] = worker("numbers", path, row["options"])
    if moves and outcome["ok"] and path.suffix == ".xml" and outcome["nv"]:
        row["motion"] = worker("motion", path, row["options"])
    return row


def grouped(text: str) -> str:
    """A rule without the names and numbers of one file."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'..'", text)
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", text)[:150]


def show(rows: list[Outcome]) -> None:
    """The tables: who loads how many, and the reasons of refusal by number of files."""
    console = Console(width=200)
    columns = ("pinocchio", "mujoco", "strict", "warn", "named")
    table = Table("", "files", "Pinocchio", "MuJoCo", "ours strict", "or warn", "or one named option")
    for kind, label in (("urdf", "URDF with a moving joint"), ("xml", "MJCF that MuJoCo loads")):
        those = [row for row in rows if row["kind"] == kind]
        table.add_row(label, str(len(those)), *(str(sum(row[column] for row in those)) for column in columns))
    console.print(table)
    refused = Counter((row["kind"], grouped(row["rule"]), row["named"]) for row in rows if not row["strict"])
    reasons = Table("refusals", "format", "rule", "loads with the option that the message names")
    for (kind, rule, named), count in refused.most_common():
        reasons.add_row(str(count), kind, rule, "yes" if named else "no")
    console.print(reasons)
    compared = [row for row in rows if row.get("numbers", {}).get("ok")]
    if compared:
        same = [row for row in compared if max(row["numbers"]["differences"].values()) <= 1e-12]
        light = sum(row["numbers"]["kinematic"] for row in compared)
        console.print(
            f"poses, mass matrix and gravity equal to 1e-12: {len(same)} of {len(compared)} files that both read"
        )
        console.print(f"(of these {light} are kinematic models: poses alone)")
        for row in compared:
            if row not in same:
                differences = ", ".join(f"{name} {x:.1e}" for name, x in row["numbers"]["differences"].items())
                console.print(f"  {differences}: {row['file']}")


def show_motions(rows: list[Outcome]) -> None:
    """The table of motions under constant controls: differences by cause."""
    moved = [row for row in rows if "motion" in row]
    table = Table("motions of 0.2 s beside MuJoCo", "files")
    causes = Counter(
        (row["motion"]["cause"] or "within 1e-3") if row["motion"]["ok"] else grouped(row["motion"]["rule"])
        for row in moved
    )
    for cause, count in causes.most_common():
        table.add_row(cause, str(count))
    console = Console(width=200)
    console.print(table)
    for row in moved:
        if row["motion"].get("cause") == "not known":
            console.print(f"  {row['motion']['difference']:.1e}, {row['motion']['left']:.1e} left: {row['file']}")


def main() -> None:
    """Options, measurement, tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", type=Path, help="write every row there")
    parser.add_argument("--kind", choices=("urdf", "xml"), help="only these")
    parser.add_argument("--without", nargs="*", default=["random_urdfs"], help="leave out paths with these words")
    parser.add_argument("--numbers", action="store_true", help="compare mass matrix and gravity with the peer's")
    parser.add_argument("--motion", action="store_true", help="compare motions under constant controls with MuJoCo's")
    options = parser.parse_args()
    worker = Worker()
    paths = [p for p in robot_files(options.folders, options.without) if options.kind in (None, p.suffix[1:])]
    rows = []
    for i, path in enumerate(paths):
        if row := measure(path, worker, options.numbers, options.motion):
            rows.append(row)
        if options.json and (i % 20 == 0 or path == paths[-1]):
            options.json.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    show(rows)
    if options.motion:
        show_motions(rows)


if __name__ == "__main__":
    main()
