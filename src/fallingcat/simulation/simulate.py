"""Rolling a robot out in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import numbers_only
from ..contact import Contact
from ..control import Law, Sampled
from ..control import passive as passive_laws
from ..control.passive import check_stops
from ..dynamics.checks import check_model, choice
from ..errors import ModelError, told
from ..model import Model, State
from ..progress import telling
from .accuracy import halvings
from .adaptive import SciPy
from .arguments import answered, controller_forces, controller_size, countable, seconds, start, whole
from .closed import check_closed
from .effort import check_effort
from .events import Event, checked_events
from .implicit import Implicit, suits_implicit
from .implicit_step import law_that_grips
from .integrator import Integrator
from .located import Located
from .momentum import MomentumRungeKutta, default_in_flight, flies, momentum_method
from .moreau import Moreau, suits_moreau
from .rkmk4 import RKMK4
from .rosenbrock import Rosenbrock
from .rule import SMALL
from .run import Run
from .sampling import Sampling
from .semi_implicit import SemiImplicitEuler
from .stiffness import (
    DEFAULT_STEP,
    RESOLVED,
    STABLE,
    STIFF_STEP,
    SWINGS_AT_MOST,
    default_step,
    fastest,
    stable_step,
    stiff,
    swinging,
    unforeseen,
)
from .system import Controller, System
from .trajectory import Trajectory

INTEGRATORS: dict[str, Integrator] = {
    i.name: i
    for i in (
        MomentumRungeKutta(),
        RKMK4(),
        SemiImplicitEuler(),
        Implicit(),
        Moreau(),
        Rosenbrock(),
        Located(),
        SciPy(),
    )
}

LARGE = 30
"""Degrees of freedom from which on default steps under stiff laws do not estimate their error: it would take minutes"""
STAGES = 4
"""How often a step of RKMK4 asks a function."""


@numbers_only("it steps until something happens, and compiles its own steps")
def simulate(
    model: Model,
    state: State,
    duration: float,
    controller: Controller | Law | Sampled | Sequence[Law | Sampled] | None = None,
    contact: Contact | None = None,
    *,
    integrator: str | Integrator | None = None,
    dt: float | None = None,
    every: int = 1,
    events: Sequence[Event] = (),
    progress: Callable[[float], None] | bool | None = None,
    passive: bool = True,
) -> Trajectory:
    """The motion of a robot from ``state`` over ``duration`` (s).

    ``controller`` is a force law of :mod:`fallingcat.control` or several (then whole steps are compiled), or any
    function of time and state that gives joint forces (n; N m or N), or forces on base and joints (nv);
    :class:`fallingcat.control.Sampled` asks either at a rate, with a latency.  ``contact`` is what the robot touches.
    Integrators with a step of their own choice take steps of at most ``dt`` (s); the others take steps of ``dt``, by
    default 1 ms, or less where springs or the estimated error (2 % of the motion) ask for it.  Every ``every``-th step
    is kept, of those that were halved only the whole ones.  ``events`` are located to 1e-10 s
    and may end the run.  A run of more than a second shows a bar in a terminal or a notebook; ``progress`` is False or
    True for never or always, or a function of the share that is done.

    What the model holds acts: springs, damping, dry friction and stops of joints, effort and speed limits of drives, as
    :func:`fallingcat.control.passive` makes them into laws; ``passive=False`` leaves them out.  Loops stay closed, from
    a start that is (:func:`fallingcat.loops.assemble`).

    By default: a momentum-exact method in free flight, ``implicit`` (no modes) on compliant floors, ``moreau`` (order
    1, no modes) on hard contacts of more than 40 points times degrees of freedom or beside loops (``rkmk4`` locates
    their events), the Rosenbrock method for a single body or a planar hopper on one point of a compliant floor, where
    laws switch with one or two points that touch it, on other contacts and for joints that are too stiff for steps
    (``implicit`` under a function, and for large robots), else RKMK4.  Dry friction so large that joints would be seen
    to creep under it in other steps takes ``implicit`` or ``moreau``, which hold them; so do momentum-exact steps.  How
    stiff a function is, differences of its answers at the start say: see :mod:`.feedback`.

    Runs of fixed steps under laws carry an :attr:`~.Trajectory.error_estimate`.  A run whose estimated error is above
    5 % of the motion, or whose energy balance is violated by more than 1 %, says so in its ``status``, with steps that
    would do.  A number that is not finite, a step that cannot be taken or contacts that switch without end stop the
    run: the trajectory so far is returned with ``status`` saying what happened, when, and
    where.  Ctrl-C raises :class:`~fallingcat.errors.Interrupted`, a ``KeyboardInterrupt`` whose ``result`` is the
    trajectory so far.  What functions of yours raise (controller, events, progress) goes on as it is, with a
    ``result`` of the same kind.

    >>> import fallingcat as fc
    >>> cat = fc.robots.two_cylinder_cat()
    >>> flight = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.05)
    >>> flight.status, len(flight)
    ('finished', 51)
    """
    duration, every = seconds(duration, "duration", zero=True), whole(every, "every")
    dt = None if dt is None else seconds(dt, "dt")
    countable(duration, DEFAULT_STEP if dt is None else dt)
    check_model(model)
    state = start(model, state)
    check_closed(model, *(x[None] for x in state))
    own = own_laws(model, dt, passive, state.joints, controller)
    system = system_of(model, state, controller, contact, own).linearized(state)
    method = method_of(system, state, integrator, dt)
    if method.tolerance is not None:  # steps resolve what acts, and dt is but the longest
        resolved = own_laws(model, None, passive, state.joints, controller)
        system = replace(system, laws=exchanged(system.laws, own, resolved))
    happens = checked_events(events)
    if not (callable(progress) or progress is None or isinstance(progress, bool)):
        raise ModelError(f"progress is True, False or a function of the share that is done, not {told(progress)}")
    if callable(progress):
        return _run(system, method, state, duration, dt, every, happens, progress)
    with telling(f"simulating {model.name!r}", progress) as tell:
        return _run(system, method, state, duration, dt, every, happens, tell)


def _run(
    system: System,
    method: Integrator,
    state: State,
    duration: float,
    dt: float | None,
    every: int,
    events: tuple[Event, ...],
    progress: Callable[[float], None] | None,
) -> Trajectory:
    """A run in steps of ``dt`` (s), or, if none are given, of so many times less than the default as its error asks."""
    run = Run(system, method, state, duration, dt, every, events, progress)
    found = run.trajectory()
    ended = found.status.startswith(("finished", "stopped by the event"))
    finer = halvings(found.error_estimate) if dt is None and ended else 0
    if not finer:
        return found
    return Run(system, method, state, duration, run.largest / 2**finer, every * 2**finer, events, progress).trajectory()


def own_laws(model: Model, dt: float | None, wanted: Any, joints: np.ndarray, controller: Any) -> tuple[Law, ...]:
    """What the robot's joints do by themselves, if it is ``wanted``, from these coordinates (... x joints) on, and what
    limits take from the ``controller``, if there is one.
    """
    if not isinstance(wanted, (bool, np.bool_)):
        raise ModelError(f"passive is True or False, not {told(wanted)}")
    if not wanted:
        return ()
    check_stops(model, joints)
    laws = passive_laws(model, DEFAULT_STEP if dt is None else dt)
    return tuple(law for law in laws if controller or not law.answers)


def exchanged(laws: tuple[Law, ...], these: tuple[Law, ...], those: tuple[Law, ...]) -> tuple[Law, ...]:
    """Laws of which ``these`` themselves, not others that are equal, are ``those``."""
    instead = {id(a): b for a, b in zip(these, those, strict=True)}
    return tuple(instead.get(id(law), law) for law in laws)


def system_of(
    model: Model, state: State, controller: Any, contact: Contact | None, own: tuple[Law, ...] = ()
) -> System:
    """The controller's kind found out: laws, or a function that gives n or nv numbers; beside the robot's ``own``."""
    check_effort(model)
    _check_contact(model, contact)
    own = tuple(law for law in own if contact is None or law.name not in contact.replaces())
    alone = isinstance(controller, (Law, Sampled)) or (isinstance(controller, type) and issubclass(controller, Law))
    laws = (controller,) if alone else controller
    if laws is None or isinstance(laws, (tuple, list)):
        given = {getattr(law, "name", None) for law in laws or ()}  # a law of yours takes the place of one of these
        own = tuple(law for law in own if law.name not in given)
        sampled = [law for law in laws or () if isinstance(law, Sampled)]
        system = System(model, _checked(model, (*(laws or ()), *own)), contact)
        return _with_sampled(system, state, sampled) if sampled else system
    if not callable(laws):
        raise ModelError(f"a controller is a law, several, or a function of time and state, not {laws!r}")
    said = answered(laws, 0.0, state)
    size = controller_size(model, said)
    controller_forces(model, said, size, 0.0)
    return System(model, own, contact, laws, external=size == model.nv and model.m > 0)


def _check_contact(model: Model, contact: Any) -> None:
    """Refuses what is no contact, and one that does not act beside the loops of a model."""
    if contact is None:
        return
    if not isinstance(contact, Contact) or type(contact).__hash__ is None:
        raise ModelError(f"{contact!r} is no contact: derive it from fc.contact.Contact, as a frozen dataclass")
    if model.loops and not contact.beside_loops:
        raise ModelError(f"{model.name!r} has loops, beside which {type(contact).__name__} does not act")


def _with_sampled(system: System, state: State, sampled: list[Sampled]) -> System:
    """Beside laws, a controller that is sampled."""
    if len(sampled) > 1:
        raise ModelError(f"a run has one sampled controller, not {len(sampled)}: put what they do into one function")
    for law in sampled[0].laws:
        law.check(system.model)
    sampling = Sampling(system.model, sampled[0], state, system.contact)
    external = sampling.size == system.model.nv and system.model.m > 0
    return replace(system, controller=sampling, external=external)


def _checked(model: Model, laws: tuple[Any, ...]) -> tuple[Law, ...]:
    for law in laws:
        if not isinstance(law, (Law, Sampled)):
            if isinstance(law, type) and issubclass(law, Law):
                raise ModelError(f"{law.__name__} is a class of laws: give one of it, {law.__name__}(...)")
            raise ModelError(f"{law!r} is no force law: give laws, or one function of time and state")
    names = [law.name for law in laws]
    if len(set(names)) != len(names):
        raise ModelError(f"two laws have the same name, so their work could not be told apart: {', '.join(names)}")
    checked = tuple(law for law in laws if isinstance(law, Law))
    for law in checked:
        law.check(model)
    return checked


def method_of(system: System, state: State, wanted: str | Integrator | None, dt: float | None) -> Integrator:
    """The wanted integrator, or the one that suits the system, in steps of ``dt`` (s) if that is given."""
    if isinstance(wanted, Integrator):
        return wanted
    if wanted is not None:
        return _named(system, state, wanted, dt)
    flight = default_in_flight(system, state, dt)
    if flight is not None and law_that_grips(system) is not None:
        return flight
    if suits_implicit(system):
        return INTEGRATORS["implicit"]
    if suits_moreau(system, alone=True):
        return INTEGRATORS["moreau"]
    if system.contact is not None and system.contact.stiff:
        return INTEGRATORS["rosenbrock"]
    if _asks(system) and flight is not None:  # whose passes find the forces of a function, however stiff
        return flight
    if dt is None and system.sampling is None and stiff(system, state):  # held forces jump: nothing is followed at once
        found = flight or _takes_long_steps(system, state, dt)
        if found is not None:
            return found
    fast = fastest(system, state) * (STIFF_STEP if dt is None else dt)
    if fast > STABLE:
        long = None if flight is not None else _takes_long_steps(system, state, dt)
        return long or INTEGRATORS["rosenbrock"]
    return flight if flight is not None and (dt is None or fast <= RESOLVED) else INTEGRATORS["rkmk4"]


def _named(system: System, state: State, name: Any, dt: float | None) -> Integrator:
    """The integrator of this name, as it suits the system."""
    method = INTEGRATORS[choice(name, tuple(INTEGRATORS), "integrator")]
    return momentum_method(system, state, dt) if name == MomentumRungeKutta.name else method


def _asks(system: System) -> bool:
    """Whether a function is asked within steps."""
    return system.controller is not None and system.sampling is None


def _takes_long_steps(system: System, state: State, dt: float | None) -> Integrator | None:
    """Which integrator takes steps of ``dt`` (s), or of its own, that do not resolve springs and dampers:
    ``rosenbrock``, which knows its error; or ``implicit``, under functions, which may jump and shake, as it asks once a
    step, and for large robots, where it is a hundred times faster.  None for functions that are asked less often in
    short steps of RKMK4.
    """
    function = _asks(system)
    suits = system.contact is None and not any(system.sizes) and not system.model.loops and not flies(system)
    if not suits or not (function or system.model.nv > (LARGE if dt is None else SMALL)):
        return INTEGRATORS["rosenbrock"]
    if dt is None:
        follows = stable_step(system, state) >= STAGES * default_step(system, state)
    else:
        slow = SWINGS_AT_MOST / dt
        follows = unforeseen(system, state) * dt <= RESOLVED and swinging(system, state, slow) <= slow
    if follows:
        return INTEGRATORS["implicit"]
    return None if function else INTEGRATORS["rosenbrock"]
