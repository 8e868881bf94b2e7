"""What single calls cost: kernels, inverse kinematics, laws of the user's own, videos.

Times are processor times in s, the least of all repeats: what else the machine does counts little.  First calls are
measured by ``first_calls.py``.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.control import (
    InverseKinematics,
    Law,
    PoseTask,
    inverse_kinematics,
)

RESULT = Path(__file__).parent / "results" / "calls.json"
ARM, HUMANOID, WALKER = "panda.urdf", "g1_29dof_rev_1_0.urdf", "go2.urdf"
GOALS = 100


def robot(name: str, **options: Any) -> fc.Model:
    """A robot of example-robot-data."""
    files = importlib.metadata.files("example-robot-data") or []
    path = next(Path(str(file.locate())).resolve() for file in files if file.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fc.load(path, **options)


def least(call: Callable[[], Any], repeats: int, number: int = 200) -> float:
    """Processor time of one call (s)."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(number):
            call()
        times.append((time.process_time() - start) / number)
    return min(times)


def kernels(repeats: int) -> dict[str, float]:
    """A kernel that does not need the velocity, called in three ways."""
    model = robot(ARM, base="fixed")
    k, state = fc.compile(model, fc.mass_matrix), model.random_state(np.random.default_rng(0))
    q, v = model.flatten(state)
    calls = {"k(q)": lambda: k(q), "k(q, v)": lambda: k(q, v), "k(state)": lambda: k(state)}
    return {f"mass matrix of the Panda, {name}": least(call, repeats) for name, call in calls.items()}


def reaching(repeats: int) -> dict[str, float]:
    """Median over random reachable poses of the hand."""
    model, rng = robot(ARM, base="fixed"), np.random.default_rng(0)
    start, hand = model.neutral(), "panda_hand"
    goals = [fc.link_pose(model, model.random_state(rng), hand) for _ in range(GOALS)]
    prepared = InverseKinematics(model, [PoseTask(hand)])
    plain = [least(lambda g=g: inverse_kinematics(model, [PoseTask(hand, g)], start), repeats, 10) for g in goals]
    loops = [least(lambda g=g: prepared(start, g), repeats, 10) for g in goals]
    return {
        "inverse_kinematics(model, [PoseTask(...)], start)": float(np.median(plain)),
        "InverseKinematics(...)(start, pose)": float(np.median(loops)),
    }


class Damper(Law):
    """A law as a user writes it."""

    name = "mine"

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def forces(self, model: fc.Model, t: Any, state: fc.State, touching: frozenset[str]) -> Any:
        return np.concatenate([np.zeros(model.m), -self.gain * state.rates])


def own_laws(repeats: int) -> dict[str, float]:
    """Runs of 20 ms under a law class of the user's own, after the first."""
    model = fc.robots.cat()
    start = model.neutral()
    fc.simulate(model, start, 0.02, Damper(0.1), integrator="rkmk4", dt=1e-3)
    again = least(lambda: fc.simulate(model, start, 0.02, Damper(0.1), integrator="rkmk4", dt=1e-3), repeats, 3)
    return {"simulate 20 steps of the cat, own law again": again}


def film() -> dict[str, float]:
    """Wall time of a picture of a video, browser and all; nothing where there is no browser."""
    model = robot(WALKER)
    run = fc.simulate(model, model.neutral(), 0.5)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        try:
            run.video(Path(folder, "film.mp4"), size=(480, 360))
        except fc.FallingCatError:
            return {}
        return {"a picture of run.video(), Go2, 480 x 360 (wall)": (time.perf_counter() - start) / 16}


def measure(repeats: int) -> dict[str, Any]:
    rows = kernels(repeats) | reaching(repeats) | own_laws(repeats) | film()
    return {
        "repeats": repeats,
        "seconds": rows,
        "versions": {name: importlib.metadata.version(name) for name in ("fallingcat", "numpy", "llvmlite")},
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
        },
    }


def show(result: dict[str, Any]) -> None:
    table = Table("call", "time", title=f"least of {result['repeats']} repeats")
    for name, seconds in result["seconds"].items():
        table.add_row(name, f"{1e3 * seconds:.0f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.2f} us")
    Console().print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 9, measure, show)
