"""Contact in scenes that users have: many points, short runs, first calls, random actions; beside MuJoCo.

python benchmarks/contact_scenes.py            # all scenes, in turn with MuJoCo; writes results/contact_scenes.json
python benchmarks/contact_scenes.py --only landing trees   # some of them: landing, trees, random
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import contact
import contact_points
import numpy as np

import fallingcat as fc
from fallingcat.geometry.contact_points import positions
from fallingcat.simulation import BatchSimulator

RESULT = Path(__file__).parent / "results" / "contact_scenes.json"
POINTS = (4, 12, 24, 44, 265)
"""Lowest points of the collision geometry of a Go2; 265 are all of them."""
ROBOTS, ACTIONS, HELD = 128, 500, 0.02
"""Robots under random torques, how many of these each is given, and how long each is held (s)."""


GOALS = {"compliant": 8.0, "hard": 5.0, "compliant, 265 points": 4.0, "hard, 265 points": 4.0}
"""Speed of a landing over MuJoCo's; of runs of 1 s that of :data:`SHORT_GOALS`."""
SHORT_GOALS = {"compliant": 8.0, "hard": 4.0}
STEP_GOALS = {"tree8": 10.0, "tree16": 15.0, "tree32": 30.0}
"""us: of a hard step of a tree of 20 joints; its first call should take 2 s."""


def least(run: Callable[[], Any], repeats: int) -> float:
    """Processor time (s), after a first run and the good code that it asks for: the machine may do other things."""
    run()
    for thread in [one for one in threading.enumerate() if one.name == "fallingcat compiler"]:
        thread.join()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def machine() -> str:
    """Processor of this machine."""
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2] for line in info.read_text().splitlines() if line.startswith("model name")]
    return f"one core of a {os.cpu_count()}-core {names[0].strip() if names else platform.processor()}"


def go2(points: int) -> contact.Scene:
    """Lowered on springs, on the lowest points of its collision geometry in that pose."""
    files = importlib.metadata.files("example-robot-data") or []
    path = next(f for f in files if f.name == "go2.urdf").locate()
    model, names, _ = fc.contact.collision_points(fc.load(str(path)))
    pose, sit = np.eye(4), np.tile([0.0, 0.8, -1.6], 4)
    state = model.state(pose=pose, joints=sit)
    heights = np.array([p[2] for p in positions(model, state, names)])
    pose[2, 3] = 0.05 - heights.min()
    lowest = np.sort(np.argsort(heights, kind="stable")[:points])
    start = model.state(pose=pose, joints=sit, twist=[0.3, 0.1, 0.0, 0.2, 0.1, 0.3])
    return contact.Scene(model, start, tuple(names[i] for i in lowest), 60.0, 2.0)


def landing(scene: contact.Scene, hard: bool, dt: float, repeats: int) -> dict[str, Any]:
    """Ours and MuJoCo's (Euler, 1 ms): long and short runs, the first call, and the error after a second."""
    floor, name = (scene.hard, "moreau") if hard else (scene.floor, "implicit")

    def ours(length: float, step: float = dt) -> fc.Trajectory:
        every = max(1, round(0.01 / step))
        return fc.simulate(
            scene.model, scene.start, length, scene.laws, floor, integrator=name, dt=step, every=every, passive=False
        )

    began = time.process_time()
    status = ours(dt).status
    first = time.process_time() - began
    fine, run = ours(1.0, dt / 32.0), ours(1.0)
    kind = "hard" if hard else "compliant"
    speeds = {length: length / least(lambda n=length: ours(n), repeats) for length in (10.0, 1.0)}
    theirs = mujocos(scene, repeats)
    many = ", 265 points" if len(scene.points) > 44 else ""
    return {
        "points": len(scene.points),
        "ground": kind,
        "dt": dt,
        "status": run.status if status == "finished" else status,
        "first call (s)": first,
        "simulated s per s": speeds[10.0],
        "simulated s per s, runs of 1 s": speeds[1.0],
        "error after 1 s (m)": float(np.abs(run.poses[-1, :3, 3] - fine.poses[-1, :3, 3]).max()),
        "MuJoCo": theirs,
        "speed over MuJoCo": speeds[10.0] / theirs["simulated s per s"],
        "goal": GOALS[kind + many],
        "runs of 1 s over MuJoCo": speeds[1.0] / theirs["simulated s per s, runs of 1 s"],
        "goal of runs of 1 s": SHORT_GOALS[kind],
        "first run of 1 s over MuJoCo": (1.0 / (first + 1.0 / speeds[1.0])) / theirs["simulated s per s, runs of 1 s"],
    }


