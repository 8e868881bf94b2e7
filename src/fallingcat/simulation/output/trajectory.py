"""What a simulation gives back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...caching import cached_property
from ...compiler import compile
from ...contact.base import Mode
from ...dynamics import momentum
from ...errors import ModelError, describe
from ...model import Model, State
from ...model.literals import MomentumFrame
from ..accuracy import ErrorEstimate
from ..compiled_dynamics import energies
from ..events import Happened
from ..integrators.rule import points_at, port_forces
from ..loop_closure import loop_errors
from ..outcome import Code, Diagnostic, status_text
from ..system import System
from ..vector_field import layout_of
from . import files, tables
from .interpolation import interpolate
from .ledger import ROUNDING, Ledger

if TYPE_CHECKING:
    from ...visualization import Page, Shape


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Named time series of a run: ``N`` samples, in SI units.

    ``code`` says how the run ended, ``warnings`` what is wrong with it, ``status`` both in words; of a run that stopped
    early the samples up to then are kept.  Where an impact changes the velocity, two samples have the same time.
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
    """``N x k``: what contact and laws remember, in this order; :meth:`remembered` has one law's part"""
    modes: tuple[Mode, ...]
    """``N``: the mode of the contact after each sample"""
    system: System
    """what pulled on the robot"""
    ledger: Ledger
    """work through every port"""
    events: tuple[Happened, ...] = ()
    code: Code = Code.FINISHED
    reason: str = ""
    """why it stopped early"""
    warnings: tuple[Diagnostic, ...] = ()
    """everything that makes its numbers doubtful"""
    integrator: str = ""
    lag: float = 0.0
    """s: by which velocities are behind places, in the energy balance"""
    error_estimate: ErrorEstimate | None = None
    """error of the last configuration caused by the size of steps, where these are fixed; None: not estimated"""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def status(self) -> str:
        """How the run ended, and its warnings: ``finished``, or a text for people; programs ask :attr:`code`."""
        return status_text(self.code, self.reason, self.warnings)

    def __repr__(self) -> str:
        """What it is in one line; arrays of thousands of numbers are asked for by name."""
        about = f"{self.times[-1]:g} s, {len(self)} samples, {self.integrator}, {self.status}"
        return f"<Trajectory of {self.model.name!r}: {about}>"

    def state(self, i: int) -> State:
        """The state at sample ``i``; negative ones count from the end."""
        if not isinstance(i, (int, np.integer)) or not -len(self) <= i < len(self):
            raise ModelError(f"the run has samples 0 to {len(self) - 1}, not {describe(i)}")
        return State(self.poses[i], self.joints[i], self.twists[i], self.rates[i])

    @property
    def states(self) -> Iterator[State]:
        """All states, in order."""
        return (self.state(i) for i in range(len(self)))

    # quantities along the run ---------------------------------------------------------------------------------

    @cached_property
    def touching(self) -> tuple[frozenset[str], ...]:
        """``N``: the names of the points on the ground."""
        contact = self._known_system().contact
        return tuple(contact.touching(mode) if contact else frozenset() for mode in self.modes)

    @cached_property
    def port_forces(self) -> dict[str, np.ndarray]:
        """Generalised forces (N x nv) of every law, controller and contact."""
        ports = self._known_system().ports
        out = self._by_mode(port_forces, (len(ports), self.model.nv))
        return {port: out[:, k] for k, port in enumerate(ports)}

    def remembered(self, law: str) -> np.ndarray:
        """``N x k``: the state of a law of its own, by name; of a sampled law, what it knew at its last look."""
        system = self._known_system()
        names, sizes = [one.name for one in system.laws], system.sizes
        if law in names:
            end = sum(sizes[names.index(law) + 1 :])
            return self.memory[:, self.memory.shape[1] - end - sizes[names.index(law)] : self.memory.shape[1] - end]
        sampling = system.sampling
        sampled = [one.name for one in sampling.sampled.laws] if sampling is not None and sampling.looked else []
        if sampling is None or law not in sampled:
            raise ModelError(f"the run has no law {law!r} with a state of its own")
        ends = np.cumsum([0, *(one.memory_size(self.model) for one in sampling.sampled.laws)])
        last = np.searchsorted(sampling.looked, self.times + 1e-12, side="right") - 1
        return np.array(sampling.memories)[last, ends[sampled.index(law)] : ends[sampled.index(law) + 1]]

    @property
    def contact_points(self) -> tuple[str, ...]:
        """The points that may touch, in the order of the next three."""
        contact = self._known_system().contact
        return getattr(contact, "points", ())

    @property
    def contact_forces(self) -> np.ndarray:
        """``N x points x 3``: the force (N, world) of the ground on the robot at each point; zero in the air."""
        return self._contacts[:, :, :3]

    @property
    def contact_pushes(self) -> np.ndarray:
        """``N x points``: the part of :attr:`contact_forces` (N) along the normal of the ground."""
        return self._contacts[:, :, 5]

    @property
    def penetration(self) -> np.ndarray:
        """``N x points``: how deep each point is in the ground (m); 0 above it."""
        return np.maximum(-self._contacts[:, :, 3], 0.0)

    @property
    def slip(self) -> np.ndarray:
        """``N x points``: the speed (m/s) at which a point that touches moves along the ground; 0 in the air."""
        return self._contacts[:, :, 4]

    @cached_property
    def _contacts(self) -> np.ndarray:
        found = self._by_mode(points_at, (len(self.contact_points), 6))
        for row, touching in zip(found, self.touching, strict=True):
            row[[name not in touching for name in self.contact_points], 4] = 0.0
        return found

    def _by_mode(self, function: Any, shape: tuple[int, int]) -> np.ndarray:
        """``N x shape``: a function of packed states, mode by mode."""
        out, count = np.zeros((len(self), *shape)), self.memory.shape[1]
        states = (self.poses, self.joints, self.twists, self.rates)
        packed = layout_of(self._known_system(), count).table(states, self.memory)
        alike = self.system.contact is not None and self.system.contact.one_code
        if alike and shape[0]:
            return np.asarray(function(self.system, tuple(True for _ in self.modes[0]), count, packed, self.times))
        for mode in dict.fromkeys(self.modes) if shape[0] else ():
            here = [i for i, other in enumerate(self.modes) if other == mode]
            out[here] = function(self.system, mode, count, packed[here], self.times[here])
        return out

    def _known_system(self) -> System:
        """What pulled on the robot, unless the run comes from a file and was not given it."""
        if self.system.ports != self.ledger.ports:
            raise ModelError("the laws and contacts of a run are not in its file: give system= to Trajectory.load")
        return self.system

    @property
    def forces(self) -> np.ndarray:
        """``N x nv``: the sum of all generalised forces."""
        return sum(self.port_forces.values(), start=np.zeros((len(self), self.model.nv)))

    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy (J) at every sample."""
        kinetic, potential = energies(self.model)(self.poses, self.joints, self.twists, self.rates)
        return kinetic, potential

    def momenta(self, frame: MomentumFrame = "world") -> np.ndarray:
        """``N x 6``: momentum ``[p; l]`` at every sample; frames as in :func:`fallingcat.momentum`."""
        return self.measure(momentum, frame=frame)

    def measure(self, function: Any, **options: Any) -> np.ndarray:
        """Any function of the library (or composition of such) ``f(model, state, **options)`` at every sample,
        compiled.
        """
        kernel = compile(self.model, function, state=State._fields, **options)
        return np.asarray(kernel(self.poses[:, :3], self.joints, self.twists, self.rates))

    def joint_work(self) -> np.ndarray:
        """Work (J) that drives do through the joints, from the start to every sample: commanded laws and controller."""
        driven = [self.ledger.ports.index(port) for port in self._known_system().driven_ports]
        return np.asarray(self.ledger.joints[:, driven].sum(axis=1))

    def loop_errors(self) -> np.ndarray:
        """``N``: how far the worst of the robot's loops is open (m or rad) at every sample."""
        return loop_errors(self.model, self.poses, self.joints, self.twists, self.rates)

    @property
    def energy_residual(self) -> float:
        """How well the books balance, relative to the energy moved or passed on: see :meth:`Ledger.residual`."""
        states = (self.poses, self.joints, self.twists, self.rates)
        return self.ledger.residual(*energies(self.model)(*states, self.lag))

    # pictures and files ---------------------------------------------------------------------------------------

    def at(self, t: float) -> State:
        """The state at any time (s) of the run: between samples a cubic on the group, of order 4."""
        first, last = float(self.times[0]), float(self.times[-1])
        if isinstance(t, (int, float, np.number)) and last < t <= last * (1.0 + ROUNDING):
            t = last  # 0.1 + 0.2 is no time after 0.3
        if not isinstance(t, (int, float, np.number)) or not first <= t <= last:
            raise ModelError(f"the run lasts from {self.times[0]:g} to {self.times[-1]:g} s; {describe(t)} is outside")
        i = min(int(np.searchsorted(self.times, t, side="right")), len(self) - 1)
        dt = float(self.times[i] - self.times[i - 1]) if i else 0.0
        if not dt:
            return self.state(i)
        s = (t - float(self.times[i - 1])) / dt
        return interpolate(self.model, self.state(i - 1), self.state(i), dt, s)

    def plot(self, *names: str) -> Page:
        """A page of charts over time: ``joints``, ``rates``, ``forces``, ``energies``, ``works``, ``momenta``,
        ``center``, ``contacts``; the first four if nothing is said.  ``page.write("run.html")`` writes it.
        """
        from . import pages as pictures  # with all of views, which most runs do without

        return pictures.page(self, names or ("joints", "rates", "forces", "energies"))

    def animate(self, *names: str, speed: float = 1.0, shapes: Mapping[str, Sequence[Shape]] | None = None) -> Page:
        """A page with the robot in motion, above the charts of :meth:`plot`.

        Links are drawn with the shapes of their file (:func:`fallingcat.visualization.appearance`) unless ``shapes`` says otherwise
        (link or frame: solids).  Buttons show the center of mass, contact forces and frames.
        """
        from . import pages as pictures

        return pictures.animation(self, names or ("joints", "energies", "works"), speed, shapes)

    def video(
        self,
        path: str | os.PathLike[str],
        *,
        speed: float = 1.0,
        rate: int = 30,
        size: tuple[int, int] = (960, 720),
        shapes: Mapping[str, Sequence[Shape]] | None = None,
    ) -> None:
        """Write the robot in motion to an ``.mp4`` or ``.gif`` file of ``rate`` pictures a second (extra ``video``).

        The pictures are those of :meth:`animate`, which also has a button that records; ``size`` is in pixels.
        """
        from . import pages as pictures

        pictures.video(self, path, speed, rate, size, shapes)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write time, base, joints, rates, works and contact forces as a table with names and units, atomically."""
        tables.save_table(self, path)

    def to_dataframe(self) -> Any:
        """The same table as a ``pandas.DataFrame``, by time (extra ``data``)."""
        return tables.dataframe(self)

    def _repr_html_(self) -> str:
        """For notebooks: what it is, in a few lines."""
        from . import pages as pictures

        return pictures.summary(self)

    def to_xarray(self) -> Any:
        """An ``xarray.Dataset`` of all series, with names and units (extra ``data``)."""
        return files.dataset(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, atomically: NumPy's ``.npz``, or netCDF ``.nc`` with names and units (extra ``data``).

        Model and laws are not part of it.
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model, system: System | None = None) -> Trajectory:
        """Read a file that :meth:`save` wrote, for the same robot; nothing in it is executed.

        The laws and contacts are not in the file: give ``system`` to have forces again.
        """
        return cls(**files.load(path, model, system))
