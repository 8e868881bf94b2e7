"""``derive(model)``: the equations of a robot as closed forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy

from ..caching import cached_property
from ..compiler.ir.results import Result
from ..model import Model, State
from .coordinates import accelerations, check_names, coordinates, velocities
from .frames import angle_groups, coordinate_rates
from .link_kinematics import LinkKinematics
from .matrices import assemble_result, map_entries
from .parameters import Symbols, numbers, symbols
from .polynomials import Polynomial
from .quantities import DERIVED, QUANTITIES, meaning, unknown
from .readable import NamedExpressions, Writer
from .size import check_links, check_terms
from .tracing import Tracer


class Derivation(LinkKinematics):
    """Closed forms of a robot's equations, computed on demand; see :func:`derive`.

    ``d["M"]`` is a SymPy matrix (or vector, or expression); :attr:`names` lists the quantities. The symbols are those
    of :attr:`q`, :attr:`v`, :attr:`a` and :attr:`values`.

    Args:
        model: Robot with symbolic parameters.
        values: Number of each symbol (SI units).

    Example:
        >>> import fallingcat as fc
        >>> d = fc.symbolic.derive(fc.robots.prismatic_hopper(), "masses")
        >>> d["M"][0, 0], d.meaning("M")
        (m_0 + m_1, 'mass matrix')
        >>> d.pose("base")[:3, 3].T
        Matrix([[x, y, 0]])
    """

    def __init__(self, model: Model, values: Mapping[Any, float]) -> None:
        self.model, self.values = model, dict(values)
        check_names(model)
        self.q: tuple[Any, ...] = coordinates(model)
        self.v: tuple[Any, ...] = velocities(model)
        self.a: tuple[Any, ...] = accelerations(model)
        self._tracer = Tracer(model, self.q, self.v, self.a)
        states = [str(x) for x in (*self.q, *self.v, *self.a)]
        self._writer = Writer(self._tracer.algebra, states, angle_groups(model, self.q))
        self._named_expressions: dict[Any, Any] = {}

    # what there is ----------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all quantities."""
        return (*QUANTITIES, *DERIVED)

    def __getitem__(self, name: str) -> Any:
        return map_entries(self._by_name(name), self._writer.explicit)

    def named(self, *names: str) -> NamedExpressions:
        """Several quantities with names for the factors that they share: fewer operations, and easier to read.

        Args:
            *names: Names of quantities.

        Returns:
            Quantities, and definitions of the shared factors.

        Example:
            >>> import fallingcat as fc
            >>> d = fc.symbolic.derive(fc.robots.revolute_hopper())
            >>> found = d.named("M")
            >>> found.definitions[sympy.Symbol("p_1", real=True)]
            m_0 + m_1
        """
        expressions = {name: self._by_name(name) for name in names}
        return NamedExpressions(self._writer.definitions_for(expressions.values()), expressions)

    def meaning(self, name: str) -> str:
        """Meaning of a quantity in words.

        Args:
            name: Name of a quantity.

        Returns:
            Noun phrase.
        """
        return meaning(name)

    def write(self, *names: str, format: str = "text") -> str:
        """Quantities as text, as a LaTeX document or as a function in a programming language.

        Functions hold the steps that the quantities share, a count of operations, and a header.

        Args:
            *names: Names of quantities.
            format: ``text``, ``latex``, ``python``, ``jax``, ``c``, ``julia``, ``matlab`` or ``octave``.

        Returns:
            Text.

        Example:
            >>> import fallingcat as fc
            >>> d = fc.symbolic.derive(fc.robots.prismatic_hopper(), ["masses", "gravity"])
            >>> print(d.write("g").partition("common factors")[2])
            <BLANKLINE>
              p_1 = g*(m_0 + m_1)
            <BLANKLINE>
            g: gravity forces
              g[1, 1] = p_1*sin(theta)
              g[2, 1] = p_1*cos(theta)
              g[3, 1] = g*m_1*q_1*cos(theta)
              g[4, 1] = g*m_1*sin(theta)
            <BLANKLINE>
        """
        from .text import write_quantities

        return write_quantities(self, names, format)

    def _repr_html_(self) -> str:
        """Inputs and names of quantities, for notebooks."""
        from .text.names import summary

        return summary(self)

    def __repr__(self) -> str:
        return f"<Derivation of {self.model.name!r}: {len(self.values)} parameters, q = {list(self.q)}>"

    def at(self, state: State) -> dict[Any, float]:
        """Numbers of a state by the symbols of coordinates and velocities.

        Args:
            state: State of the robot.

        Returns:
            Symbol -> number.
        """
        q, v = self.numeric.flatten(state)
        return {x: float(y) for x, y in zip((*self.q, *self.v), (*q, *v), strict=True)}

    @cached_property
    def numeric(self) -> Model:
        """Robot with numeric parameters."""
        return numbers(self.model, self.values)

    # time -------------------------------------------------------------------------------------------------------

    def dot(self, expression: Any) -> Any:
        """Time derivative along the motion: coordinates move with ``v``, velocities with ``a``.

        Args:
            expression: Expression, matrix or array.

        Returns:
            Derivative, of the shape of the expression.

        Example:
            >>> import fallingcat as fc
            >>> d = fc.symbolic.derive(fc.robots.revolute_hopper(), "masses")
            >>> d.dot(d["M"]) == d["Mdot"]
            True
        """
        if isinstance(expression, (sympy.MatrixBase, sympy.NDimArray)):
            return expression.applyfunc(self.dot)
        rates = dict(zip((*self.q, *self.v), (*coordinate_rates(self.model, self.q, self.v), *self.a), strict=True))
        return self.normal(sympy.Add(*(sympy.diff(expression, x) * rate for x, rate in rates.items())))

    def of_time(self, expression: Any) -> Any:
        """Expression with functions of time ``t`` for coordinates and velocities: ``q_1(t)``.

        Args:
            expression: Expression, matrix or array.

        Returns:
            Expression in ``t``.
        """
        t = sympy.Symbol("t", real=True)
        return expression.subs({x: sympy.Function(str(x), real=True)(t) for x in (*self.q, *self.v, *self.a)})

    def normal(self, expression: Any) -> Any:
        """Normal form of an expression of these symbols: equal expressions become identical.

        Polynomials in symbols, sines and cosines are decided; quotients where their denominators are known.

        Args:
            expression: Expression, matrix or array.

        Returns:
            Expression in the form in which quantities are written.
        """
        if isinstance(expression, (sympy.MatrixBase, sympy.NDimArray)):
            return map_entries(expression, self.normal)
        algebra = self._tracer.algebra
        p = algebra.common_quotient(algebra.polynomial(expression))
        return self._writer.explicit(self._writer.write(p))

    # how it is made ---------------------------------------------------------------------------------------------

    def of(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Library function ``function(model, state, *arguments, **options)`` as SymPy expressions.

        Symbols of this derivation may stand among ``arguments``, in lists: ``d.of(fc.inverse_dynamics, d.a)``.

        Args:
            function: Function of model, state and further arguments.
            *arguments: Further arguments.
            **options: Keyword arguments.

        Returns:
            Expression, matrix, array, or dict of these.

        Example:
            >>> import fallingcat as fc
            >>> d = fc.symbolic.derive(fc.robots.prismatic_hopper(), "masses")
            >>> d.of(fc.kinetic_energy).subs({x: 0 for x in d.v[1:]})
            v_x**2*(m_0 + m_1)/2
        """
        return map_entries(self.computed(function, *arguments, **options), self._writer.explicit)

    def computed(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Library function as :meth:`of`, with names for common factors.

        Args:
            function: Function of model, state and further arguments.
            *arguments: Further arguments.
            **options: Keyword arguments.

        Returns:
            Expression, matrix, array, or dict of these.
        """
        key = (function, tuple(map(str, arguments)), tuple(sorted((k, str(x)) for k, x in options.items())))
        if key not in self._named_expressions:
            result, polynomials = self.polynomials(function, *arguments, **options)
            self._named_expressions[key] = assemble_result(result, [self._writer.write(p) for p in polynomials])
        return self._named_expressions[key]

    def polynomials(
        self, function: Callable[..., Any], *arguments: Any, **options: Any
    ) -> tuple[Result, list[Polynomial]]:
        """Library function as :meth:`of`, flat and in exact arithmetic.

        Args:
            function: Function of model, state and further arguments.
            *arguments: Further arguments.
            **options: Keyword arguments.

        Returns:
            Structure that puts the entries together again, and the entries.
        """
        check_terms(self.model, self._writer.groups, self.q, function)
        return self._tracer.polynomials(function, *arguments, **options)

    def name(self, expression: Any, name: str = "") -> Any:
        """Symbol for an expression that occurs often.

        Args:
            expression: Expression.
            name: Name of the symbol; ``p_i`` if empty.

        Returns:
            Symbol.
        """
        return self._writer.name(expression, name)

    def moving(self, expression: Any) -> Any:
        """Expression in which names stand for constants only.

        Args:
            expression: Expression, matrix or array.

        Returns:
            Expression with the names of moving factors replaced by their definitions.
        """
        return self._writer.keep_constants(expression, {*self.q, *self.v})

    def _by_name(self, name: str) -> Any:
        if name in QUANTITIES:
            quantity = QUANTITIES[name]
            found = self.computed(quantity.function, **quantity.options)
            return found[quantity.field] if quantity.field else found
        if name not in DERIVED:
            raise unknown(name)
        if name not in self._named_expressions:
            self._named_expressions[name] = DERIVED[name].make(self)
        return self._named_expressions[name]


def derive(
    model: Model | Symbols, parameters: str | Sequence[str] = "all", values: Mapping[Any, float] | None = None
) -> Derivation:
    """Derive the closed forms of a robot's equations.

    Args:
        model: Robot with numeric parameters, or a robot of :func:`symbols`.
        parameters: Parameters that become symbols, see :func:`symbols`; ``"none"`` keeps exact numbers.
        values: Numbers of the symbols, for a robot that has symbols already.

    Returns:
        Quantities by name, ``d["M"]``, ``d["C"]``, ``d["g"]``, ...; each is computed when it is asked for. Robots whose
        equations are too long to read are refused then.

    Example:
        >>> import fallingcat as fc
        >>> d = fc.symbolic.derive(fc.robots.prismatic_hopper(), ["masses", "gravity"])
        >>> d["M"][:3, :3]
        Matrix([
        [m_0 + m_1,         0,        0],
        [        0, m_0 + m_1,  m_1*q_1],
        [        0,   m_1*q_1, m_1*q_1**2]])
        >>> d["g"][0]
        g*(m_0 + m_1)*sin(theta)
    """
    robot = model.model if isinstance(model, Symbols) else model
    if isinstance(robot, Model):
        check_links(robot)
    if isinstance(model, Symbols):
        return Derivation(model.model, {**model.values, **(values or {})})
    if isinstance(model, Model) and not model.is_numeric:
        return Derivation(model, values or {})
    found = symbols(model, parameters)
    return Derivation(found.model, {**found.values, **(values or {})})
