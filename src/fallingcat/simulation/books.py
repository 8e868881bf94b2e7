"""Whether the books of a run balance: what its status says when it got to its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..contact.contact import Mode
from ..contact.stops import beyond, joint_stops
from ..control.passive import SUNK, JointStops
from ..model import Model, State
from .accuracy import REPORTED, TOLERANCE
from .closed import OPENED
from .compiled import energies
from .ledger import ROUNDING, Ledger
from .stiffness import RESOLVED, Rebound, at_most, too_fast, too_long, unresolved
from .switching import late_switches, switching
from .system import System
from .trajectory import Trajectory

UNBALANCED = 0.01
"""The energy residual from which on a run is not called finished without more words."""
GIVEN = 1e-3
"""Work of contacts that can only take energy, relative to what moved, that is no longer drift and rounding."""
AT_REST = 1e-9
"""m/s: a robot whose parts are no faster on average is at rest, and what its books say is rounding."""
LOOKED_AT = 250
SHAKES, SHAKEN = 40, 1e-2
"""So many steps, half of which or more turn around what the step before did to a rate, by so many rad/s or m/s or more,
are no motion of a robot."""


class Account(NamedTuple):
    """Kinetic and potential energy, and the work of all ports so far (J)."""

    kinetic: float
    potential: float
    works: float

    @property
    def unaccounted(self) -> float:
        """J: what no port accounts for."""
        return self.kinetic + self.potential - self.works


def books(run: Trajectory, dt: float | None, stable: bool) -> str:
    """The status of a finished run: the first remark on it, if there is one.  ``dt`` is the size of its steps (s), None
    where it chose them; those of a ``stable`` method are not too long for springs.
    """
    return next((f"finished, but {remark}" for remark in _remarks(run, dt, stable) if remark), "finished")


def _remarks(run: Trajectory, dt: float | None, stable: bool) -> Iterator[str]:
    """What may be wrong with a run, each question in its turn; nothing is said where it is not.  Energies are looked at
    at a few hundred samples.
    """
    some = np.array(sorted({*np.linspace(0, len(run) - 1, LOOKED_AT).round().astype(int).tolist()}))  # imports no np.ma
    ledger = Ledger(run.ledger.ports, run.ledger.base[some], run.ledger.joints[some])
    states = (run.poses, run.joints, run.twists, run.rates)
    kinetic, potential = energies(run.model)(*(x[some] for x in states), run.lag)
    most = float(kinetic.max())
    yield _opened(run, some)
    if most <= at_rest(run.model):
        return
    yield _gained(run, most, ROUNDING * float(np.abs(potential).max()))
    yield hurried(run.system, run.ledger.works, dt or 0.0)
    yield _overdone(run, most)
    yield _missed(run)
    lands = stable and dt is not None and _landed(run.modes)
    yield too_long(Rebound.of(run.system, run.state(0)), dt or 0.0) if lands else ""
    yield _switched(run, dt) if stable and dt is not None else ""
    resolves = 0.0 if stable or dt is None else dt
    yield unbalanced(ledger.residual(kinetic, potential), run.system, run.state(0), resolves)
    yield _inaccurate(run, dt)
    yield passed(run.system, run.joints)
    yield _shaken(run, dt) if dt is not None else ""


def _inaccurate(run: Trajectory, dt: float | None) -> str:
    """The estimated error, where it is large beside the motion, and steps that would do."""
    error = run.error_estimate
    if error is None or dt is None or error.relative <= REPORTED:
        return ""
    enough = at_most(dt * TOLERANCE / error.relative) if np.isfinite(error.relative) else at_most(0.5 * dt)
    return f"the estimated error of steps of {dt:g} s is {error}; take {enough:g} s"


def _opened(run: Trajectory, some: np.ndarray) -> str:
    """How far loops opened."""
    opened = float(run.loop_errors()[some].max()) if run.model.loops else 0.0
    return f"loops opened by up to {opened:.2g}; take smaller steps" if opened > OPENED else ""


def _gained(run: Trajectory, kinetic: float, rounding: float) -> str:
    """What contacts gave that can only take energy; ``kinetic`` (J) is the most that the robot had."""
    contact = run.system.contact
    if contact is None or not contact.passive:
        return ""
    work = run.ledger.works[:, -len(run.system.contact_ports) :].sum(axis=1)
    gain = float((work - np.minimum.accumulate(work)).max())
    if gain <= rounding + GIVEN * max(kinetic, float(np.ptp(work))):
        return ""
    return f"contacts gave {gain:.2g} J, which they cannot; take smaller steps"


def _missed(run: Trajectory) -> str:
    """What a contact says that its steps did not meet."""
    contact = run.system.contact
    return contact.told(run.memory[-1]) if contact is not None else ""


def _switched(run: Trajectory, dt: float) -> str:
    """Which laws switched late where points touch."""
    samples = [(float(run.times[i]), run.state(i)) for i in switching(run.modes)]
    return late_switches(run.system, samples, float(np.abs(run.rates).max(initial=0.0)), dt)


def at_rest(model: Model) -> float:
    """J: the kinetic energy below which a robot is at rest."""
    return 0.5 * model.mass * AT_REST**2


def _overdone(run: Trajectory, kinetic: float) -> str:
    """Which law gave more than it held and was given; ``kinetic`` (J) is the most that the robot had."""
    for law in run.system.laws:
        lent = law.holds(run.model, run.state(0))
        gave = 0.0 if lent is None else float(run.ledger.work(law.name).max()) - lent
        if gave > UNBALANCED * kinetic:
            return f"{law.name!r} gave {gave:.2g} J, which it cannot; take smaller steps"
    return ""


def passed(system: System, joints: np.ndarray) -> str:
    """Which joint went, in these coordinates (... x joints), as far beyond a stop as no run may start: light ones do,
    under strong drives.
    """
    if not any(isinstance(law, JointStops) for law in system.laws):
        return ""
    far = beyond(system.model, joints, joint_stops(system.model), SUNK, "goes")
    hard = "take hard ones, HardContacts(stops=joint_stops(model))"
    return f"{far}, whose spring gives way to what pulls; {hard}" if far else ""


def _shaken(run: Trajectory, dt: float) -> str:
    """Which joint goes to and fro with the steps of ``dt`` (s) under a function, as it does where they are too long for
    it, and limits or friction keep that from growing, or in flight under dampers that stop it at once, after a jump of
    laws; where all steps are kept.
    """
    function = run.system.controller is not None and run.system.sampling is None
    if not (function or run.integrator == "momentum") or len(run) <= SHAKES + 1 or np.diff(run.times).max() > 1.5 * dt:
        return ""
    change = np.diff(run.rates, axis=0)
    turns = (change[1:] * change[:-1] < 0.0) & (np.minimum(*np.abs([change[1:], change[:-1]])) > SHAKEN)
    shaken = (sliding_window_view(turns, SHAKES, axis=0).sum(axis=-1) >= SHAKES // 2).any(axis=0)
    if not shaken.any():
        return ""
    joint = run.model.rate_joints[int(shaken.argmax())]
    why = "under the function: take smaller steps, or a law" if function else "under its dampers: take smaller steps"
    return f"joint {joint!r} goes to and fro with the steps {why}"


def hurried(system: System, works: np.ndarray, dt: float) -> str:
    """Which law that acts now and then moved something, by its works (... x ports, J), faster than steps of ``dt`` (s)
    resolve; nothing where that is not so.
    """
    for law in system.laws:
        rate = law.fastest(system.model)
        if rate * dt > 2.0 * RESOLVED and law.name in system.ports and works[..., system.ports.index(law.name)].any():
            return unresolved(f"{law.name!r} moves links", rate, dt)
    return ""


def _landed(modes: Sequence[Mode]) -> bool:
    """Whether a robot that touched nothing came to touch something; not one that was put on the ground."""
    air = [not any(mode) for mode in modes]
    return any(first and second and not third for first, second, third in zip(air, air[1:], air[2:], strict=False))


def unbalanced(residual: float, system: System, start: State, dt: float, of: str = "the books") -> str:
    """What is wrong with an energy residual, and what to do about it; nothing where it is small.

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> unbalanced(0.2, System(cat), cat.neutral(), 1e-3)
    'the books do not balance: energy residual 0.2; take smaller steps'
    """
    if residual <= UNBALANCED:
        return ""
    why = too_fast(system, start, dt) or "take smaller steps"
    return f"{of} do not balance: energy residual {residual:.2g}; {why}"
