"""One step of a simulation on flat vectors, written for every kind of number: what :class:`.Step` compiles."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ...arrays import arctan2, array, concatenate, cos, less, sin, where
from ...control import Law
from ...lie import Group
from ...model import Model, State
from ..problem.problem import Problem, held
from ..problem.vector_field import Layout, layout_of


class Next(NamedTuple):
    """Flat vectors after a step."""

    q_next: Any
    """``nq``: base coordinates, then joints; quaternions and angles are those nearest to the ones before"""
    v_next: Any
    """``nv``: body-fixed twist of the base, then joint rates"""


class NextInContact(NamedTuple):
    """Flat vectors after a step of a robot whose contact or laws have a state of their own."""

    q_next: Any
    v_next: Any
    memory_next: Any
    """see :meth:`Step.begin`"""


def simulation_step(
    model: Model,
    q: Any,
    v: Any,
    memory: Any = None,
    forces: Any = None,
    inputs: Any = None,
    t: Any = 0.0,
    *,
    example: Any = None,
    **options: Any,
) -> Next | NextInContact:
    """Flat vectors ``q, v``, and memory if there is one, a step later."""
    state = state_of(model, q, v)
    found = simulation_step_of_state(model, state, memory, forces, inputs, t, **options)
    after, *full_memory = (found,) if memory is None else found
    nearest = _nearest(model, q, concatenate([model.base.coordinates(after.pose), after.joints]))
    return Next(nearest, after.velocity) if memory is None else NextInContact(nearest, after.velocity, *full_memory)


def state_of(model: Model, q: Any, v: Any) -> State:
    """State of flat vectors, whose quaternion may have any length."""
    joints, m = model.base.nq, model.m
    return State(model.base.element(q[:joints]), q[joints:], v[:m], v[m:])


def simulation_step_of_state(
    model: Model,
    state: State,
    memory: Any = None,
    forces: Any = None,
    inputs: Any = None,
    t: Any = 0.0,
    *,
    code: Callable[..., Any],
    **options: Any,
) -> Any:
    """A state, and memory if there is one, a step later: where ``code``, a :attr:`.CompiledStepper.code`, leads."""
    layout, about, how = packed_arguments(model, state, memory, forces, inputs, t, **options)
    out = code(model, *about, **how)
    packed = out[len(about[0]) - layout.size :]
    after, full_memory, _ = layout.unpack(packed)
    return after if memory is None else (after, concatenate([full_memory, layout.carried_of(packed)]))


def packed_arguments(
    model: Model,
    state: State,
    memory: Any,
    forces: Any,
    inputs: Any,
    t: Any,
    *,
    head: Callable[..., Any],
    dt: float,
    numbers: tuple[float, ...],
    places: tuple[int, ...],
    size: int,
    carried: int,
    laws: tuple[Law, ...],
    contact: Any,
    **how: Any,
) -> tuple[Layout, tuple[Any, Any, Any, Any], dict[str, Any]]:
    """Layout of packed states; arguments ``(x, clock, numbers, forces)`` and options of :attr:`.CompiledStepper.code`.

    Args:
        model: Robot.
        state: State before the step.
        memory: Memory of contact and laws, then what the method carries; None: there is none.
        forces: Joint forces (n); None: the step takes none.
        inputs: Numbers of laws, robot and floor that are arguments; None: there are none.
        t: Time (s).
        head: Function ``(model, t, dt, state)`` of the numbers before a packed state.
        dt: Step (s).
        numbers: All numbers of laws, robot and floor.
        places: Indices among them of the ``inputs``.
        size: Size of the memory of contact and laws.
        carried: Numbers that the method carries.
        laws: Laws without their numbers.
        contact: Contact.
        how: Further options of the code.
    """
    own: list[Any] = list(numbers)
    for place, x in zip(places, () if inputs is None else inputs, strict=True):
        own[place] = x
    layout = layout_of(Problem(model, laws, contact, None if forces is None else held, carried=carried), size)
    memory = np.zeros(size + carried) if memory is None else memory
    before = head(model, t, dt, state)
    packed = layout.pack(state, memory[:size], np.zeros(layout.works), memory[size:])
    given = np.zeros(0) if forces is None else concatenate([np.zeros(model.m), forces])
    about = concatenate([before, packed]), np.array([dt]), array(own) if own else np.zeros(0), given
    return layout, about, how | {"laws": laws, "contact": contact, "memory": size}


def _nearest(model: Model, q: Any, found: Any) -> Any:
    """Flat coordinates ``found`` with quaternions and angles as near to those of ``q`` as can be.

    An optimizer sees no jump where a rotation passes half a turn.
    """
    groups = (model.base, *model.configuration.shape.factors)
    ends = [*accumulate((group.nq for group in groups), initial=0)]
    places = [slice(a, b) for a, b in pairwise(ends)]
    return concatenate([_near(group, q[place], found[place]) for group, place in zip(groups, places, strict=True)])


def _near(group: Group, before: Any, found: Any) -> Any:
    names = group.coordinate_names
    if "qw" in names:
        i = names.index("qx")
        same = less(0.0, before[i : i + 4] @ found[i : i + 4])
        return concatenate([found[:i], where(same, found[i : i + 4], -found[i : i + 4]), found[i + 4 :]])
    if "angle" in names and not group.additive:
        i = names.index("angle")
        change = found[i] - before[i]
        angle = before[i] + arctan2(sin(change), cos(change))
        return concatenate([found[:i], array([angle]), found[i + 1 :]])
    return found
