"""Inputs of laws: numbers that every call of a compiled step may give anew, such as the targets of servos."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...caching import cached_property
from ...errors import ModelError, describe
from ..integrators.base import Integrator
from ..problem.law_parameters import split_parameters, tuned
from ..problem.problem import Problem
from ..problem.step_numbers import number_places
from ..step_size import MAX_EXPLICIT_PHASE, fastest


class Input(NamedTuple):
    """A field of a law that calls may set."""

    law: str
    place: slice
    """among the numbers of all laws"""
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.place.stop - self.place.start)


class LawInputs:
    """The inputs of a problem's laws, by the names under which calls give them.

    Args:
        problem: Robot and laws, which are :meth:`.Law.sized`.
        method: Integrator whose steps take them.
        dt: Step (s).
    """

    def __init__(self, problem: Problem, method: Integrator, dt: float) -> None:
        self.problem, self._method, self._dt = problem, method, dt
        self.offered: dict[str, list[Input]] = {}
        self._blank, self._numbers = split_parameters(problem.laws, problem.model)
        where_at = number_places(problem)
        for law in problem.laws:
            for name, field in law.inputs.items():
                if f"{law.name}.{field}" not in where_at:
                    raise ModelError(f"{field} of {law.name!r} is an input, but its forces cannot be traced without it")
                shape = np.shape(getattr(law, field))
                self.offered.setdefault(name, []).append(Input(law.name, where_at[f"{law.name}.{field}"], shape))

    def named(self, name: str, value: Any) -> list[tuple[Input, Any]]:
        """The fields that a call sets under a name, with their values: those of several laws by a mapping."""
        laws = self.offered.get(name)
        if laws is None:
            known = (
                f"they take {', '.join(self.offered)}" if self.offered else "give laws=fc.control.PositionServo(...)"
            )
            raise ModelError(f"no law takes {name!r} as an input: {known}")
        if not isinstance(value, Mapping):
            if len(laws) > 1:
                rule = f"{{{laws[0].law!r}: ..., {laws[1].law!r}: ...}}"
                raise ModelError(f"{name!r} is an input of several laws: say {name}={rule}")
            return [(laws[0], value)]
        by_law = {each.law: each for each in laws}
        for law in value:
            if law not in by_law:
                raise ModelError(f"{name!r} is an input of {', '.join(map(repr, by_law))}, not of {describe(law)}")
        return [(by_law[law], x) for law, x in value.items()]

    def values(self, inputs: Mapping[str, Any], robots: int, array: Callable[[Any], Any]) -> list[tuple[slice, Any]]:
        """Places among the numbers, and finite numbers for them: ``size`` or ``robots x size``."""
        each = [(name, *pair) for name, value in inputs.items() for pair in self.named(name, value)]
        return [(place.place, _finite(name, _shaped(name, place, x, robots, array))) for name, place, x in each]

    def check_gains(
        self, names: Iterable[str], given: list[tuple[slice, Any]], numbers: Callable[[], np.ndarray]
    ) -> None:
        """Refuse gains with which explicit steps would not be stable; ``numbers()`` (... x k) are those so far."""
        if not {*names} - {*self.unchecked}:
            return
        most = np.atleast_2d(numbers()).max(axis=0)
        for place, value in given:
            host = value.get() if hasattr(value, "get") else value  # CuPy's
            most[place] = np.atleast_2d(host).max(axis=0)
        laws = tuned(self._blank, most[: len(self._numbers)].tolist())
        rate = fastest(replace(self.problem, laws=laws), self.problem.model.neutral())
        if rate * self._dt > MAX_EXPLICIT_PHASE:
            raise ModelError(
                f"gains with a rate of {rate:.3g} 1/s are too stiff for steps of {self._dt:g} s of "
                f"{self._method.name!r}, stable up to {MAX_EXPLICIT_PHASE / self._dt:.3g} 1/s: "
                "take Implicit(), or a smaller dt"
            )

    @cached_property
    def unchecked(self) -> dict[str, list[Input]]:
        """The inputs that may have any finite values: all but gains in explicit steps."""
        stable = self._method.stable or self._method.damped
        return self.offered if stable else {x: laws for x, laws in self.offered.items() if x not in self._gains}

    @cached_property
    def _gains(self) -> set[str]:
        """Inputs that change how stiff a law is, and not only its set point."""
        before, found = self._impedances(self.problem), set[str]()
        for name, laws in self.offered.items():
            more = self._numbers.copy()
            for each in laws:
                more[each.place] += 1.0
            after = self._impedances(replace(self.problem, laws=tuned(self._blank, more.tolist())))
            if any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
                found.add(name)
        return found

    def _impedances(self, problem: Problem) -> list[Any]:
        said = [law.impedance(problem.model, problem.model.neutral()) for law in problem.laws if law.inputs]
        return [x for pair in said for x in (pair or ())]


def _shaped(name: str, each: Input, value: Any, robots: int, array: Callable[[Any], Any]) -> Any:
    """``size`` or ``robots x size``: a value as an array."""
    try:
        x = array(value)
    except (TypeError, ValueError):
        x = None
    many = (robots, *each.shape)
    if x is None or tuple(x.shape) not in (each.shape, many):
        wanted = each.shape if robots == 1 else f"{each.shape} or {many}"
        raise ModelError(f"{name} of {each.law!r} must have shape {wanted}, got {describe(value if x is None else x)}")
    return x.reshape((*x.shape[: x.ndim - len(each.shape)], each.size))


def _finite(name: str, x: Any) -> Any:
    """The same, wherever it is, if all of it is finite."""
    fine = abs(x) <= np.finfo(float).max  # on a GPU too
    if not bool(fine.all()):
        whose = f" of robot {int((~fine.all(axis=1)).argmax())}" if x.ndim == 2 else ""
        raise ModelError(f"{name}{whose} must be finite numbers")
    return x
