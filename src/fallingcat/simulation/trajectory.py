"""What a simulation gives back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics import kinetic_energy, momentum, potential_energy
from ..errors import FileError, ModelError
from ..model import Model, State


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Named time series of a run: ``N`` samples, in SI units.

    ``status`` is ``finished``, or says in words why the run stopped early; the samples up to then are kept.
    """

    model: Model
    times: np.ndarray
    """``N`` (s)"""
    poses: np.ndarray
    """``N x 4 x 4``: base to world"""
    joints: np.ndarray
    """``N x (nq - base)``"""
    twists: np.ndarray
    """``N x m``: body-fixed"""
    rates: np.ndarray
    """``N x n``"""
    forces: np.ndarray
    """``N x nv``: generalised forces applied"""
    status: str = "finished"
    integrator: str = ""
    info: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.times)

    def state(self, i: int) -> State:
        """The state at sample ``i``."""
        return State(self.poses[i], self.joints[i], self.twists[i], self.rates[i])

    @property
    def states(self) -> Iterator[State]:
        """All states, in order."""
        return (self.state(i) for i in range(len(self)))

    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy (J) at every sample."""
        pairs = [(kinetic_energy(self.model, s), potential_energy(self.model, s)) for s in self.states]
        return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

    def momenta(self, frame: str = "world") -> np.ndarray:
        """``N x 6``: momentum ``[p; l]`` at every sample; frames as in :func:`fallingcat.momentum`."""
        return np.array([momentum(self.model, s, frame) for s in self.states])

    def joint_work(self) -> np.ndarray:
        """Work (J) of the joint forces from the start to every sample; of order 4 in the sampling step."""
        power = np.einsum("ij,ij->i", self.forces[:, self.model.m :], self.rates)
        return _cumulative(self.times, power)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the samples to a NumPy ``.npz`` file, atomically; the model is not part of it."""
        target = Path(path)
        handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                arrays: dict[str, Any] = self._arrays() | {"status": self.status, "integrator": self.integrator}
                np.savez_compressed(file, **arrays)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model) -> Trajectory:
        """Read a file that :meth:`save` wrote, for the same robot; nothing in it is executed."""
        try:
            with np.load(path, allow_pickle=False) as data:
                arrays = {name: data[name] for name in ("times", "poses", "joints", "twists", "rates", "forces")}
                status, integrator = str(data["status"]), str(data["integrator"])
        except (OSError, ValueError, KeyError) as error:
            raise FileError(f"is no trajectory of fallingcat ({error})", file=path) from None
        if arrays["rates"].shape[1:] != (model.n,) or arrays["twists"].shape[1:] != (model.m,):
            raise ModelError(f"the trajectory in {os.fspath(path)!r} is of another robot than {model.name!r}")
        return cls(model, **arrays, status=status, integrator=integrator)

    def _arrays(self) -> dict[str, Any]:
        return {
            "times": self.times,
            "poses": self.poses,
            "joints": self.joints,
            "twists": self.twists,
            "rates": self.rates,
            "forces": self.forces,
        }


def _cumulative(t: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The integral of samples ``f`` up to each ``t``: cubics through four neighbours, chords where there are fewer."""
    parts = 0.5 * (f[1:] + f[:-1]) * np.diff(t)
    if len(t) >= 4:
        for i in range(len(t) - 1):
            first = min(max(i - 1, 0), len(t) - 4)
            near = slice(first, first + 4)
            cubic = np.polynomial.Polynomial.fit(t[near], f[near], 3).integ()
            parts[i] = cubic(t[i + 1]) - cubic(t[i])
    return np.concatenate([np.zeros(1), np.cumsum(parts)])
