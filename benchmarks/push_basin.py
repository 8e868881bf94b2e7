"""Basin of attraction of controlled quadrupeds: pushes of all directions and strengths in all phases of the gait.

python benchmarks/push_basin.py --pushes 20000                                        # CPU
python benchmarks/push_basin.py --target cuda --pushes 100000000 --seconds 150        # a GPU, with CuPy and Torch
python benchmarks/push_basin.py --check results/push_basin.json                       # CPU: samples of every cell again

A push changes the velocity of the whole robot at once.  The map counts how many pushes of each cell end how; the number
that ranks controllers is the mean tolerated push (m/s).  The file is written again and again while the runs go on, and
no push begins after the time limit.  The first push of every cell is kept with its outcome: --check follows the same
pushes in 16 times shorter steps in double precision, and again until they are near the gait for 20 strides.
"""

from __future__ import annotations

import time

BEGAN = time.perf_counter()

import argparse  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import fallingcat as fc  # noqa: E402
from fallingcat.learning import (  # noqa: E402
    Policy,
    PushBasin,
    PushedRobots,
    Pushes,
    PushGrid,
    SteadyGait,
    Walk,
    steady_gait,
)
from fallingcat.learning.push_basin import OUTCOMES  # noqa: E402

HERE = Path(__file__).resolve().parent
RESULT = HERE / "results" / "push_basin.json"
POLICY = HERE.parent / "examples" / "learning" / "quadruped_walk.npz"
CONTROLLERS = ("policy:0.5", "policy:1.0", "policy:0.0", "policy:-0.5", "servos:60", "servos:180")
"""Policy at a commanded speed (m/s), or servos that hold the posture, by their stiffness (N m/rad)"""
ROBOTS = {"cpu": 1024, "cuda": 1 << 20}
FEWER = 10
"""Controllers after the first get so many times fewer pushes."""
SAVED = 5.0
"""s: between two times at which the file is written"""
REFINEMENT, STRIDES = 16, 20
"""Steps of a check are so many times shorter, and robots must stay near the gait for so many strides"""


def controlled(name: str) -> tuple[Walk, Policy | None, SteadyGait]:
    """Task, policy and steady gait of a controller."""
    kind, _, number = name.partition(":")
    policy = Policy.load(POLICY)
    task = Walk.of(fc.robots.quadruped(), policy.about)
    if kind == "servos":
        kp = float(number)
        task, speed = replace(task, kp=kp, kd=kp / 40.0), 0.0
        return task, None, steady_gait(task, None, (speed, 0.0, 0.0))
    return task, policy, steady_gait(task, policy, (float(number), 0.0, 0.0))


def grid_of(gait: SteadyGait, options: Any) -> PushGrid:
    directions, strengths, phases = options.grid
    return PushGrid(directions, strengths, phases if gait.stride else 1, options.strongest)


