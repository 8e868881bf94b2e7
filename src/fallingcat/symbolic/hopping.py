"""Foot and center of mass of a planar robot: what the controllers of [Feurstein] 4.1.5 need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from .._deprecated import former_arguments
from ..model.literals import Place
from . import toolbox as tb

if TYPE_CHECKING:
    from .derivation import Derivation


@former_arguments(frame="link")
def foot(d: Derivation, link: Place) -> dict[str, Any]:
    """Closed forms of a foot, by the names of [Feurstein] A.2.1.

    Args:
        d: Derivation of a planar robot.
        link: Link or frame of the foot.

    Returns:
        ``H_if``, ``H_bf`` (3 x 3 poses); ``Jodot_if``, ``Jnu_if`` (velocities per ``d.v``); ``o_bc``, ``b_o_cf``,
        ``i_o_cf`` (2, m); ``r_cf`` (m), ``alpha_cf`` (rad) and the Jacobians of length and angle from the center of
        mass to the foot: ``Jr_iocf``, ``Jp_iocf`` per velocity in the world, ``Jrdot_cf``, ``Jalphadot_cf`` per
        ``d.v``; ``P_int``, ``Jv_int``: the internal velocity (3.96).

    Example:
        >>> import fallingcat as fc
        >>> d = fc.symbolic.derive(fc.robots.prismatic_hopper(), "masses")
        >>> foot(d, "foot")["b_o_cf"]
        Matrix([
        [m_0*q_1/(m_0 + m_1)],
        [                  0]])
    """
    x, n = d.q, d.model.n
    H_if, H_ib = d.planar(d.pose(link)), tb.pose(x[2], x[:2])
    H_bf = tb.tidy(tb.inverse(H_ib) * H_if)
    o_bc = sympy.ImmutableMatrix(d["o_bc"][:2, 0])
    b_o_cf = tb.tidy(tb.origin(H_bf) - o_bc)
    i_o_cf = tb.tidy(tb.rotation(x[2]) * b_o_cf)
    r = sympy.sqrt(tb.tidy((b_o_cf.T * b_o_cf)[0]))
    Jr = sympy.ImmutableMatrix([[i_o_cf[0] / r, i_o_cf[1] / r]])
    Jp = sympy.ImmutableMatrix([[-i_o_cf[1] / r**2, i_o_cf[0] / r**2]])
    Jiodot_cf = tb.Jodot(i_o_cf, x)
    A = d["A"]
    P_int = sympy.zeros(3 + n, 3).row_join((-A).col_join(sympy.eye(n)))
    Jnu_if = tb.Jnu(H_if, x)
    Jv_int = tb.row12(Jnu_if) * P_int
    return {
        "H_if": H_if,
        "H_bf": H_bf,
        "Jodot_if": tb.Jodot(tb.origin(H_if), x),
        "Jnu_if": Jnu_if,
        "o_bc": o_bc,
        "b_o_cf": b_o_cf,
        "i_o_cf": i_o_cf,
        "r_cf": r,
        "alpha_cf": sympy.atan2(i_o_cf[1], i_o_cf[0]) + sympy.pi / 2,
        "Jr_iocf": Jr,
        "Jp_iocf": Jp,
        "Jiodot_cf": Jiodot_cf,
        "Jrdot_cf": sympy.ImmutableMatrix(Jr * tb.orientation(H_if) * Jv_int),
        "Jalphadot_cf": sympy.ImmutableMatrix(Jp * Jiodot_cf),
        "P_int": sympy.ImmutableMatrix(P_int),
        "Jv_int": sympy.ImmutableMatrix(Jv_int),
    }
