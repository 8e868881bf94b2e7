"""A function of yours as a study, so that a sweep can run it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from pydantic import ConfigDict

from ...errors import ModelError, describe, nearest_name_hint
from ..kind import Parameters, Progress, StudyKind
from ..tables import Study, StudyTable
from .points import value_list


class FunctionParameters(Parameters):
    """Arguments of a function, by name."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, allow_inf_nan=False)


class FunctionKind(StudyKind[FunctionParameters, dict[str, float]]):
    """Calls of a function, whose result is a number or numbers by name."""

    parameters = FunctionParameters

    def __init__(self, function: Callable[..., Any], whole: frozenset[str], measures: Sequence[str]) -> None:
        code = getattr(function, "__code__", None)
        text = repr((code.co_code, code.co_names, code.co_consts)) if code else repr(type(function))
        label = f"{_name(function)} ({hashlib.sha256(text.encode()).hexdigest()[:8]})"
        self.name = f"function {label}"  # type: ignore[misc]  # one for each function
        self.function, self.integer_names = function, whole
        self.measures = {name: itemgetter(name) for name in measures}

    def run(self, parameters: FunctionParameters, progress: Progress) -> dict[str, float]:
        """Call the function with these parameters."""
        given = {name: int(x) if name in self.integer_names else x for name, x in parameters.model_dump().items()}
        return numbers_of(self.function(**given))


class FunctionStudy(Study):
    """A function instead of a file."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)
    function_kind: FunctionKind

    @property
    def kind(self) -> StudyKind[Any, Any]:
        """Kind of the function."""
        return self.function_kind


def study_of(
    function: Callable[..., Any],
    grid: Mapping[str, Any],
    parameters: Mapping[str, Any],
    measures: Sequence[str] | None = None,
) -> FunctionStudy:
    """Study of a function over a grid.

    Args:
        function: Called with the parameters by name; it returns a number, or a mapping from names to numbers.
        grid: Values by parameter.
        parameters: Other arguments, which stay the same.
        measures: Names of the numbers; left out, the function is called once, at the first point, to learn them.
    """
    if not isinstance(grid, Mapping) or not grid:
        raise ModelError(f"grid is a mapping from parameters to values, at least one, not {describe(grid)}")
    values = {name: value_list(name, given) for name, given in grid.items() if not isinstance(given, str)}
    _check_names(function, {**grid, **parameters})
    whole = frozenset(name for name, given in values.items() if all(type(_python_number(x)) is int for x in given))
    whole |= {name for name, x in parameters.items() if type(x) is int}
    first = {name: _python_number(given[0]) for name, given in values.items()} | dict(parameters)
    if measures is None:
        try:
            measures = tuple(numbers_of(function(**first)))
        except Exception as error:
            rule = f"{_name(function)} fails at the first point, {first}: {type(error).__name__}: {error}"
            raise ModelError(f"{rule}; measures=[...] names what it returns without calling it") from error
    kind = FunctionKind(function, whole, measures)
    table = StudyTable(title=_name(function), kind=_name(function), parameters={})
    start = FunctionParameters(**{name: float(x) if type(x) is int else x for name, x in parameters.items()})
    return FunctionStudy(name=_name(function), table=table, parameters=start, function_kind=kind)


def numbers_of(result: Any) -> dict[str, float]:
    """Numbers that a function returned, by name; one number is called ``result``."""
    given = result if isinstance(result, Mapping) else {"result": result}
    try:
        return {str(name): float(x) for name, x in given.items()}
    except (TypeError, ValueError):
        raise ModelError(
            f"a function of a sweep returns a number, or numbers by name, not {describe(result)}"
        ) from None


def _check_names(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Every argument is given, and nothing else."""
    known = inspect.signature(function).parameters
    open_ended = any(p.kind is p.VAR_KEYWORD for p in known.values())
    for name in given:
        if name not in known and not open_ended:
            raise ModelError(f"{_name(function)} has no argument {name!r}{nearest_name_hint(name, known)}")
    for name, p in known.items():
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and name not in given:
            raise ModelError(f"{_name(function)} needs {name!r}: give its values in grid, or one as {name}=...")


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _python_number(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x
