"""The Symbolic Lie Algebra Toolbox of [Feurstein] A.2, Table A.1, for planar robots, function by function.

``x`` is the vector of coordinates ``[o_x, o_y, theta, q_1, ...]`` and velocities are ``[v_x, v_y, w, qd_1, ...]``, the
first two along the axes of the base: ``d/dt [o; theta; q] = [R v; w; qd]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

S = sympy.ImmutableMatrix([[0, -1], [1, 0]])
"""The cross product of the plane."""


def rotation(theta: Any) -> Any:
    """``R_xy`` (2x2)."""
    c, s = sympy.cos(theta), sympy.sin(theta)
    return sympy.ImmutableMatrix([[c, -s], [s, c]])


def pose(theta: Any, origin: Any) -> Any:
    """``H_xy`` (3x3): a turn by ``theta``, then a move to ``origin`` (2)."""
    o = sympy.Matrix(origin)
    return sympy.ImmutableMatrix(rotation(theta).row_join(o).col_join(sympy.Matrix([[0, 0, 1]])))


def origin(H: Any) -> Any:
    """``o_xy`` (2) of ``H_xy``."""
    return H[:2, 2]


def orientation(H: Any) -> Any:
    """``R_xy`` (2x2) of ``H_xy``."""
    return H[:2, :2]


def angle(H: Any) -> Any:
    """``theta_xy`` of ``H_xy``: the angle itself where the entries are its cosine and sine.

    >>> q = sympy.Symbol("q_1", real=True)
    >>> angle(pose(q, [1, 0]))
    q_1
    """
    c, s = H[0, 0], H[1, 0]
    if isinstance(c, sympy.cos) and s == sympy.sin(c.args[0]):
        return c.args[0]
    return sympy.atan2(s, c)


def inverse(H: Any) -> Any:
    """``H_yx`` of ``H_xy``."""
    R = orientation(H).T
    return sympy.ImmutableMatrix(R.row_join(-R * origin(H)).col_join(sympy.Matrix([[0, 0, 1]])))


def Adjoint(H: Any) -> Any:
    """``A_xy = [[R, -S o], [0, 1]]`` (3x3)."""
    return sympy.ImmutableMatrix(orientation(H).row_join(-S * origin(H)).col_join(sympy.Matrix([[0, 0, 1]])))


def adjoint(nu: Any) -> Any:
    """``a_xy = [[w S, -S v], [0, 0]]`` (3x3) of a body velocity ``nu = [v; w]``."""
    nu = sympy.Matrix(nu)
    return sympy.ImmutableMatrix((nu[2] * S).row_join(-S * nu[:2, 0]).col_join(sympy.zeros(1, 3)))


def adjoint_of_pose(H: Any, x: Sequence[Any], v: Sequence[Any]) -> Any:
    """``a_xy`` (3x3) of a pose that moves with the coordinates."""
    return adjoint(Jnu(H, x) * sympy.Matrix(v))


def rates(x: Sequence[Any]) -> Any:
    """``E`` with ``dx/dt = E v``: the base's linear velocity is along its own axes."""
    E = sympy.eye(len(x))
    E[:2, :2] = rotation(x[2])
    return sympy.ImmutableMatrix(E)


def Jydot(y: Any, x: Sequence[Any]) -> Any:
    """``J`` with ``dy/dt = J v``, for any function ``y`` (k) of the coordinates."""
    y = y if isinstance(y, sympy.MatrixBase) else sympy.Matrix([y])
    return sympy.ImmutableMatrix(_normalize(y.jacobian(sympy.Matrix(list(x))) * rates(x)))


def Jodot(o: Any, x: Sequence[Any]) -> Any:
    """``J`` with ``do_xy/dt = J v``, for an origin ``o`` (2)."""
    return Jydot(o, x)


def Jnu(H: Any, x: Sequence[Any]) -> Any:
    """``J`` with ``nu_xy = J v`` (3 x nv): ``[R' do/dt; dtheta/dt]``."""
    linear = orientation(H).T * Jodot(origin(H), x)
    return sympy.ImmutableMatrix(_normalize(linear.col_join(Jydot(angle(H), x))))


