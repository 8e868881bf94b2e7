"""Runs that touch nothing: steps of a rule one after the other in machine code, of one robot or of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ...arrays import array, concatenate
from ...compiler import compile
from ...model import State
from ..problem.problem import Problem, with_given
from ..problem.vector_field import layout_of
from .base import FixedStepIntegrator, Integrator
from .implicit.integrator import CompiledStepper
from .rule import MAX_DIFFERENTIATED_NV, Rule, advance
from .rule_derivatives import step_jacobian
from .step_arguments import StepArguments, of_arguments


def smooth(method: Integrator, problem: Problem) -> Integrator:
    """The method in whole runs, where nothing can happen between two of its steps; else as it is."""
    if not isinstance(method, Rule) or method.tolerance is not None or problem.contact is not None:
        return method
    large = method.differentiates and problem.model.nv > MAX_DIFFERENTIATED_NV  # too much code: see Rule.stepper
    return method if large else Smooth(method)


@dataclass(frozen=True)
class Smooth(FixedStepIntegrator):
    """A rule of fixed steps without contacts, under its own name."""

    rule: Rule
    varies = True

    def __post_init__(self) -> None:
        for own in ("name", "order", "stable"):
            object.__setattr__(self, own, getattr(self.rule, own))

    def compiled_stepper(self, problem: Problem, memory: int) -> RuleStepper:
        """Machine code, for one robot or many."""
        return RuleStepper(problem, memory, rule=self.rule)


class RuleStepper(CompiledStepper):
    """Steps as machine code: ``x = [count; packed]``."""

    counted = ()
    solved: Mapping[str, Any] = MappingProxyType({})
    iterates = False
    jacobian: Callable[..., Any] | None = staticmethod(step_jacobian)

    def on(self, target: str, dtype: str) -> list[Any]:
        """The same for another machine."""
        return [compile(self._model, self.code, target=target, dtype=dtype, inputs=self._inputs, **self._options)]

    def initial_memory(self, many: State) -> np.ndarray:
        """``N x memory``: what laws begin with."""
        begins = (self.problem.begin(State(*at))[1] for at in zip(*many, strict=True)) if self._layout.memory else ()
        return np.array([*begins]).reshape(len(many.pose), self._layout.memory)


@of_arguments
def stepped(source: StepArguments, *, rule: Rule) -> Any:
    """``x = [count; packed]`` a step of ``clock[0]`` (s) later, under held ``forces`` (nv) if there are any."""
    (problem, _), count, dt = source.problem(), source.x[0], source.clock[0]
    problem = with_given(problem.model, problem.laws, None, source.forces)
    out = advance(problem, (), source.memory, source.x[1:], array([count * dt, dt]), rule)
    return concatenate([np.reshape(count + 1.0, 1), layout_of(problem, source.memory).outcome(out).packed])


RuleStepper.code = staticmethod(stepped)
