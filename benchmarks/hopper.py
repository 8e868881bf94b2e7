"""20 s of [Feurstein] EXP VI: our simulation beside SciPy's LSODA over the same robot, written by hand for NumPy."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.simulation import Problem
from fallingcat.studies.hoppers.hopper import floor, laws, robot, simulate_hopper, start

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracles.plain_hopper import PlainHopper  # the robot by hand, which the tests compare with

RESULT = Path(__file__).parent / "results" / "hopper.json"
STUDY = fc.studies.load("revolute-6")
COLD = """import time, fallingcat as fc
t = time.perf_counter()
fc.studies.run('revolute-6')
print(time.perf_counter() - t)"""


def summary(times: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return {"median_s": median, "quartile_low_s": low, "quartile_high_s": high, "min_s": min(times)}


def ours(repeats: int) -> dict[str, Any]:
    """Event location, stiff floor and energy ledger included; kernels compiled before."""
    p = STUDY.parameters
    model = robot(p)
    run = simulate_hopper(model, start(model, p), p)
    times, used = [], []
    for _ in range(repeats):
        began, cpu = time.perf_counter(), time.process_time()
        run = simulate_hopper(model, start(model, p), p)
        times.append(time.perf_counter() - began)
        used.append(time.process_time() - cpu)
    law = [k for k, port in enumerate(run.ledger.ports) if port in {x.name for x in run.problem.laws}]
    return {
        "times": summary(times) | {"cpu_median_s": statistics.median(used), "cpu_min_s": min(used)},
        "steps": len(run) - 1,
        "events": len(run.events),
        "external_work_J": float(run.ledger.base[-1, law].sum()),
        "joint_work_J": float(run.ledger.joints[-1, law].sum()),
        "energy_residual": run.energy_residual,
    }


def fresh(cold: bool) -> float:
    """The study with its numbers in a fresh interpreter, after the import; ``cold``: nothing is in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | ({"FALLINGCAT_CACHE": folder} if cold else {})
        run = subprocess.run([sys.executable, "-c", COLD], check=True, capture_output=True, text=True, env=environment)
    return float(run.stdout)


def peer() -> dict[str, Any]:
    """The robot written out by hand for NumPy, integrated by LSODA with events, to the tolerance that ours has."""
    began, cpu = time.perf_counter(), time.process_time()
    run = PlainHopper(STUDY.parameters).run(STUDY.parameters.duration, 1e-7)
    return {
        "wall_s": time.perf_counter() - began,
        "cpu_s": time.process_time() - cpu,
        "evaluations": run.evaluations,
        "events": len(run.switches),
        "external_work_J": float(run.y[8]),
        "joint_work_J": float(run.y[9]),
    }


def on_floats(seconds: float) -> dict[str, float]:
    """What one evaluation of the library's own functions costs on plain floats, times the evaluations of the peer."""
    p = STUDY.parameters
    model = robot(p)
    state = start(model, p)
    system = Problem(model, laws(model, state, p), floor(p))
    mode, memory = floor(p).begin(model, state)
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        fc.forward_dynamics(model, state, system.total(system.forces(mode, 0.0, state, memory)))
        count += 1
    return {"evaluation_s": (time.perf_counter() - began) / count}


def measure(repeats: int) -> dict[str, Any]:
    result: dict[str, Any] = {"repeats": repeats, "ours": ours(repeats)}
    result["fresh_interpreter_cold_s"], result["fresh_interpreter_cached_s"] = fresh(cold=True), fresh(cold=False)
    result["scipy_lsoda"] = peer()
    result["library_on_floats"] = on_floats(2.0)
    result["times_faster"] = result["scipy_lsoda"]["cpu_s"] / result["ours"]["times"]["cpu_median_s"]
    result["versions"] = {
        name: importlib.metadata.version(name) for name in ("fallingcat", "numpy", "scipy", "llvmlite")
    }
    result["machine"] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],  # other work in the last minute, in cores; times mean little above 1.5
    }
    return result


def show(result: dict[str, Any]) -> None:
    own, other = result["ours"], result["scipy_lsoda"]
    table = Table("20 s of EXP VI", "wall time", "remark", title=f"{result['repeats']} repeats")
    times = own["times"]
    table.add_row(
        "fallingcat",
        f"{times['median_s']:.2f} s",
        f"{own['steps']} steps, {own['events']} events; CPU {times['cpu_median_s']:.2f} s",
    )
    table.add_row(
        "whole study, fresh interpreter", f"{result['fresh_interpreter_cached_s']:.2f} s", "machine code from the cache"
    )
    table.add_row(
        "whole study, fresh interpreter",
        f"{result['fresh_interpreter_cold_s']:.2f} s",
        "empty cache: machine code is made",
    )
    table.add_row(
        "SciPy LSODA, NumPy by hand",
        f"{other['wall_s']:.1f} s",
        f"{other['evaluations']} evaluations, {other['events']} events",
    )
    floats = result["library_on_floats"]["evaluation_s"] * other["evaluations"]
    table.add_row("the same over our functions", f"{floats:.0f} s", "estimated: on floats, not compiled, for any robot")
    console = Console()
    console.print(table)
    console.print(f"{result['times_faster']:.0f} times; load {result['machine']['load']:.1f}")


if __name__ == "__main__":
    report.main(__doc__, RESULT, 9, measure, show)
