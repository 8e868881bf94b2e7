"""From the arguments of an entry point to the problem that is integrated: one way for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._deprecated import former_arguments
from ..contact import Contact
from ..control import Law, SampledController
from ..control import passive as passive_laws
from ..control.laws.compliant_stops import check_stops
from ..errors import ModelError, describe
from ..model import Model, State
from .effort import check_effort
from .problem.arguments import answered, check_signature, controller_forces, controller_size
from .problem.feedback import answers_alike
from .problem.loop_closure import check_closed
from .problem.problem import Controller, Problem, held
from .problem.sampling import Sampling
from .step_size import DEFAULT_STEP


@former_arguments(controller="laws", starts="states")
def build_problem(
    model: Model,
    states: State,
    laws: Controller | Law | SampledController | Sequence[Law | SampledController] | None = None,
    contact: Contact | None = None,
    *,
    dt: float | None = None,
    passive: bool = True,
    driven: bool = False,
) -> Problem:
    """Problem of ``N`` runs.

    Args:
        model: Robot.
        states: States from which they start, with a first axis over the runs.
        laws: A law or several, one of which may be sampled, or a function of time and state.
        contact: Ground or other contact; None: nothing is touched.
        dt: Step (s) for which the model's own joint forces are made; None: default steps.
        passive: Springs, damping, friction, stops and drive limits of the model act.
        driven: True if joint forces are inputs of every step, in place of a controller.

    Returns:
        The checked problem; laws of the caller come first, those of the model last.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> starts = fc.State(*(x[None] for x in arm.neutral()))
        >>> build_problem(arm, starts, fc.control.JointDamper(0.1)).ports[0]
        'joint dampers'
    """
    check_effort(model)
    check_closed(model, *states)
    _check_contact(model, contact)
    step = DEFAULT_STEP if dt is None else dt
    model, contact = (model, None) if contact is None else contact.on_robot(model, step)
    contact = contact and contact.for_robot(model, step)
    given, functions = _listed(laws)
    own = _own_laws(model, step, passive, states.joints, bool(given or functions) or driven)
    own = tuple(law for law in own if contact is None or law.name not in contact.replaces())
    problem = _problem_under_laws(model, given, contact, own)
    sampled = tuple(law for law in given if isinstance(law, SampledController))
    if functions:
        return _under_function(problem, states.at(0), (*functions, *sampled), step)
    if driven:
        return replace(problem, controller=held, external=True)
    return _with_sampled(problem, State(*(x[:1] for x in states)), sampled)


def _listed(laws: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Laws of the caller, and plain functions among them."""
    several = tuple(laws or ()) if laws is None or isinstance(laws, (tuple, list)) else (laws,)
    functions = tuple(x for x in several if callable(x) and not isinstance(x, (Law, SampledController, type)))
    return tuple(x for x in several if not any(x is function for function in functions)), functions


def _own_laws(model: Model, dt: float, wanted: Any, joints: np.ndarray, driven: bool) -> tuple[Law, ...]:
    """Passive joint forces of the model, if they are ``wanted``, and its drive limits, if something is ``driven``.

    They are checked at the coordinates (... x joints) from which runs start.
    """
    if not isinstance(wanted, (bool, np.bool_)):
        raise ModelError(f"passive is True or False, not {describe(wanted)}")
    if not wanted:
        return ()
    check_stops(model, joints)
    laws = passive_laws(model, dt)
    return tuple(law for law in laws if driven or not law.saturates)


def _problem_under_laws(model: Model, laws: tuple[Any, ...], contact: Contact | None, own: tuple[Law, ...]) -> Problem:
    """Problem under laws of the caller, which take the place of the model's own of the same name."""
    names = {getattr(law, "name", None) for law in laws}
    own = tuple(law for law in own if law.name not in names)
    return Problem(model, _checked(model, (*laws, *own)), contact, passive=len(own))


def _under_function(problem: Problem, state: State, functions: tuple[Any, ...], step: float) -> Problem:
    """Problem under a controller that is a function: n or nv numbers, and how stiff it is at the start.

    One with noise or memory is sampled once in each ``step`` (s), in order: steps that are tried, repeated or estimated
    would change what it remembers.
    """
    if len(functions) > 1:
        raise ModelError(f"a run has one function or sampled controller, not {len(functions)}: add them up in one")
    function, model = functions[0], problem.model
    check_signature(function, state)
    said = answered(function, 0.0, state)
    size = controller_size(model, said)
    controller_forces(model, said, size, 0.0)
    if answers_alike(model, function, state, said):
        return replace(problem, controller=function, external=size == model.nv and model.m > 0).linearized(state)
    sampled = SampledController(function, rate=1.0 / step, name=getattr(function, "name", "controller"))
    return _with_sampled(problem, State(*(x[None] for x in state)), (sampled,))


def _check_contact(model: Model, contact: Any) -> None:
    """Refuse an object that is no contact, and one that does not act beside the loops of a model."""
    if contact is None:
        return
    if not isinstance(contact, Contact) or type(contact).__hash__ is None:
        ways = "take one of fc.contact, such as CompliantFloor(), or derive a frozen dataclass from fc.contact.Contact"
        raise ModelError(f"{describe(contact)} is no contact: {ways}")
    if model.loops and not contact.acts_with_loops:
        raise ModelError(f"{model.name!r} has loops, beside which {type(contact).__name__} does not act")


def _with_sampled(problem: Problem, first: State, sampled: tuple[SampledController, ...]) -> Problem:
    """Beside laws, a controller that is sampled, if there is one, first at the start of one run (1 x ...)."""
    if not sampled:
        return problem
    if len(sampled) > 1:
        raise ModelError(f"a run has one sampled controller, not {len(sampled)}: put what they do into one function")
    for law in sampled[0].laws:
        law.check(problem.model)
    sampling = Sampling(problem.model, sampled[0], first, problem.contact)
    external = sampling.size == problem.model.nv and problem.model.m > 0
    return replace(problem, controller=sampling, external=external)


def _checked(model: Model, laws: tuple[Any, ...]) -> tuple[Law, ...]:
    for law in laws:
        if not isinstance(law, (Law, SampledController)):
            if isinstance(law, type) and issubclass(law, Law):
                raise ModelError(f"{law.__name__} is a class of laws: give one of it, {law.__name__}(...)")
            wanted = "a force law, a list of them, or a function of time and state"
            raise ModelError(f"a controller is {wanted}, not {describe(law)}")
    names = [law.name for law in laws]
    if len(set(names)) != len(names):
        raise ModelError(f"two laws have the same name, so their work could not be told apart: {', '.join(names)}")
    checked = tuple(law for law in laws if isinstance(law, Law))
    for law in checked:
        law.check(model)
    sized = tuple(law.sized(model) for law in checked)
    for law in sized:
        law.check_inputs()
    return sized
