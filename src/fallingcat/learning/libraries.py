"""Array libraries in which tasks count: NumPy, Torch, JAX or CuPy, on the memory of the simulator (DLPack)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..dynamics.checks import choice
from ..errors import ExtraMissingError, ModelError, describe, nearest_name_hint

TARGETS = {"numpy": ("cpu",), "torch": ("cpu", "cuda"), "jax": ("cpu", "cuda"), "cupy": ("cuda",)}
"""Targets on which the arrays of each library can be."""


class Library(ABC):
    """Array library of one device, and its random numbers.

    ``xp`` is the module with the array functions that tasks call: those that NumPy, Torch, JAX and CuPy have under the
    same name, such as ``where``, ``exp``, ``stack``, ``concatenate``, ``clip``, ``sin``, and methods such as
    ``x.sum(axis=1)``.
    """

    xp: Any
    random: Any
    """generator of random numbers"""

    def __init__(self, target: str, dtype: str) -> None:
        self.target, self.dtype = target, dtype
        self._constants: dict[Any, Any] = {}

    @abstractmethod
    def seed(self, seed: int) -> None:
        """Start the random numbers anew."""

    @abstractmethod
    def from_simulator(self, x: Any) -> Any:
        """Array of the simulator (NumPy or CuPy) as one of this library, without a copy."""

    @abstractmethod
    def to_simulator(self, x: Any) -> Any:
        """Array of this library as one of the simulator (NumPy or CuPy), without a copy: the inverse of given."""

    def floats(self, x: Any) -> Any:
        """Numbers of this computer as an array of this library, in the simulator's precision."""
        return self.xp.asarray(np.asarray(x, dtype=self.dtype))

    def constant(self, x: Any) -> Any:
        """:meth:`floats` of numbers that stay the same, which are sent to the device once."""
        x = np.asarray(x, dtype=float)
        key = x.shape, x.tobytes()
        if key not in self._constants:
            self._constants[key] = self.floats(x)
        return self._constants[key]

    @abstractmethod
    def uniform(self, low: Any, high: Any, *shape: int) -> Any:
        """Random numbers between two limits."""

    @abstractmethod
    def normal(self, *shape: int) -> Any:
        """Random numbers of the standard normal distribution."""

    @abstractmethod
    def indices(self, below: int, count: int) -> Any:
        """Random whole numbers from 0 to ``below - 1``."""

    def to_integers(self, x: Any) -> Any:
        """Numbers rounded toward zero, as integers."""
        return x.astype("int64")

    @abstractmethod
    def to_numpy(self, x: Any) -> np.ndarray:
        """NumPy array in this computer's memory."""


class _GeneratorLibrary(Library):
    """NumPy and CuPy, whose generators have the same methods."""

    def seed(self, seed: int) -> None:
        self.random = self.xp.random.default_rng(seed)

    def from_simulator(self, x: Any) -> Any:
        return x

    def to_simulator(self, x: Any) -> Any:
        return self.xp.asarray(x)

    def uniform(self, low: Any, high: Any, *shape: int) -> Any:
        return low + (high - low) * self.random.random(shape, dtype=self.dtype)

    def normal(self, *shape: int) -> Any:
        return self.random.standard_normal(shape, dtype=self.dtype)

    def indices(self, below: int, count: int) -> Any:
        return self.random.integers(0, below, count)


class NumPy(_GeneratorLibrary):
    """NumPy's arrays in this computer's memory."""

    xp = np

    def to_numpy(self, x: Any) -> np.ndarray:
        """The array itself."""
        return np.asarray(x)


class CuPy(_GeneratorLibrary):
    """CuPy's arrays on a GPU."""

    def __init__(self, target: str, dtype: str) -> None:
        super().__init__(target, dtype)
        self.xp = _import_extra("cupy", "gpu")

    def to_numpy(self, x: Any) -> np.ndarray:
        """Copy of an array."""
        return np.asarray(self.xp.asnumpy(x))


