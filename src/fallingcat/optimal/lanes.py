"""Many motions side by side on one processor: tables of numbers, kernels on them, Riccati recursions.

A lane holds one motion.  Tables are seen as ``rows x numbers`` everywhere; in memory they lie as the kernels want them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiler.cuda.nvrtc import cupy_module
from ..compiler.ir.results import rebuild
from .cuda_recursion import CudaRecursion
from .recursion import SOLVED
from .riccati import Arrays, Recursion


class CpuLanes:
    """Lanes in this computer's memory: SIMD lanes of one thread."""

    xp: Any = np
    target = "cpu"
    lengths_at_once = 1
    """step lengths that a line search tries together"""

    def __init__(self, count: int) -> None:
        self.count = count

    def table(self, lead: tuple[int, ...], rows: tuple[int, ...], size: int) -> Any:
        """Table of zeros, ``(*lead, *rows, size)``; each ``table[i]`` of ``lead`` is what a kernel takes."""
        return np.zeros((*lead, *rows, size))

    def bound(self, kernel: Any, *tables: Any) -> Callable[[], Any]:
        """Function that gives the results of a kernel for what the tables hold by then."""
        rows = tables[0].shape[:-1]
        go, found = kernel.batcher(*map(_flat, tables))
        shaped = _reshaped(found, rows)

        def run() -> Any:
            go()
            return shaped

        return run

    def array(self, x: Any) -> Any:
        """Numbers of the host as an array of this processor."""
        return x

    def host(self, x: Any) -> Any:
        """Copy in this computer's memory."""
        return np.array(x)

    def recursions(self, steps: int, size: int, n: int, first: int) -> Any:
        """Riccati recursion of each lane."""
        return CpuRecursions(self.count, steps, size, n, first)


def _flat(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1]) if x.shape[-1] else np.zeros((math.prod(x.shape[:-1]), 0))


def _reshaped(found: Any, rows: tuple[int, ...]) -> Any:
    """Results with the rows of their tables instead of one batch axis."""
    if isinstance(found, tuple):
        return type(found)(*(_reshaped(part, rows) for part in found))
    return found.reshape(*rows, *found.shape[1:])


class CpuRecursions:
    """Riccati recursions of all lanes, one after the other."""

    def __init__(self, count: int, steps: int, size: int, n: int, first: int) -> None:
        self.arrays = Arrays.of(steps, size, n, (count,))
        self._all = [Recursion(steps, size, n, first, Arrays(*(x[i] for x in self.arrays))) for i in range(count)]

    def run(self, which: Any, damping: Any) -> tuple[Any, Any]:
        """Policies of some lanes, into the arrays.

        Returns:
            Truth values of the Hessians that are positive definite, and gradient, slope, curvature of each lane.
        """
        solved, report = np.zeros(len(which), dtype=bool), np.zeros((len(which), 3))
        for i in np.flatnonzero(which):
            found = self._all[i].policy(float(damping[i]))
            if found is not None:
                solved[i], report[i] = True, (found.gradient, found.slope, found.curvature)
        return solved, report


class CudaLanes:
    """Lanes on a GPU: tables are columns, one for each motion."""

    target = "cuda"
    lengths_at_once = 6

    def __init__(self, count: int) -> None:
        self.count, self.xp = count, cupy_module()

    def table(self, lead: tuple[int, ...], rows: tuple[int, ...], size: int) -> Any:
        """Table of zeros, ``(*lead, *rows, size)``; each ``table[i]`` of ``lead`` is what a kernel takes."""
        return self.xp.moveaxis(self.xp.zeros((*lead, size, *rows)), len(lead), -1)

    def bound(self, kernel: Any, *tables: Any) -> Callable[[], Any]:
        """Function that gives the results of a kernel for what the tables hold by then."""
        rows, result = tables[0].shape[:-1], kernel._trace.result
        go, out = kernel.batcher(*(self.xp.moveaxis(x, -1, 0).reshape(x.shape[-1], math.prod(rows)) for x in tables))
        found = self.xp.moveaxis(out.reshape(len(out), *rows), 0, -1)

        def run() -> Any:
            go()
            return rebuild(result, found)

        return run

    def array(self, x: Any) -> Any:
        """Numbers of the host as an array of this processor."""
        return self.xp.asarray(x)

    def host(self, x: Any) -> Any:
        """Copy in this computer's memory."""
        return self.xp.asnumpy(x)

    def recursions(self, steps: int, size: int, n: int, first: int) -> Any:
        """Riccati recursion of each lane, one block of threads each."""
        return CudaRecursions(self.count, steps, size, n)


class CudaRecursions:
    """Riccati recursions of all lanes, side by side."""

    def __init__(self, count: int, steps: int, size: int, n: int) -> None:
        self._xp = xp = cupy_module()
        self.arrays = Arrays.of(steps, size, n, (count,), xp.zeros)
        self._report, self._code = xp.zeros((count, 4)), CudaRecursion(steps, size, n)

    def run(self, which: Any, damping: Any) -> tuple[Any, Any]:
        """See :meth:`.CpuRecursions.run`."""
        chosen = self._xp.asarray(np.where(which, damping, -1.0))
        self._code(self.arrays, chosen, self._report)
        report = self._xp.asnumpy(self._report)
        return which & (report[:, 3] == SOLVED), report[:, :3]


Lanes = CpuLanes | CudaLanes
