"""Default integrators: one order of preference, the same for every entry point.

The table is in ``guides/choosing_an_integrator``.  A driver takes the first method of :func:`preferred` that it can
run: :func:`fallingcat.simulate` and :func:`fallingcat.rollout` run all of them, what is stepped from outside
(:class:`.Simulator`, :class:`.BatchSimulator`, environments) those of fixed steps in one code
(:func:`takes_fixed_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..arrays import is_numeric
from ..constraints.loop_closure import MAX_LOOP_GAP, MIN_SINGULAR_VALUE, equations
from ..contact.capabilities import AdmissibleImpulses, HybridModes, LinearizedForces, offers
from ..dynamics.checks import choice
from ..errors import ModelError
from ..model import Model, State
from .diagnostics.late_switching import asking
from .integrators.base import FixedStepIntegrator, Integrator
from .integrators.compiled_rule import smooth
from .integrators.event_located import MAX_POINTS, EventLocator
from .integrators.implicit.integrator import Implicit
from .integrators.implicit.step import dry_friction_law
from .integrators.joint_friction import creeps
from .integrators.momentum.integrator import MomentumMidpoint, MomentumRungeKutta
from .integrators.momentum.integrator import check as check_flight
from .integrators.moreau.integrator import Moreau
from .integrators.rkmk4 import RKMK4
from .integrators.rosenbrock import Rosenbrock
from .integrators.rule import MAX_DIFFERENTIATED_NV, Rule
from .integrators.scipy_methods import SciPy
from .integrators.semi_implicit import SemiImplicitEuler
from .problem.problem import Problem, held
from .step_size import (
    MAX_EXPLICIT_PHASE,
    MAX_RESOLVED_PHASE,
    MAX_SWING_PHASE,
    STIFF_STEP,
    default_step,
    resolved_by,
    stable_step,
    stiff,
    swinging,
    unforeseen,
)

INTEGRATORS: dict[str, Integrator] = {
    i.name: i
    for i in (
        MomentumRungeKutta(),
        RKMK4(),
        SemiImplicitEuler(),
        Implicit(),
        Moreau(),
        Rosenbrock(),
        EventLocator(),
        SciPy(),
    )
}
MAX_LOCATED_SIZE = 6
"""Contact points times degrees of freedom up to which events are located: single bodies, planar hoppers on a point"""
MIN_UNLOCATED_POINTS = 3
"""Contact points from which on events of laws that ask what touches are too many to be located one by one"""
MAX_FLIGHT_HALVINGS = 6
"""Halvings of given steps of a flight with dry friction: dampers that ask for more are left to ``implicit``"""
MIN_IMPLICIT_NV = 30
"""Degrees of freedom from which on fixed steps are taken under stiff laws: ``rosenbrock`` takes minutes"""


def default_method(
    problem: Problem, state: State, dt: float | None, runs: Callable[[Integrator], bool] = lambda method: True
) -> Integrator:
    """First method of :func:`preferred` that a driver ``runs``, or ``implicit``, which names what it does not take.

    Args:
        problem: Problem.
        state: Start of the run, or of the first of many runs.
        dt: Step (s) of the caller; None: the method's default.
        runs: Condition that the driver can run a method.

    Returns:
        Integrator.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> default_method(Problem(cat), cat.neutral(), None).name
        'momentum'
    """
    return next(filter(runs, preferred(problem, state, dt)), Implicit())


def chosen_method(problem: Problem, state: State, wanted: str | Integrator | None, dt: float | None) -> Integrator:
    """The integrator that the caller names, or the default."""
    if isinstance(wanted, Integrator):
        return wanted
    if wanted is None:
        return default_method(problem, state, dt)
    method = INTEGRATORS[choice(wanted, tuple(INTEGRATORS), "integrator")]
    return momentum_method(problem, state, dt) if wanted == MomentumRungeKutta.name else method


def preferred(problem: Problem, state: State, dt: float | None) -> Iterator[Integrator]:
    """Methods that suit a problem, the best first."""
    return _without_contact(problem, state, dt) if problem.contact is None else _on_contact(problem)


def _on_contact(problem: Problem) -> Iterator[Integrator]:
    """Located events where there are few, time stepping where there are many."""
    contact = problem.contact
    assert contact is not None
    sticks = creeps(problem.laws, problem.model) and not problem.model.loops
    few = len(getattr(contact, "points", ())) * problem.model.nv <= MAX_LOCATED_SIZE
    few = few and not contact.unlocated_reason(problem.model)
    if offers(contact, LinearizedForces):
        switches = len(contact.points) < MIN_UNLOCATED_POINTS and bool(asking(problem, 0.0, problem.model.neutral()))
        if not sticks and (few or switches):
            yield Rosenbrock()
        yield Implicit()
    if offers(contact, AdmissibleImpulses):
        if not sticks and few and offers(contact, HybridModes):
            yield RKMK4()
        yield Moreau()
    yield Rosenbrock() if contact.stiff else RKMK4()


def _without_contact(problem: Problem, state: State, dt: float | None) -> Iterator[Integrator]:
    """Momentum-exact in flight; else RKMK4 where steps resolve the forces, and implicit methods where they do not."""
    flight = _flight_method(problem, state, dt)
    if flight is not None and (dry_friction_law(problem) is not None or asks_function(problem)):
        yield flight
    if creeps(problem.laws, problem.model) and not problem.model.loops:  # Coulomb's law itself
        yield Implicit()
    if (
        dt is None and problem.sampling is None and stiff(problem, state)
    ):  # held forces jump: nothing is followed at once
        yield from _long_steps(problem, state, dt) if flight is None else (flight,)
    explicit = resolved_by(problem, state, STIFF_STEP if dt is None else dt, MAX_EXPLICIT_PHASE)
    if not explicit:
        if flight is None:
            yield from _long_steps(problem, state, dt)
        elif dt is not None and problem.model.nv > MAX_DIFFERENTIATED_NV and _follows_swings(problem, state, dt):
            yield flight
        yield Rosenbrock()
    if flight is not None:
        yield flight
    if explicit:
        yield RKMK4()
    yield Implicit()


def _long_steps(problem: Problem, state: State, dt: float | None) -> Iterator[Integrator]:
    """Methods for steps of ``dt`` (s), or default ones, that do not resolve springs and dampers.

    ``rosenbrock`` knows its error.  ``implicit`` asks functions, which may jump and shake, once a step, and is a
    hundred times faster for large robots.  None for functions that are asked less often in short steps of RKMK4.
    """
    function = asks_function(problem)
    suits = not any(problem.sizes) and not problem.model.loops and not flies(problem)
    if not suits or not (function or problem.model.nv > (MIN_IMPLICIT_NV if dt is None else MAX_DIFFERENTIATED_NV)):
        yield Rosenbrock()
        return
    if dt is None:
        follows = stable_step(problem, state) >= 4 * default_step(problem, state)  # in which RKMK4 asks four times
    else:
        follows = unforeseen(problem, state) * dt <= MAX_RESOLVED_PHASE and _follows_swings(problem, state, dt)
    if follows:
        yield Implicit()
    elif not function:
        yield Rosenbrock()


def _follows_swings(problem: Problem, state: State, dt: float) -> bool:
    """True if implicit steps of ``dt`` (s) follow what swings, or, as errors are estimated, robots are large."""
    slow = MAX_SWING_PHASE / dt
    return problem.model.nv > MIN_IMPLICIT_NV or swinging(problem, state, slow) <= slow


def asks_function(problem: Problem) -> bool:
    """True if a function of the caller is evaluated within steps."""
    return problem.controller is not None and problem.sampling is None and problem.controller is not held


# flight ---------------------------------------------------------------------------------------------------------------


def momentum_method(problem: Problem, state: State, dt: float | None) -> MomentumRungeKutta | MomentumMidpoint:
    """The momentum-exact method that suits a flight from ``state`` in steps of ``dt`` (s), by default ones if None.

    Runge-Kutta of order 5, unless only the midpoint rule follows the forces: loops, functions, whose stiffness is not
    known, and dampers that the steps do not resolve.  Dry friction takes Runge-Kutta, whose joints stick and slide, in
    steps that are divided until they resolve dampers.
    """
    if problem.model.loops:
        return MomentumMidpoint()
    if dry_friction_law(problem) is not None:
        return MomentumRungeKutta(max(1, _divisions(problem, state, dt)))
    if dt is None:  # under sampled forces, which jump, default steps resolve dampers
        unresolved = problem.sampling is None and stiff(problem, state)
    else:
        # 1e-6: a step that was computed from this bound resolves
        unresolved = not resolved_by(problem, state, dt, MAX_RESOLVED_PHASE * (1.0 + 1e-6))
    return MomentumMidpoint() if asks_function(problem) or unresolved else MomentumRungeKutta()


def _flight_method(problem: Problem, state: State, dt: float | None) -> MomentumRungeKutta | MomentumMidpoint | None:
    """:func:`momentum_method`; None for what does not fly, and dry friction beside dampers too strong for its steps."""
    if not flies(problem) or rounded_loops(problem.model, state):
        return None
    slow = dry_friction_law(problem) is None or _divisions(problem, state, dt) > 0
    method = momentum_method(problem, state, dt)
    remembers = isinstance(method, MomentumRungeKutta) or not any(problem.sizes)
    return method if slow and remembers else None


def _divisions(problem: Problem, state: State, dt: float | None) -> int:
    """Parts of a step of ``dt`` (s) in which a flight with dry friction resolves its dampers; 0: they are too strong.

    Default steps are not divided, nor those of joints without friction, and else as often as the method can.
    """
    if dt is None:
        return int(resolved_by(problem, state, STIFF_STEP, MAX_EXPLICIT_PHASE))
    law = dry_friction_law(problem)
    most = MAX_FLIGHT_HALVINGS if law is not None and np.any(law.dry_friction(problem.model)) else 0
    for method in (MomentumRungeKutta(2**k) for k in range(most + 1)):
        if resolved_by(method.resolved(problem, dt), state, dt / method.divisions, MAX_EXPLICIT_PHASE):
            return method.divisions
    return 0


def rounded_loops(model: Model, state: State) -> bool:
    """True if redundant loops are open by the rounding of a file: the midpoint rule closes to that of numbers."""
    if not model.loops or not is_numeric(state.joints):
        return False
    error, J, _ = equations(model, state)
    left = error - J @ np.linalg.lstsq(J, error, rcond=MIN_SINGULAR_VALUE)[0]
    return float(np.abs(left).max()) > MAX_LOOP_GAP


def flies(problem: Problem) -> bool:
    """True if the momentum-exact methods take a problem."""
    remembers = dry_friction_law(problem) is None and not asks_function(problem) and not problem.model.loops
    try:
        check_flight(problem, remembers)
    except ModelError:
        return False
    return True


# one code for many robots ---------------------------------------------------------------------------------------------


def one_code(method: Integrator, problem: Problem) -> FixedStepIntegrator | None:
    """The method as one code for all modes and many robots; None where single runs have to locate its events."""
    found = smooth(method, problem)
    if isinstance(found, FixedStepIntegrator):
        return found
    if not isinstance(method, Rule) or any(problem.sizes):
        return None
    if method.differentiates and problem.model.nv > MAX_DIFFERENTIATED_NV:
        return None
    floor = problem.contact
    few = floor is None or (offers(floor, LinearizedForces) and len(floor.points) <= MAX_POINTS)
    return EventLocator(method) if few else None


def takes_fixed_steps(method: Integrator, problem: Problem) -> bool:
    """True if a method steps many robots in one code, all in steps of the same size."""
    found = one_code(method, problem)
    return found is not None and found.tolerance is None and not isinstance(found, EventLocator)
