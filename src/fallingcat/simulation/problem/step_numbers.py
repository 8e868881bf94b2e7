"""Numbers of a compiled step, in one vector: those of laws, then those of robot and floor that are arguments."""

from __future__ import annotations

import numpy as np

from ...control import Law
from .law_parameters import field_sizes, split_parameters
from .problem import Problem
from .robot_parameters import Parameters, nominal, size


def step_numbers(problem: Problem) -> tuple[tuple[Law, ...], np.ndarray]:
    """Laws without their numbers, and the numbers of a step."""
    laws, numbers = split_parameters(problem.laws, problem.model)
    return laws, np.append(numbers, nominal(problem.model, problem.contact, problem.varied))


def number_places(problem: Problem) -> dict[str, slice]:
    """Slices of the numbers of a step by names of laws and fields, and names of parameters of robot and floor.

    >>> from fallingcat.control import JointDamper, JointSpring
    >>> from fallingcat.model import robots
    >>> found = number_places(Problem(robots.cat(), (JointSpring(3.0), JointDamper(0.1)), varied=("head.mass",)))
    >>> {name: place.start for name, place in found.items()}
    {'joint springs.stiffness': 0, 'joint dampers.damping': 1, 'head.mass': 2}
    """
    sizes = field_sizes(split_parameters(problem.laws, problem.model)[0])
    sizes |= {name: size(problem.model, [name]) for name in problem.varied}
    ends = np.cumsum([0, *sizes.values()]).tolist()
    return {name: slice(*between) for name, *between in zip(sizes, ends, ends[1:], strict=False)}


def numbers_of_each(laws: list[list[float]], parameters: Parameters, numbers: np.ndarray) -> np.ndarray:
    """``N x numbers``: those of each robot's laws, then those of what they have in common, then its parameters."""
    if not laws and not parameters.names:
        return numbers
    own = np.array(laws) if laws else np.zeros((len(parameters.numbers), 0))
    common = numbers[own.shape[1] : len(numbers) - parameters.numbers.shape[1]]
    return np.hstack([own, np.tile(common, (len(own), 1)), parameters.numbers])
