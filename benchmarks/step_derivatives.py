"""Times of ``A, B`` of one step with contact, and of the gradient of a run; with CuPy on a GPU too.

python benchmarks/step_derivatives.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fallingcat as fc

REPEATS, DT = 9, 2e-3


def seconds(call: Callable[[], Any], count: int) -> float:
    """Median processor time of one call."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        for _ in range(count):
            call()
        times.append((time.process_time() - began) / count)
    return statistics.median(times)


def scenes() -> dict[str, tuple[fc.Model, tuple[str, ...], fc.State]]:
    """Robots with their feet on the ground."""
    dog, man = fc.robots.quadruped(), fc.robots.humanoid()
    feet = tuple(frame.name for frame in dog.frames)
    soles: tuple[str, ...] = ()
    for sole in ("left_sole", "right_sole"):
        man, corners = fc.contact.corners(man, sole, (0.2, 0.1))
        soles += tuple(corners)
    sit = dog.state(joints=np.tile([0.0, 0.6, -1.2], 4))
    return {"quadruped, 4 points": (dog, feet, sit), "humanoid, 8 points": (man, soles, man.neutral())}


def lowered(model: fc.Model, state: fc.State, points: tuple[str, ...]) -> fc.State:
    """The state on the ground, a millimetre above it."""
    poses = fc.forward_kinematics(model, state)
    low = min(poses[name][2, 3] for name in points)
    pose = np.array(state.pose)
    pose[2, 3] += 1e-3 - low
    return model.state(pose=pose, joints=state.joints, twist=[0.2, 0.0, -0.1, 0.0, 0.0, 0.1])


def measured(name: str, model: fc.Model, points: tuple[str, ...], state: fc.State, hard: bool, gpu: bool) -> None:
    """One line of the table."""
    ground = fc.contact.HardContacts(points, friction=0.8) if hard else fc.contact.CompliantFloor(points, friction=0.8)
    derivatives = fc.simulation.step_derivatives(model, None, ground, dt=DT, memory=False)
    began = time.process_time()
    kernel = derivatives.function
    start = lowered(model, state, points)
    x: tuple[Any, ...] = (*model.flatten(start), derivatives.begin(start))
    forces = np.zeros(model.n)
    kernel(*x, forces)
    made = time.process_time() - began
    for _ in range(10):
        x = derivatives.step.function(*x, forces)
    kernel.optimized()
    one = seconds(lambda: kernel(*x, forces), 200)
    many = [np.tile(part, (512, 1)) for part in (*x, forces)]
    batch = seconds(lambda: kernel(*many), 2) / 512
    operations = sum(kernel.operations.values())
    how = f"{1e6 * one:.1f} us a call, {1e6 * batch:.2f} us in a batch on one core"
    print(f"{name}, {derivatives.integrator.name}: {operations} operations, first call {made:.1f} s, {how}", flush=True)
    if gpu:
        on_gpu(name, model, ground, [*x, forces])


def on_gpu(name: str, model: fc.Model, ground: Any, given: list[np.ndarray], count: int = 65_536) -> None:
    """Derivatives per second on a GPU, float64 and float32."""
    import cupy

    for dtype in ("float64", "float32"):
        derivatives = fc.simulation.step_derivatives(
            model, None, ground, dt=DT, memory=False, target="cuda", dtype=dtype
        )
        began = time.perf_counter()
        kernel = derivatives.function
        many = [cupy.asarray(np.tile(part, (count, 1)), dtype=dtype) for part in given]
        kernel(*many)
        cupy.cuda.Device().synchronize()
        made, times = time.perf_counter() - began, []
        for _ in range(REPEATS):
            began = time.perf_counter()
            kernel(*many)
            cupy.cuda.Device().synchronize()
            times.append(time.perf_counter() - began)
        print(f"  {name}, CUDA {dtype}: {count / statistics.median(times):.2e} per second, compiled in {made:.1f} s")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true", help="measure on a GPU too (needs CuPy)")
    parser.add_argument("--only", default="", help="part of the name of a robot")
    asked = parser.parse_args()
    for name, (model, points, state) in scenes().items():
        for hard in (False, True):
            if asked.only in name:
                measured(name, model, points, state, hard, asked.gpu)


if __name__ == "__main__":
    main()
