"""Robot files that nobody here wrote: how many load, beside Pinocchio and MuJoCo, and why the others do not.

Given folders, every `.urdf` with a moving joint and every `.xml` that MuJoCo loads is read in another process, with a
time limit: as it is, with `physics="warn"`, and with each single option that the message of the refusal names.  With
`--numbers` mass matrix and gravity at a random state are compared: URDF with Pinocchio, MJCF with MuJoCo.

    python benchmarks/robot_files.py FOLDER ... [--numbers] [--json results.json] [--without random_urdfs]
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
        named = {name: text or True for name, text, _ in OPTION.findall(str(error))}
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

    mj.MjModel.from_xml_path(path)
    return {"ok": True}


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


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), 1e-300))


TASKS: dict[str, Callable[[str, dict[str, Any]], Outcome]] = {f.__name__: f for f in (ours, pinocchio, mujoco, numbers)}


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
            outcome = {"ok": False, "rule": f"{type(error).__name__}: {error}", "message": str(error), "named": {}}
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
            outcome |= {"ok": False, "message": outcome["rule"], "named": {}}
            self.process.kill()
            self.process = None
        return outcome | {"seconds": time.perf_counter() - start}


def robot_files(folders: list[Path], without: list[str]) -> Iterator[Path]:
    """URDF with a moving joint, each content once, and MJCF; whether it means anything shows later."""
    seen: set[str] = set()
    for folder in folders:
        for path in sorted(p for p in folder.rglob("*") if p.suffix in (".urdf", ".xml") and p.is_file()):
            if any(word in str(path) for word in without):
                continue
            data = COMMENT.sub(b"", path.read_bytes())
            digest = hashlib.sha256(data).hexdigest()
            if path.suffix == ".xml" and b"<mujoco" in data and b"<worldbody" in data:
                yield path
            elif path.suffix == ".urdf" and MOVING.search(data) and digest not in seen:
                seen.add(digest)
                yield path


def measure(path: Path, worker: Worker, compare: bool) -> Outcome | None:
    """One file: who reads it, and what it takes; None for an MJCF that MuJoCo does not read."""
    row: Outcome = {"file": str(path), "kind": path.suffix[1:], "mujoco": worker("mujoco", path)["ok"]}
    if path.suffix == ".xml" and not row["mujoco"]:
        return None
    row["pinocchio"] = worker("pinocchio", path)["ok"]
    outcome = worker("ours", path)
    row |= {"strict": outcome["ok"], "seconds": outcome["seconds"], "options": {}, "named": outcome["ok"]}
    row["warn"] = outcome["ok"] or worker("ours", path, {"physics": "warn"})["ok"]
    if not outcome["ok"]:
        row |= {"rule": outcome["rule"], "message": outcome["message"]}
        for name, value in outcome["named"].items():
            again = worker("ours", path, {name: value})
            if again["ok"]:
                outcome, row["named"], row["options"] = again, True, {name: value}
                break
            row["message_with_option"] = again["message"]
    row["warnings"] = len(outcome.get("warnings", ()))
    if compare and outcome["ok"]:
        row["numbers"] = worker("numbers", path, row["options"])
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
                told = ", ".join(f"{name} {x:.1e}" for name, x in row["numbers"]["differences"].items())
                console.print(f"  {told}: {row['file']}")


def main() -> None:
    """Options, measurement, tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", type=Path, help="write every row there")
    parser.add_argument("--kind", choices=("urdf", "xml"), help="only these")
    parser.add_argument("--without", nargs="*", default=["random_urdfs"], help="leave out paths with these words")
    parser.add_argument("--numbers", action="store_true", help="compare mass matrix and gravity with the peer's")
    options = parser.parse_args()
    worker = Worker()
    paths = [p for p in robot_files(options.folders, options.without) if options.kind in (None, p.suffix[1:])]
    rows = [row for path in paths if (row := measure(path, worker, options.numbers))]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    show(rows)


if __name__ == "__main__":
    main()
