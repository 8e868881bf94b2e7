"""Third-party robot files: how many load, beside Pinocchio and MuJoCo, and why the others do not.

Below a folder of repositories, every `.urdf` with a moving joint and every MJCF file with joints that MuJoCo loads is
read in another process, with a limit of processor time: as it is, and with each option that the message of a refusal
names.  Rows go to `--json`; a second call keeps those of files that loaded, and adds what `--tasks` asks for:

- `numbers`: poses, mass matrix and gravity at a random state, URDF beside Pinocchio, MJCF beside MuJoCo
- `motion`: MJCF robots move for 0.2 s from their first keyframe under constant controls, without contact, beside MuJoCo
  in Runge-Kutta or implicit steps that have converged; those that differ by more than 1e-3 move again with rigid dry
  friction and rigid joint limits, and without them and the actuators: the first change that makes them equal is the
  cause; `smooth` is the difference without limits and dry friction
- `peer_model`: a `pinocchio.Model` of the file by `fc.from_pinocchio_model`, and back
- `written_mjcf`, `written_urdf`: saved, and read by MuJoCo, Pinocchio and ours
- `drop_compliant`, `drop_hard`: the robot falls 5 cm, limp

    python benchmarks/robot_files.py FOLDER --json results.json [--tasks numbers motion] [--every 10] [--only unitree]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from robot_file_drops import drop_compliant, drop_hard
from robot_file_exchange import peer_model, written_mjcf, written_urdf
from robot_file_tasks import motion, mujoco, numbers, ours, pinocchio

LIMIT = 120  # s of processor time for one file and one task
MOVING = re.compile(rb'type\s*=\s*["\'](revolute|continuous|prismatic|floating|planar)["\']')
INCLUDE = re.compile(rb'<include\s+file\s*=\s*["\']([^"\']+)["\']')
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
Outcome = dict[str, Any]


TASKS: dict[str, Callable[[str, dict[str, Any]], Outcome]] = {
    f.__name__: f
    for f in (
        ours,
        pinocchio,
        mujoco,
        numbers,
        motion,
        peer_model,
        written_mjcf,
        written_urdf,
        drop_compliant,
        drop_hard,
    )
}


def serve(connection: Connection) -> None:
    """Answer tasks until there are none; what the peers print goes nowhere."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    while (task := connection.recv()) is not None:
        name, path, options, limit = task
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + limit, resource.RLIM_INFINITY))
        try:
            outcome = TASKS[name](path, options)
        except Exception as error:  # of a peer, or a bug of ours: both are to be counted
            outcome = {"ok": False, "rule": f"{type(error).__name__}: {error}", "message": str(error), "named": []}
        connection.send(outcome)


# in this process ----------------------------------------------------------------------------------------------------


