"""Servo targets as inputs: what changing them at every call costs, for one quadruped and for a simulator.

`python benchmarks/law_inputs.py`; `--gpu` on a machine with a GPU and CuPy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.simulation import BatchSimulator

DT, CALLS, REPEATS = 2e-3, 500, 7
SIT = np.tile([0.0, 0.6, -1.2], 4)


def dog() -> tuple[fc.Model, fc.State, Any, Any]:
    model, pose = fc.robots.quadruped(), np.eye(4)
    pose[2, 3] = 0.33
    feet = tuple(frame.name for frame in model.frames)
    floor = fc.contact.CompliantFloor(feet, (3e4, 3e4), (300.0, 300.0), friction=0.8)
    return model, model.state(pose=pose, joints=SIT), floor, fc.control.PositionServo(60.0, 2.0, SIT)


def least(call: Callable[[], Any], calls: int) -> float:
    """s of a call, the least over repeats."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return min(times)


def single() -> None:
    model, start, floor, servo = dog()
    sim, targets = fc.Simulator(model, floor, servo, dt=DT, state=start), SIT.copy()
    ways: dict[str, Callable[[], Any]] = {
        "step()": sim.step,
        "step(forces)": lambda: sim.step(np.zeros(model.n)),
        "step(targets=...)": lambda: sim.step(targets=targets),
    }
    for name, call in ways.items():
        print(f"Simulator.{name}: {1e6 * least(call, CALLS):.1f} us")


def _on_gpu(x: np.ndarray) -> tuple[Any, Callable[[], Any]]:
    import cupy

    return cupy.asarray(x), cupy.cuda.Device().synchronize


def simulator(count: int, target: str, dtype: str) -> None:
    model, start, floor, servo = dog()
    many = BatchSimulator(model, [start] * count, servo, floor, dt=DT, target=target, dtype=dtype)
    targets = SIT + 0.1 * np.random.default_rng(0).normal(size=(count, model.n))
    given, wait = _on_gpu(targets) if target == "cuda" else (targets, lambda: None)
    ways = {"step(10)": {}, "step(10, targets=...)": {"targets": given}}
    many.step(10, targets=given)  # both ways move alike
    for name, inputs in ways.items():

        def call(inputs: dict[str, Any] = inputs) -> None:
            many.step(10, **inputs)
            wait()

        print(f"BatchSimulator of {count} ({target}, {dtype}).{name}: {10 * count / least(call, 3):.3g} steps/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    if parser.parse_args().gpu:
        for dtype in ("float32", "float64"):
            simulator(2**17, "cuda", dtype)
    else:
        single()
        simulator(1024, "cpu", "float64")
