"""Inverse kinematics of a Panda: random reachable poses from the middle of its joints, within limits.

Ours (one pose a call, prepared and not; all in one batch), Pinocchio with a damped step written by hand in Python, and
pink, mink and placo, where they are installed.  A pose counts as reached within 1e-5 m and 1e-4 rad.  Processor time,
medians.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import inverse_kinematics_peers
import numpy as np
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc

RESULT = Path(__file__).parent / "results" / "inverse_kinematics.json"
HAND = "panda_hand_tcp"
NEAR, TURNED = 1e-5, 1e-4


def panda_file() -> str:
    files = importlib.metadata.files("example-robot-data") or []
    return str(next(f for f in files if f.name == "panda.urdf").locate())


def panda() -> fc.Model:
    """The arm, its fingers welded."""
    model = fc.load(panda_file(), base="fixed")
    return model.lock([name for name in model.joint_names if "finger" in name])


class Problem:
    """Goals that the arm can reach, and its middle."""

    def __init__(self, count: int = 10_000) -> None:
        self.model = panda()
        self.poses = fc.compile(self.model, fc.link_pose, link=HAND)
        self.goals = self.poses(self.model.random(np.random.default_rng(0), count))
        limits = self.model.limits
        self.start = self.model.state(joints=[0.5 * (limit.lower + limit.upper) for limit in limits])

    def reached(self, joints: np.ndarray, goals: np.ndarray) -> float:
        """The share of goals that these joints reach, within their limits."""
        H, limits = self.poses(joints), self.model.limits
        away = np.linalg.norm(H[:, :3, 3] - goals[:, :3, 3], axis=1)
        turn = np.linalg.norm(H[:, :3, :3] - goals[:, :3, :3], axis=(1, 2)) / np.sqrt(2.0)  # near 0 the angle
        inside = [(joints[:, i] >= x.lower - 1e-9) & (joints[:, i] <= x.upper + 1e-9) for i, x in enumerate(limits)]
        return float(((away < NEAR) & (turn < TURNED) & np.all(inside, axis=0)).mean())


def one_by_one(problem: Problem, what: str, solve: Callable[[np.ndarray], np.ndarray], count: int) -> report.Result:
    times, found = [], []
    goals = problem.goals[:count]
    solve(goals[0])
    for goal in goals:
        before = time.process_time()
        found.append(solve(goal))
        times.append(time.process_time() - before)
    return {
        "what": what,
        "poses": count,
        "median_us": 1e6 * float(np.median(times)),
        "mean_us": 1e6 * float(np.mean(times)),
        "reached_percent": 100.0 * problem.reached(np.array(found), goals),
    }


def ours(problem: Problem, repeats: int) -> Iterator[report.Result]:
    model, start = problem.model, problem.start
    reach = fc.control.InverseKinematics(model, [fc.control.PoseTask(HAND)])
    yield one_by_one(problem, "fallingcat, prepared", lambda H: reach(start, H).state.joints, 1000)

    def call(goal: np.ndarray) -> np.ndarray:
        joints: np.ndarray = fc.control.inverse_kinematics(model, [fc.control.PoseTask(HAND, goal)], start).state.joints
        return joints

    yield one_by_one(problem, "fallingcat, plain call", call, 1000)
    task, times = fc.control.PoseTask(HAND, problem.goals), []
    for _ in range(repeats):
        before = time.process_time()
        found = fc.control.inverse_kinematics(model, [task], start)
        times.append((time.process_time() - before) / len(problem.goals))
    share = 100.0 * problem.reached(found.state.joints, problem.goals)
    each = 1e6 * float(np.median(times))
    yield {
        "what": f"fallingcat, a batch of {len(problem.goals)}",
        "poses": len(problem.goals),
        "median_us": each,
        "mean_us": each,
        "reached_percent": share,
    }
    kernel, numbers = reach.kernel, reach.numbers(problem.goals[0])
    x, settings = np.append(start.joints, [0.0, 0.0]), np.array([1e-300, 1e6, np.inf, 0.0, np.inf])  # never arrives
    for lanes in (1, kernel.lanes):
        rows = (x, numbers) if lanes == 1 else (np.tile(x, (lanes, 1)), np.tile(numbers, (lanes, 1)))
        times = []
        for _ in range(repeats):
            before = time.process_time()
            out = kernel.until(*rows, settings, most=20_000)
            times.append((time.process_time() - before) / (20_000 * lanes))
        assert (np.atleast_2d(out)[:, model.nq] == 20_000).all()
        yield {"what": f"fallingcat, one limited step, {lanes} at once", "median_us": 1e6 * float(np.median(times))}


def with_restarts(problem: Problem, peer: inverse_kinematics_peers.Peer) -> Callable[[np.ndarray], np.ndarray]:
    """100 steps from the middle of the joints, then from random places."""
    rng, limits = np.random.default_rng(0), problem.model.limits
    lower, upper = (np.array([getattr(limit, end) for limit in limits]) for end in ("lower", "upper"))

    def solve(goal: np.ndarray) -> np.ndarray:
        q = np.array(problem.start.joints)
        for _ in range(20):
            q, done = peer.attempt(q, goal)
            if done:
                break
            q = rng.uniform(lower, upper)
        return q

    return solve


def measure(repeats: int) -> report.Result:
    problem = Problem()
    rows = [*ours(problem, repeats)]
    for peer in inverse_kinematics_peers.PEERS:
        try:
            found = peer(panda_file(), problem.model, HAND)
        except ImportError:
            continue
        rows.append(one_by_one(problem, found.what, with_restarts(problem, found), found.poses))
    machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
    return {**machine, "numpy": np.__version__, "load": round(os.getloadavg()[0], 2), "rows": rows}


def show(result: report.Result) -> None:
    table = Table("", "poses", "median us", "mean us", "reached %")
    for row in result["rows"]:
        cells = (row.get("poses"), row.get("median_us"), row.get("mean_us"), row.get("reached_percent"))
        table.add_row(row["what"], *("" if x is None else f"{x:.4g}" for x in cells))
    Console().print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 7, measure, show)
