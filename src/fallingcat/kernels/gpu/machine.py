"""What a stage takes on the GPU, about: arithmetic and traffic with memory, which overlap in part.

Eight warps keep a multiprocessor busy; fewer wait for each other's results.  A program that its cache does not hold is
fetched again by every warp.  The numbers were chosen so that of all ways and layouts of 14 functions that were measured
on an H200 (423 stages) the fastest is found: what is taken instead loses 2 % in the mean.
"""

from __future__ import annotations

from math import hypot

from .stages import Stage, cost

SHARED = 227 * 1024
"""Bytes of shared memory on a multiprocessor (Hopper, and more than half as much on others since Volta)."""
RATE = {"float32": 2.0e13, "float64": 1.3e13}
"""Machine instructions per second, of all lanes, ..."""
WARPS, ALONE = 8, 0.8
"""... of so many warps on a multiprocessor; fewer reach their share to this power."""
BANDWIDTH = 3.6e12
"""Bytes per second."""
CACHED, UNCACHED = 8_500, 1.25e12
"""Machine instructions that a multiprocessor holds; per second, those of each warp, if there are more."""
READ, WRITTEN, COMPUTED = 4, 4, {"float32": 1.0, "float64": 0.85}
"""Machine instructions for a number from memory and for one to memory, with their addresses; and of :func:`.cost`."""


def seconds(stage: Stage, dtype: str, copies: int, warps: float) -> float:
    """For one state of many, with so many ``copies`` to and from shared memory."""
    written = len(stage.outputs) + len(stage.stores)
    length = COMPUTED[dtype] * sum(cost(line, dtype) for line in stage.lines)
    length += READ * len(stage.inputs) + WRITTEN * written + copies
    traffic = (8 if dtype == "float64" else 4) * (len(stage.inputs) + written) / BANDWIDTH
    if length > CACHED:
        return length / (UNCACHED * warps) + traffic
    return hypot(length / (RATE[dtype] * min(1.0, warps / WARPS) ** ALONE), traffic)
