"""Robots under random torques and random servo targets: how many leave physics, at steps that users take.

python benchmarks/stress.py                             # this processor, float64: writes results/stress.json
python benchmarks/stress.py --target cuda --dtype float32 --robots 65536   # a GPU; rows are added under its name
python benchmarks/stress.py --only humanoid --dt 0.004 --robots 64         # a part, printed and not written

Torques within effort limits are drawn anew every 20 ms, or targets of position servos within the ranges of the joints.
Servos are springs and dampers in the joints.  A robot has left physics if a number is not finite, or a joint is faster
than 3 times its speed limit and 1.5 times the fastest of 128 such robots in steps of 0.25 ms: drives accelerate no
joint beyond its speed limit, but links that brake throw those that they carry.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import contact
import numpy as np

import fallingcat as fc
from fallingcat.model.robots.shapes import at, cylinder_link, sphere_link
from fallingcat.simulation import BatchSimulator
from fallingcat.simulation.problem.compiled_dynamics import energies

RESULT = Path(__file__).parent / "results" / "stress.json"
HELD, SECONDS = 0.02, 10.0
"""s: between two actions, and of a run"""
FINE, FINE_ROBOTS = 2.5e-4, 128
"""s: steps that resolve these robots, and how many take them"""
SPEEDS, BEYOND = 3.0, 1.5
"""Speed of a joint in units of its limit, and of the fastest joint in fine steps, from which on it has left physics."""


def ant() -> contact.Scene:
    """A sphere of 2 kg on four light legs of two joints, as the ant of MuJoCo; its feet touch."""
    links, joints, frames = [sphere_link("torso", 2.0, 0.2)], [], []
    for i, (x, y) in enumerate(((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))):
        out, yaw = np.array([x, y, 0.0]) / np.sqrt(2.0), np.arctan2(y, x)
        turned = at(*(0.2 * out))
        turned[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
        links += [
            cylinder_link(f"thigh_{i}", 0.15, 0.03, 0.25, along="x", center=(0.125, 0.0, 0.0)),
            cylinder_link(f"shank_{i}", 0.15, 0.03, 0.4, along="x", center=(0.2, 0.0, 0.0)),
        ]
        yaws, bends = fc.model.joints.Revolute((0.0, 0.0, 1.0)), fc.model.joints.Revolute((0.0, 1.0, 0.0))
        hip, knee = fc.model.Limits(-0.7, 0.7, 12.0, 8.0), fc.model.Limits(0.3, 1.6, 12.0, 8.0)
        joints += [
            fc.Joint(f"hip_{i}", yaws, "torso", f"thigh_{i}", turned, limits=hip),
            fc.Joint(f"knee_{i}", bends, f"thigh_{i}", f"shank_{i}", at(0.25), limits=knee),
        ]
        frames.append(fc.model.Frame(f"foot_{i}", f"shank_{i}", at(0.4)))
    model = fc.Model("ant", fc.lie.SE3(), tuple(links), tuple(joints), frames=tuple(frames))
    start = model.state(pose=at(z=0.5), joints=np.tile([0.0, 1.2], 4))
    return contact.Scene(model, start, tuple(frame.name for frame in frames), 15.0, 0.3)


SCENES = {**contact.SCENES, "ant": ant}


def batch_of(
    scene: contact.Scene, action: str, hard: bool, dt: float, count: int, where: dict[str, Any]
) -> BatchSimulator:
    """Robots that stand side by side; servos are springs and dampers in the joints, and torques move their targets."""
    many = fc.State(*(np.tile(x, (count, *[1] * x.ndim)) for x in scene.start))
    laws = (fc.control.JointSpring(scene.stiffness), fc.control.JointDamper(scene.damping))
    ground = scene.hard if hard else scene.floor
    return BatchSimulator(scene.model, many, laws if action == "servos" else None, ground, dt=dt, driven=True, **where)


def torques(scene: contact.Scene, action: str, rng: np.random.Generator, count: int) -> np.ndarray:
    """``count x n``: torques within effort limits, or those that move servos to targets within the joints' ranges."""
    limits = [joint.limits for joint in scene.model.joints if joint.nv]
    if action == "torques":
        return rng.uniform(-1.0, 1.0, (count, len(limits))) * np.array([limit.effort for limit in limits])
    lower, upper = (np.array([getattr(limit, side) for limit in limits]) for side in ("lower", "upper"))
    return scene.stiffness * rng.uniform(lower, upper, (count, len(limits)))


