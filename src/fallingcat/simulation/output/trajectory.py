"""Result of a simulation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._deprecated import former_attribute
from ...arrays.types import Float_N_4_4, Float_N_6, Float_N_m, Float_N_n, Float_N_nv, Float_N_points_3
from ...caching import cached_property
from ...compiler import compile
from ...contact.base import Mode
from ...dynamics import momentum
from ...errors import ModelError, describe
from ...escaping import terminal
from ...model import Model, State
from ...model.literals import MomentumFrame
from ..diagnostics.accuracy import ErrorEstimate
from ..diagnostics.ledger import ROUNDING, Ledger
from ..events import EventRecord
from ..integrators.rule import points_at, port_forces
from ..outcome import Diagnostic, StatusCode, status_text
from ..problem.compiled_dynamics import energies
from ..problem.loop_closure import loop_errors
from ..problem.problem import Problem
from ..problem.vector_field import layout_of
from . import files, tables
from .interpolation import interpolate

if TYPE_CHECKING:
    from ...visualization import Page, Shape


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Named time series of a run: ``N`` samples, in SI units.

    ``code`` is the outcome of the run, ``warnings`` are its problems, ``status`` is both as text; of a run that stopped
    early the samples up to then are kept.  Where an impact changes the velocity, two samples have the same time.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> run = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.01)
        >>> run.status, run.joints.shape
        ('finished', (11, 2))
    """

    model: Model
    times: np.ndarray
    """``N`` (s)"""
    poses: Float_N_4_4
    """``N x 4 x 4``: base to world"""
    joints: np.ndarray
    """``N x (nq - base)``"""
    twists: Float_N_m
    """``N x m``: body-fixed"""
    rates: Float_N_n
    """``N x n``"""
    memory: np.ndarray
    """``N x k``: what contact and laws remember, in this order; :meth:`law_memory` has one law's part"""
    modes: tuple[Mode, ...]
    """``N``: the mode of the contact after each sample"""
    problem: Problem
    """force laws, controller and contact of the run"""
    ledger: Ledger
    """work through every port"""
    events: tuple[EventRecord, ...] = ()
    code: StatusCode = StatusCode.FINISHED
    reason: str = ""
    """reason why it stopped early"""
    warnings: tuple[Diagnostic, ...] = ()
    """everything that makes its numbers doubtful"""
    integrator: str = ""
    lag: float = 0.0
    """s: by which velocities are behind places, in the energy balance"""
    error_estimate: ErrorEstimate | None = None
    """error of the last configuration caused by the size of steps, where these are fixed; None: not estimated"""
    unestimated: str = ""
    """reason why there is no such estimate; empty if there is one"""

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.times)

    @property
    def status(self) -> str:
        """Outcome and warnings as text: ``finished``, or a message for people; programs use :attr:`code`."""
        return status_text(self.code, self.reason, self.warnings)

    def __repr__(self) -> str:
        """Model, duration, samples, integrator and status in one line."""
        about = f"{self.times[-1]:g} s, {len(self)} samples, {self.integrator}, {self.status}"
        return terminal(f"<Trajectory of {self.model.name!r}: {about}>")

    def state(self, i: int) -> State:
        """State at a sample.

        Args:
            i: Index of the sample; negative ones count from the end.

        Returns:
            Configuration and velocity.
        """
        if not isinstance(i, (int, np.integer)) or not -len(self) <= i < len(self):
            raise ModelError(f"the run has samples 0 to {len(self) - 1}, not {describe(i)}")
        return State(self.poses[i], self.joints[i], self.twists[i], self.rates[i])

    @cached_property
    def states(self) -> tuple[State, ...]:
        """States of all samples, in order."""
        return tuple(map(State, self.poses, self.joints, self.twists, self.rates))

    # quantities along the run ---------------------------------------------------------------------------------

    @cached_property
    def touching(self) -> tuple[frozenset[str], ...]:
        """Names of the points on the ground, for each sample."""
        contact = self._known_problem().contact
        return tuple(contact.touching(mode) if contact else frozenset() for mode in self.modes)

    @cached_property
    def port_forces(self) -> dict[str, Float_N_nv]:
        """Generalized forces (N x nv) of every law, controller and contact."""
        ports = self._known_problem().ports
        out = self._by_mode(port_forces, (len(ports), self.model.nv))
        return {port: out[:, k] for k, port in enumerate(ports)}

    def law_memory(self, law: str) -> np.ndarray:
        """State of a law that has one; for a sampled law, the state at its last sample.

        Args:
            law: Name of the law.

        Returns:
            Its state (N x k) at every sample of the run.
        """
        problem = self._known_problem()
        names, sizes = [one.name for one in problem.laws], problem.sizes
        if law in names:
            end = sum(sizes[names.index(law) + 1 :])
            return self.memory[:, self.memory.shape[1] - end - sizes[names.index(law)] : self.memory.shape[1] - end]
        sampling = problem.sampling
        sampled = [one.name for one in sampling.sampled.laws] if sampling is not None and sampling.looked else []
        if sampling is None or law not in sampled:
            raise ModelError(f"the run has no law {law!r} with a state of its own")
        ends = np.cumsum([0, *(one.memory_size(self.model) for one in sampling.sampled.laws)])
        last = np.searchsorted(sampling.looked, self.times + 1e-12, side="right") - 1
        return np.array(sampling.memories)[last, ends[sampled.index(law)] : ends[sampled.index(law) + 1]]

    @property
    def contact_points(self) -> tuple[str, ...]:
        """Points that may touch, in the order of the next three."""
        return getattr(self._known_problem().contact, "points", ())

    @property
    def contact_forces(self) -> Float_N_points_3:
        """Forces (N x points x 3; N, world) of the ground on the robot at each point; zero in the air."""
        return self._contacts[:, :, :3]

    @property
    def contact_pushes(self) -> np.ndarray:
        """Normal components (N x points; N) of :attr:`contact_forces`."""
        return self._contacts[:, :, 5]

    @property
    def penetration(self) -> np.ndarray:
        """Depth (N x points; m) of each point in the ground; 0 above it."""
        return np.maximum(-self._contacts[:, :, 3], 0.0)

    @property
    def slip(self) -> np.ndarray:
        """Speed (N x points; m/s) of touching points along the ground; 0 in the air."""
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
        packed = layout_of(self._known_problem(), count).table(states, self.memory)
        if shape[0] and self.problem.contact is not None and self.problem.contact.one_code:
            return np.asarray(function(self.problem, tuple(True for _ in self.modes[0]), count, packed, self.times))
        for mode in dict.fromkeys(self.modes) if shape[0] else ():
            here = [i for i, other in enumerate(self.modes) if other == mode]
            out[here] = function(self.problem, mode, count, packed[here], self.times[here])
        return out

    def _known_problem(self) -> Problem:
        """Problem of the run; an error if the run comes from a file and was not given it."""
        if self.problem.ports != self.ledger.ports:
            raise ModelError("the laws and contacts of a run are not in its file: give problem= to Trajectory.load")
        return self.problem

    @property
    def forces(self) -> Float_N_nv:
        """Sum of all generalized forces (N x nv)."""
        return sum(self.port_forces.values(), start=np.zeros((len(self), self.model.nv)))

    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy at every sample.

        Returns:
            Kinetic and potential energy (N each; J).
        """
        kinetic, potential = energies(self.model)(self.poses, self.joints, self.twists, self.rates)
        return kinetic, potential

    def momenta(self, frame: MomentumFrame = "world") -> Float_N_6:
        """Momentum at every sample.

        Args:
            frame: Frame, as in :func:`fallingcat.momentum`.

        Returns:
            ``[p; l]`` (N x 6; N s, N m s).
        """
        return self.measure(momentum, frame=frame)

    def measure(self, function: Callable[..., Any], **options: Any) -> np.ndarray:
        """Function of the robot at every sample, compiled.

        Args:
            function: Function of the library, or a composition of such, ``f(model, state, **options)``.
            **options: Options of the function.

        Returns:
            Values (N x ...).
        """
        kernel = compile(self.model, function, state=State._fields, **options)
        return np.asarray(kernel(self.poses[:, :3], self.joints, self.twists, self.rates))

    def joint_work(self) -> np.ndarray:
        """Work of the drives through the joints: of commanded laws and controller.

        Returns:
            Work (N; J) from the start to every sample.
        """
        driven = [self.ledger.ports.index(port) for port in self._known_problem().driven_ports]
        return np.asarray(self.ledger.joints[:, driven].sum(axis=1))

    def loop_errors(self) -> np.ndarray:
        """Largest error of the loop closures at every sample.

        Returns:
            Error (N; m or rad).
        """
        return loop_errors(self.model, self.poses, self.joints, self.twists, self.rates)

    @property
    def energy_residual(self) -> float:
        """Relative violation of the energy balance, see :meth:`Ledger.residual`."""
        return self.ledger.residual(*energies(self.model)(self.poses, self.joints, self.twists, self.rates, self.lag))

    # pictures and files ---------------------------------------------------------------------------------------

    def at(self, t: float) -> State:
        """State at any time of the run: between samples a cubic on the group, of order 4.

        Args:
            t: Time (s).

        Returns:
            Configuration and velocity.
        """
        first, last = float(self.times[0]), float(self.times[-1])
        if isinstance(t, (int, float, np.number)) and last < t <= last * (1.0 + ROUNDING):
            t = last  # 0.1 + 0.2 is no time after 0.3
        if not isinstance(t, (int, float, np.number)) or not first <= t <= last:
            raise ModelError(f"the run lasts from {self.times[0]:g} to {self.times[-1]:g} s; {describe(t)} is outside")
        i = min(int(np.searchsorted(self.times, t, side="right")), len(self) - 1)
        dt = float(self.times[i] - self.times[i - 1]) if i else 0.0
        if not dt:
            return self.state(i)
        return interpolate(self.model, self.state(i - 1), self.state(i), dt, (t - float(self.times[i - 1])) / dt)

    def plot(self, *names: str) -> Page:
        """Page of charts over time; ``page.write("run.html")`` writes it.

        Args:
            *names: Any of ``joints``, ``rates``, ``forces``, ``energies``, ``works``, ``momenta``, ``center``,
                ``contacts``; the first four by default.

        Returns:
            Page.
        """
        from . import pages as pictures  # with all of views, which most runs do without

        return pictures.page(self, names or ("joints", "rates", "forces", "energies"))

    def animate(self, *names: str, speed: float = 1.0, shapes: Mapping[str, Sequence[Shape]] | None = None) -> Page:
        """Page with the robot in motion, above the charts of :meth:`plot`.

        Buttons show the center of mass, contact forces and frames.

        Args:
            *names: Charts, as of :meth:`plot`.
            speed: Speed of the animation; 1 is real time.
            shapes: Solids by link or frame; None: the shapes of the file (:func:`fallingcat.visualization.appearance`).

        Returns:
            Page.
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
    ) -> Path:
        """Write a video of the robot in motion (extra ``video``).

        The pictures are those of :meth:`animate`, which also has a button that records.

        Args:
            path: ``.mp4`` or ``.gif`` file.
            speed: Speed of the animation; 1 is real time.
            rate: Pictures a second.
            size: Width and height (pixels).
            shapes: Solids by link or frame; None: the shapes of the file.

        Returns:
            Path of the file.
        """
        from . import pages as pictures

        return pictures.video(self, path, speed, rate, size, shapes)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write time, base, joints, rates, works and contact forces as a table with names and units, atomically.

        Args:
            path: ``.csv`` file.
        """
        tables.save_table(self, path)

    def to_dataframe(self) -> Any:
        """Table of :meth:`to_csv` as a ``pandas.DataFrame``, by time (extra ``data``).

        Returns:
            Table.
        """
        return tables.dataframe(self)

    def _repr_html_(self) -> str:
        """Summary for notebooks."""
        from . import pages as pictures

        return pictures.summary(self)

    def to_xarray(self) -> Any:
        """All time series as an ``xarray.Dataset``, with names and units (extra ``data``).

        Returns:
            Dataset.
        """
        return files.dataset(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, atomically.

        Model and laws are not part of it.

        Args:
            path: NumPy's ``.npz``, or netCDF ``.nc`` with names and units (extra ``data``).
        """
        files.save(self, path)

    system = former_attribute("system", "problem")
    remembered = former_attribute("remembered", "law_memory")

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model, problem: Problem | None = None) -> Trajectory:
        """Read a file that :meth:`save` wrote; nothing in it is executed.

        Args:
            path: ``.npz`` or ``.nc`` file.
            model: The same robot.
            problem: Laws and contacts, which are not in the file, to have forces again; None: without.

        Returns:
            Trajectory.
        """
        return cls(**files.load(path, model, problem))