def link_inertia(centers: Sequence[Any], masses: Sequence[Any], moments: Sequence[Any]) -> tuple[Any, Any, Any]:
    """``Lambda_j`` (3x3), mass and center of mass of several bodies in the frame of their link ((4.9))."""
    total, mass, first = sympy.zeros(3, 3), sympy.Integer(0), sympy.zeros(2, 1)
    for center, m, moment in zip(centers, masses, moments, strict=True):
        o = sympy.Matrix(center)
        top = (m * sympy.eye(2)).row_join(m * S * o)
        total += top.col_join((-m * o.T * S).row_join(sympy.Matrix([[moment + m * (o.T * o)[0]]])))
        mass, first = mass + m, first + m * o
    return sympy.ImmutableMatrix(total), mass, sympy.ImmutableMatrix(first / mass)


def vec2mat(vector: Any, variables: Sequence[Any]) -> tuple[Any, Any]:
    """Matrices ``M, rest`` with ``vector = M variables + rest``.

    As in the thesis one of many: products of two variables go to the later one.

    Example:
        >>> a, b = sympy.symbols("a b")
        >>> vec2mat(sympy.Matrix([a * b + 2 * a + 3]), [a, b])
        (Matrix([[2, a]]), Matrix([[3]]))
    """
    rest, columns = sympy.Matrix(vector).expand(), []
    for x in reversed(list(variables)):
        with_x = rest.applyfunc(lambda e, x=x: sympy.expand((e - e.subs(x, 0)) / x))
        columns.append(with_x)
        rest = (rest - with_x * x).expand()
    return sympy.ImmutableMatrix(sympy.Matrix.hstack(*reversed(columns))), sympy.ImmutableMatrix(rest)


def row12(M: Any) -> Any:
    """The first two rows."""
    return M[:2, :]


def time_derivative(M: Any, x: Sequence[Any], v: Sequence[Any], a: Sequence[Any] = ()) -> Any:
    """``dM/dt`` (a matrix, or one expression) along the motion."""
    moved = dict(zip(x, rates(x) * sympy.Matrix(list(v)), strict=True)) | dict(zip(v if a else (), a, strict=True))

    def rate(e: Any) -> Any:
        return _tidy_expression(sympy.Add(*(sympy.diff(e, s) * speed for s, speed in moved.items())))

    return M.applyfunc(rate) if isinstance(M, sympy.MatrixBase) else rate(M)


def printsimmat(M: Any, symbols: Sequence[Any], variable: str = "y", first: int = 1) -> str:
    """A matrix as text for a simulation whose state is one array: ``symbols[i]`` is ``variable(first + i)``.

    >>> q = sympy.Symbol("q_1", real=True)
    >>> printsimmat(sympy.Matrix([[sympy.cos(q), q]]), [q])
    '[cos(y(1)) y(1)]'
    """
    if not variable.isidentifier():
        raise ValueError(f"the state of a simulation is a variable, not {variable!r}")
    places = {x: sympy.Symbol(f"{variable}({first + i})") for i, x in enumerate(symbols)}
    return str(sympy.octave_code(symmat(M).xreplace(places)))


def symmat(X: Any) -> Any:
    """Argument as a matrix with readable entries."""
    return X if isinstance(X, sympy.MatrixBase) else sympy.ImmutableMatrix(X if isinstance(X, (list, tuple)) else [X])


def tidy(M: Any) -> Any:
    """Entries (or one expression) in the normal form of derivations: angles added up, no ``simplify``."""
    return _normalize(M) if isinstance(M, sympy.MatrixBase) else _tidy_expression(sympy.sympify(M))


def _normalize(M: Any) -> Any:
    return sympy.ImmutableMatrix(M.applyfunc(_tidy_expression))


def _tidy_expression(e: Any) -> Any:
    from .algebra import Algebra
    from .readable import Writer

    algebra = Algebra()
    p = algebra.common_quotient(algebra.polynomial(e))
    together = {name[2:]: 0 for name in algebra.ring.names if name.startswith("e^")}
    writer = Writer(algebra, (), together)
    return writer.explicit(writer.write(p))