def mujocos(scene: contact.Scene, repeats: int, dt: float = 1e-3) -> dict[str, float]:
    """MuJoCo's Euler, in one call for all steps."""
    import mujoco

    model = contact.in_mujoco(scene)
    data = mujoco.MjData(model)
    q, v = scene.model.to_mujoco(scene.start)

    def run(length: float, step: float = dt) -> np.ndarray:
        model.opt.timestep = step
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_step(model, data, nstep=round(length / step))
        return data.qpos[:3].copy()

    return {
        "simulated s per s": 10.0 / least(lambda: run(10.0), repeats),
        "simulated s per s, runs of 1 s": 1.0 / least(lambda: run(1.0), repeats),
        "error after 1 s (m)": float(np.abs(run(1.0) - run(1.0, dt / 32.0)).max()),
    }


def hard_steps(name: str) -> dict[str, Any]:
    """A hard scene of :mod:`contact_points`, in processes of its own."""
    row = contact_points.row(name)
    return row | (
        {"goal (us a step)": STEP_GOALS[name], "goal of the first run (s)": 2.0} if name in STEP_GOALS else {}
    )


def random_actions(scene: contact.Scene, hard: bool, dt: float) -> dict[str, Any]:
    """Robots under torques at random within their effort limits: how many leave physics, and steps per second."""
    model, joints = scene.model, [joint for joint in scene.model.joints if joint.nv]
    effort, speed = (np.array([getattr(joint.limits, what) for joint in joints]) for what in ("effort", "velocity"))
    many = fc.State(*(np.tile(x, (ROBOTS, *[1] * x.ndim)) for x in scene.start))
    simulator = BatchSimulator(model, many, None, scene.hard if hard else scene.floor, dt=dt, driven=True)
    rng, worst, took = np.random.default_rng(0), np.zeros(ROBOTS), 0.0
    for _ in range(ACTIONS):
        torques = rng.uniform(-1.0, 1.0, (ROBOTS, model.n)) * effort
        began = time.process_time()
        simulator.step(round(HELD / dt), forces=torques)
        took += time.process_time() - began
        ratio = (np.abs(simulator.state.rates) / speed).max(axis=1)
        worst = np.fmax(worst, np.where(np.isfinite(ratio), ratio, np.inf))
    return {
        "ground": "hard" if hard else "compliant",
        "dt": dt,
        "robots": ROBOTS,
        "seconds": ACTIONS * HELD,
        "fastest joint, in units of its speed limit": {
            "median": float(np.median(worst)),
            "worst finite": float(worst[np.isfinite(worst)].max(initial=0.0)),
        },
        "not finite": int(np.isinf(worst).sum()),
        "beyond ten times the limit": int((worst > 10.0).sum()),
        "steps per s and core": ROBOTS * ACTIONS * HELD / dt / took,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=["landing", "trees", "random"])
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    asked = options.only or ["landing", "trees", "random"]
    before = json.loads(options.output.read_text()) if options.output.exists() else {}
    result: dict[str, Any] = before | {"python": platform.python_version()}

    def measured(title: str, rows: Iterable[dict[str, Any]]) -> None:
        result[title], about = [], {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "load": os.getloadavg()[0]}
        result["measured"] = result.get("measured", {}) | {title: about}
        for row in rows:
            result[title].append(row)
            print(title, json.dumps(row), flush=True)
            options.output.write_text(json.dumps(result, indent=2) + "\n")

    if "landing" in asked:
        ways = [(points, hard) for hard in (False, True) for points in POINTS]
        measured("landing of a Go2", (landing(go2(points), hard, 1e-3, options.repeats) for points, hard in ways))
    if "trees" in asked:
        measured("hard contact on many links", map(hard_steps, [*STEP_GOALS, *contact_points.ROBOTS]))
    if "random" in asked:
        for name, scene in contact.SCENES.items():
            ways = [(hard, dt) for hard in (False, True) for dt in (2e-3, 4e-3)]
            measured(f"{name} under random torques", (random_actions(scene(), *way) for way in ways))


if __name__ == "__main__":
    main()
