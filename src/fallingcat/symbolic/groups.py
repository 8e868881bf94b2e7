"""[From] Tables 1 and 2, derived: the algebra, the bracket and the Coriolis matrix of a body in every group."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import sympy

from ..arrays import array
from ..lie import R1, R2, R3, SE2, SE3, SO2, SO3, Cylindrical, Group, Helical, PseudoPlanar, Schoenflies
from .toolbox import tidy

_TWIST: Final = sympy.symbols("u v w p q r", real=True)
GROUPS: Final[dict[str, Group]] = {
    "SE(3)": SE3(),
    "X(z)": Schoenflies(),
    "R^3": R3(),
    "SE(2)": SE2(),
    "SO(3)": SO3(),
    "R^2": R2(),
    "R": R1((0.0, 0.0, 1.0)),
    "H": Helical(pitch=0.5),
    "SO(2)": SO2((0.0, 0.0, 1.0)),
    "C": Cylindrical(),
    "Y": PseudoPlanar(pitch=0.5),
}


class Row(NamedTuple):
    """Tabulated matrices of one group, with symbols ``V = (u, v, w, p, q, r)``, ``phi_i``, ``p_i = (M v)_i``."""

    hat: Any
    """``4 x 4``: the element of the algebra"""
    ad: Any
    """``m x m``: the bracket"""
    S: Any
    """``m x m``: the velocity that a rate of ``phi`` is, to second order: ``1 - ad/2 + ad^2/6``"""
    C: Any
    """``m x m``: the Coriolis matrix by the general theorem, ``C_ij = sum_k (dS_ki/dphi_j - dS_kj/dphi_i) p_k``"""
    by_bracket: Any
    """``m x m``: ``-adt(p)``, which has ``C v = -ad(v)' p``"""


def row(group: Group) -> Row:
    """The row of one group; nothing is taken from the tables.

    >>> row(SO3()).C
    Matrix([
    [   0,  p_3, -p_2],
    [-p_3,    0,  p_1],
    [ p_2, -p_1,    0]])
    """
    m = group.dim
    names = [_TWIST[int(np.flatnonzero(column)[-1])] for column in group.selection.T]
    phi, p = (sympy.symbols([f"{x}_{i + 1}" for i in range(m)], real=True) for x in ("phi", "p"))
    bracket = exact_matrix(group.ad(array(list(phi))))
    S = sympy.eye(m) - bracket / 2 + bracket**2 / 6
    at_zero = dict.fromkeys(phi, 0)

    def entry(i: int, j: int) -> Any:
        slopes = (sympy.diff(S[k, i], phi[j]) - sympy.diff(S[k, j], phi[i]) for k in range(m))
        return sympy.expand(sympy.Add(*(slope.subs(at_zero) * p[k] for k, slope in enumerate(slopes))))

    return Row(
        exact_matrix(group.hat(array(names))),
        exact_matrix(group.ad(array(names))),
        tidy(sympy.ImmutableMatrix(S)),
        sympy.ImmutableMatrix(m, m, entry),
        exact_matrix(-group.adt(array(list(p)))),
    )


def exact_matrix(M: Any) -> Any:
    """Floats as the whole numbers and fractions that they are."""
    return sympy.ImmutableMatrix(np.asarray(M, dtype=object)).applyfunc(sympy.nsimplify)
