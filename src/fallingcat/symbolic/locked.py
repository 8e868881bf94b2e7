"""The frame that moves with the locked velocity, where it exists: ``theta_bc(q)`` in closed form.

On a planar base one joint is always integrable, and its integral is elementary.  Several are where the curvature
vanishes; then each integral must depend on its own joint alone to be written down here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sympy

from .. import dynamics as dyn
from ..errors import ModelError
from ..lie import SE2
from ..model import Model, State

if TYPE_CHECKING:
    from .derivation import Derivation


def center(d: Derivation) -> Any:
    """The center of mass in the base frame (3)."""

    def in_base(model: Model, state: State) -> Any:
        there = State(model.base.identity(), state.joints, state.twist, state.rates)
        return dyn.center_of_mass(model, there)

    return d.computed(in_base)


def rate(d: Derivation) -> Any:
    """``w_bc`` per unit rate (1 x n): the last row of the connection of a planar base ([Feurstein] 3.2.4)."""
    _check(d)
    return sympy.ImmutableMatrix(d._by_name("A")[2:, :])


def angle(d: Derivation) -> Any:
    """``theta_bc`` with ``d theta_bc / dt = w_bc`` and 0 at ``q = 0``; whole turns count."""
    total = sympy.Integer(0)
    coordinates = d.q[d.model.base.nq :]
    for q, rate in zip(coordinates, d._by_name("w_bc"), strict=True):
        w = d.moving(rate)
        if {*coordinates} & w.free_symbols - {q}:
            reason = "the curvature does not vanish" if any(d["F"]) else "it mixes joints"
            raise ModelError(f"theta_bc of {d.model.name!r} has no closed form here: {reason}; see locked_angle")
        total += integral(w, q, d.name)
    return total


def pose(d: Derivation) -> Any:
    """``H_bc`` (4x4): the center of mass, turned by ``theta_bc``."""
    theta, o = d.name(d._by_name("theta_bc"), "theta_bc"), d._by_name("o_bc")
    c, s = sympy.cos(theta), sympy.sin(theta)
    return sympy.ImmutableMatrix([[c, -s, 0, o[0]], [s, c, 0, o[1]], [0, 0, 1, o[2]], [0, 0, 0, 1]])


def integral(w: Any, q: Any, name: Callable[[Any], Any]) -> Any:
    """The integral of ``w`` from 0 to ``q``, for ``w`` rational of first order in ``cos q``, ``sin q``, or in ``q``.

    ``name`` gives constants that occur often a name.
    """
    top, bottom = sympy.fraction(sympy.together(sympy.expand_trig(w)))
    c, s = sympy.cos(q), sympy.sin(q)
    if not w.has(c, s):
        return _of_a_slider(top, bottom, q, name)
    C, S = sympy.symbols("C S")
    top, bottom = (sympy.Poly(sympy.expand(x).subs({c: C, s: S}), C, S) for x in (top, bottom))
    if max(top.total_degree(), bottom.total_degree()) > 1:
        raise ModelError("theta_bc has no closed form here: its rate is not of first order in cos q and sin q")
    A, B, K = (sympy.factor(top.coeff_monomial(x)) for x in (1, C, S))
    a, b, k = (sympy.factor(bottom.coeff_monomial(x)) for x in (1, C, S))
    if b == 0 and k == 0:
        return (A * q + B * sympy.sin(q) + K * (1 - sympy.cos(q))) / a
    if k == 0 and K == 0:
        return _of_cosines(A, B, a, b, name)(q)
    # turn the angle so that the denominator is a + r cos(q - phase)
    r, phase = name(sympy.sqrt(sympy.factor(b**2 + k**2))), name(sympy.atan2(k, b))
    along, across = (name(sympy.factor(x) / r) for x in (B * b + K * k, K * b - B * k))
    turned = _of_cosines(A, along, a, r, name)
    even = turned(q - phase) - turned(-phase)
    odd = -across / r * sympy.log((a + r * sympy.cos(q - phase)) / (a + b))
    return even + odd


def _of_cosines(A: Any, B: Any, a: Any, b: Any, name: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The integral of ``(A + B cos q) / (a + b cos q)``, ``a > |b|``, that [Feurstein] A.2.1 prints.

    With ``k = root / (a + b)`` its ``atan(k tan(q / 2))`` jumps at half a turn; the same angle is written here as
    ``q / 2 + atan((k - 1) sin q / (1 + k + (1 - k) cos q))``, which does not.
    """
    root = name(sympy.sqrt(sympy.factor(a**2 - b**2)))
    less, more = name(a + b - root), name(a + b + root)
    slope = name(sympy.factor((A * b - B * a) / (b * root)))
    share = sympy.cancel(B / b)
    return lambda q: share * q + (q - 2 * sympy.atan(less * sympy.sin(q) / (more + less * sympy.cos(q)))) * slope


def _of_a_slider(top: Any, bottom: Any, q: Any, name: Callable[[Any], Any]) -> Any:
    """The integral of ``(A + B q) / (a + b q + c q^2)``, whose denominator, an inertia, has no real root."""
    top, bottom = sympy.Poly(top, q), sympy.Poly(bottom, q)
    if top.degree() > 1 or bottom.degree() > 2:
        raise ModelError("theta_bc has no closed form here: its rate is no quotient of a line and a parabola")
    A, B = top.coeff_monomial(1), top.coeff_monomial(q)
    a, b, c = (bottom.coeff_monomial(q**i) for i in range(3))
    if not top:
        return sympy.Integer(0)
    if c == 0:
        raise ModelError("theta_bc has no closed form here: the denominator of its rate is a line")
    root = name(sympy.sqrt(4 * a * c - b**2))
    arc = sympy.atan((2 * c * q + b) / root) - sympy.atan(b / root)
    return B / (2 * c) * sympy.log((a + b * q + c * q**2) / a) + (2 * A - B * b / c) / root * arc


def _check(d: Derivation) -> None:
    if not isinstance(d.model.base, SE2):
        raise ModelError(f"theta_bc is of robots with a planar base, and {d.model.name!r} has {d.model.base}")