def samples(grid: PushGrid, gait: SteadyGait, count: int) -> Pushes:
    """Pushes, one of every cell after the other, anywhere in it, from the first cell again after the last."""
    each = [of_every_cell(grid, gait, seed) for seed in range(-(-count // grid.size))]
    return Pushes(*(np.concatenate(x)[:count] for x in zip(*each, strict=True)))


def of_every_cell(grid: PushGrid, gait: SteadyGait, seed: int) -> Pushes:
    """One push of every cell; where the gait has no sample of a phase, in any phase."""
    rng, n = np.random.default_rng(seed), grid.size
    d, s, p = np.unravel_index(np.arange(n), grid.shape)
    cells = np.clip((grid.phases * gait.phases).astype(int), 0, grid.phases - 1)
    chosen = np.zeros(n, dtype=int)
    for phase in range(grid.phases):
        some, here = np.flatnonzero(cells == phase), p == phase
        chosen[here] = rng.choice(some if len(some) else np.arange(len(cells)), here.sum())
    return Pushes((d + rng.random(n)) / grid.directions, (s + rng.random(n)) / grid.strengths, chosen)


def text(ends: np.ndarray) -> str:
    """Outcomes as one digit each."""
    return "".join(map(str, ends.tolist()))


def numbers(found: PushBasin, steps: int) -> dict[str, Any]:
    """The map and what it says."""
    return {
        "pushes": found.pushes,
        "seconds": found.seconds,
        "contact steps": found.periods * steps,
        "contact steps per s": found.periods * steps / max(found.seconds, 1e-9),
        "outcomes": dict(zip(OUTCOMES, found.counts.sum(axis=0).tolist(), strict=True)),
        "mean tolerated push (m/s)": found.tolerated,
        "by direction (m/s)": rounded(found.tolerated_by_direction),
        "by phase (m/s)": rounded(found.tolerated_by_phase),
        "99 % recover in every cell below (m/s)": found.safe(),
        "recovered": found.counts[:, 0].tolist(),
        "fallen": found.counts[:, 1].tolist(),
        "undecided": found.counts[:, 2].tolist() if found.counts[:, 2].any() else 0,
    }


def rounded(x: np.ndarray) -> list[float]:
    return [float(f"{value:.5g}") for value in x]


def map_of(name: str, pushes: int, options: Any, result: dict[str, Any]) -> None:
    """Map of one controller, entered into the result as it grows."""
    began = time.perf_counter()
    task, policy, gait = controlled(name)
    grid = grid_of(gait, options)
    pushes = max(pushes, grid.size)
    row: dict[str, Any] = {"grid": grid._asdict(), "stride (s)": gait.stride, "asked for": pushes}
    result["controllers"][name] = row
    count = max(min(options.robots, pushes), grid.size)
    robots = PushedRobots(task, policy, gait, count, grid, target=options.target, library=options.library)
    if options.target == "cuda":
        robots.run(1)  # compiles
    row["until the first push (s)"] = time.perf_counter() - began
    left = options.seconds - (time.perf_counter() - BEGAN)
    steps, saved = round(task.period / task.dt), [time.perf_counter()]

    def progress(found: PushBasin) -> None:
        if time.perf_counter() - saved[0] > SAVED:
            row.update(numbers(found, steps))
            write(options.out, result)
            saved[0] = time.perf_counter()
            print(f"{name}: {found.pushes:,} pushes in {found.seconds:.0f} s", flush=True)

    given = samples(grid, gait, count)
    found = robots.run(pushes, given, seed=options.seed, seconds=left, progress=progress)
    assert found.first is not None
    row.update(numbers(found, steps))
    row["first push of each cell"] = text(found.first[: grid.size])
    write(options.out, result)
    print(f"{name}: {found.pushes:,} pushes in {found.seconds:.1f} s, {row['contact steps per s']:.3g} steps/s, "
          f"{row['outcomes']}, mean tolerated push {found.tolerated:.4f} m/s", flush=True)  # fmt: skip


def write(out: Path, result: dict[str, Any]) -> None:
    result["seconds in all"] = time.perf_counter() - BEGAN
    half = out.with_suffix(".part")
    half.write_text(json.dumps(result) + "\n")
    half.replace(out)


def machine(target: str) -> str:
    if target == "cpu":
        return platform.processor() or platform.machine()
    import torch

    return str(torch.cuda.get_device_name())


def measure(options: Any) -> dict[str, Any]:
    """Maps of all controllers; one that fails does not stop the others."""
    result: dict[str, Any] = {"machine": machine(options.target), "target": options.target, "controllers": {}}
    for k, name in enumerate(options.controllers):
        pushes = options.pushes if k == 0 else max(1, options.pushes // FEWER)
        if k and time.perf_counter() - BEGAN > 0.95 * options.seconds:
            result.setdefault("left out", []).append(name)
            continue
        try:
            map_of(name, pushes, options, result)
        except Exception as error:  # a machine that is there only once: what is known is kept
            result.setdefault("failures", {})[name] = f"{type(error).__name__}: {error}"
            print(name, result["failures"][name], flush=True)
    write(options.out, result)
    return result


def check(options: Any) -> dict[str, Any]:
    """One push of every cell again: in shorter steps and double precision, and followed for longer."""
    result = json.loads(options.check.read_text())
    for name, row in result["controllers"].items():
        task, policy, gait = controlled(name)
        grid = PushGrid(**row["grid"])
        began, few = time.process_time(), samples(grid, gait, grid.size)
        seen = np.array(list(map(int, row["first push of each cell"])))
        finer = PushedRobots(task, policy, gait, grid.size, grid, refinement=REFINEMENT).run(grid.size, few).first
        longer = PushedRobots(task, policy, gait, grid.size, grid, strides=STRIDES).run(grid.size, few).first
        total = np.array(row["recovered"]) + row["fallen"] + row["undecided"]
        share = np.array(row["recovered"]) / np.maximum(1, total)
        row["check"] = {
            "pushes": grid.size,
            "refinement": REFINEMENT,
            "same outcome": int((seen == finer).sum()),
            "mean tolerated push (m/s)": grid.strongest * float((finer == 0).mean()),
            "of the same pushes in the map (m/s)": grid.strongest * float((seen == 0).mean()),
            "cells where more than 99 % recover": int((share > 0.99).sum()),
            "same outcome there": int(((share > 0.99) & (finer == 0)).sum()),
            "cells where less than 1 % recovers": int((share < 0.01).sum()),
            "same outcome in these": int(((share < 0.01) & (finer != 0)).sum()),
            "strides of a longer look": STRIDES,
            "recovered after one stride": int((seen == 0).sum()),
            "and not after the longer look": int(((seen == 0) & (longer != 0)).sum()),
            "processor time (s)": time.process_time() - began,
        }
        print(name, json.dumps(row["check"], indent=1), flush=True)
        write(options.check, result)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--library", default="torch", choices=["torch", "numpy", "cupy"])
    parser.add_argument("--pushes", type=int, default=20_000, help="of the first controller; the others get a tenth")
    parser.add_argument("--robots", type=int, help="at once")
    parser.add_argument("--controllers", nargs="+", default=list(CONTROLLERS), help="policy:SPEED or servos:STIFFNESS")
    parser.add_argument("--grid", type=int, nargs=3, default=(36, 40, 24), help="directions, strengths, phases")
    parser.add_argument("--strongest", type=float, default=4.0, help="m/s")
    parser.add_argument("--seconds", type=float, default=1e9, help="since the first line; no push begins after that")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--check", type=Path, metavar="FILE", help="follow the pushes of every cell of a file again")
    options = parser.parse_args()
    options.robots = options.robots or ROBOTS[options.target]
    found = check(options) if options.check else measure(options)
    print("failures:", found.get("failures", "none"), "left out:", found.get("left out", "none"))


if __name__ == "__main__":
    main()
