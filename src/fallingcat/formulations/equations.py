"""Equations of motion, and the one operation behind every formulation: a change of velocity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import block, solve
from ..dynamics import coriolis_matrix, gravity_forces, mass_matrix, mass_matrix_derivative
from ..dynamics.checks import vector
from ..errors import ModelError, told
from ..model import Model, State

if TYPE_CHECKING:
    from .certificate import Certificate


@dataclass(frozen=True, eq=False)
class VelocityChange:
    """``v_y = T v_x``: another quasi-velocity for the same motion ([Feurstein] 3.3.1, [Traversaro] 4, [Mishra] Lemma
    2).

    ``T``, ``T_dot`` (its time derivative along the state) and ``inverse`` are nv x nv.  ``inverse`` is made from the
    structure of ``T``, not by inverting a matrix.
    """

    T: Any
    T_dot: Any
    inverse: Any
    name: str
    base: str = "base"
    """What the first block of ``v_y`` is: the velocity or momentum of what, in which frame."""
    joints: str = "joint rates"
    """What the second block of ``v_y`` is."""
    claims: frozenset[str] = frozenset()
    """Properties that the changed equations must have: ``decoupled mass``, ``invariant base``, ..."""
    at: Callable[[complex], Any] | None = None
    """``T`` a (complex, infinitesimal) time later, for certificates; None where it is not known."""

    def velocity(self, v: Any) -> Any:
        """``T v``."""
        return self.T @ v

    def acceleration(self, a: Any, v: Any) -> Any:
        """``T a + dT/dt v``."""
        return self.T @ a + self.T_dot @ v

    def forces(self, forces: Any) -> Any:
        """``T^-T F``: the forces that do the same work."""
        return self.inverse.T @ forces

    def jacobian(self, J: Any) -> Any:
        """``J T^-1``: a Jacobian for the new velocity ([Traversaro] (21))."""
        return J @ self.inverse

    @property
    def inverse_dot(self) -> Any:
        """``d(T^-1)/dt = -T^-1 (dT/dt) T^-1``."""
        return -(self.inverse @ self.T_dot @ self.inverse)

    def inverted(self) -> VelocityChange:
        """The change back: ``v_x = T^-1 v_y``."""
        if self.T.shape[0] != self.T.shape[1]:
            raise ModelError(f"the change {self.name!r} drops velocities: it cannot be inverted")
        at = None if self.at is None else lambda step: _inverse_at(self, step)
        return VelocityChange(self.inverse, self.inverse_dot, self.T, f"inverse of {self.name}", at=at)

    def then(self, other: VelocityChange) -> VelocityChange:
        """First this change, then ``other``: ``T = T_other T_this``."""
        first, second = self.at, other.at
        return VelocityChange(
            other.T @ self.T,
            other.T_dot @ self.T + other.T @ self.T_dot,
            self.inverse @ other.inverse,
            f"{self.name}, then {other.name}",
            other.base,
            other.joints,
            other.claims,
            None if first is None or second is None else lambda step: second(step) @ first(step),
        )


def _inverse_at(change: VelocityChange, step: complex) -> Any:
    assert change.at is not None
    return np.linalg.inv(change.at(step))


def upper(X: Any, X_inverse: Any, Y: Any, Z: Any, Z_inverse: Any) -> tuple[Any, Any]:
    """``T = [[X, Y], [0, Z]]`` and its inverse ``[[X^-1, -X^-1 Y Z^-1], [0, Z^-1]]``."""
    zero = np.zeros((Z.shape[0], X.shape[1]))
    inverse = block([[X_inverse, -(X_inverse @ Y @ Z_inverse)], [np.zeros((Z_inverse.shape[0], len(X))), Z_inverse]])
    return block([[X, Y], [zero, Z]]), inverse


def identity(model: Model) -> VelocityChange:
    """The change that changes nothing; the start of a chain."""
    one, zero = np.eye(model.nv), np.zeros((model.nv, model.nv))
    return VelocityChange(one, zero, one, "body", "twist of the base, body-fixed", at=lambda step: one)


@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """``M dv/dt + C v + g = forces``, for one state and one choice of velocity.

    ``M``, ``C``, ``M_dot`` are nv x nv, ``g`` and ``v`` nv; their first ``m`` entries belong to the base (or what a
    change made of it), the others to the joints.  SI units throughout.
    """

    M: Any
    C: Any
    g: Any
    Mdot: Any
    v: Any
    factorization: str
    model: Model
    state: State
    changes: VelocityChange
    """All changes so far, as one; the identity for body-fixed equations."""

    @property
    def name(self) -> str:
        """The formulation."""
        return self.changes.name

    @property
    def m(self) -> int:
        """Size of the first block."""
        return self.model.m

    def change(self, change: VelocityChange) -> EquationsOfMotion:
        """The same equations for ``v_y = T v``: [Feurstein] (3.77), [Traversaro] Theorem 2 (23).

        ``M_y = T^-T M T^-1``, ``C_y = T^-T C T^-1 - M_y (dT/dt) T^-1``, ``g_y = T^-T g``; ``Mdot = C + C'`` survives.
        """
        if not isinstance(change, VelocityChange):
            raise ModelError(f"a change is a VelocityChange, such as mixed(model, state), not {told(change)}")
        if np.shape(change.T)[1] != len(self.v):
            raise ModelError(f"the change {change.name!r} takes {np.shape(change.T)[1]} velocities, not {len(self.v)}")
        if np.shape(change.T)[0] != len(self.v):
            raise ModelError(f"the change {change.name!r} drops velocities: what is left has no equations of its own")
        Ti = change.inverse
        M = Ti.T @ self.M @ Ti
        turn = change.T_dot @ Ti
        return EquationsOfMotion(
            M,
            Ti.T @ self.C @ Ti - M @ turn,
            Ti.T @ self.g,
            Ti.T @ self.Mdot @ Ti - M @ turn - turn.T @ M,
            change.T @ self.v,
            self.factorization,
            self.model,
            self.state,
            self.changes.then(change) if self.changes.name != "body" else change,
        )

    def forces(self, acceleration: Any) -> Any:
        """The forces (nv) that give the acceleration ``dv/dt``."""
        return self.M @ vector(acceleration, len(self.v), "acceleration") + self.C @ self.v + self.g

    def forward(self, forces: Any) -> Any:
        """The acceleration ``dv/dt`` (nv) under ``forces`` collocated with ``v``."""
        return solve(self.M, vector(forces, len(self.v), "forces") - self.C @ self.v - self.g)

    def certify(self, tolerance: float = 1e-9) -> Certificate:
        """Named residuals of everything that these equations claim, against independent quantities."""
        from .certificate import certify

        return certify(self, tolerance)


def equations(model: Model, state: State, factorization: str = "christoffel") -> EquationsOfMotion:
    """The body-fixed equations of motion ``M dv/dt + C v + g = forces`` of ``v = [twist; rates]``.

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> state = cat.random_state(np.random.default_rng(0))
    >>> eom = fc.equations(cat, state).change(fc.centroidal(cat, state))
    >>> bool(abs(eom.M[:6, 6:]).max() < 1e-12)  # base and joints decouple
    True
    """
    return EquationsOfMotion(
        mass_matrix(model, state),
        coriolis_matrix(model, state, factorization),
        gravity_forces(model, state),
        mass_matrix_derivative(model, state),
        state.velocity,
        factorization,
        model,
        state,
        identity(model),
    )
