"""Inertial parameters that motions of a robot identify, with symbols for its lengths."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.polys.matrices import DomainMatrix

from ..dynamics.regressors import inverse_dynamics_regressor, parameter_names
from ..model import Model
from .derivation import derive
from .polynomials import Polynomial


def base_parameters(model: Model) -> tuple[Any, ...]:
    """Base inertial parameters, as exact SymPy expressions.

    Args:
        model: Robot.

    Returns:
        Minimal combinations of inertial parameters that all motions depend on, with the values of
        :func:`fallingcat.dynamics.base_parameters`; symbols are those of
        :func:`fallingcat.dynamics.inertial_parameters` (``m_i`` (kg), first moments ``h_ix`` (kg m), inertias about the
        origin ``I_ixx`` (kg m^2)) and lengths (m).

    Example:
        >>> import fallingcat as fc
        >>> for each in base_parameters(fc.robots.revolute_hopper()):
        ...     print(each)
        m_0 + m_1
        h_0x + l_1x*m_1
        h_0y
        I_0zz + l_1x**2*m_1
        h_1x
        h_1y
        I_1zz
    """
    d = derive(model, ("lengths", "gravity"))
    lengths = sorted((x for x in d.values if str(x)[0] in "lo"), key=str)
    _, flat = d.polynomials(inverse_dynamics_regressor, d.a)
    names = parameter_names(model)
    rows: dict[Any, dict[int, Any]] = {}
    for at, p in enumerate(flat):
        for key, coefficient in _by_state(p, {str(x) for x in lengths}).items():
            rows.setdefault((at // len(names), key), {})[at % len(names)] = coefficient
    field = sympy.QQ.frac_field(*lengths) if lengths else sympy.QQ
    distinct = {tuple(sorted(row.items(), key=lambda entry: entry[0])) for row in rows.values()}
    matrix = [[field.from_sympy(dict(row).get(c, sympy.Integer(0))) for c in range(len(names))] for row in distinct]
    reduced, pivots = DomainMatrix(matrix, (len(matrix), len(names)), field).rref()
    symbols = [sympy.Symbol(name, real=True) for name in names]
    return tuple(
        sympy.Add(*(field.to_sympy(x) * symbol for x, symbol in zip(row, symbols, strict=True) if x))
        for row in reduced.to_list()[: len(pivots)]
    )


def _by_state(p: Polynomial, lengths: set[str]) -> dict[Any, Any]:
    """The coefficients, of lengths alone, of all that changes with the state."""
    found: dict[Any, Any] = {}
    for powers, i, x in p.monomials():
        state = (i, *sorted((name, power) for name, power in powers.items() if name not in lengths))
        factors = [sympy.Symbol(name, real=True) ** power for name, power in powers.items() if name in lengths]
        found[state] = found.get(state, 0) + sympy.Mul(sympy.Rational(x.numerator, x.denominator), *factors)
    return found
