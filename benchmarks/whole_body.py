"""One tick of whole-body control of Talos (38 degrees of freedom, two flat feet, friction cones, torque limits).

200 ticks, 2 ms apart, of a motion that leans and crouches, so that what is held changes as it does in a loop.  Ours
with weights (one level: center of mass, torso, posture) and with three strict levels; placo and TSID with weights, in
the interpreters that ``$PEERS`` names (``PEERS=/env/bin/python:/other/bin/python``).  Processor time of a tick, from
the measured ``q`` and ``v`` to torques; medians of passes over all ticks.  TSID's largest torque is ours to 0.4 %;
placo's answer differs (its center of mass follows less), for a reason that is not known.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.control import CenterOfMassTask, JointsTask, RotationTask, TorqueLimits, WholeBody

RESULT = Path(__file__).parent / "results" / "whole_body.json"
SOLES, TORSO, FOOT, FRICTION = ("left_sole_link", "right_sole_link"), "torso_2_link", (0.2, 0.13), 0.6
TORSO_WEIGHT, POSTURE_WEIGHT, TICKS, PERIOD = 0.1, 0.01, 200, 2e-3


class Problem:
    """Talos half crouched, its tasks, and a motion."""

    def __init__(self) -> None:
        files = importlib.metadata.files("example-robot-data") or []
        self.path = str(next(f for f in files if f.name == "talos_reduced.urdf").locate())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.robot = fc.load(self.path)
        self.contacts: tuple[str, ...] = ()
        for sole in SOLES:
            self.robot, corners = fc.contact.corners(self.robot, sole, FOOT)
            self.contacts += corners
        angles = {"3": -0.4, "4": 0.8, "5": -0.4}
        bent = {f"leg_{side}_{k}_joint": x for side in ("left", "right") for k, x in angles.items()}
        self.start = self.robot.state(joints=bent)
        self.goal = fc.center_of_mass(self.robot, self.start) + np.array([0.02, 0.06, -0.08])
        self.tasks = (
            CenterOfMassTask(self.goal, gain=5.0),
            RotationTask(TORSO, np.eye(3), gain=5.0, weight=TORSO_WEIGHT),
            JointsTask(self.start.joints, gain=3.0, weight=POSTURE_WEIGHT),
        )

    def loop(self, levels: list[list[Any]]) -> fc.control.Loop:
        return WholeBody(self.robot, levels, self.contacts, FRICTION, [TorqueLimits()]).compile()

    def states(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What the weighted controller does from rest, each tick as it plans it."""
        loop, (q, v), seen = self.loop([list(self.tasks)]), self.robot.flatten(self.start), []
        for _ in range(TICKS):
            seen.append((q, v))
            loop(q, v)
            v = v + PERIOD * loop.found.acceleration
            q = self.robot.integrate(q, PERIOD * v)
        return seen


def passes(loop: fc.control.Loop, states: list[tuple[np.ndarray, np.ndarray]], repeats: int) -> report.Result:
    found = []
    for q, v in states:
        loop(q, v)
        found.append(loop.found)
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        for q, v in states:
            loop(q, v)
        times.append((time.process_time() - begin) / len(states) * 1e6)
    return {
        "median_us": float(np.median(times)),
        "best_us": min(times),
        "largest_torque": max(float(np.abs(x.torques).max()) for x in found),
        "first_guess": float(np.mean([x.rounds == 1 for x in found])),
        "held": float(np.mean([len(x.active) for x in found])),
        "optimality": max(x.optimality for x in found),
    }


def matrices(loop: fc.control.Loop, states: list[tuple[np.ndarray, np.ndarray]], repeats: int) -> report.Result:
    kernel, numbers = loop._solver.plan.kernel, loop._numbers
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        for q, v in states:
            kernel(q, v, numbers)
        times.append((time.process_time() - begin) / len(states) * 1e6)
    return {"median_us": float(np.median(times)), "best_us": min(times)}


def peers(problem: Problem, states: list[tuple[np.ndarray, np.ndarray]]) -> list[report.Result]:
    given = {
        "joints": problem.robot.joint_names,
        "q": problem.robot.flatten(problem.start)[0].tolist(),
        "com": problem.goal.tolist(),
        "soles": SOLES, "torso": TORSO, "foot": FOOT, "friction": FRICTION,
        "torso_weight": TORSO_WEIGHT, "posture_weight": POSTURE_WEIGHT,
        "states": [(q.tolist(), v.tolist()) for q, v in states],
    }  # fmt: skip
    script, rows = Path(__file__).with_name("whole_body_peers.py"), []
    text = Path(problem.path).read_text(encoding="utf-8")  # without meshes, which are not needed here
    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        robot, numbers = Path(folder) / "robot.urdf", Path(folder) / "problem.json"
        robot.write_text(text, encoding="utf-8")
        numbers.write_text(json.dumps(given), encoding="utf-8")
        for python in filter(None, os.environ.get("PEERS", "").split(":")):
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            command = [python, str(script), str(robot), str(numbers)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            rows += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [{"what": row.pop("name"), **row} for row in rows]


def measure(repeats: int) -> report.Result:
    problem = Problem()
    states = problem.states()
    com, torso, posture = problem.tasks
    weighted, strict = problem.loop([[com, torso, posture]]), problem.loop([[com], [torso], [posture]])
    rows: list[report.Result] = [
        {"what": "fallingcat, weighted", **passes(weighted, states, repeats)},
        {"what": "fallingcat, three strict levels", **passes(strict, states, repeats)},
        {"what": "of it the matrices", **matrices(weighted, states, repeats)},
        *peers(problem, states),
    ]
    machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
    return {**machine, "numpy": np.__version__, "load": round(os.getloadavg()[0], 2), "rows": rows}


def show(result: report.Result) -> None:
    columns = ("median_us", "best_us", "largest_torque", "first_guess", "held", "optimality")
    table = Table("", *(name.replace("_", " ") for name in columns))
    for row in result["rows"]:
        table.add_row(row["what"], *("" if row.get(c) is None else f"{row[c]:.4g}" for c in columns))
    Console().print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 15, measure, show)
