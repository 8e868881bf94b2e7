"""Whether the books of a run balance: what its status says when it got to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..contact.contact import Mode
from ..contact.stops import beyond, joint_stops
from ..control.passive import SUNK, JointStops
from ..model import Model, State
from .closed import OPENED
from .compiled import energies
from .ledger import ROUNDING, Ledger
from .stiffness import RESOLVED, rebounding_step, too_fast, unresolved
from .system import System
from .trajectory import Trajectory

UNBALANCED = 0.01
"""The energy residual from which on a run is not called finished without more words."""
GIVEN = 1e-3
"""Work of contacts that can only take energy, relative to what moved, that is no longer drift and rounding."""
AT_REST = 1e-9
"""m/s: a robot whose parts are no faster on average is at rest, and what its books say is rounding."""
LOOKED_AT = 250


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
    """The status of a finished run: whether its energy is accounted for, at a few hundred of its samples, whether what
    can only take energy gave some, and whether a ``stable`` rule swallowed a rebound.  ``dt`` is the size of its steps
    (s), None where it chose them.
    """
    some = np.unique(np.linspace(0, len(run) - 1, LOOKED_AT).round().astype(int))
    ledger = Ledger(run.ledger.ports, run.ledger.base[some], run.ledger.joints[some])
    states = (run.poses, run.joints, run.twists, run.rates)
    kinetic, potential = energies(run.model)(*(x[some] for x in states), run.lag)
    opened = float(run.loop_errors()[some].max()) if run.model.loops else 0.0
    if opened > OPENED:
        return f"finished, but loops opened by up to {opened:.2g}; take smaller steps"
    if float(kinetic.max()) <= at_rest(run.model):
        return "finished"
    contact = run.system.contact
    if contact is not None and contact.passive:
        work = run.ledger.works[:, -len(run.system.contact_ports) :].sum(axis=1)
        gain = float((work - np.minimum.accumulate(work)).max())
        rounding = ROUNDING * float(np.abs(potential).max())
        if gain > rounding + GIVEN * max(float(kinetic.max()), float(np.ptp(work))):
            return f"finished, but contacts gave {gain:.2g} J, which they cannot; take smaller steps"
    overdone = hurried(run.system, run.ledger.works, dt or 0.0) or _overdone(run, float(kinetic.max()))
    if overdone:
        return f"finished, but {overdone}"
    missed = contact.told(run.memory[-1]) if contact is not None else ""
    if missed:
        return f"finished, but {missed}; take smaller steps"
    springs = contact is not None and contact.impedance(run.model, run.state(0)) is not None
    if springs and stable and dt is not None and _landed(run.modes):
        enough = rebounding_step(run.system, run.state(0))
        if dt > enough * (1.0 + 1e-9):
            return f"finished, but steps of {dt:g} s damp the rebound from this floor; take at most {enough:g} s"
    resolves = 0.0 if stable or dt is None else dt
    said = verdict(ledger.residual(kinetic, potential), run.system, run.state(0), resolves)
    passed = _passed(run) if said == "finished" else ""
    return f"finished, but {passed}" if passed else said


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


def _passed(run: Trajectory) -> str:
    """Which joint went as far beyond a stop as no run may start: light ones do, under strong drives."""
    if not any(isinstance(law, JointStops) for law in run.system.laws):
        return ""
    far = beyond(run.model, run.joints, joint_stops(run.model), SUNK, "goes")
    return (
        f"{far}, whose spring gives way to what pulls; take hard ones, HardContacts(stops=joint_stops(model))"
        if far
        else ""
    )


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


def verdict(residual: float, system: System, start: State, dt: float, of: str = "the books") -> str:
    """``finished``, or what is wrong with an energy residual, and what to do about it.

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> verdict(0.2, System(cat), cat.neutral(), 1e-3)
    'finished, but the books do not balance: energy residual 0.2; take smaller steps'
    """
    if residual <= UNBALANCED:
        return "finished"
    why = too_fast(system, start, dt) or "take smaller steps"
    return f"finished, but {of} do not balance: energy residual {residual:.2g}; {why}"