class Torch(Library):
    """Torch's tensors on the memory of NumPy or CuPy."""

    def __init__(self, target: str, dtype: str) -> None:
        super().__init__(target, dtype)
        self.xp = _import_extra("torch", "learn")
        self._kind = {"dtype": getattr(self.xp, dtype), "device": target}
        self.random = self.xp.Generator(target)

    def seed(self, seed: int) -> None:
        """Start the generator of the device anew."""
        self.random.manual_seed(seed)

    def from_simulator(self, x: Any) -> Any:
        """Tensor on the same memory."""
        return self.xp.from_dlpack(x)

    def to_simulator(self, x: Any) -> Any:
        """Array of NumPy or CuPy on the same memory."""
        x = x.detach()
        if self.target == "cpu":
            return x.numpy()
        cupy = _import_extra("cupy", "gpu")
        truths = x.dtype == self.xp.bool  # which not every version of DLPack has
        return cupy.from_dlpack(x.view(self.xp.uint8)).view(bool) if truths else cupy.from_dlpack(x)

    def floats(self, x: Any) -> Any:
        """Tensor on the device."""
        return self.xp.as_tensor(np.asarray(x), **self._kind)

    def uniform(self, low: Any, high: Any, *shape: int) -> Any:
        """Tensor of random numbers."""
        return low + (high - low) * self.xp.rand(shape, generator=self.random, **self._kind)

    def normal(self, *shape: int) -> Any:
        """Tensor of random numbers."""
        return self.xp.randn(shape, generator=self.random, **self._kind)

    def indices(self, below: int, count: int) -> Any:
        """Tensor of whole numbers."""
        return self.xp.randint(0, below, (count,), generator=self.random, device=self.target)

    def to_integers(self, x: Any) -> Any:
        """Tensor of integers."""
        return x.long()

    def to_numpy(self, x: Any) -> np.ndarray:
        """Array in this computer's memory."""
        return np.asarray(x.detach().cpu().numpy())


class Jax(Library):
    """JAX's arrays; its single precision takes a copy of NumPy's double precision."""

    def __init__(self, target: str, dtype: str) -> None:
        super().__init__(target, dtype)
        self._jax = _import_extra("jax", "jax")
        self.xp = self._jax.numpy

    def seed(self, seed: int) -> None:
        """Start from another key."""
        self._key = self._jax.random.key(seed)

    def from_simulator(self, x: Any) -> Any:
        """Array of JAX, which has no strides: CuPy's columns are made rows."""
        if self.target == "cpu":
            return self.xp.array(x)  # a copy: steps overwrite what they are given
        return self._jax.dlpack.from_dlpack(x.copy(order="C"))

    def to_simulator(self, x: Any) -> Any:
        """Array of NumPy or CuPy on the same memory."""
        if self.target == "cpu":
            return np.asarray(x)
        cupy = _import_extra("cupy", "gpu")
        return cupy.from_dlpack(x.astype("uint8")).view(bool) if x.dtype == bool else cupy.from_dlpack(x)

    def uniform(self, low: Any, high: Any, *shape: int) -> Any:
        """Random numbers of a new key."""
        return low + (high - low) * self._jax.random.uniform(self._next_key(), shape)

    def normal(self, *shape: int) -> Any:
        """Random numbers of a new key."""
        return self._jax.random.normal(self._next_key(), shape)

    def indices(self, below: int, count: int) -> Any:
        """Random whole numbers of a new key."""
        return self._jax.random.randint(self._next_key(), (count,), 0, below)

    def to_numpy(self, x: Any) -> np.ndarray:
        """Array in this computer's memory."""
        return np.asarray(x)

    def _next_key(self) -> Any:
        self._key, key = self._jax.random.split(self._key)
        return key


LIBRARIES: dict[str, type[Library]] = {"numpy": NumPy, "torch": Torch, "jax": Jax, "cupy": CuPy}


def library_of(name: Any, target: str, dtype: str) -> Library:
    """Library by its name; an error says which ones have arrays on a target."""
    choice(dtype, ("float64", "float32"), "dtype of an Environment")
    if not isinstance(name, str) or name not in LIBRARIES:
        hint = nearest_name_hint(name, LIBRARIES) if isinstance(name, str) else ""
        raise ModelError(f"library is one of {', '.join(LIBRARIES)}, not {describe(name)}{hint}")
    if target not in TARGETS[name]:
        able = [each for each, targets in TARGETS.items() if target in targets]
        raise ModelError(f"{name} has no arrays on {target!r}: take {' or '.join(able)}")
    return LIBRARIES[name](target, dtype)


def _import_extra(package: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise ExtraMissingError(extra, package=package, purpose=f"library={package!r}") from None
