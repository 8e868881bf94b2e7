"""Diagnostics of runs: energy balance, error estimate, contacts, joint limits.

One robot or many: every check reads ``K`` samples of ``N`` robots, and warns of the worst one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...contact.capabilities import LinearizedForces, offers
from ...contact.rigid.joint_stops import LAW, beyond, joint_stops
from ...control.laws.passive_joints import MAX_START_DEPTH
from ...dynamics import mass_matrix
from ...dynamics.forward import check_mass
from ...errors import NumericsError
from ...model import Model, State
from ..outcome import Diagnostic, DiagnosticKind
from ..problem.loop_closure import MAX_OPENING, loop_errors
from ..problem.robot_parameters import CARRIED_INERTIA, total_masses
from ..step_size import MAX_REBOUND_ERROR, MAX_RESOLVED_PHASE, Rebound, at_most, too_fast, too_long, unresolved
from .accuracy import MAX_DEFAULT_ERROR, MAX_ERROR
from .ground_passage import passed_ground
from .late_switching import asking, late_switches, thinned
from .ledger import ROUNDING
from .motion import SMALLER_STEPS, Motion

MAX_ENERGY_RESIDUAL = 0.01
"""Energy residual above which the energy balance is reported as violated"""
MAX_CONTACT_GAIN = 1e-3
"""Work of contacts that can only take energy, relative to the energy that moved, that is more than drift"""
SPEED_AT_REST = 1e-9
"""m/s: a robot whose parts are no faster on average is at rest, and its energy balance is rounding"""
OSCILLATING_STEPS, OSCILLATING_RATE = 40, 1e-2
"""Number of steps, and change of a rate (rad/s or m/s): where half of the steps undo the change of the step before, by
more than this, the integration oscillates"""
MIN_SHAKEN_RATE = 0.1
"""The same of samples of a controller, and half of the largest rate of the joint: noise changes rates less"""
MAX_DIVISION = 64
"""Parts of a step that are advised at most: errors above twice the motion do not say which steps would do"""
STEP_COUNTS = {
    "unconverged": (DiagnosticKind.UNCONVERGED, 0.05, "contact forces of {:.2g} % of the steps did not converge"),
    "coarse": (
        DiagnosticKind.COARSE_STEP,
        0.0,
        "in {:.2g} % of the steps a joint turns too far, however they are divided",
    ),
}
"""Counts of steps: kind, largest share of the steps, and words"""


class Account(NamedTuple):
    """Kinetic and potential energy, and the work of all ports so far (J)."""

    kinetic: float
    potential: float
    works: float

    @property
    def unaccounted(self) -> float:
        """J: what no port accounts for."""
        return self.kinetic + self.potential - self.works


def diagnosed(motion: Motion) -> tuple[Diagnostic, ...]:
    """All warnings."""
    with np.errstate(invalid="ignore", over="ignore"):
        return tuple(found for found in _checks(motion) if found is not None)


def _checks(run: Motion) -> Iterator[Diagnostic | None]:
    yield from _early_ends(run)
    yield _not_finite(run)
    yield _open_loops(run)
    kinetic, potential = run.energies
    most = np.where(run.finite, kinetic.max(axis=0), 0.0)
    moved = most > at_rest(run.problem.model)
    if moved.any():
        yield _contact_energy(run, most, moved, ROUNDING * np.abs(potential).max(axis=0))
        yield _unresolved_laws(run)
        yield _law_energy(run, most, moved)
        yield _contact_law(run)
        yield from _landings(run)
        yield _energy_balance(run, moved)
        yield _step_error(run)
        yield _stop_violation(run)
        yield passed_ground(run)
        yield _oscillation(run)
    yield from _counted_steps(run)
    yield _nominal_stiffness(run)


def _early_ends(run: Motion) -> Iterator[Diagnostic]:
    """Robots of a batch that stopped early: the first of them says why."""
    for kind, why in run.stopped.items():
        robots = np.array(sorted(why), dtype=int)
        message = f"{len(robots)} of {run.count} simulations stopped, the first {why[int(robots[0])]}"
        yield Diagnostic(kind, message, robots=robots)


def _not_finite(run: Motion) -> Diagnostic | None:
    if run.finite.all():
        return None
    stopped = [robot for why in run.stopped.values() for robot in why]
    begun = np.isfinite(run.series.states[0][0]).all(axis=(1, 2))  # others were not simulated before an interrupt
    robots = np.array(
        [robot for robot in np.flatnonzero(~run.finite & begun).tolist() if robot not in stopped], dtype=int
    )
    if not len(robots):
        return None
    start = run.start(int(robots[0]))
    advice = _singular(run.problem.model, start) or too_fast(run.problem, start, run.resolves) or SMALLER_STEPS
    return run.about(Diagnostic(DiagnosticKind.NOT_FINITE, "the motion is no longer finite", advice=advice), robots)


def _singular(model: Model, start: State) -> str:
    """Joint without inertia, if that is why numbers are not finite."""
    try:
        check_mass(model, np.asarray(mass_matrix(model, start), dtype=float))
    except NumericsError as error:
        return str(error)
    return ""


def _counted_steps(run: Motion) -> Iterator[Diagnostic | None]:
    """Steps that a method has counted as unconverged, or coarse however finely divided."""
    for name, (kind, limit, words) in STEP_COUNTS.items():
        if not np.any(run.counts.get(name, 0.0)):
            continue
        share = np.atleast_1d(run.counts[name]) / max(run.steps, 1)
        worst = words.format(100.0 * np.nan_to_num(share).max())
        yield run.above(kind, share, limit, lambda i, worst=worst: worst)  # type: ignore[misc]


def _step_error(run: Motion) -> Diagnostic | None:
    """Estimated errors that are large beside the motion, and steps that would do."""
    if run.errors is None or run.dt is None:
        return None
    each, dt, sound = run.errors.each, run.dt, run.finite[run.estimated]
    relative = np.where(sound, [error.relative for error in each], 0.0)
    robots, worst = np.flatnonzero(relative > MAX_ERROR), int(relative.argmax())
    if not len(robots):
        return None
    largest = float(relative[worst])
    enough = at_most(dt * MAX_DEFAULT_ERROR / largest) if np.isfinite(largest) else at_most(0.5 * dt)
    advice = f"take {enough:g} s" if enough > dt / MAX_DIVISION else "take far smaller steps"
    message = f"the estimated error of steps of {dt:g} s is {each[worst]}"
    found = Diagnostic(DiagnosticKind.STEP_ERROR, message, largest, MAX_ERROR, advice)
    if not run.many:
        return found
    message = f"in {len(robots)} of {len(each)} simulations that were repeated {message}"
    return replace(found, message=message, robots=run.estimated[robots])


def _open_loops(run: Motion) -> Diagnostic | None:
    """Largest opening of the loops."""
    if not run.problem.model.loops:
        return None
    states = [x[run._energy_samples] for x in run.series.states]
    lead = states[0].shape[:2]
    flat = (x.reshape(lead[0] * lead[1], *x.shape[2:]) for x in states)
    opened = np.where(run.finite, loop_errors(run.problem.model, *flat).reshape(lead).max(axis=0), 0.0)
    return run.above(DiagnosticKind.LOOP_OPEN, opened, MAX_OPENING, lambda i: f"loops opened by up to {opened[i]:.2g}")


def _contact_energy(run: Motion, kinetic: np.ndarray, moved: np.ndarray, rounding: np.ndarray) -> Diagnostic | None:
    """Energy from contacts that can only take it; ``kinetic`` (N, J) is the most that robots had.

    Where feet and stops of joints are hit in one step, each works along the mean velocity, which follows from both:
    only their sum can have no sign but one.  So what passive joints take between two samples is not given by contacts.
    """
    contact, problem = run.problem.contact, run.problem
    if contact is None or not contact.passive or not problem.ledger:
        return None
    work = run.works[:, :, -len(problem.contact_ports) :].sum(axis=2)
    joints = [problem.ports.index(law.name) for law in problem.laws if not law.commanded]
    gains, taken = np.diff(work, axis=0), np.minimum(np.diff(run.works[:, :, joints].sum(axis=2), axis=0), 0.0)
    given = np.where(gains > 0.0, np.maximum(gains + taken, 0.0), gains)
    work = np.concatenate([work[:1], work[:1] + np.cumsum(given, axis=0)])
    gain = np.where(moved, (work - np.minimum.accumulate(work)).max(axis=0), 0.0)
    limit = rounding + MAX_CONTACT_GAIN * np.maximum(kinetic, np.ptp(work, axis=0))
    return run.above(
        DiagnosticKind.CONTACT_ENERGY, gain, limit, lambda i: f"contacts gave {gain[i]:.2g} J, which they cannot"
    )


def _contact_law(run: Motion) -> Diagnostic | None:
    """Error of steps against the contact law, as the contact finds it in its memory."""
    sound = run.series.memory[-1][run.finite]
    words = run.problem.contact.end_diagnosis(sound) if run.problem.contact is not None and len(sound) else ""
    message, _, advice = words.partition("; ")
    return Diagnostic(DiagnosticKind.CONTACT_LAW, message, advice=advice) if words else None


def at_rest(model: Model) -> float:
    """J: the kinetic energy below which a robot is at rest."""
    return 0.5 * model.mass * SPEED_AT_REST**2


def _law_energy(run: Motion, kinetic: np.ndarray, moved: np.ndarray) -> Diagnostic | None:
    """Law that released more energy than it stored and received; ``kinetic`` (N, J) is the most that robots had."""
    limit = MAX_ENERGY_RESIDUAL * kinetic
    for law in run.problem.laws if run.problem.ledger else ():
        given = np.where(moved, run.works[:, :, run.problem.ports.index(law.name)].max(axis=0), 0.0)
        if not (given > limit).any():
            continue
        gave = np.zeros(run.count)
        for i in thinned(np.flatnonzero(given > limit)).tolist():
            lent = law.stored_energy(run.problem.model, run.start(i))
            gave[i] = 0.0 if lent is None else given[i] - lent
        words = lambda i, law=law, gave=gave: f"{law.name!r} gave {gave[i]:.2g} J, which it cannot"  # noqa: E731
        found = run.above(DiagnosticKind.LAW_ENERGY, gave, limit, words, name=law.name)
        if found is not None:
            return found
    return None


def _stop_violation(run: Motion) -> Diagnostic | None:
    """Joint that went as far beyond a stop as no run may start: light ones do, under strong drives."""
    model, joints = run.problem.model, run.series.states[1][:, run.finite]
    if LAW not in (law.name for law in run.problem.laws) or not joints.size:
        return None
    stops = joint_stops(model)
    far = beyond(model, joints, stops, MAX_START_DEPTH, "goes")
    if not far:
        return None
    depths = -np.array([np.min(stop.gap(model, joints), axis=0) for stop in stops])
    worst, robots = int(depths.max(axis=1).argmax()), np.flatnonzero(run.finite)[depths.max(axis=0) > MAX_START_DEPTH]
    advice = "take hard ones, HardContacts(stops=joint_stops(model))"
    about = (float(depths.max()), MAX_START_DEPTH, advice, stops[worst].joint)
    return run.about(Diagnostic(DiagnosticKind.JOINT_LIMIT, f"{far}, whose spring yields to the load", *about), robots)


def _oscillation(run: Motion) -> Diagnostic | None:
    """Joint that goes to and fro with the steps, where all of them are kept, or with the samples of its controller.

    It does so under a function for which steps are too long, where limits or friction keep that from growing, or in
    flight under dampers that stop it at once, after a jump of laws; and under a sampled controller with gains that are
    too high for its rate, where errors of steps, however small, add up.
    """
    sampling = run.problem.sampling
    function = run.problem.controller is not None and sampling is None
    if not (function or sampling is not None or run.method.name == "momentum"):
        return None
    rows = run.rows_of_steps if sampling is None else run.rows_of_samples(sampling.sampled)
    rates, seen = run.series.states[3][rows], np.arange(run.count)
    if not len(rows) and run.sampled_rates is not None:
        rates, seen = run.sampled_rates, run.estimated
    if len(rates) <= OSCILLATING_STEPS + 1:
        return None
    limit = OSCILLATING_RATE if sampling is None else np.maximum(MIN_SHAKEN_RATE, 0.5 * np.abs(rates).max(axis=0))
    change = np.diff(rates, axis=0)
    sizes = np.minimum(*np.abs([change[1:], change[:-1]]))
    turns = (change[1:] * change[:-1] < 0.0) & (sizes > limit)
    sums = np.cumsum(np.concatenate([np.zeros((1, *turns.shape[1:]), dtype=int), turns]), axis=0)
    counts = (sums[OSCILLATING_STEPS:] - sums[:-OSCILLATING_STEPS]).max(axis=0, initial=0)
    robots = seen[counts.max(axis=1, initial=0) >= OSCILLATING_STEPS // 2]
    if not len(robots):
        return None
    worst, which = np.unravel_index(counts.argmax(), counts.shape)
    size, joint = float(sizes[turns[:, worst, which], worst, which].max()), run.problem.model.rate_joints[int(which)]
    under, advice = "steps under its dampers", SMALLER_STEPS
    if function:
        under, advice = "steps under the function", f"{SMALLER_STEPS}, or a law"
    elif sampling is not None:
        under, advice = "samples of the controller", "take lower gains, or sample faster: SampledController(f, rate)"
    message, least = f"joint {joint!r} goes to and fro with the {under}", float(np.min(limit))
    return run.about(Diagnostic(DiagnosticKind.OSCILLATION, message, size, least, advice, joint), robots)


def _unresolved_laws(run: Motion) -> Diagnostic | None:
    """Law that does not always act and moved something faster than steps resolve."""
    dt, ports = run.dt or 0.0, run.problem.ports
    for law in run.problem.laws:
        rate = law.fastest_rate(run.problem.model)
        acted = law.name in ports and (run.works[:, :, ports.index(law.name)] != 0.0).any(axis=0) & run.finite
        if rate * dt > 2.0 * MAX_RESOLVED_PHASE and np.any(acted):
            message, advice = unresolved(f"{law.name!r} moves links", rate, dt)
            about = (rate, 2.0 * MAX_RESOLVED_PHASE / dt, advice, law.name)
            return run.about(Diagnostic(DiagnosticKind.UNRESOLVED_RATE, message, *about), np.flatnonzero(acted))
    return None


def _landings(run: Motion) -> Iterator[Diagnostic | None]:
    """Rebounds in too long steps of robots that landed, and laws that switched late."""
    dt = run.dt
    if dt is None or not run.method.stable or not offers(run.problem.contact, LinearizedForces):
        return
    if run.many or _landed_robots(run).any():  # modes of many samples take longer than the rebound
        yield _rebounds(run, dt)
    if not run.many or asking(run.problem, 0.0, run.start(0)):
        yield _late_switches(run, dt)


def _rebounds(run: Motion, dt: float) -> Diagnostic | None:
    floor, own = run.problem.contact, (None, None)
    if run.parameters is not None:
        own = total_masses(run.parameters, run.problem.model, floor)  # type: ignore[arg-type, assignment]
    rebound = Rebound.of(run.problem, run.start(0), *own)
    long = np.broadcast_to(False if rebound is None else rebound.off(dt) > MAX_REBOUND_ERROR, run.count)
    robots = np.flatnonzero(long & _landed_robots(run)) if long.any() else np.zeros(0, dtype=int)
    if rebound is None or not len(robots):
        return None
    m, gives = (np.broadcast_to(x, run.count)[robots] for x in (rebound.m, rebound.gives))
    return run.about(too_long(rebound._replace(m=m, gives=gives), dt), robots)


def _landed_robots(run: Motion) -> np.ndarray:
    """``N``: who was in the air before the floor did work; one that is put on the ground may hover for a step."""
    flies = run.air.copy()
    if run.every_step:
        flies[1:] &= run.air[:-1]
        flies[0] = False
    return np.asarray((flies & (run.pushed != run.pushed[-1])).any(axis=0))


def _late_switches(run: Motion, dt: float) -> Diagnostic | None:
    """Laws that switched late, by some samples that touch; where all steps are kept, by those beside the air."""
    air, marked = run.air, ~run.air
    if run.every_step:
        none = np.zeros_like(air[:1])
        marked &= np.append(none, air[:-1], axis=0) | np.append(air[1:], none, axis=0)
    elif air.all():  # and no sample of those that landed is kept that touches
        marked = np.broadcast_to(run.pushed[-1] != 0.0, air.shape)
    places = thinned(np.argwhere(marked & run.finite))
    if not len(places) or not asking(run.problem, float(run.times[places[0, 0]]), run.at(*places[0])):
        return None
    samples = [(float(run.times[k]), run.at(k, i), run.series.memory[k, i]) for k, i in places]
    robots = np.array(sorted({*places[:, 1].tolist()}), dtype=int)  # np.unique imports np.ma
    fastest = float(np.abs(run.series.states[3][:, robots]).max(initial=0.0))
    return run.about(late_switches(run.problem, samples, fastest, dt), robots)


def _energy_balance(run: Motion, moved: np.ndarray) -> Diagnostic | None:
    """Energy residuals that are too large, and what would help."""
    residual = np.where(moved, run.residual, 0.0)
    if not (residual > MAX_ENERGY_RESIDUAL).any():
        return None
    advice = too_fast(run.problem, run.start(int(residual.argmax())), run.resolves) or SMALLER_STEPS
    words = lambda i: f"the energy balance is violated: energy residual {residual[i]:.2g}"  # noqa: E731
    return run.above(DiagnosticKind.ENERGY_BALANCE, residual, MAX_ENERGY_RESIDUAL, words, advice)


def _nominal_stiffness(run: Motion) -> Diagnostic | None:
    """Warning of a law that is made for the inertias of the model, and acted on robots with inertias of their own."""
    made = [law.name for law in run.problem.laws if law.nominal_inertia]
    if not made or run.parameters is None or CARRIED_INERTIA not in run.parameters.names or not run.problem.ports:
        return None
    robots = np.flatnonzero(run.works[:, :, run.problem.ports.index(made[0])].any(axis=0))
    if not len(robots):
        return None
    message = f"{made[0]} acted, as stiff as that of {run.problem.model.name!r} itself"
    return run.about(Diagnostic(DiagnosticKind.NOMINAL_STIFFNESS, message, name=made[0]), robots)
