"""Laws of contacts: modes that fit together, forces that compile, energy that balances."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..contact import Contact
from ..contact.capabilities import HybridModes, LinearizedForces, offers
from ..control import Law
from ..formulations import UnprovedError
from ..model import Model, State
from ..simulation import Trajectory, simulate
from ..simulation.problem.compiled_dynamics import touch
from .laws import plain_data
from .report import Report, Requirement, largest, of_type, relative_difference, require_complete


def check_contact(
    contact: Contact,
    model: Model,
    state: State,
    duration: float = 0.5,
    laws: Law | Sequence[Law] | None = None,
) -> Report:
    """Check the laws of contacts in a run.

    The run uses the integrator that the contact gets by default.

    Args:
        contact: Contact.
        model: Robot, which has to touch within ``duration``.
        state: Start of the run.
        duration: Duration (s).
        laws: Force laws; None: none.

    Returns:
        Table of residuals.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> import fallingcat as fc
        >>> ball = fc.robots.free_body()
        >>> above = np.eye(4)
        >>> above[2, 3] = 0.05
        >>> floor = fc.contact.CompliantFloor(("body",), stiffness=(1e4, 1e4), damping=(50.0, 50.0), friction=0.5)
        >>> print(check_contact(floor, ball, ball.state(pose=above, twist=[0.3, 0.0, 0.0, 1.0, 2.0, 3.0])))
        contact CompliantFloor: passed
          plain data      ...  holds        hashable, equal to its copy
          touches         ...  holds        something touches in the run
          begin           ...  holds        a start is in the mode that its guards allow
          points          ...  holds        what touches is a link or frame of the model
          forces          ...  holds        nv finite numbers by port; none in the air
          guards          ...  holds        not negative while a mode lasts
          compiled        ...  holds        machine code gives the same numbers
          energy balance  ...  holds        work through its ports = energy of the robot
          implicit steps  ...  holds        shorter implicit steps are nearer to the motion
    """
    of_type(contact, Contact, "contact must be a Contact")
    subject = f"contact {type(contact).__name__}"
    with COMPILED.name_errors(subject):
        run = simulate(model, state, duration, laws, contact)
    laws_of_runs = (law.check_cases(subject, [(contact, run)]) for law in OF_RUNS)
    checks = chain([PLAIN_DATA.check_cases(subject, [(contact,)])], laws_of_runs)
    if offers(contact, LinearizedForces):
        checks = chain(checks, (IMPLICIT.check_cases(subject, [(contact, run, laws)]) for _ in range(1)))
    return Report.of(subject, checks)


def _touch_residual(contact: Contact, run: Trajectory) -> float:
    if not any(run.touching):
        raise UnprovedError("nothing touched: give a start from which something does")
    return 0.0


def _begin(contact: Contact, run: Trajectory) -> float:
    state, mode, memory = run.state(0), run.modes[0], run.memory[0]
    begun, remembered = contact.begin(run.model, state)
    if (begun, len(remembered)) != (mode, len(memory)):
        return np.inf
    guards = _ends(contact, run.model, mode, state, memory, np.zeros(run.model.nv))
    return float(-guards.min(initial=0.0))


def _points(contact: Contact, run: Trajectory) -> float:
    between_bodies = {name for pair in contact.pairs for name in pair.names}
    for point in frozenset().union(*run.touching) - between_bodies:
        run.model.frame(point)
    return 0.0


def _forces(contact: Contact, run: Trajectory) -> float:
    for i in _samples(run):
        state, mode, memory = run.state(i), run.modes[i], run.memory[i]
        forces = contact.forces(run.model, mode, state, memory, _law_forces(run, i))
        known = set(forces) <= set(contact.ports)
        shapes = all(np.shape(F) == (run.model.nv,) and np.isfinite(F).all() for F in forces.values())
        in_the_air = not contact.touching(mode) and any(np.any(F) for F in forces.values())
        if not known or not shapes or in_the_air:
            return np.inf
    return 0.0


def _guards(contact: Contact, run: Trajectory) -> float:
    """Violation of guards between two samples of one mode, relative to the largest of the guards."""
    worst = 0.0
    for i in _samples(run):
        if i > 0 and run.modes[i] == run.modes[i - 1]:
            values = _guards_at(contact, run, i)
            worst = largest(worst, -values.min(initial=0.0) / max(1.0, float(np.abs(values).max(initial=0.0))))
    return worst


def _guards_at(contact: Contact, run: Trajectory, i: int) -> np.ndarray:
    applied = _law_forces(run, i)
    return _ends(contact, run.model, run.modes[i], run.state(i), run.memory[i], applied)


def _ends(contact: Any, *asked: Any) -> np.ndarray:
    """Guards, of a contact that has some."""
    return np.asarray(contact.guards(*asked) if offers(contact, HybridModes) else np.zeros(0), dtype=float)


def _compiled_residual(contact: Contact, run: Trajectory) -> float:
    worst = 0.0
    for i in _samples(run):
        model, mode, state, memory, applied = run.model, run.modes[i], run.state(i), run.memory[i], _law_forces(run, i)
        found = touch(model, contact, mode, len(memory))(state, memory, applied)
        forces = contact.forces(model, mode, state, memory, applied)
        pairs: list[tuple[Any, Any]] = [(found.forces.get(port, np.zeros(model.nv)), F) for port, F in forces.items()]
        pairs.append((found.memory_rate, contact.memory_rate(model, mode, state, memory, applied)))
        pairs.append((found.guards, _guards_at(contact, run, i)))
        worst = largest(worst, *(relative_difference(a, b) for a, b in pairs))
    return worst


def _energy_balance(contact: Contact, run: Trajectory) -> float:
    return require_complete(run).energy_residual


def _implicit(contact: Contact, run: Trajectory, laws: Law | Sequence[Law] | None) -> float:
    """Error of implicit steps a quarter as long, relative to the error of longer ones, until soon after touchdown."""
    touches = run.times[[bool(names) for names in run.touching]]
    if not len(touches):
        raise UnprovedError("nothing touched: give a start from which something does")
    until, start = min(float(run.times[-1]), float(touches[0]) + FOLLOWED_TIME), run.state(0)
    exact = require_complete(simulate(run.model, start, until, laws, contact, integrator="rosenbrock")).state(-1)
    errors = []
    for dt in (STEP, 0.25 * STEP):
        found = require_complete(simulate(run.model, start, until, laws, contact, integrator="implicit", dt=dt)).state(
            -1
        )
        errors.append(max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(found[:2], exact[:2], strict=True)))
    return errors[1] / max(errors[0], ROUNDING_ERROR)


def _samples(run: Trajectory) -> list[int]:
    """Some samples of every mode."""
    chosen = []
    for mode in dict.fromkeys(run.modes):
        here = [i for i, other in enumerate(run.modes) if other == mode]
        chosen += here[:: max(1, len(here) // 20)]
    return chosen


def _law_forces(run: Trajectory, i: int) -> np.ndarray:
    """Forces (nv) of the laws at a sample."""
    problem = run.problem
    return np.asarray(problem.total(problem.applied(run.modes[i], run.times[i], run.state(i))), dtype=float)


PLAIN_DATA = Requirement("plain data", "hashable, equal to its copy", 0.0, plain_data)
COMPILED = Requirement("compiled", "machine code gives the same numbers", 1e-11, _compiled_residual)
IMPLICIT = Requirement("implicit steps", "shorter implicit steps are nearer to the motion", 0.6, _implicit)
STEP, FOLLOWED_TIME = 5e-4, 0.05
"""s: of implicit steps, and how long after the first touchdown they are followed"""
ROUNDING_ERROR = 1e-8
"""m or rad: errors that need not become smaller"""
OF_RUNS = (
    Requirement("touches", "something touches in the run", 0.0, _touch_residual),
    Requirement("begin", "a start is in the mode that its guards allow", 1e-9, _begin),
    Requirement("points", "what touches is a link or frame of the model", 0.0, _points),
    Requirement("forces", "nv finite numbers by port; none in the air", 0.0, _forces),
    Requirement("guards", "not negative while a mode lasts", 1e-9, _guards),
    COMPILED,
    Requirement("energy balance", "work through its ports = energy of the robot", 1e-6, _energy_balance),
)
"""Laws of a contact and a run with it."""
