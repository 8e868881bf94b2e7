"""What makes the numbers of a finished run doubtful: energy balance, error estimate, contacts, joint limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..contact.base import Mode
from ..contact.rigid.joint_stops import LAW, beyond, joint_stops
from ..control.laws.passive_joints import SUNK
from ..model import Model, State
from .accuracy import REPORTED, TOLERANCE, ErrorEstimate
from .compiled_dynamics import energies
from .late_switching import late_switches, switching
from .loop_closure import OPENED
from .outcome import Diagnostic, Kind
from .output.ledger import ROUNDING, Ledger
from .output.trajectory import Trajectory
from .step_size import RESOLVED, Rebound, at_most, too_fast, too_long, unresolved
from .system import System

MAX_ENERGY_RESIDUAL = 0.01
"""Energy residual above which the energy balance is reported as violated"""
MAX_CONTACT_GAIN = 1e-3
"""Work of contacts that can only take energy, relative to the energy that moved, that is more than drift"""
SPEED_AT_REST = 1e-9
"""m/s: a robot whose parts are no faster on average is at rest, and its energy balance is rounding"""
SAMPLES = 250
"""of a run at which energies are looked at"""
OSCILLATING_STEPS, OSCILLATING_RATE = 40, 1e-2
"""So many steps, half of which or more undo what the step before did to a rate, by so many rad/s or m/s or more, are no
motion of a robot"""
SMALLER_STEPS = "take smaller steps"
COUNTED = {
    "unconverged": (Kind.UNCONVERGED, 0.05, "contact forces of {:.2g} % of the steps did not converge"),
    "coarse": (
        Kind.COARSE_STEP,
        0.0,
        "in {:.2g} % of the steps a joint turns too far, however they are divided",
    ),
}
"""What steps count: kind, largest share of the steps, and words"""


class Account(NamedTuple):
    """Kinetic and potential energy, and the work of all ports so far (J)."""

    kinetic: float
    potential: float
    works: float

    @property
    def unaccounted(self) -> float:
        """J: what no port accounts for."""
        return self.kinetic + self.potential - self.works


def diagnosed(run: Trajectory, dt: float | None, stable: bool) -> tuple[Diagnostic, ...]:
    """All warnings of a run that got to its end.

    Args:
        run: The run.
        dt: Size of its steps (s); None: it chose them.
        stable: Whether steps of its method are never too long for springs.
    """
    return tuple(found for found in _checks(run, dt, stable) if found is not None)


def _checks(run: Trajectory, dt: float | None, stable: bool) -> Iterator[Diagnostic | None]:
    some = np.array(sorted({*np.linspace(0, len(run) - 1, SAMPLES).round().astype(int).tolist()}))  # imports no np.ma
    ledger = Ledger(run.ledger.ports, run.ledger.base[some], run.ledger.joints[some])
    states = (run.poses, run.joints, run.twists, run.rates)
    kinetic, potential = energies(run.model)(*(x[some] for x in states), run.lag)
    most = float(kinetic.max())
    yield _open_loops(run, some)
    if most <= at_rest(run.model):
        return
    yield _contact_energy(run, most, ROUNDING * float(np.abs(potential).max()))
    yield unresolved_laws(run.system, run.ledger.works, dt or 0.0)
    yield _law_energy(run, most)
    yield contact_law(run.system, run.memory[-1])
    if stable and dt is not None:
        yield too_long(Rebound.of(run.system, run.state(0)), dt) if _landed(run.modes) else None
        samples = [(float(run.times[i]), run.state(i)) for i in switching(run.modes)]
        yield late_switches(run.system, samples, float(np.abs(run.rates).max(initial=0.0)), dt)
    resolves = 0.0 if stable or dt is None else dt
    yield energy_balance(ledger.residual(kinetic, potential), run.system, run.state(0), resolves)
    yield step_error(run.error_estimate, dt)
    yield passed_stops(run.system, run.joints)
    yield _oscillation(run, dt) if dt is not None else None


def counted_steps(counts: Mapping[str, Any], steps: int) -> Iterator[Diagnostic]:
    """Steps that a method has counted (one number, or ``N``) as unconverged, or coarse however finely divided.

    >>> [str(found) for found in counted_steps({"unconverged": 80.0, "coarse": 0.0}, 1000)]
    ['contact forces of 8 % of the steps did not converge; take smaller steps']
    """
    for name, (kind, limit, words) in COUNTED.items():
        share = np.atleast_1d(counts.get(name, 0.0)) / max(steps, 1)
        robots = np.flatnonzero(share > limit)
        if len(robots):
            worst, of = float(share[robots].max()), np.ndim(counts[name])
            whose = f"in {len(robots)} of {len(share)} simulations " if of else ""
            message = f"{whose}{words.format(100.0 * worst)}"
            yield Diagnostic(kind, message, worst, limit, SMALLER_STEPS, robots=robots if of else None)


def step_error(error: ErrorEstimate | None, dt: float | None) -> Diagnostic | None:
    """The estimated error, where it is large beside the motion, and steps that would do."""
    if error is None or dt is None or error.relative <= REPORTED:
        return None
    enough = at_most(dt * TOLERANCE / error.relative) if np.isfinite(error.relative) else at_most(0.5 * dt)
    message = f"the estimated error of steps of {dt:g} s is {error}"
    return Diagnostic(Kind.STEP_ERROR, message, error.relative, REPORTED, f"take {enough:g} s")


def _open_loops(run: Trajectory, some: np.ndarray) -> Diagnostic | None:
    """How far loops opened."""
    opened = float(run.loop_errors()[some].max()) if run.model.loops else 0.0
    if opened <= OPENED:
        return None
    return Diagnostic(Kind.LOOP_OPEN, f"loops opened by up to {opened:.2g}", opened, OPENED, SMALLER_STEPS)


def _contact_energy(run: Trajectory, kinetic: float, rounding: float) -> Diagnostic | None:
    """Energy from contacts that can only take it; ``kinetic`` (J) is the most that the robot had."""
    contact = run.system.contact
    if contact is None or not contact.passive:
        return None
    work = run.ledger.works[:, -len(run.system.contact_ports) :].sum(axis=1)
    gain = float((work - np.minimum.accumulate(work)).max())
    limit = rounding + MAX_CONTACT_GAIN * max(kinetic, float(np.ptp(work)))
    if gain <= limit:
        return None
    message = f"contacts gave {gain:.2g} J, which they cannot"
    return Diagnostic(Kind.CONTACT_ENERGY, message, gain, limit, SMALLER_STEPS)


def contact_law(system: System, memory: np.ndarray) -> Diagnostic | None:
    """By how much steps missed the contact law, as the contact finds in what it remembers (..., k)."""
    words = system.contact.end_diagnosis(memory) if system.contact is not None else ""
    message, _, advice = words.partition("; ")
    return Diagnostic(Kind.CONTACT_LAW, message, advice=advice) if words else None


def at_rest(model: Model) -> float:
    """J: the kinetic energy below which a robot is at rest."""
    return 0.5 * model.mass * SPEED_AT_REST**2


def _law_energy(run: Trajectory, kinetic: float) -> Diagnostic | None:
    """Which law gave more than it held and was given; ``kinetic`` (J) is the most that the robot had."""
    limit = MAX_ENERGY_RESIDUAL * kinetic
    for law in run.system.laws:
        lent = law.stored_energy(run.model, run.state(0))
        gave = 0.0 if lent is None else float(run.ledger.work(law.name).max()) - lent
        if gave > limit:
            message = f"{law.name!r} gave {gave:.2g} J, which it cannot"
            return Diagnostic(Kind.LAW_ENERGY, message, gave, limit, SMALLER_STEPS, law.name)
    return None


def passed_stops(system: System, joints: np.ndarray) -> Diagnostic | None:
    """Which joint went, in these coordinates (... x joints), as far beyond a stop as no run may start: light ones do,
    under strong drives.
    """
    if LAW not in (law.name for law in system.laws):
        return None
    stops = joint_stops(system.model)
    far = beyond(system.model, joints, stops, SUNK, "goes")
    if not far:
        return None
    depths = [-float(stop.gap(system.model, joints).min()) for stop in stops]
    worst = int(np.argmax(depths))
    message = f"{far}, whose spring yields to the load"
    advice = "take hard ones, HardContacts(stops=joint_stops(model))"
    return Diagnostic(Kind.JOINT_LIMIT, message, depths[worst], SUNK, advice, stops[worst].joint)


def _oscillation(run: Trajectory, dt: float) -> Diagnostic | None:
    """Which joint goes to and fro with the steps of ``dt`` (s) under a function, as it does where they are too long for
    it, and limits or friction keep that from growing, or in flight under dampers that stop it at once, after a jump of
    laws; where all steps are kept.
    """
    function = run.system.controller is not None and run.system.sampling is None
    every_step = len(run) > OSCILLATING_STEPS + 1 and np.diff(run.times).max() <= 1.5 * dt
    if not (function or run.integrator == "momentum") or not every_step:
        return None
    change = np.diff(run.rates, axis=0)
    sizes = np.minimum(*np.abs([change[1:], change[:-1]]))
    turns = (change[1:] * change[:-1] < 0.0) & (sizes > OSCILLATING_RATE)
    counts = sliding_window_view(turns, OSCILLATING_STEPS, axis=0).sum(axis=-1).max(axis=0, initial=0)
    if counts.max(initial=0) < OSCILLATING_STEPS // 2:
        return None
    worst = int(counts.argmax())
    joint, size = run.model.rate_joints[worst], float(sizes[turns[:, worst], worst].max())
    under = "under the function" if function else "under its dampers"
    advice = f"{SMALLER_STEPS}, or a law" if function else SMALLER_STEPS
    message = f"joint {joint!r} goes to and fro with the steps {under}"
    return Diagnostic(Kind.OSCILLATION, message, size, OSCILLATING_RATE, advice, joint)


def unresolved_laws(system: System, works: np.ndarray, dt: float) -> Diagnostic | None:
    """Which law that does not always act moved something, by its works (... x ports, J), faster than steps of ``dt``
    (s) resolve.
    """
    for law in system.laws:
        rate = law.fastest_rate(system.model)
        if rate * dt > 2.0 * RESOLVED and law.name in system.ports and works[..., system.ports.index(law.name)].any():
            message, advice = unresolved(f"{law.name!r} moves links", rate, dt)
            return Diagnostic(Kind.UNRESOLVED_RATE, message, rate, 2.0 * RESOLVED / dt, advice, law.name)
    return None


def _landed(modes: Sequence[Mode]) -> bool:
    """Whether a robot that touched nothing came to touch something; not one that was put on the ground."""
    air = [not any(mode) for mode in modes]
    return any(first and second and not third for first, second, third in zip(air, air[1:], air[2:], strict=False))


def energy_balance(
    residual: float, system: System, start: State, dt: float, of: str = "the energy balance is"
) -> Diagnostic | None:
    """An energy residual that is too large, and what would help.

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> print(energy_balance(0.2, System(cat), cat.neutral(), 1e-3))
    the energy balance is violated: energy residual 0.2; take smaller steps
    """
    if residual <= MAX_ENERGY_RESIDUAL:
        return None
    advice = too_fast(system, start, dt) or SMALLER_STEPS
    message = f"{of} violated: energy residual {residual:.2g}"
    return Diagnostic(Kind.ENERGY_BALANCE, message, residual, MAX_ENERGY_RESIDUAL, advice)
