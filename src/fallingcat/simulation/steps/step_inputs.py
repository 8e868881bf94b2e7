"""Arguments of a step beside state and forces: inputs of laws, and parameters of laws, robot and floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...contact.capabilities import LinearizedForces, offers
from ...errors import ModelError, describe
from ..batch.law_inputs import LawInputs
from ..integrators.base import Integrator
from ..problem.problem import Problem
from ..problem.robot_parameters import BODY, CARRIED_INERTIA, FLOOR, POINT_MOBILITY
from ..problem.step_numbers import number_places


def with_parameters(problem: Problem, names: Sequence[str]) -> Problem:
    """Problem whose steps take the numbers of robot and floor with these names as arguments.

    What laws and steps make of masses by looking at values stays as it is.
    """
    own = [name for name in names if _of_robot(problem, name)]
    if not own:
        return problem
    more = [CARRIED_INERTIA] if problem.model.n else []
    if problem.contact is not None and offers(problem.contact, LinearizedForces):
        more.append(POINT_MOBILITY)
    return replace(problem, varied=(*own, *more))


def input_places(problem: Problem, method: Integrator, dt: float, name: str) -> tuple[int, ...]:
    """Indices of an input or a parameter among the numbers of a compiled step.

    Args:
        problem: Problem, :func:`with_parameters`.
        method: Integrator.
        dt: Step (s).
        name: Input of a law (``targets``); or a field of a law (``joint springs.stiffness``), a body (``trunk.mass``,
            ``.center``, ``.inertia``), or the floor (``friction``, ``stiffness``, ``damping``).
    """
    offered, places = LawInputs(problem, method, dt), number_places(problem)
    if name in offered.offered:
        ((each, _),) = offered.named(name, None)
        places[name] = each.place
    if name in places:
        return tuple(range(places[name].start, places[name].stop))
    if not offered.offered and not places:
        offered.named(name, None)  # which says what laws take
    fields = [x for x in places if x not in problem.varied]
    known = [*offered.offered, *fields, *_of_floor(problem), "LINK.mass", "LINK.center", "LINK.inertia"]
    raise ModelError(f"an input of a step is one of {', '.join(known)}, not {describe(name)}")


def _of_robot(problem: Problem, name: Any) -> bool:
    """True if a name is that of a parameter of the robot or its floor."""
    link, _, what = str(name).rpartition(".")
    return name in _of_floor(problem) or (what in BODY and link in problem.model.link_names)


def _of_floor(problem: Problem) -> list[str]:
    return [name for name in FLOOR if getattr(problem.contact, name, None) is not None and problem.contact is not None]