def stressed(
    scene: contact.Scene, action: str, hard: bool, dt: float, count: int, where: dict[str, Any]
) -> tuple[np.ndarray, float, float, dict[str, int]]:
    """Speed of the fastest joint of each robot in units of its limit (infinite where a number is not finite), energy
    (relative to the largest of a robot) that appeared from nowhere in 20 ms at most, steps per second, and what steps
    of all robots counted: see ``CompiledStepper.counted``.
    """
    simulator, rng = batch_of(scene, action, hard, dt, count, where), np.random.default_rng(0)
    step = round(HELD / dt)
    speed = np.array([joint.limits.velocity for joint in scene.model.joints if joint.nv])
    fastest, created, took = np.zeros(count), np.zeros(count), 0.0
    before, largest = balance(simulator, hard, dt), np.zeros(count)
    for _ in range(round(SECONDS / HELD)):
        given = torques(scene, action, rng, count)
        began = time.perf_counter()
        simulator.step(step, forces=given)
        took += time.perf_counter() - began
        ratio = (np.abs(simulator.layout.series(simulator.packed()).states[3]) / speed).max(axis=1)
        fastest = np.fmax(fastest, np.where(np.isfinite(ratio), ratio, np.inf))
        after = balance(simulator, hard, dt)
        largest = np.fmax(largest, after[1])
        created, before = np.fmax(created, after[0] - before[0]), after
    sound = np.isfinite(fastest)
    gained = float((created / largest)[sound].max(initial=0.0))
    counts = {name: int(x.sum()) for name, x in simulator.stepper.counts(simulator.packed()[sound]).items()}
    return fastest, gained, count * round(SECONDS / dt) / took, counts


def balance(simulator: BatchSimulator, hard: bool, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Energy less all work, and kinetic energy (J), of each robot."""
    series = simulator.layout.series(simulator.packed())
    kinetic, potential = energies(simulator.problem.model)(*series.states, 0.5 * dt if hard else 0.0)
    return kinetic + potential - (series.base_works + series.joint_works).sum(axis=1), kinetic


def row(name: str, action: str, hard: bool, dt: float, count: int, where: dict[str, Any]) -> dict[str, Any]:
    scene, ground = SCENES[name](), "hard" if hard else "compliant"
    here = where["target"] == "cpu"
    fine = fine_speeds(scene, action, ground) if here else measured_speeds(name, action, ground)
    fastest, gained, rate, counts = stressed(scene, action, hard, dt, count, where)
    sound = np.isfinite(fastest)
    return {
        "robot": name,
        "action": action,
        "ground": ground,
        "dt": dt,
        "robots": count,
        "not finite": int((~sound).sum()),
        "left physics": int((fastest > max(SPEEDS, BEYOND * fine[1])).sum()),
        "passed 3 times a speed limit": int((fastest > SPEEDS).sum()) / count,
        "fastest joint (speed limits)": [
            round(float(x), 2) for x in (np.median(fastest), fastest[sound].max(initial=0))
        ],
        "in fine steps": [round(float(x), 2) for x in fine],
        "energy created in 20 ms, worst": gained,
        "counts": counts,
        "steps per s": rate,
    }


def fine_speeds(scene: contact.Scene, action: str, ground: str) -> tuple[float, float]:
    """Median and largest speed of joints in fine steps, in units of their limits."""
    found = stressed(scene, action, ground == "hard", FINE, FINE_ROBOTS, {})[0]
    return float(np.median(found)), float(found.max())


def measured_speeds(name: str, action: str, ground: str) -> tuple[float, float]:
    """The same as the processor has measured them: machines with a GPU may have no compiler for it."""
    rows = json.loads(RESULT.read_text())["cpu float64"]["rows"] if RESULT.exists() else []
    known = {(row["robot"], row["action"], row["ground"]): row["in fine steps"] for row in rows}
    median, largest = known.get((name, action, ground), (0.0, 0.0))
    return median, largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--robots", type=int, default=512)
    parser.add_argument("--dt", type=float, default=4e-3)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    where = {"target": options.target, "dtype": options.dtype}
    rows = []
    for name in options.only or SCENES:
        for action in ("torques", "servos"):
            for hard in (False, True):
                rows.append(row(name, action, hard, options.dt, options.robots, where))
                print(json.dumps(rows[-1]), flush=True)
    if options.only is None:
        result = json.loads(RESULT.read_text()) if RESULT.exists() else {}
        about = {"date": time.strftime("%Y-%m-%d"), "python": platform.python_version(), "rows": rows}
        RESULT.write_text(json.dumps(result | {f"{options.target} {options.dtype}": about}, indent=2) + "\n")


if __name__ == "__main__":
    main()
