"""Devices of a batch: memory of its robots, and their steps, on CPU or GPU."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..caching import cached_property
from ..compiler import compile
from ..errors import ExtraMissingError
from ..model import Model


class Device(ABC):
    """Device that keeps ``x`` of all robots in its arrays and iterates ``(x, ahead, numbers, forces) -> x``.

    Numbers are the same for all robots, or one row for each.
    """

    calls_per_look = 1
    """Iterations between two checks of their result by the host"""

    @abstractmethod
    def sent(self, rows: np.ndarray) -> Any:
        """Numbers of robots (N x size), as they are kept here."""

    @abstractmethod
    def fetched(self, x: Any) -> np.ndarray:
        """``N x size`` in this computer's memory: the inverse of :meth:`sent`; what is there already stays as it is."""

    @abstractmethod
    def rows(self, x: Any) -> Any:
        """``N x size``: a view, where it is."""

    @abstractmethod
    def paired(self, until: Any, dt: float) -> Any:
        """``[until, dt]`` of each robot, as they are kept here."""

    @abstractmethod
    def shared(self, x: np.ndarray, robots: int) -> Any:
        """A vector that all robots have in common, as it is kept here."""

    @abstractmethod
    def padded(self, forces: Any, above: int) -> Any:
        """Joint forces (N x n) below ``above`` zeros, as they are kept here."""

    @abstractmethod
    def iterated(self, x: Any, ahead: Any, forces: Any, count: int) -> Any:
        """``x`` after ``count`` iterations; ``ahead`` is one vector for all robots, or as :meth:`paired` gives it."""

    @abstractmethod
    def recorded(self, x: Any, ahead: Any, forces: Any, rows: int, every: int = 1) -> tuple[Any, np.ndarray]:
        """Take ``rows * every`` iterations, and record every ``every``-th of them.

        The results are ``x`` at the end, and ``rows x N x size`` in this computer's memory.
        """

    @abstractmethod
    def kept(self, x: Any, which: Any) -> Any:
        """``x`` of the robots ``which`` (N truth values, or indices) alone."""

    @abstractmethod
    def part(self, which: Any) -> Device:
        """The same for these robots alone."""

    @property
    @abstractmethod
    def numbers(self) -> np.ndarray:
        """``k`` or ``N x k``: the numbers of laws, in this computer's memory."""

    @abstractmethod
    def array(self, x: Any) -> Any:
        """Numbers, wherever they are, as an array that is kept here."""

    @abstractmethod
    def tune(self, place: slice, values: Any, robots: int) -> None:
        """Other numbers of laws from the next iteration on: the same for all robots, or one row for each."""

    @abstractmethod
    def put(self, x: Any, places: np.ndarray, fresh: Any) -> None:
        """``x[places] = fresh``."""

    @abstractmethod
    def restart(self, x: Any, which: Any, bank: Any, index: Any) -> None:
        """``x[i] = bank[index[i]]`` for the robots whose truth value in ``which`` (N) holds, where the arrays are."""

    @abstractmethod
    def own_numbers(self, robots: int) -> Any:
        """Numbers of laws and parameters of each robot, as they are kept here; changes of them act."""

    @abstractmethod
    def function(self, code: Callable[..., Any], inputs: dict[str, int], **options: Any) -> Callable[..., Any]:
        """Function ``code(model, ...)`` of numbers of each robot, compiled for what is kept here."""

    @abstractmethod
    def split(self, x: Any, size: int) -> tuple[Any, Any]:
        """The first ``size`` numbers of robots, and the others."""

    def times(self, x: Any) -> Any:
        """``N`` (s): of each robot."""
        return self.rows(x)[:, 0]


