"""Simulation of one robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._deprecated import former_arguments
from ..arrays import numbers_only
from ..contact import Contact
from ..control import Law, SampledController
from ..dynamics.checks import check_model
from ..errors import ModelError, describe
from ..model import Model, State
from ..progress import report_progress
from .build_problem import build_problem
from .defaults import chosen_method
from .diagnostics.sensitivity import changed
from .effort import warn_of_oscillations
from .events import Event, checked_events
from .integrators.base import Integrator
from .output.trajectory import Trajectory
from .problem.arguments import check_concrete, countable, seconds, start, whole
from .problem.problem import Controller
from .runner.run import Run
from .runner.runner import refined
from .step_size import DEFAULT_STEP


@numbers_only("it steps until something happens, and compiles its own steps")
@former_arguments(controller="laws")
def simulate(
    model: Model,
    state: State,
    duration: float,
    laws: Controller | Law | SampledController | Sequence[Law | SampledController] | None = None,
    contact: Contact | None = None,
    *,
    integrator: str | Integrator | None = None,
    dt: float | None = None,
    every: int = 1,
    events: Event | Sequence[Event] = (),
    progress: Callable[[float], None] | bool | None = None,
    passive: bool = True,
) -> Trajectory:
    """Simulate the motion of a robot.

    Springs, damping, dry friction and limits of joints, effort and speed limits of drives of the model act, as
    :func:`fallingcat.control.laws.passive_joints` makes them into laws.  Loops stay closed, from a start that is closed
    (:func:`fallingcat.constraints.assemble`).

    The default integrator is that of :func:`fallingcat.simulation.default_method`, the same for all entry points (table
    in ``guides/choosing_an_integrator``): momentum-exact in free flight, ``implicit`` on compliant floors, ``moreau``
    on hard contacts, methods that locate events for single bodies and planar hoppers on one point, an implicit method
    for joints that are too stiff for steps, else RKMK4.

    Runs of fixed steps carry an :attr:`~.Trajectory.error_estimate`, those under a function if it answers the same
    question in the same way (it is asked again for that after the run). A run whose estimated error is above 5 % of the
    motion, or whose energy balance is violated by more than 1 %, reports it in its ``status``, with steps that would
    do; one whose end no default steps make certain is called sensitive. A number that is not finite, a step that cannot
    be taken or contacts that switch without end stop the run: the trajectory so far is returned with a ``status`` that
    says what happened, when, and where. Ctrl-C raises :class:`~fallingcat.errors.Interrupted`, a ``KeyboardInterrupt``
    whose ``result`` is the trajectory so far. Errors of user functions (controller, events, progress) are raised as
    they are, with a ``result`` of the same kind.

    Args:
        model: Robot.
        state: Initial state.
        duration: Duration (s).
        laws: Force law of :mod:`fallingcat.control` or several (then whole steps are compiled), or, alone or among
            them, a function of time and state that returns joint forces (n; N m or N), or of base and joints (nv);
            :class:`fallingcat.control.SampledController` evaluates either at a rate, with a latency; None: none.
        contact: Contact of the robot; None: none.
        integrator: Name or integrator; None: the default.
        dt: Step size (s), for integrators with step size control the largest one; None: 1 ms, or less where springs or
            the estimated error (2 % of the motion) need it.  In flights with dry friction, which are momentum-exact,
            steps that do not resolve dampers are divided.
        every: Keep every ``every``-th step, of those that were halved only the whole ones.
        events: Event or events, located to 1e-10 s, which may end the run.
        progress: False or True for a progress bar never or always, or a function of the share that is done; None: a bar
            in a terminal or a notebook for runs of more than a second.
        passive: Add the passive joint forces of the model.

    Returns:
        Time series of the run, with events, energy ledger and status.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> flight = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.05)
        >>> flight.status, len(flight)
        ('finished', 51)
    """
    check_concrete(state, duration, laws, dt)
    duration, every = seconds(duration, "duration", zero=True), whole(every, "every")
    dt = None if dt is None else seconds(dt, "dt")
    countable(duration, DEFAULT_STEP if dt is None else dt)
    check_model(model)
    state = start(model, state)
    one = State(*(x[None] for x in state))
    problem = build_problem(model, one, laws, contact, dt=dt, passive=passive)
    method = chosen_method(problem, state, integrator, dt)
    problem = method.resolved(problem, dt)
    warn_of_oscillations(problem, method, state, duration)
    happens = checked_events(events)
    if not (callable(progress) or progress is None or isinstance(progress, bool)):
        raise ModelError(f"progress is True, False or a function of the share that is done, not {describe(progress)}")

    def run(tell: Callable[[float], None] | None) -> Trajectory:
        """Steps of ``dt``, or, if none is given, of so many times less than the default as its error asks."""

        def each(finer: int, change: float) -> Trajectory:
            about = problem, method, changed(model, state, change), duration, dt
            return Run(*about, every * 2**finer, happens, tell, finer=finer).result()

        asked_again = problem.controller is None or problem.feedback is not None  # others may remember the first run
        return refined(model, each, dt is None and asked_again)

    if callable(progress):
        return run(progress)
    advice = "" if problem.compilable else "compile the functions that its controller calls, or give force laws"
    with report_progress(f"simulating {model.name!r}", progress, advice) as tell:
        return run(tell)
