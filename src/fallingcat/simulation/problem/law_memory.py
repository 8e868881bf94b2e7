"""State of force laws, such as integrals and filters, for methods that integrate it and those that do not."""

from __future__ import annotations

import numpy as np

from ...control import Law
from ...errors import ModelError
from ...model import State
from .problem import Problem


def initial_memories(problem: Problem, many: State) -> np.ndarray:
    """Memory of the laws (N x k) at ``N`` states from which they start, given with a first axis over them."""
    count, parts = len(many.pose), [np.zeros((len(many.pose), 0))]
    for law, size in zip(problem.laws, problem.sizes, strict=True):
        same = type(law).begin is Law.begin
        begun = np.zeros((count, size)) if same else [law.begin(problem.model, many.at(i)) for i in range(count)]
        parts += [np.reshape(np.asarray(begun, dtype=float), (count, size))] if size else []
    return np.hstack(parts)


def check_no_memory(problem: Problem, method: str) -> None:
    """Refuse laws with a state of their own, by name, where the integrator ``method`` has no place for it."""
    for law, size in zip(problem.laws, problem.sizes, strict=True):
        if size:
            raise ModelError(
                f"law {law.name!r} has a state of its own, which the integrator {method!r} does not integrate: "
                "take 'rkmk4' or 'implicit', or sample the law (SampledController)"
            )
