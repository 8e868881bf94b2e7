"""First calls and small runs of robots: processor time with an empty cache, with a filled one, and of later calls.

Every call runs in a fresh interpreter of its own: once with an empty cache of machine code (``cold``), once with what
that left behind (``warm``: how a second process of a user starts), and there again and again (``then``).  Imports and
the robot's file are not counted.  Times are processor times in s, least and median of all repeats.

python benchmarks/first_calls.py [--repeats 5] [--only TEXT]   # writes results/first_calls.json
python benchmarks/first_calls.py --one NAME                    # one call in this process, with the cache that is set
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import contact
import numpy as np
from calls import HUMANOID, robot
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.control import CenterOfMassTask, JointDamper, JointSpring, JointsTask, torques
from fallingcat.geometry.contact_points import positions
from fallingcat.lie import SE3
from fallingcat.model import Joint, Link, Model, Revolute

RESULT = Path(__file__).parent / "results" / "first_calls.json"
AGAIN = 5
"""Later calls of a process"""

Call = Callable[[], Any]


def standing(name: str, height: float) -> tuple[Model, fc.State]:
    model = robot(name)
    pose = np.eye(4)
    pose[2, 3] = height
    return model, model.state(pose=pose)


def tree(joints: int, branching: float, *, seed: int = 0) -> Model:
    """Hinges on a free base; each link hangs on the one before, or on any other with a probability."""
    rng = np.random.default_rng(seed)

    def joint(i: int) -> Joint:
        place = np.eye(4)
        place[:3, 3] = 0.2 * rng.normal(size=3)
        parent = int(rng.integers(0, i + 1)) if rng.random() < branching else i
        return Joint(f"joint{i}", Revolute(tuple(np.eye(3)[i % 3])), f"link{parent}", f"link{i + 1}", place)

    body = fc.Body(1.0, (0.05, 0.0, 0.02), np.diag([0.1, 0.2, 0.25]))
    links = tuple(Link(f"link{i}", body) for i in range(joints + 1))
    return Model("tree", SE3(), links, tuple(map(joint, range(joints))))


# calls of the 29-joint robot ------------------------------------------------------------------------------------------

FEET = ("left_ankle_roll_link", "right_ankle_roll_link")


def g1_torques() -> Call:
    model, state = standing(HUMANOID, 1.0)
    tasks = [[CenterOfMassTask(fc.center_of_mass(model, state))], [JointsTask(state.joints)]]
    return lambda: torques(model, state, tasks, contacts=FEET)


def g1_kernel(function: Callable[..., Any], arguments: int) -> Call:
    model, state = standing(HUMANOID, 1.0)
    q, v = model.flatten(state)
    return lambda: fc.compile(model, function)(q, v, *[0.0 * v] * (arguments - 2))


def g1_flight() -> Call:
    model, state = standing(HUMANOID, 1.0)
    return lambda: fc.simulate(model, state, 0.01)


def g1_animate() -> Call:
    model, state = standing(HUMANOID, 1.0)
    run = fc.simulate(model, state, 0.01)
    return lambda: run.animate()


def g1_hard() -> Call:
    model, state = standing(HUMANOID, 1.0)
    return lambda: fc.simulate(model, state, 0.01, contact=fc.contact.HardContacts(FEET))


# runs -----------------------------------------------------------------------------------------------------------------


def above(model: Model, points: tuple[str, ...]) -> fc.State:
    """The lowest of these points 1 cm above the ground."""
    pose = np.eye(4)
    pose[2, 3] = 0.01 - min(p[2] for p in positions(model, model.neutral(), points))
    return model.state(pose=pose)


def landing(name: str, hard: bool, duration: float) -> Call:
    """A scene of ``contact.py`` with the defaults."""
    scene = contact.SCENES[name]()
    floor = scene.hard if hard else scene.floor
    return lambda: fc.simulate(scene.model, scene.start, duration, scene.laws, floor, dt=2e-3)


def biped(duration: float) -> Call:
    """Bolt, held by its joints, lands on two points."""
    model, points = robot("bolt.urdf"), ("FL_FOOT", "FR_FOOT")
    state = above(model, points)
    floor = fc.contact.CompliantFloor(points, (2e4, 2e4), (200.0, 200.0), friction=0.8)
    laws = JointSpring(100.0, tuple(np.zeros(model.n))), JointDamper(2.0)
    return lambda: fc.simulate(model, state, duration, laws, floor)


def alex() -> Call:
    """Lowest points of its hands: it has no legs."""
    model, points, _ = fc.contact.feet(robot("alex_nub_hands.urdf"))
    start = above(model, points)
    floor = fc.contact.CompliantFloor(points, (5e4, 5e4), (500.0, 500.0), friction=0.8)
    return lambda: fc.simulate(model, start, 0.2, contact=floor)


def under_pd(joints: int, branching: float) -> Call:
    model = tree(joints, branching)
    laws = JointSpring(100.0, tuple(np.zeros(joints))), JointDamper(5.0)
    start = model.state(joints=0.3 * np.random.default_rng(1).normal(size=joints))
    return lambda: fc.simulate(model, start, 0.2, laws, dt=1e-3)


def flying(joints: int, dt: float) -> Call:
    model, rng = tree(joints, 0.0), np.random.default_rng(1)
    start = model.state(joints=0.3 * rng.normal(size=joints), rates=0.5 * rng.normal(size=joints))
    return lambda: fc.simulate(model, start, 1.0, dt=dt)


CALLS: dict[str, Callable[[], Call]] = {
    "G1 torques": g1_torques,
    "G1 reduced_equations": lambda: g1_kernel(fc.reduced_equations, 2),
    "G1 flight": g1_flight,
    "G1 animate": g1_animate,
    "G1 derivatives": lambda: g1_kernel(fc.forward_dynamics_derivatives, 3),
    "G1 hard run": g1_hard,
    "quadruped on compliant ground, 10 ms": lambda: landing("quadruped", False, 0.01),
    "quadruped on compliant ground, 1 s": lambda: landing("quadruped", False, 1.0),
    "quadruped on hard ground, 10 ms": lambda: landing("quadruped", True, 0.01),
    "quadruped on hard ground, 1 s": lambda: landing("quadruped", True, 1.0),
    "humanoid on compliant ground, 10 ms": lambda: landing("humanoid", False, 0.01),
    "humanoid on compliant ground, 1 s": lambda: landing("humanoid", False, 1.0),
    "humanoid on hard ground, 10 ms": lambda: landing("humanoid", True, 0.01),
    "biped on two points, 1 s": lambda: biped(1.0),
    "biped on two points, 10 s": lambda: biped(10.0),
    "alex_nub_hands on two points, 0.2 s": alex,
    "chain of 50 under PD, 0.2 s": lambda: under_pd(50, 0.0),
    "tree of 100 under PD, 0.2 s": lambda: under_pd(100, 0.5),
    "chain of 20 in flight, 1 s, 2 ms": lambda: flying(20, 2e-3),
}


def one(name: str) -> dict[str, Any]:
    """Processor times of the first call of this process and of later ones."""
    call = CALLS[name]()
    times = []
    for _ in range(1 + AGAIN):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return {"first": times[0], "then": times[1:]}


def fresh(name: str, folder: str) -> dict[str, Any]:
    """The same in another process, with the cache in a folder."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", name]
    done = subprocess.run(
        command, env=os.environ | {"FALLINGCAT_CACHE": folder}, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, repeats: int) -> dict[str, Any]:
    found: dict[str, list[float]] = {"cold": [], "warm": [], "then": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (fresh(name, folder) for _ in range(2))
        found["cold"].append(cold["first"])
        found["warm"].append(warm["first"])
        found["then"] += warm["then"]
    return {what: {"least": min(times), "median": statistics.median(times)} for what, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="part of the names of the calls to measure")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one)))
        return
    rows: dict[str, Any] = {}
    table = Table("call", "cold (ms)", "warm (ms)", "then (ms)", title=f"least (median) of {options.repeats}")
    for name in (name for name in CALLS if options.only in name):
        rows[name] = row(name, options.repeats)
        cells = [f"{1e3 * t['least']:,.1f} ({1e3 * t['median']:,.1f})" for t in rows[name].values()]
        table.add_row(name, *cells)
        print(name, *cells, flush=True)
    machine = {"python": platform.python_version(), "system": platform.platform(), "load": os.getloadavg()[0]}
    result = {"repeats": options.repeats, "date": time.strftime("%Y-%m-%d"), "machine": machine, "seconds": rows}
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    Console().print(table)


if __name__ == "__main__":
    main()
