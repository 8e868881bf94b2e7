"""Time of one step of the contact-aided filter, called from Python and in batches.

python benchmarks/estimation.py
"""

from __future__ import annotations

import statistics
import time

import numpy as np

import fallingcat as fc
from fallingcat.estimation import Belief, ContactFilter

REPEATS = 9


def seconds(kernel, arguments, count: int) -> float:
    """Median processor time of one call."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        for _ in range(count):
            kernel(*arguments)
        times.append((time.process_time() - began) / count)
    return statistics.median(times)


def main() -> None:
    robots = {"quadruped, 4 feet": fc.robots.quadruped(), "humanoid, 2 feet": fc.robots.humanoid()}
    for name, model in robots.items():
        feet = [frame.name for frame in model.frames][:4] if "quad" in name else list(model.link_names[-2:])
        filter, start = ContactFilter(model, feet), model.neutral()
        began = time.process_time()
        kernel = filter.compile()
        made = time.process_time() - began
        belief, rest = filter.begin(start), (np.zeros(6), start.joints, np.ones(len(feet)), np.array(2e-3))
        many = Belief(*(np.tile(x, (4096,) + (1,) * x.ndim) for x in belief))
        single = seconds(kernel, (*belief, *rest), 2000)
        batch = seconds(kernel, (*many, *rest), 2) / 4096
        operations = sum(kernel.operations.values())
        times = f"{1e6 * single:.1f} us a call, {1e6 * batch:.2f} us in a batch"
        print(f"{name}: {operations} operations, compiled in {made:.2f} s, {times}")


if __name__ == "__main__":
    main()
