"""Arguments of the code of a step: one record for all methods, which compilers see as arguments one by one."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple

import numpy as np

from ...arrays import array
from ...control import Law
from ...model import Model
from ..problem.law_parameters import tuned
from ..problem.problem import Problem, held
from ..problem.robot_parameters import edited


class StepArguments(NamedTuple):
    """Arguments of the code of a step, or of its derivatives, of any kind of number."""

    model: Model
    x: Any
    """``[head; packed]``, see :class:`.CompiledStepper`"""
    clock: Any
    """s: the step, and where that matters the one of which it is a part"""
    numbers: Any
    """numbers of laws, then of robot and floor"""
    forces: Any
    """held joint forces (nv), or none"""
    laws: tuple[Law, ...]
    """laws without their numbers"""
    contact: Any
    memory: int
    """size of the memory of contact and laws"""
    varied: tuple[str, ...] = ()
    """numbers of robot and floor, by name: see :mod:`fallingcat.simulation.problem.robot_parameters`"""
    wanted: tuple[int, ...] = ()
    """places of the numbers by which to differentiate"""
    carried: int = 0
    """numbers that the method carries from step to step"""

    def problem(self, own: Any = None) -> tuple[Problem, Any]:
        """The problem, with other ``wanted`` numbers if they are given, and all numbers."""
        numbers = self.numbers
        if own is not None and self.wanted:
            several = list(numbers)
            for place, number in zip(self.wanted, own, strict=True):
                several[place] = number
            numbers = array(several)
        model, contact = edited(self.model, self.contact, self.varied, numbers)
        controller = held if len(self.forces) else None
        return Problem(model, tuned(self.laws, numbers), contact, controller, carried=self.carried), numbers

    @property
    def values(self) -> Any:
        """The ``wanted`` numbers."""
        return array([self.numbers[i] for i in self.wanted]) if self.wanted else np.zeros(0)


def of_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Function of ``model, x, clock, ...`` one by one, as compilers take it, from one of :class:`StepArguments`.

    Further arguments of the function stay as they are.
    """

    def code(
        model: Model,
        x: Any,
        clock: Any,
        numbers: Any,
        forces: Any,
        *further: Any,
        laws: tuple[Law, ...],
        contact: Any,
        memory: int,
        varied: tuple[str, ...] = (),
        wanted: tuple[int, ...] = (),
        **how: Any,
    ) -> Any:
        source = StepArguments(model, x, clock, numbers, forces, laws, contact, memory, varied, wanted)
        return function(source, *further, **how)

    variable = Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD
    each = [p for p in signature(code).parameters.values() if p.kind not in variable]
    each += [*signature(function).parameters.values()][1:]
    about = {name: getattr(function, name) for name in ("__module__", "__name__", "__qualname__", "__doc__")}
    vars(code)["__signature__"] = Signature(sorted(each, key=lambda p: p.kind))
    for name, value in about.items():  # it is found, and cached, under the name of the function
        setattr(code, name, value)
    return code
