"""What a simulation gives back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..contact.contact import Mode
from ..dynamics import kinetic_energy, momentum, potential_energy
from ..errors import FileError, ModelError
from ..kernels import compile
from ..lie.rotations import homogeneous
from ..model import Model, State
from .events import Happened
from .ledger import Ledger
from .system import System


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Named time series of a run: ``N`` samples, in SI units.

    ``status`` is ``finished``, or says in words why the run stopped early; the samples up to then are kept.  Where an
    impact changes the velocity, there are two samples of the same time.
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
    memory: np.ndarray
    """``N x k``: what the contact remembers"""
    modes: tuple[Mode, ...]
    """``N``: the mode of the contact after each sample"""
    system: System
    """what pulled on the robot"""
    ledger: Ledger
    """work through every port"""
    events: tuple[Happened, ...] = ()
    status: str = "finished"
    integrator: str = ""

    def __len__(self) -> int:
        return len(self.times)

    def state(self, i: int) -> State:
        """The state at sample ``i``."""
        return State(self.poses[i], self.joints[i], self.twists[i], self.rates[i])

    @property
    def states(self) -> Iterator[State]:
        """All states, in order."""
        return (self.state(i) for i in range(len(self)))

    # quantities along the run ---------------------------------------------------------------------------------

    @cached_property
    def touching(self) -> tuple[frozenset[str], ...]:
        """``N``: the names of the points on the ground."""
        contact = self.system.contact
        return tuple(contact.touching(mode) if contact else frozenset() for mode in self.modes)

    @cached_property
    def port_forces(self) -> dict[str, np.ndarray]:
        """Generalised forces (N x nv) of every law, controller and contact."""
        rows = [
            self.system.forces(mode, float(t), state, memory)
            for mode, t, state, memory in zip(self.modes, self.times, self.states, self.memory, strict=True)
        ]
        zero = np.zeros(self.model.nv)
        return {port: np.array([row.get(port, zero) for row in rows]) for port in self.ledger.ports}

    @property
    def forces(self) -> np.ndarray:
        """``N x nv``: the sum of all generalised forces."""
        return sum(self.port_forces.values(), start=np.zeros((len(self), self.model.nv)))

    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy (J) at every sample."""
        return self.measure(kinetic_energy), self.measure(potential_energy)

    def momenta(self, frame: str = "world") -> np.ndarray:
        """``N x 6``: momentum ``[p; l]`` at every sample; frames as in :func:`fallingcat.momentum`."""
        return self.measure(momentum, frame=frame)

    def measure(self, function: Any, **options: Any) -> np.ndarray:
        """Any function of the library (or composition of such) ``f(model, state, **options)`` at every sample,
        compiled.
        """
        kernel = compile(self.model, _at_pose, sizes={"pose": 12}, of=function, options=options)
        neutral = self.model.flatten(self.model.neutral())[0][: self.model.base.nq]
        q = np.concatenate([np.tile(neutral, (len(self), 1)), self.joints], axis=1)
        arguments = {"q": q, "v": np.concatenate([self.twists, self.rates], axis=1)}
        arguments["pose"] = np.ascontiguousarray(self.poses[:, :3]).reshape(-1, 12)
        return np.asarray(kernel(*(arguments[a.name] for a in kernel.signature)))

    def joint_work(self) -> np.ndarray:
        """Work (J) of everything that acts on the joints, from the start to every sample."""
        return self.ledger.joints.sum(axis=1)

    @property
    def energy_residual(self) -> float:
        """How well the ledger balances: see :meth:`Ledger.residual`."""
        return self.ledger.residual(sum(self.energies(), start=np.zeros(len(self))))

    # files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the samples to a NumPy ``.npz`` file, atomically; model and laws are not part of it."""
        target = Path(path)
        handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(file, **self._arrays())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model, system: System | None = None) -> Trajectory:
        """Read a file that :meth:`save` wrote, for the same robot; nothing in it is executed.

        The laws and contacts are not in the file: give ``system`` to have forces again.
        """
        try:
            with np.load(path, allow_pickle=False) as data:
                series = {name: data[name] for name in _SERIES}
                modes = [tuple(row.tolist()) for row in data["modes"]]
                ledger = Ledger(tuple(map(str, data["ports"])), data["base_work"], data["joint_work"])
                names, at = map(str, data["event_names"]), data["event_times"]
                events = tuple(Happened(n, *map(float, row)) for n, row in zip(names, at, strict=True))
                status, integrator = str(data["status"]), str(data["integrator"])
        except (OSError, ValueError, KeyError) as error:
            raise FileError(f"is no trajectory of fallingcat ({error})", file=path) from None
        if series["rates"].shape[1:] != (model.n,) or series["twists"].shape[1:] != (model.m,):
            raise ModelError(f"the trajectory in {os.fspath(path)!r} is of another robot than {model.name!r}")
        held = system or System(model)
        return cls(
            model, **series, modes=tuple(modes), system=held, ledger=ledger, events=events,
            status=status, integrator=integrator,
        )  # fmt: skip

    def _arrays(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in _SERIES},
            "modes": np.array(self.modes).reshape(len(self), -1),
            "ports": np.array(self.ledger.ports, dtype=str),
            "base_work": self.ledger.base,
            "joint_work": self.ledger.joints,
            "event_names": np.array([event.name for event in self.events], dtype=str),
            "event_times": np.array([(event.time, event.loss) for event in self.events]).reshape(-1, 2),
            "status": self.status,
            "integrator": self.integrator,
        }


_SERIES = ("times", "poses", "joints", "twists", "rates", "memory")


def _at_pose(model: Model, state: State, pose: Any, *, of: Any, options: dict[str, Any]) -> Any:
    """The function ``of`` at the pose with the rows ``[R p]`` given flat (12)."""
    rows = pose.reshape(3, 4)
    return of(model, state._replace(pose=homogeneous(rows[:, :3], rows[:, 3])), **options)
