"""Library functions on symbols: traced once, then evaluated in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from ..arrays import Graph
from ..caching import cached_property
from ..compiler.ir.results import Result, flatten
from ..model import Model, State
from .algebra import Algebra, evaluate_outputs
from .parameters import Parameter, map_numbers
from .polynomials import Polynomial


class Tracer:
    """Robot with symbolic parameters, for library functions ``function(model, state, ...)``.

    ``algebra`` computes with its symbols, those of coordinates ``q``, velocities ``v`` and accelerations ``a`` too.
    """

    def __init__(self, model: Model, q: Sequence[Any], v: Sequence[Any], a: Sequence[Any]) -> None:
        self.model, self.q, self.v = model, q, v
        self.algebra = Algebra()
        self._graph = Graph()
        self._inputs: dict[str, Polynomial] = {}
        self._traced_model = map_numbers(model, self._input)
        for x in (*q, *v, *a):
            self.algebra.symbol(x)
        self.algebra.separate_generators = {str(x) for x in (*v, *a)}
        self._units()

    def polynomials(
        self, function: Callable[..., Any], *arguments: Any, **options: Any
    ) -> tuple[Result, list[Polynomial]]:
        """Structure of the result of a function, and its entries in exact arithmetic."""
        outputs: list[Any] = []
        given = [self._argument(x) for x in arguments]
        result = flatten(function(self._traced_model, self._state, *given, **options), outputs)
        return result, evaluate_outputs(self.algebra, self._graph, outputs, self._inputs)

    def _argument(self, x: Any) -> Any:
        if isinstance(x, (list, tuple)) and x and all(isinstance(e, sympy.Basic) for e in x):
            out = np.empty(len(x), dtype=object)
            out[:] = [self._input(None, e) for e in x]
            return out
        return x

    def _input(self, at: Parameter | None, x: Any) -> Any:
        """Traced input for an expression of SymPy; numbers stay."""
        if not isinstance(x, sympy.Basic):
            return x
        name = f"s{len(self._inputs)}"
        known = {p: name for name, p in self._inputs.items()}
        p = self.algebra.polynomial(x)
        if p not in known:
            self._inputs[name] = p
        return self._graph.input(known.get(p, name))

    @cached_property
    def _state(self) -> State:
        q, v = (np.array([self._input(None, x) for x in xs], dtype=object) for xs in (self.q, self.v))
        return self._traced_model.unflatten(q, v)

    def _units(self) -> None:
        """Declare that quaternions have length 1."""
        joints = [name for joint in self.model.joints if joint.nq for name in joint.kind.group.coordinate_names]
        names = [*self.model.base.coordinate_names, *joints]
        for start, name in enumerate(names):
            if name == "qx":
                four = [self.algebra.symbol(x) for x in self.q[start : start + 4]]
                self.algebra.units.append(sum((x * x for x in four[1:]), start=four[0] * four[0]))
