"""Many motions side by side on one processor: tables of numbers, kernels on them, Riccati recursions.

A lane holds one motion.  Tables are seen as ``rows x numbers`` everywhere; in memory they lie as the kernels want them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..caching import cached_property
from ..compiler.cpu import numpy_backend
from ..compiler.cuda.nvrtc import cupy_module
from ..compiler.ir.results import rebuild
from .cuda_recursion import CudaRecursion
from .recursion import SOLVED
from .riccati import NONE, Arrays, Implied, Recursion
from .solver import STEP_LENGTHS

SHARES, LAST_LANES = (2, 8), (8, 1)
"""Shares of the lanes of a GPU to which the last problems move, and lanes of this computer, faster for so few."""


class CpuLanes:
    """Lanes in this computer's memory: SIMD lanes of one thread."""

    xp: Any = np
    target = "cpu"
    lengths = tuple((length,) for length in STEP_LENGTHS)
    """step lengths that a line search tries together"""
    narrower: tuple[CpuLanes | CudaLanes, ...] = ()
    """lanes to which the last problems move"""

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

    def iterated(self, kernel: Any, first: Any, about: Any, length: Any) -> Callable[[], Any]:
        """Function that gives all results of a kernel, the first numbers of each of which go into the next.

        Args:
            kernel: Kernel ``(x, about, length) -> [next x; more]``.
            first: Table of the first ``x``.
            about: Tables of each time.
            length: Table.
        """
        x = np.zeros_like(first)
        calls = [self.bound(kernel, x, own, length) for own in about]
        size = x.shape[-1]

        def run() -> Any:
            x[...], outs = first, []
            for go in calls:
                outs.append(go())
                x[...] = outs[-1][..., :size]
            return np.stack(outs)

        return run

    def array(self, x: Any) -> Any:
        """Numbers of the host as an array of this processor."""
        return x

    def host(self, x: Any) -> Any:
        """Copy in this computer's memory."""
        return np.array(x)

    def recursions(self, steps: int, size: int, n: int, first: int, implied: Implied) -> Any:
        """Riccati recursion of each lane."""
        return CpuRecursions(self.count, steps, size, n, first, implied)


def _flat(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1]) if x.shape[-1] else np.zeros((math.prod(x.shape[:-1]), 0))


def _reshaped(found: Any, rows: tuple[int, ...]) -> Any:
    """Results with the rows of their tables instead of one batch axis."""
    if isinstance(found, tuple):
        return type(found)(*(_reshaped(part, rows) for part in found))
    return found.reshape(*rows, *found.shape[1:])


class CpuRecursions:
    """Riccati recursions of all lanes, one after the other."""

    def __init__(self, count: int, steps: int, size: int, n: int, first: int, implied: Implied = NONE) -> None:
        self.arrays = Arrays.of(steps, size, n, implied, (count,))
        each = (Arrays(*(x[i] for x in self.arrays)) for i in range(count))
        self._all = [Recursion(steps, size, n, first, implied, arrays) for arrays in each]

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
    lengths = STEP_LENGTHS[:1], STEP_LENGTHS[1:]  # nearly all take the first

    def __init__(self, count: int) -> None:
        self.count, self.xp = count, cupy_module()

    @cached_property
    def narrower(self) -> tuple[CpuLanes | CudaLanes, ...]:
        """Fewer lanes to which the last problems move, at last those of this computer."""
        some = [CudaLanes(self.count // share) for share in SHARES if self.count // share > LAST_LANES[0]]
        last = [CpuLanes(count) for count in LAST_LANES if numpy_backend.reason() is None]
        return (*some, *last)

    def table(self, lead: tuple[int, ...], rows: tuple[int, ...], size: int) -> Any:
        """Table of zeros, ``(*lead, *rows, size)``; each ``table[i]`` of ``lead`` is what a kernel takes."""
        return self.xp.moveaxis(self.xp.zeros((*lead, size, *rows)), len(lead), -1)

    def bound(self, kernel: Any, *tables: Any) -> Callable[[], Any]:
        """Function that gives the results of a kernel for what the tables hold by then."""
        rows = tables[0].shape[:-1]
        go, out = kernel.batcher(*map(self._columns, tables))
        found = rebuild(kernel._trace.result, self.xp.moveaxis(out.reshape(len(out), *rows), 0, -1))

        def run() -> Any:
            go()
            return found

        return run

    def _columns(self, x: Any) -> Any:
        return self.xp.moveaxis(x, -1, 0).reshape(x.shape[-1], math.prod(x.shape[:-1]))

    def iterated(self, kernel: Any, first: Any, about: Any, length: Any) -> Callable[[], Any]:
        """See :meth:`.CpuLanes.iterated`; nothing is copied between the calls."""
        x, lengths, size = self._columns(first), self._columns(length), first.shape[-1]
        found, calls = self.xp.zeros((len(about), kernel.size, x.shape[1])), []
        for own, out in zip(about, found, strict=True):
            calls.append(kernel.batcher(x, self._columns(own), lengths, out=out)[0])
            x = out[:size]
        shaped = self.xp.moveaxis(found.reshape(*found.shape[:2], *first.shape[:-1]), 1, -1)

        def run() -> Any:
            for go in calls:
                go()
            return shaped

        return run

    def array(self, x: Any) -> Any:
        """Numbers of the host as an array of this processor."""
        return self.xp.asarray(x)

    def host(self, x: Any) -> Any:
        """Copy in this computer's memory."""
        return self.xp.asnumpy(x)

    def recursions(self, steps: int, size: int, n: int, first: int, implied: Implied) -> Any:
        """Riccati recursion of each lane, one block of threads each."""
        return CudaRecursions(self.count, steps, size, n, implied)


class CudaRecursions:
    """Riccati recursions of all lanes, side by side."""

    def __init__(self, count: int, steps: int, size: int, n: int, implied: Implied = NONE) -> None:
        self._xp = xp = cupy_module()
        self.arrays = Arrays.of(steps, size, n, implied, (count,), xp.zeros)
        self._report, self._code = xp.zeros((count, 4)), CudaRecursion(steps, size, n, implied)

    def run(self, which: Any, damping: Any) -> tuple[Any, Any]:
        """See :meth:`.CpuRecursions.run`."""
        chosen = self._xp.asarray(np.where(which, damping, -1.0))
        self._code(self.arrays, chosen, self._report)
        report = self._xp.asnumpy(self._report)
        return which & (report[:, 3] == SOLVED), report[:, :3]


Lanes = CpuLanes | CudaLanes
