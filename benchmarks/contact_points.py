"""Hard contact with many points, beside MuJoCo (Euler): processor time of a step, first call, short run, peak memory.

python benchmarks/contact_points.py           # a tree of 20 joints with 8, 16, 32 points; feet of robots, if installed
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from contact import Scene, in_mujoco

import fallingcat as fc

RESULT = Path(__file__).parent / "results" / "contact_points.json"
DT, SHORT, TIMED = 1e-3, 1.0, 3.0
"""s: step, and lengths of a run from scratch and of those whose steps are timed."""
ROBOTS = {
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "bolt": "bolt_description/robots/bolt.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
}
"""Files of the package ``example-robot-data``."""


def link(name: str, mass: float, half: tuple[float, float, float]) -> str:
    """A box whose link frame is at its near end."""
    x, y, z = half
    a, b, c = (mass / 3.0 * square for square in (y * y + z * z, x * x + z * z, x * x + y * y))
    moments = f'ixx="{a}" iyy="{b}" izz="{c}" ixy="0" ixz="0" iyz="0"'
    inertial = f'<origin xyz="{x} 0 0"/><mass value="{mass}"/><inertia {moments}/>'
    return f'<link name="{name}"><inertial>{inertial}</inertial></link>'


def tree_urdf(joints: int, points: int, seed: int = 1) -> str:
    """A random tree that lies flat, with points below its links, one after the other."""
    rng, names, out = np.random.default_rng(seed), ["base"], [link("base", 4.0, (0.0, 0.15, 0.05))]
    for i in range(joints):
        parent = names[int(rng.integers(max(0, i - 7), i + 1))]
        first = parent == "base"
        angle, x = (rng.uniform(-np.pi, np.pi), 0.0) if first else (rng.uniform(-0.8, 0.8), 0.2)
        axis = "0 1 0" if first else ("0 1 0", "0 0 1", "1 0 0")[i % 3]
        place = f'<origin xyz="{x} 0 0" rpy="0 0 {angle}"/><axis xyz="{axis}"/>'
        ends = f'<parent link="{parent}"/><child link="link{i}"/>'
        out.append(link(f"link{i}", 0.5, (0.1, 0.02, 0.02)))
        out.append(f'<joint name="joint{i}" type="continuous">{ends}{place}</joint>')
        names.append(f"link{i}")
    for k in range(points):
        ends = f'<parent link="link{7 * k % joints}"/><child link="point{k}"/>'
        place = f'<origin xyz="{0.2 - 0.1 * (k // joints)} {0.02 * (-1) ** k} -0.02"/>'
        out.append(f'<link name="point{k}"/><joint name="fixed{k}" type="fixed">{ends}{place}</joint>')
    return f'<robot name="tree">{"".join(out)}</robot>'


def tree(points: int) -> Scene:
    """Falls 6 cm and comes to rest."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tree.urdf"
        file.write_text(tree_urdf(20, points))
        model = fc.load(file)
    pose = np.eye(4)
    pose[2, 3] = 0.08
    start = model.state(pose=pose, twist=[0.3, 0.1, 0.0, 0.2, 0.1, 0.3])
    return Scene(model, start, tuple(f"point{k}" for k in range(points)), 60.0, 1.0)


def standing(name: str) -> Scene:
    """A robot 1 cm above the ground, on the lowest points of its collision shapes, held by its joints."""
    root = Path(np.__file__).parents[1] / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    model, points, radii = fc.contact.feet(fc.load(root / ROBOTS[name]), within=0.02)
    pose = np.eye(4)
    heights = [fc.link_pose(model, model.neutral(), p)[2, 3] - r for p, r in zip(points, radii, strict=True)]
    pose[2, 3] = 0.01 - min(heights)
    frames = [frame for frame in model.frames if frame.name in points]
    assert len(frames) == len(points)
    return Scene(model, model.state(pose=pose), points, 20.0 * model.mass, 0.6 * model.mass)


def scene(name: str) -> Scene:
    return tree(int(name.removeprefix("tree"))) if name.startswith("tree") else standing(name)


def ours(about: Scene) -> dict[str, Any]:
    """Of a run in a new process, and of later ones."""

    def run(length: float) -> fc.Trajectory:
        options = {"integrator": "moreau", "dt": DT, "every": 10}
        return fc.simulate(about.model, about.start, length, about.laws, about.hard, **options)

    first, end = timed(lambda: run(SHORT))
    return {
        "us a step": step_time(run, TIMED),
        "us a step while landing": step_time(run, SHORT),
        "first run of 1 s (s)": first,
        "peak memory (MB)": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
        "status": end.status,
        "base height at the end (m)": float(end.poses[-1, 2, 3]),
    }


def mujocos(about: Scene) -> dict[str, Any]:
    import mujoco

    began = time.process_time()
    model = in_mujoco(about)
    model.opt.timestep = DT
    data = mujoco.MjData(model)
    prepared = time.process_time() - began
    q, v = about.model.to_mujoco(about.start)

    def run(length: float) -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_step(model, data, nstep=round(length / DT))

    steps, (first, _) = [step_time(run, length) for length in (TIMED, SHORT)], timed(lambda: run(SHORT))
    return {
        "us a step": steps[0],
        "us a step while landing": steps[1],
        "first run of 1 s (s)": prepared + first,
        "base height at the end (m)": data.qpos[2],
    }


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time (s) and result."""
    began = time.process_time()
    result = run()
    return time.process_time() - began, result


def step_time(run: Callable[[float], Any], length: float) -> float:
    """Smallest processor time of a step (us) in 9 runs of so many seconds, after which kernels are optimized."""
    return 1e6 * min(timed(lambda: run(length))[0] for _ in range(9)) * DT / length


def measured(name: str, side: str, cache: str) -> dict[str, Any]:
    """In a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", name, "--side", side]
    env = os.environ | {"FALLINGCAT_CACHE": cache}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def row(name: str) -> dict[str, Any]:
    """One robot, with kernels that are new and with those that are on disk."""
    with tempfile.TemporaryDirectory() as cache:
        ours, again, other = (measured(name, side, cache) for side in ("ours", "ours", "mujocos"))
    first = "first run of 1 s (s)"
    ours["first run of 1 s, kernels on disk (s)"] = again[first]
    for key in ("us a step", "us a step while landing"):
        ours[key] = min(ours[key], again[key])
    return {
        "robot": name,
        "points": ours.pop("points"),
        "fallingcat moreau": ours,
        "MuJoCo Euler": other,
        "speed over MuJoCo": other["us a step"] / ours["us a step"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one")
    parser.add_argument("--side", choices=["ours", "mujocos"])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    if options.one:
        about = scene(options.one)
        print(json.dumps({"points": len(about.points)} | globals()[options.side](about)))
        return
    rows = []
    for name in options.only or ["tree8", "tree16", "tree32", *ROBOTS]:
        rows.append(row(name))
        print(json.dumps(rows[-1]), flush=True)
    result = {"python": platform.python_version(), "date": time.strftime("%Y-%m-%d"), "rows": rows}
    options.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
