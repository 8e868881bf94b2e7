"""[Mishra] Table I, derived: three forms of the reduced equations of every robot on a group at once.

A robot whose base moves in a group G is, when nothing pulls, its Lagrangian ``l = mu' Mb mu / 2 + rates' Lq rates / 2``
with the locked velocity ``mu = V + A rates``.  Here ``Mb(q)``, ``A(q)``, ``Lq(q)`` are unspecified functions:
what is found holds for all of them, and so for every robot.  The equations are ``diag(Mb, Lq) dxi/dt + force = 0`` with
``xi = [mu; rates]``; a form of them is a matrix with ``force = Gamma xi``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import ImmutableMatrix as Matrix

from ..caching import cached_property
from ..lie import Group
from .groups import exact_matrix

_C, _S = sympy.symbols("c s", real=True)
"""Cosine and sine of an angle; a length is ``s`` too."""


@dataclass(frozen=True)
class Reduction:
    """The reduced equations of all robots with ``n`` joints of one degree of freedom on ``group``."""

    group: Group
    n: int = 2

    @property
    def m(self) -> int:
        """Dimension of the group."""
        return self.group.dim

    # what is given ----------------------------------------------------------------------------------------------

    @cached_property
    def q(self) -> tuple[Any, ...]:
        """Joint coordinates ``q_1, ..., q_n``."""
        return sympy.symbols(f"q_1:{self.n + 1}", real=True)

    @cached_property
    def rates(self) -> Any:
        """Joint rates (n)."""
        return self._vector("qd", self.n)

    @cached_property
    def mu(self) -> Any:
        """Locked velocity (m)."""
        return self._vector("mu", self.m)

    @property
    def xi(self) -> Any:
        """Quasi-velocity ``[mu; rates]``."""
        return self.mu.col_join(self.rates)

    @cached_property
    def Mb(self) -> Any:
        """Locked inertia: any symmetric matrix of functions of the shape."""
        return self._symmetric("M", self.m)

    @cached_property
    def Lq(self) -> Any:
        """Reduced shape inertia, likewise."""
        return self._symmetric("L", self.n)

    @cached_property
    def A(self) -> Any:
        """Connection."""
        return Matrix(self.m, self.n, lambda i, j: self._function(f"A_{i + 1}{j + 1}"))

    # what follows -----------------------------------------------------------------------------------------------

    @cached_property
    def force(self) -> Any:
        """The Coriolis forces on ``xi``, from the Lagrangian alone (Hamel): Poincare's row, and that of the joints.

        ``d/dt dl/dV = ad(V)' dl/dV`` and ``d/dt dl/drates = dl/dq``, less ``A'`` times the first row, without the
        accelerations.
        """
        V = self._vector("V", self.m)
        mu = V + self.A * self.rates
        energy = (mu.T * self.Mb * mu + self.rates.T * self.Lq * self.rates)[0] / 2
        back = dict(zip(V, self.mu - self.A * self.rates, strict=True))
        momentum = self.Mb * self.mu
        # dmu/dt and drates/dt are what the inertia multiplies: here they are zero, and dV/dt = -dA/dt rates
        top = self.dot(self.Mb) * self.mu - self.ad(Matrix([back[x] for x in V])).T * momentum
        of_joints = (
            self.dot(self.A).T * momentum + self.A.T * self.dot(self.Mb) * self.mu + self.dot(self.Lq) * self.rates
        )
        slopes = Matrix([sympy.diff(energy, x).subs(back) for x in self.q])
        return expand_entries(top.col_join(of_joints - slopes - self.A.T * top))

    def P(self, rates: Any) -> Any:
        """``m x m``: the derivative of the locked inertia along ``rates`` (Lemma 6)."""
        return self.dot(self.Mb, rates)

    def S(self, mu: Any) -> Any:
        """``m x n``: the derivative of the locked inertia, times ``mu`` (Lemma 7)."""
        return Matrix.hstack(*(sympy.diff(self.Mb, x) * mu for x in self.q))

    def curvature(self, i: int, j: int) -> Any:
        """``DA(e_i, e_j)`` (m), Def. 5."""
        a, b = self.A[:, i], self.A[:, j]
        return sympy.diff(b, self.q[i]) - sympy.diff(a, self.q[j]) - self.ad(a) * b

    def curvature_along(self, rates: Any, j: int) -> Any:
        """``DA(rates, e_j)`` (m)."""
        return sum((rates[i] * self.curvature(i, j) for i in range(self.n)), start=sympy.zeros(self.m, 1))

    def B(self, mu: Any) -> Any:
        """``n x n``: the forces of the curvature, ``B[j, i] = mu' Mb DA(e_i, e_j)``."""
        return Matrix(self.n, self.n, lambda j, i: (mu.T * self.Mb * self.curvature(i, j))[0])

    @cached_property
    def shape_coriolis(self) -> Any:
        """``n x n``: the matrix of Christoffel of the reduced shape inertia."""

        def entry(i: int, j: int) -> Any:
            slopes = (
                sympy.diff(self.Lq[i, j], x)
                + sympy.diff(self.Lq[i, k], self.q[j])
                - sympy.diff(self.Lq[j, k], self.q[i])
                for k, x in enumerate(self.q)
            )
            return sympy.Add(*(slope * rate / 2 for slope, rate in zip(slopes, self.rates, strict=True)))

        return Matrix(self.n, self.n, entry)

    # the three forms --------------------------------------------------------------------------------------------

    def transform_coriolis(self, C: Any) -> Any:
        """Lemma 2, (8): ``L' (M dL/dt + C L)``, for a Coriolis matrix of ``[V; rates]``."""
        return expand_entries(self.L.T * (self.mass * self.dot(self.L) + C * self.L))

    @property
    def L(self) -> Any:
        """``nv x nv``: ``[V; rates] = L xi``."""
        return sympy.eye(self.m).row_join(-self.A).col_join(sympy.zeros(self.n, self.m).row_join(sympy.eye(self.n)))

    @property
    def Lambda(self) -> Any:
        """``nv x nv``: the inertia of ``xi``."""
        return sympy.diag(self.Mb, self.Lq)

    @cached_property
    def mass(self) -> Any:
        """``nv x nv``: the mass matrix of ``[V; rates]``."""
        coupled = self.Mb * self.A
        return self.Mb.row_join(coupled).col_join(coupled.T.row_join(self.Lq + self.A.T * coupled))

    def geometric(self, half: Any = sympy.S.Half) -> Any:
        """Lemma 4: (12) and (13), whose factors ``half`` are not printed."""
        turning = Matrix.hstack(*(self.curvature_along(self.rates, j) for j in range(self.n)))
        top = self.P(self.rates) - (self.ad(self.mu) - self.ad(self.A * self.rates)).T * self.Mb
        left = turning.T * self.Mb + self.A.T * self.ad(self.mu).T * self.Mb - half * self.S(self.mu).T
        slopes = Matrix.vstack(*(self.rates.T * sympy.diff(self.Lq, x) for x in self.q))
        right = self.dot(self.Lq) - half * slopes
        return expand_entries(top.row_join(sympy.zeros(self.m, self.n)).col_join(left.row_join(right)))

    @property
    def D_q(self) -> Any:
        """Theorem 1, (18): the matrix that depends on the rates."""
        return sympy.diag(self.P(self.rates) / 2, self.shape_coriolis)

    @property
    def D_mu(self) -> Any:
        """Theorem 1, (18): the matrix that depends on the locked velocity."""
        gyro, slopes = self.adt(self.Mb * self.mu), self.S(self.mu) / 2
        right = -slopes - gyro * self.A
        return expand_entries(gyro.row_join(right).col_join((-right.T).row_join(-self.B(self.mu))))

    # what Table I says ------------------------------------------------------------------------------------------

    def left_over(self) -> dict[str, Any]:
        """Residual of each claim of Table I, and of the equations behind it: zero where it holds."""
        forms = {"Lemma 4": self.geometric(), "Theorem 1": expand_entries(self.D_q - self.D_mu)}
        found = {f"forces, {name}": expand_entries(form * self.xi - self.force) for name, form in forms.items()}
        found["forces, (13) as printed"] = expand_entries(self.geometric(sympy.S.One) * self.xi - self.force)
        x, y, z = self.mu, self._vector("y", self.m), self._vector("z", self.n)
        found["commutativity, S"] = expand_entries(self.S(x).T * y - self.S(y).T * x)
        found["commutativity, P and S"] = expand_entries(self.P(z) * y - self.S(y) * z)
        for name, form in forms.items():
            found[f"commutativity, whole matrix of {name}"] = self._commutator(form, y.col_join(z))
            found[f"skew symmetry, {name}"] = expand_entries(self.dot(self.Lambda) - form - form.T)
        found |= self._of_transformed() | self._of_frames()
        found["curvature"] = self._curvature_in_forces()
        slope = (self.S(x) * self.rates).jacobian(self.xi)
        found["linearization, (29)"] = expand_entries(slope - self.P(self.rates).row_join(self.S(x)))
        return found

    def _commutator(self, form: Any, other: Any) -> Any:
        """``Gamma(xi) eta - Gamma(eta) xi``."""
        exchanged = form.subs(dict(zip(self.xi, other, strict=True)), simultaneous=True)
        return expand_entries(form * other - exchanged * self.xi)

    def _of_transformed(self) -> dict[str, Any]:
        """Skew symmetry of Lemma 2: ``Lambda' - Gamma - Gamma' = L' (M' - C - C') L`` for any matrix C."""
        size = self.m + self.n
        C = Matrix(size, size, lambda i, j: sympy.Symbol(f"C_{i + 1}{j + 1}"))
        form, L = self.transform_coriolis(C), self.L
        lost = L.T * (self.dot(self.mass) - C - C.T) * L
        body = self.ad(self.mu).T * self.Mb  # Lemma 1, (6), of one body, whose inertia is constant
        return {
            "skew symmetry, Lemma 2 but for that of C": expand_entries(self.dot(self.Lambda) - form - form.T - lost),
            "skew symmetry, C of Lemma 1": expand_entries(body + body.T),
        }

    def _of_frames(self) -> dict[str, Any]:
        """Properties 4 and 5: the rows in another frame, turned or shifted along each direction of the group."""
        found: dict[str, list[Any]] = {"momentum in another frame": [], "the same, Prop. 4 as printed": []}
        found |= {"shape in another frame": [], "the same, (34) as printed": []}
        m = self.m
        for i in range(m):
            X, back = self._Ad(i)
            mu_c, A_c, M_c = self.mu, back * self.A, X.T * self.Mb * X
            here = dict(zip(self.mu, X * mu_c, strict=True))
            force = self.force.subs(here, simultaneous=True)
            S_c, B = X.T * self.S(X * mu_c), self.B(X * mu_c)
            gyro, printed = self.adt(M_c * mu_c), X.T * self.adt(self.Mb * mu_c) * X
            rest = X.T * (force[:m, :] - (self.P(self.rates) * X * mu_c + self.S(X * mu_c) * self.rates) / 2)
            found["momentum in another frame"].append(unit(rest + gyro * (mu_c - A_c * self.rates)))
            found["the same, Prop. 4 as printed"].append(unit(rest + printed * (mu_c - A_c * self.rates)))
            shape = force[m:, :] - self.shape_coriolis * self.rates + (S_c.T / 2 - A_c.T * gyro) * mu_c
            found["shape in another frame"].append(unit(shape - B * self.rates))
            found["the same, (34) as printed"].append(unit(shape + B * self.rates))
        return {name: Matrix.vstack(*parts) for name, parts in found.items()}

    def _curvature_in_forces(self) -> Any:
        """Coupling of locked velocity and rates in the joint equations, less ``Mb DA`` (Theorem 2)."""
        left = []
        for j in range(self.n):
            gradient = Matrix([self.force[self.m + j]]).jacobian(self.mu)
            left += [gradient.diff(rate).T - self.Mb * self.curvature(i, j) for i, rate in enumerate(self.rates)]
        return expand_entries(Matrix.hstack(*left))

    # helpers ----------------------------------------------------------------------------------------------------

    def dot(self, x: Any, rates: Any = None) -> Any:
        """The derivative along the shape's motion."""
        pairs = zip(self.q, self.rates if rates is None else rates, strict=True)
        return sum((sympy.diff(x, q) * rate for q, rate in pairs), start=0 * x)

    def ad(self, x: Any) -> Any:
        """Matrix ``ad(x)`` (m x m)."""
        return sum((a * M for a, M in zip(x, self._brackets, strict=True)), start=sympy.zeros(self.m))

    def adt(self, p: Any) -> Any:
        """Matrix (m x m) of the dual bracket: ``ad(x)' p`` is its product with ``x``."""
        return Matrix.hstack(*(M.T * p for M in self._brackets))

    @cached_property
    def _brackets(self) -> list[Any]:
        return [exact_matrix(self.group.ad(e)) for e in np.eye(self.m)]

    def _Ad(self, i: int) -> tuple[Any, Any]:
        """``Ad`` of a turn about the direction ``i`` of the group, or of a shift along it; and back."""
        K, one = self._brackets[i], sympy.eye(self.m)
        if K**3 == -K and any(K):
            return one + _S * K + (1 - _C) * K**2, one - _S * K + (1 - _C) * K**2
        return one + _S * K, one - _S * K

    def _vector(self, name: str, count: int) -> Any:
        return Matrix(sympy.symbols(f"{name}_1:{count + 1}", real=True))

    def _function(self, name: str) -> Any:
        return sympy.Function(name, real=True)(*self.q)

    def _symmetric(self, name: str, size: int) -> Any:
        return Matrix(size, size, lambda i, j: self._function(f"{name}_{min(i, j) + 1}{max(i, j) + 1}"))


def unit(M: Any) -> Any:
    """Expression simplified by ``c^2 + s^2 = 1``."""
    return expand_entries(expand_entries(M).subs({_C**4: (1 - _S**2) ** 2, _C**3: _C * (1 - _S**2), _C**2: 1 - _S**2}))


def expand_entries(M: Any) -> Any:
    """Matrix with expanded entries."""
    return M.applyfunc(sympy.expand)
