"""Sweeps of a hopper: simulated seconds per second of processor time, one worker, commits included.

python benchmarks/sweep.py [--runs 64] [--target cpu|cuda]

Kernels are compiled before.  The sweep is that of `revolute-6`: 20 s of hopping, its 21 measures, results in a zarr
store, in one process.  Beside it the same runs one by one, as `fallingcat study run` does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

import numpy as np

import fallingcat as fc

STUDY = fc.studies.load("revolute-6")


def swept(runs: int, target: str) -> dict[str, float]:
    """Processor and wall time of a sweep of so many runs."""
    grid = {"theta": np.linspace(-2.6, -2.4, runs)}
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), time.process_time()
        found = fc.studies.sweep(STUDY, grid, Path(folder) / "out", workers=0, target=target)
        used, wall = time.process_time() - used, time.perf_counter() - began
    assert found.done == runs, found
    return {"cpu_s": used, "wall_s": wall}


def alone(runs: int) -> float:
    """Processor time of a run by itself (s)."""
    used = time.process_time()
    for theta in np.linspace(-2.6, -2.4, runs):
        fc.studies.run_study(STUDY.with_parameters({"theta": float(theta)}))
    return (time.process_time() - used) / runs


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=64)
    options.add_argument("--target", default="cpu")
    options.add_argument("--repeats", type=int, default=3)
    given = options.parse_args()
    seconds = STUDY.parameters.model_dump()["duration"]
    swept(STUDY.kind.chunk_sizes[given.target], given.target)
    times = [swept(given.runs, given.target) for _ in range(given.repeats)]
    best, median = (f([x["cpu_s"] for x in times]) for f in (min, np.median))
    single = alone(3)
    print(json.dumps({
        "machine": platform.processor() or platform.machine(), "cores": os.cpu_count(), "target": given.target,
        "runs": given.runs, "repeats": given.repeats,
        "cpu_s_per_run": {"median": float(median) / given.runs, "least": best / given.runs, "alone": single},
        "hopper_seconds_per_cpu_second": {
            "median": given.runs * seconds / float(median), "most": given.runs * seconds / best,
            "alone": seconds / single,
        },
        "hopper_seconds_per_wall_second": given.runs * seconds / min(x["wall_s"] for x in times),
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
