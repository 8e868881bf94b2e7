"""Contact in scenes that users have: many points, short runs, first calls, random actions; beside MuJoCo.

python benchmarks/contact_scenes.py            # all scenes, in turn with MuJoCo; writes results/contact_scenes.json
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import contact
import numpy as np

import fallingcat as fc
from fallingcat.geometry.contact_points import positions
from fallingcat.simulation import BatchSimulator

RESULT = Path(__file__).parent / "results" / "contact_scenes.json"
POINTS = (4, 12, 24, 44, 265)
"""Lowest points of the collision geometry of a Go2; 265 are all of them."""
ROBOTS, ACTIONS, HELD = 128, 500, 0.02
"""Robots under random torques, how many of these each is given, and how long each is held (s)."""


def median(run: Callable[[], Any], repeats: int) -> float:
    """Of the processor time (s), after a first run."""
    run()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return statistics.median(times)


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
    theirs = contact.mujocos(scene, "Euler", 1e-3, repeats)
    long, short = median(lambda: ours(10.0), repeats), median(lambda: ours(1.0), repeats)
    return {
        "points": len(scene.points),
        "ground": "hard" if hard else "compliant",
        "dt": dt,
        "status": run.status if status == "finished" else status,
        "first call (s)": first,
        "simulated s per s": 10.0 / long,
        "simulated s per s, runs of 1 s": 1.0 / short,
        "error after 1 s (m)": float(np.abs(run.poses[-1, :3, 3] - fine.poses[-1, :3, 3]).max()),
        "MuJoCo": {key: theirs[key] for key in ("simulated s per s", "error after 1 s (m)")},
    }


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
    options = parser.parse_args()
    result: dict[str, Any] = {"python": platform.python_version(), "date": time.strftime("%Y-%m-%d")}
    ways = [(points, hard) for hard in (False, True) for points in POINTS if not (hard and points > 44)]
    result["landing of a Go2"] = []
    for points, hard in ways:
        row = landing(go2(points), hard, 1e-3, options.repeats)
        result["landing of a Go2"].append(row)
        print(json.dumps(row), flush=True)
    for name, scene in contact.SCENES.items():
        result[f"{name} under random torques"] = rows = []
        for hard in (False, True):
            for dt in (2e-3, 4e-3):
                rows.append(random_actions(scene(), hard, dt))
                print(name, json.dumps(rows[-1]), flush=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