class Cpu(Device):
    """Robots in rows; one alone in code of its own, which has no idle SIMD lanes."""

    def __init__(self, kernel: Any, numbers: np.ndarray, threads: int = 1) -> None:
        own = numbers[0] if numbers.ndim == 2 and len(numbers) == 1 else numbers
        self._kernel, self._numbers, self._threads = kernel, np.array(own), threads

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of laws and parameters, of all robots or of each."""
        return self._numbers

    def array(self, x: Any) -> Any:
        """Array of floats."""
        return np.asarray(x, dtype=float)

    def tune(self, place: slice, values: Any, robots: int) -> None:
        """Set numbers of laws, of all robots or of each."""
        if values.ndim == 2:
            self.own_numbers(robots)
        self._numbers[..., place] = values

    def sent(self, rows: np.ndarray) -> Any:
        """Rows as the device keeps them."""
        return rows

    def fetched(self, x: Any) -> np.ndarray:
        """NumPy array in this computer's memory."""
        return np.asarray(x)

    def rows(self, x: Any) -> Any:
        """View with a first axis over robots."""
        return x

    def paired(self, until: Any, dt: float) -> Any:
        """Times and largest steps of all robots."""
        return np.stack([until, np.full(len(until), dt)], axis=1)

    def shared(self, x: np.ndarray, robots: int) -> Any:
        """The vector itself."""
        return x

    def padded(self, forces: Any, above: int) -> Any:
        """Joint forces after ``above`` zeros for the base."""
        return np.hstack([np.zeros((len(forces), above)), forces])

    def iterated(self, x: Any, ahead: Any, forces: Any, count: int) -> Any:
        """All robots after ``count`` iterations."""
        if len(x) == 1 and count == 1:
            return self._once(x, ahead, forces)
        return self._rows(x, ahead, forces, 1, count)[0] if len(x) else x

    def recorded(self, x: Any, ahead: Any, forces: Any, rows: int, every: int = 1) -> tuple[Any, np.ndarray]:
        """All robots at the end, and after every ``every``-th iteration."""
        if len(x) == rows == every == 1:
            return (after := self._once(x, ahead, forces)), after[None].copy()
        found = self._rows(x, ahead, forces, rows, every)
        return found[-1].copy(), found

    def _rows(self, x: Any, ahead: Any, forces: Any, rows: int, every: int) -> np.ndarray:
        given = (x, ahead, self._numbers, forces)
        if len(x) == 1:
            alone = self._kernel.iterate(*(a[0] if a.ndim == 2 else a for a in given), rows=rows, every=every)
            return np.asarray(alone[:, None])
        return np.asarray(self._kernel.iterate(*given, rows=rows, every=every, threads=self._threads))

    def _once(self, x: Any, ahead: Any, forces: Any) -> np.ndarray:
        """A step of one robot, without what a call costs that may have any shape."""
        go, out, *memory = self.single
        for own, given in zip(memory, (x, ahead, self._numbers, forces), strict=True):
            if own is not given:
                own[:] = np.ravel(given)
        go()
        return np.array(out)[None]

    @cached_property
    def single(self) -> tuple[Callable[[], Any], np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Step of one robot: function, memory of its end, and those of its arguments ``x, ahead, numbers, forces``."""
        x, ahead, _, forces = (np.zeros(argument.size) for argument in self._kernel.signature)
        go, out = self._kernel.stepper(x, ahead, self._numbers, forces)
        return go, out, x, ahead, self._numbers, forces

    def __getstate__(self) -> dict[str, Any]:
        """Without :attr:`single`, whose function knows the memory of this device and no copy of it."""
        return {name: value for name, value in self.__dict__.items() if name != "single"}

    def kept(self, x: Any, which: Any) -> Any:
        """Some robots."""
        return x[which]

    def part(self, which: Any) -> Device:
        """Device of some robots."""
        return Cpu(self._kernel, self._numbers[which] if self._numbers.ndim == 2 else self._numbers, self._threads)

    def put(self, x: Any, places: np.ndarray, fresh: Any) -> None:
        """Overwrite some robots."""
        x[places] = fresh

    def restart(self, x: Any, which: Any, bank: Any, index: Any) -> None:
        """Overwrite some robots by rows of a bank."""
        x[which] = bank[index[which]]

    def own_numbers(self, robots: int) -> Any:
        """``N x k``: view."""
        if self._numbers.ndim == 1 and robots > 1:
            self._numbers = np.tile(self._numbers, (robots, 1))
        return self._numbers.reshape(robots, -1)

    def function(self, code: Callable[..., Any], inputs: dict[str, int], **options: Any) -> Callable[..., Any]:
        """Function of robots in rows."""
        return _function(self._kernel.model, code, tuple(inputs.items()), **options)

    def split(self, x: Any, size: int) -> tuple[Any, Any]:
        """Columns."""
        return np.ascontiguousarray(x[:, :size]), np.ascontiguousarray(x[:, size:])


@functools.lru_cache(maxsize=32)
def _function(model: Model, code: Callable[..., Any], inputs: tuple[tuple[str, int], ...], **options: Any) -> Any:
    return compile(model, code, inputs=dict(inputs), **options)


class Gpu(Device):
    """Robots in columns, as CuPy's arrays; kernels before the last see what it takes as further arguments."""

    calls_per_look = 4  # a look waits until they are done

    def __init__(self, kernels: list[Any], numbers: np.ndarray) -> None:
        try:
            import cupy
        except ImportError:
            raise ExtraMissingError("gpu", package="cupy", purpose="a batch on a GPU") from None
        self._cupy, self._kernels, self._numbers, self._dtype = cupy, kernels, numbers, kernels[-1].dtype
        self._own: Any = None
        """the numbers of each robot, as they are kept here"""

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of laws and parameters, of all robots or of each."""
        return self._numbers if self._own is None else self.fetched(self._own)

    def array(self, x: Any) -> Any:
        """CuPy array; arrays that are on the GPU already are not copied."""
        there = hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray)
        return self._cupy.from_dlpack(x) if there else self._cupy.asarray(x, dtype=self._dtype)

    def tune(self, place: slice, values: Any, robots: int) -> None:
        """Set numbers of laws, of all robots or of each."""
        self.own_numbers(robots)[place] = values.T if values.ndim == 2 else values[:, None]

    def sent(self, rows: np.ndarray) -> Any:
        """Rows as the device keeps them: robots are columns."""
        return self._cupy.ascontiguousarray(self._cupy.asarray(rows.T, dtype=self._dtype))

    def fetched(self, x: Any) -> np.ndarray:
        """NumPy array in this computer's memory."""
        return np.asarray(self._cupy.asnumpy(x).T) if isinstance(x, self._cupy.ndarray) else np.asarray(x)

    def rows(self, x: Any) -> Any:
        """View with a first axis over robots."""
        return x.T

    def paired(self, until: Any, dt: float) -> Any:
        """Times and largest steps of all robots."""
        until = self._cupy.asarray(until, dtype=self._dtype)
        return self._cupy.stack([until, self._cupy.full_like(until, dt)])

    def shared(self, x: np.ndarray, robots: int) -> Any:
        """The vector in every column."""
        return self._tiled(tuple(x.tolist()), robots)

    def padded(self, forces: Any, above: int) -> Any:
        """Joint forces after ``above`` zeros for the base."""
        joints = self.array(forces)
        whole = self._cupy.zeros((above + joints.shape[1], joints.shape[0]), dtype=self._dtype)
        whole[above:] = joints.T
        return whole

    def iterated(self, x: Any, ahead: Any, forces: Any, count: int) -> Any:
        """All robots after ``count`` iterations."""
        robots = x.shape[1]
        ahead = self.shared(ahead, robots) if ahead.ndim == 1 else ahead
        if self._numbers.ndim == 2 and self._own is None:
            self._own = self.sent(self._numbers)
        numbers = self.shared(self._numbers, robots) if self._own is None else self._own
        *before, last = self._kernels
        if not before:
            return last.iterate(x, ahead, numbers, forces, every=count) if robots else x
        for _ in range(count if robots else 0):
            seen = [kernel.columns(x, ahead, numbers, forces) for kernel in before]
            x = last.columns(x, ahead, numbers, forces, *seen)
        return x

    def recorded(self, x: Any, ahead: Any, forces: Any, rows: int, every: int = 1) -> tuple[Any, np.ndarray]:
        """All robots at the end, and after every ``every``-th iteration."""
        found = self._cupy.empty((rows, x.shape[1], x.shape[0]), dtype=x.dtype)
        for k in range(rows):
            x = self.iterated(x, ahead, forces, every)
            found[k] = x.T
        return x, np.asarray(self._cupy.asnumpy(found))

    def kept(self, x: Any, which: Any) -> Any:
        """Some robots."""
        which = self._cupy.asarray(which)
        places = self._cupy.flatnonzero(which) if which.dtype == bool else which
        return self._cupy.ascontiguousarray(x.take(places, axis=1))

    def part(self, which: Any) -> Device:
        """Device of some robots."""
        numbers = self._numbers[self.fetched(which)] if self._numbers.ndim == 2 else self._numbers
        some = Gpu(self._kernels, numbers)
        some._own = None if self._own is None else self.kept(self._own, which)
        return some

    def put(self, x: Any, places: np.ndarray, fresh: Any) -> None:
        """Overwrite some robots."""
        x[:, places] = fresh

    def restart(self, x: Any, which: Any, bank: Any, index: Any) -> None:
        """Overwrite some robots by columns of a bank; the host waits for nothing."""
        x[...] = self._cupy.where(which, bank.take(index, axis=1), x)

    def own_numbers(self, robots: int) -> Any:
        """``k x N``: robots are columns."""
        if self._own is None:
            self._own = self.sent(np.broadcast_to(self._numbers, (robots, self._numbers.shape[-1])))
        return self._own

    def function(self, code: Callable[..., Any], inputs: dict[str, int], **options: Any) -> Callable[..., Any]:
        """Function of robots in columns."""
        last = self._kernels[-1]
        found: Callable[..., Any] = _function(
            last.model, code, tuple(inputs.items()), target="cuda", dtype=last.dtype.name, **options
        ).columns
        return found

    def split(self, x: Any, size: int) -> tuple[Any, Any]:
        """Rows, which are columns of robots."""
        return x[:size], x[size:]

    @functools.lru_cache(maxsize=4)  # noqa: B019 (lives as long as its simulator)
    def _tiled(self, shared: tuple[float, ...], robots: int) -> Any:
        """Numbers that all robots have in common, in columns."""
        column = self._cupy.asarray(np.array(shared)[:, None], dtype=self._dtype)
        return self._cupy.ascontiguousarray(self._cupy.broadcast_to(column, (len(shared), robots)))