class Worker:
    """Another process that may crash, or end at its limit of processor time: the next task gets a new one."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.process: Any = None
        self.limit = limit

    def __call__(self, name: str, path: Path, options: dict[str, Any] | None = None) -> Outcome:
        if self.process is None:
            self.connection, there = multiprocessing.Pipe()
            context = multiprocessing.get_context("spawn")
            self.process = context.Process(target=serve, args=(there,), daemon=True)
            self.process.start()
            there.close()
        start = time.perf_counter()
        self.connection.send((name, str(path), options or {}, self.limit))
        try:
            outcome: Outcome = self.connection.recv()
        except EOFError:
            self.process.join()
            late = self.process.exitcode == -signal.SIGXCPU
            rule = f"{self.limit} s of processor time" if late else "crash"
            outcome = {"ok": False, "rule": rule, "message": rule, "named": []}
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


def measure(path: Path, worker: Worker) -> Outcome | None:
    """One file: who reads it, and what it takes; None for an MJCF that MuJoCo does not read."""
    kind, theirs = path.suffix[1:].replace("mjcf", "xml"), worker("mujoco", path)
    row: Outcome = {"kind": kind, "mujoco": theirs["ok"]}
    if kind == "xml" and not theirs.get("nv"):
        return None
    row["pinocchio"] = worker("pinocchio", path)["ok"]
    return row | measure_ours(path, worker)


def measure_ours(path: Path, worker: Worker) -> Outcome:
    """Whether the file loads, and with which option."""
    outcome = worker("ours", path)
    row = {"strict": outcome["ok"], "seconds": round(outcome["seconds"], 3), "options": {}, "named": outcome["ok"]}
    if not outcome["ok"]:
        row |= {"rule": outcome["rule"], "message": outcome["message"]}
        for name, value in outcome["named"]:
            again = worker("ours", path, {name: value})
            if again["ok"]:
                outcome, row["named"], row["options"] = again, True, {name: value}
                break
            row["message_with_option"] = again["message"]
    return row | {"warnings": len(outcome.get("warnings", ()))}


def applies(task: str, row: Outcome) -> bool:
    """True if a task says something about a file."""
    if task == "peer_model":
        return bool(row["pinocchio"])
    return row["named"] and (task in ("numbers", "drop_compliant", "drop_hard") or row["kind"] == "xml")


def grouped(text: str) -> str:
    """A rule without the names and numbers of one file."""
    text = re.sub(r"(file:?) \S+", r"\1 ..", text.replace("\n", " "))
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'..'", text)
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", text)[:150]


def show(rows: list[Outcome]) -> None:
    """The tables: who loads how many, and the reasons of refusal by number of files."""
    console = Console(width=200)
    columns = ("pinocchio", "mujoco", "strict", "named")
    table = Table("", "files", "Pinocchio", "MuJoCo", "ours strict", "or one named option")
    for kind, label in (("urdf", "URDF with a moving joint"), ("xml", "MJCF that MuJoCo loads")):
        those = [row for row in rows if row["kind"] == kind]
        table.add_row(label, str(len(those)), *(str(sum(row[column] for row in those)) for column in columns))
    console.print(table)
    refused = Counter((row["kind"], grouped(row["rule"]), row["named"]) for row in rows if not row["strict"])
    reasons = Table("refusals", "format", "rule", "loads with the option that the message names")
    for (kind, rule, named), count in refused.most_common():
        reasons.add_row(str(count), kind, rule, "yes" if named else "no")
    console.print(reasons)
    compare = Table("task", "format", "files", "equal to 1e-9", "the others")
    for task, kind in product(("numbers", "peer_model", "written_mjcf", "written_urdf"), ("urdf", "xml")):
        done = [row[task] for row in rows if task in row and row["kind"] == kind]
        same = [each for each in done if each["ok"] and max(each["differences"].values()) <= 1e-9]
        others = Counter(grouped(each.get("cause") or each.get("rule", "differs")) for each in done if each not in same)
        if done:
            compare.add_row(
                task, kind, str(len(done)), str(len(same)), "\n".join(f"{n} {x}" for x, n in others.items())
            )
    console.print(compare)
    show_motions(rows, console)
    show_drops(rows, console)


def show_motions(rows: list[Outcome], console: Console) -> None:
    """The tables of motions under constant controls: how many are equal, and each file that is not, with the cause."""
    moved = {row["file"]: row["motion"] for row in rows if "motion" in row}
    equal = Table("motions of 0.2 s beside MuJoCo", "files", "within 1e-6", "within 1e-3", "not run to the end")
    for label, some in (("with actuators", True), ("without", False)):
        done = [each for each in moved.values() if each["ok"] and bool(each["actuators"]) == some]
        for text, key in ((label, "difference"), (f"{label}, no limits and dry friction", "smooth")):
            off = [each[key] for each in done if each.get(key) is not None]
            counts = (sum(x <= limit for x in off) for limit in (1e-6, 1e-3))
            equal.add_row(text, str(len(off)), *map(str, counts), "")
    equal.add_row("", "", "", "", str(sum(not each["ok"] for each in moved.values())))
    console.print(equal)
    causes = Table("file", "difference", "cause")
    for name, each in moved.items():
        if not each["ok"] or each["cause"]:
            off = each.get("difference")
            causes.add_row(
                name, "" if off is None else f"{off:.1e}", each["cause"] if each["ok"] else each["rule"][:80]
            )
    console.print(causes)


def show_drops(rows: list[Outcome], console: Console) -> None:
    """The table of falls: how many end well, and how the others end."""
    table = Table("fall of 5 cm", "robots", "good", "the others")
    for task in ("drop_compliant", "drop_hard"):
        done = [row[task] for row in rows if row.get(task) and "not dropped" not in row[task].get("rule", "")]
        others = Counter(grouped(each.get("status", each.get("rule"))) for each in done if not each.get("good"))
        good = sum(each.get("good", False) for each in done)
        table.add_row(task, str(len(done)), str(good), "\n".join(f"{n} {text}" for text, n in others.items()))
    console.print(table)


def absolute(options: dict[str, Any], root: Path) -> dict[str, Any]:
    """Options of a row, whose folders are seen from ``root``."""
    return options | ({"inside": str(root / options["inside"])} if "inside" in options else {})


def written(rows: dict[str, Outcome], root: Path) -> str:
    """JSON, a line for each file, without the folder that the files are in."""
    lines = (json.dumps({"file": name, **row}) for name, row in sorted(rows.items()))
    return ("[\n" + ",\n".join(lines) + "\n]\n").replace(f"{root}/", "")


def main() -> None:
    """Options, measurement, tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, required=True, help="rows are read from there, and written")
    parser.add_argument("--kind", choices=("urdf", "xml"), help="only these")
    parser.add_argument("--only", nargs="*", default=[""], help="only paths with one of these words")
    parser.add_argument("--without", nargs="*", default=["random_urdfs"], help="leave out paths with these words")
    parser.add_argument("--every", type=int, default=1, help="tasks on each so-many-th file")
    parser.add_argument("--minutes", type=float, default=1e9, help="end after so many")
    parser.add_argument("--limit", type=int, default=LIMIT, help="s of processor time for one file and one task")
    parser.add_argument("--tasks", nargs="*", default=[], choices=sorted(TASKS))
    options = parser.parse_args()
    worker, end = Worker(options.limit), time.monotonic() + 60.0 * options.minutes
    rows = {row.pop("file"): row for row in json.loads(options.json.read_text())} if options.json.exists() else {}
    paths = [
        path
        for path in robot_files([options.folder], options.without)
        if options.kind in (None, path.suffix[1:]) and any(word in str(path) for word in options.only)
    ]
    for i, path in enumerate(paths):
        name = str(path.relative_to(options.folder))
        if not options.tasks and name not in rows and (row := measure(path, worker)):
            rows[name] = row
        elif not options.tasks and name in rows and not rows[name]["strict"]:
            rows[name] = {k: rows[name][k] for k in ("kind", "mujoco", "pinocchio")} | measure_ours(path, worker)
        for task in options.tasks:
            row = rows.get(name, {})
            if i % options.every == 0 and row and not row.get(task, {}).get("ok") and applies(task, row):
                row[task] = worker(task, path, absolute(row["options"], options.folder))
        if i % 10 == 0 or path == paths[-1] or time.monotonic() > end:
            options.json.write_text(written(rows, options.folder))
        if time.monotonic() > end:
            break
    show([{"file": name, **row} for name, row in sorted(rows.items())])


if __name__ == "__main__":
    main()
