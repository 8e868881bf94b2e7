"""Runs that touch nothing: steps of a rule one after the other in machine code, of one robot or of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ...arrays import array, concatenate
from ...compiler import compile
from ...control import Law
from ...model import Model, State
from ..problem.law_parameters import tuned
from ..problem.problem import Problem, with_given
from ..problem.robot_parameters import edited
from ..problem.vector_field import layout_of
from .base import FixedStepIntegrator, Integrator
from .implicit.integrator import CompiledStepper
from .rule import MAX_DIFFERENTIATED_NV, Rule, advance
from .rule_derivatives import step_jacobian


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


def stepped(
    model: Model,
    x: Any,
    clock: Any,
    numbers: Any,
    forces: Any,
    *,
    laws: tuple[Law, ...],
    contact: None,
    memory: int,
    rule: Rule,
    varied: tuple[str, ...] = (),
) -> Any:
    """``x = [count; packed]`` a step of ``clock[0]`` (s) later, under held ``forces`` (nv) if there are any."""
    model, _ = edited(model, contact, varied, numbers)
    problem, t, dt = with_given(model, tuned(laws, numbers), contact, forces), x[0] * clock[0], clock[0]
    out = advance(problem, (), memory, x[1:], array([t, dt]), rule)
    return concatenate([np.reshape(x[0] + 1.0, 1), layout_of(problem, memory).outcome(out).packed])


RuleStepper.code = staticmethod(stepped)
