"""The basin of the revolute hopper's forward gait, over angle, height, joint angle and speed of release at once.

python benchmarks/basin.py --runs 5000 --out DIR                # on this processor
python benchmarks/basin.py --gpu --runs 10000000 --out DIR      # on a machine with a GPU and CuPy
python benchmarks/basin.py --references --threads 16            # anywhere, long: 1,000 starts run one by one

Chunks that are done are kept in DIR: a run that is stopped goes on from there.  It ends with DIR/basin.npz (axes,
verdicts, periods until they were clear), DIR/basin.svg and DIR/basin.json, which is also printed: runs, evaluations of
the step per second (of robots that wait for others, too), how many end how, and how many of the 1,000 starts end as
their references say.  Those are single runs of the Rosenbrock
method at a tolerance of 1e-7 over 20 s, with located events, judged by their hops and not by how they look in the
rhythm of the gait.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress, track

import fallingcat as fc
from fallingcat.model import State
from fallingcat.studies.hoppers import Observed
from fallingcat.studies.hoppers.attraction import (
    VERDICTS,
    Gait,
    Grid,
    RunOutcomes,
    classify_runs,
    gait_of,
    grid_of,
    initial_states,
)
from fallingcat.studies.hoppers.basin import FALL_EVENT
from fallingcat.studies.hoppers.hopper import robot, simulate_hopper, start
from fallingcat.studies.hoppers.measures import hop_period, step_length
from fallingcat.studies.hoppers.parameters import AttractionParameters
from fallingcat.studies.hoppers.slices import slices_svg

REFERENCES = Path(__file__).parent / "results" / "basin_references.json"
SAMPLES, SEED, TOLERANCE = 1000, 0, 1e-7
CHUNK = {"cpu": 1024, "cuda": 1 << 20}
"""Runs at once: what is lost where a run is stopped."""


def study() -> AttractionParameters:
    """Parameters of the study."""
    p = fc.studies.load("revolute-basin").parameters
    assert isinstance(p, AttractionParameters)
    return p


def parameters(runs: int) -> AttractionParameters:
    """Those of the study, with all axes of its grid finer by the same factor: at least so many runs."""
    p = study()
    counts = {name: getattr(p, name) for name in ("leans", "heights", "joints", "speeds")}
    finer = (runs / grid_of(p).size) ** 0.25
    while True:
        tried = p.model_copy(update={name: max(1, round(count * finer)) for name, count in counts.items()})
        if grid_of(tried).size >= runs:
            return tried
        finer *= 1.001


def samples(grid: Grid) -> np.ndarray:
    """``SAMPLES x 4``: starts anywhere in the box of a grid."""
    low, high = (np.array([axis[k] for axis in grid]) for k in (0, -1))
    return low + (high - low) * np.random.default_rng(SEED).random((SAMPLES, 4))


def gait(p: AttractionParameters) -> Gait:
    """That in which the run of the study ends."""
    model = robot(p)
    found = gait_of(Observed(simulate_hopper(model, start(model, p), p), p))
    assert found is not None
    return found


def reference(start_: State) -> str:
    """What becomes of one start, run alone."""
    p = study()  # a grid of one run has no box to draw starts from
    wanted = gait(p) if not KNOWN else KNOWN[0]
    KNOWN[:] = [wanted]
    run = simulate_hopper(robot(p), start_, p, tolerance=TOLERANCE, events=(FALL_EVENT,), largest=1.0)
    if run.status == f"stopped by the event {FALL_EVENT.name!r}":
        return "fell"
    seen = Observed(run, p)
    same = [abs(hop_period(seen) / wanted.period - 1.0), abs(step_length(seen) / wanted.step - 1.0)]
    return "gait" if run.status == "finished" and max(same) < 0.02 else "undecided"


KNOWN: list[Gait] = []
"""The gait, once for each process."""


def write_references(processes: int) -> None:
    """Of all samples."""
    p = study()  # a grid of one run has no box to draw starts from
    many = initial_states(robot(p), samples(grid_of(p)))
    alone = [State(*(x[i] for x in many)) for i in range(SAMPLES)]
    with ProcessPoolExecutor(processes) as pool:
        found = list(track(pool.map(reference, alone), "references", total=SAMPLES))
    REFERENCES.write_text(json.dumps({"seed": SEED, "tolerance": TOLERANCE, "verdicts": found}, indent=1) + "\n")


def chunks(model: fc.Model, p: AttractionParameters, wanted: Gait, out: Path, target: str, threads: int) -> RunOutcomes:
    """All runs of the grid, chunk by chunk; those that are done are read."""
    grid, size = grid_of(p), CHUNK[target]
    whole = RunOutcomes(np.zeros(grid.size, np.uint8), np.zeros(grid.size, np.float32))
    firsts = range(0, grid.size, size)
    with Progress() as bar:
        task = bar.add_task("runs", total=grid.size)
        for first in firsts:
            which, file = np.arange(first, min(first + size, grid.size)), out / f"chunk-{grid.size}-{first}.npz"
            if file.exists():
                with np.load(file) as kept:
                    part = RunOutcomes(kept["verdicts"], kept["periods"], int(kept["attempts"]))
            else:
                states = initial_states(model, grid.values(which))
                part = classify_runs(model, states, p, wanted, target=target, threads=threads)
                half = file.with_suffix(".part.npz")
                np.savez(half, verdicts=part.verdicts, periods=part.periods, attempts=part.attempts)
                os.replace(half, file)  # a file with this name is whole
            whole.verdicts[which], whole.periods[which] = part.verdicts, part.periods
            whole.attempts += part.attempts
            bar.update(task, advance=len(which))
    return whole


def measure(runs: int, out: Path, target: str, threads: int) -> dict[str, Any]:
    """The whole basin, with what it took."""
    p = parameters(runs)
    model, grid, wanted = robot(p), grid_of(p), gait(p)
    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    sampled = classify_runs(model, initial_states(model, samples(grid)), p, wanted, target=target, threads=threads)
    warm = time.perf_counter()
    resumed = any(out.glob("chunk-*.npz"))
    found = chunks(model, p, wanted, out, target, threads)
    wall = time.perf_counter() - warm
    shape, periods = grid.shape, np.ceil(found.periods).astype(np.uint8)
    arrays: dict[str, Any] = {"verdicts": found.verdicts.reshape(shape), "periods": periods.reshape(shape)}
    np.savez_compressed(out / "basin.npz", **grid._asdict(), **arrays)
    (out / "basin.svg").write_text(slices_svg(grid._asdict() | arrays))
    for file in out.glob(f"chunk-{grid.size}-*.npz"):
        file.unlink()
    return {
        "runs": grid.size,
        "grid": dict(zip(grid._fields, shape, strict=True)),
        "tolerance": p.tolerance,
        "gait": wanted._asdict(),
        "verdicts": {name: int((found.verdicts == k).sum()) for k, name in enumerate(VERDICTS)},
        "simulated_s": float(found.periods.sum() * wanted.period),
        "steps": found.attempts,
        "wall_s": None if resumed else wall,
        "steps_per_s": None if resumed else found.attempts / wall,
        "runs_per_s": None if resumed else grid.size / wall,
        "first_s": warm - began,  # machine code, and the samples
        "agreement": agreement(sampled),
        "target": target,
        "machine": {"python": platform.python_version(), "system": platform.platform(), "gpu": gpu(target)},
    }


def agreement(sampled: RunOutcomes) -> dict[str, Any] | None:
    """With the references, if there are any."""
    if not REFERENCES.exists():
        return None
    known = json.loads(REFERENCES.read_text())["verdicts"]
    other = [i for i, (v, said) in enumerate(zip(sampled.verdicts, known, strict=True)) if VERDICTS[v] != said]
    return {"samples": SAMPLES, "agree": SAMPLES - len(other), "others": other}


def gpu(target: str) -> str | None:
    """The name of the GPU."""
    if target != "cuda":
        return None
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="on a GPU, through CuPy")
    parser.add_argument("--runs", type=int, default=5000, help="at least so many")
    parser.add_argument("--out", type=Path, default=Path("basin"), help="folder of chunks and results")
    parser.add_argument("--threads", type=int, default=2, help="of this processor; for references, processes")
    parser.add_argument("--references", action="store_true", help="run the samples one by one, and keep what they say")
    given = parser.parse_args()
    if given.references:
        write_references(given.threads)
        return
    result = measure(given.runs, given.out, "cuda" if given.gpu else "cpu", given.threads)
    (given.out / "basin.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
