"""Change of velocity: the one operation behind every formulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import block, is_numeric, solve
from ..arrays.arguments import shape_of
from ..arrays.differentiate import derivative
from ..arrays.types import Matrix, Matrix_k_nv, Matrix_nv_nv, Vector_nv
from ..dynamics.checks import check_robot, numbers, vector
from ..errors import ModelError, NumericsError, describe
from ..model import Model, State
from ..records import concise
from .claims import Claim, named_claims
from .time import is_rate, state_after


@concise
@dataclass(frozen=True, eq=False)
class VelocityChange:
    """Change of velocity ``v_y = T v_x``: another quasi-velocity for the same motion.

    [Feurstein] 3.3.1, [Traversaro] 4, [Mishra] Lemma 2.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> change = fc.changes.centroidal(cat, state)
        >>> bool(np.allclose(change.inverted().velocity(change.velocity(state.velocity)), state.velocity))
        True
    """

    T: Matrix_nv_nv
    """``nv x nv``"""
    T_dot: Matrix_nv_nv
    """``nv x nv``: time derivative of ``T`` along the state"""
    inverse: Matrix_nv_nv
    """``nv x nv``: ``T^-1``, made from the structure of ``T``, not by inverting a matrix"""
    name: str
    """name of the formulation"""
    base: str = "base"
    """Meaning of the first block of ``v_y``: velocity or momentum, of which body, in which frame."""
    joints: str = "joint rates"
    """Meaning of the second block of ``v_y``."""
    claims: Iterable[str | Claim] = ()
    """Properties that the changed equations must have: names (``mass decoupling``, ``invariance``, ...) or your own."""
    at: Callable[[complex], Matrix] | None = None
    """``T`` a (complex, infinitesimal) time later; without it, what depends on ``T_dot`` stays unproved.  Those of the
    library's own changes are not pickled."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "claims", named_claims(self.claims))
        shape = shape_of(self.T)
        if shape is None or len(shape) < 2:  # kernels make many changes at once: a batch shape may stand in front
            raise ModelError(f"T of the change {self.name!r} is a matrix, not {describe(self.T)}")
        numbers(self.T, shape, f"T of the change {self.name!r}")
        numbers(self.T_dot, shape, f"T_dot of the change {self.name!r}")
        numbers(self.inverse, (*shape[:-2], shape[-1], shape[-2]), f"the inverse of the change {self.name!r}")

    @classmethod
    def of(
        cls,
        model: Model,
        state: State,
        matrix: Callable[[State], Matrix_nv_nv],
        name: str = "custom",
        base: str = "base",
        joints: str = "joint rates",
        claims: Iterable[str | Claim] = (),
        T_dot: Matrix_nv_nv | None = None,
        inverse: Matrix_nv_nv | None = None,
    ) -> VelocityChange:
        """Change with ``T = matrix(state)``, a function of the configuration (pose and joints) alone.

        ``T_dot`` and ``inverse`` are derived if left out: the rate by complex step on plain numbers, so ``matrix`` must
        compute with complex ones too, and exactly on expressions and in JAX.  What is given is checked by certificates.

        Args:
            model: Robot.
            state: Configuration and velocity.
            matrix: ``T`` (nv x nv) as a function of the state.
            name: Name of the formulation.
            base: First block of ``v_y`` in words.
            joints: Second block of ``v_y`` in words.
            claims: Properties of the changed equations, by name or as :class:`Claim`.
            T_dot: ``dT/dt`` (nv x nv); None: derived.
            inverse: ``T^-1`` (nv x nv); None: derived.

        Returns:
            Change of velocity.

        Example:
            >>> import fallingcat as fc
            >>> cat = fc.robots.cat()
            >>> state = cat.random_state(np.random.default_rng(0))
            >>> def mujoco(state):  # the base's linear velocity along the world's axes
            ...     return fc.lie.rotations.block_diagonal([state.pose[:3, :3], np.eye(cat.nv - 3)])
            >>> change = VelocityChange.of(cat, state, mujoco, "mujoco")
            >>> fc.equations(cat, state).change(change).certify().passed
            True
        """
        check_robot(model, state)
        if not callable(matrix):
            raise ModelError(f"the change {name!r} is a function State -> T, not {describe(matrix)}")
        T = _square(matrix(state), model.nv, f"T of the change {name!r}")
        if T_dot is None:
            T_dot = derived_rate(model, state, matrix, f"T of the change {name!r}")
        if inverse is None:
            inverse = _inverse(T, name)
        _square(T_dot, model.nv, f"T_dot of the change {name!r}")
        _square(inverse, model.nv, f"the inverse of the change {name!r}")
        at = _MatrixAlongStep(lambda step: matrix(state_after(model, state, step)))
        return cls(T, T_dot, inverse, name, base, joints, claims, at)

    def velocity(self, v: Vector_nv) -> Vector_nv:
        """New velocity ``T v``.

        Args:
            v: Velocity, ``nv``.

        Returns:
            ``nv``.
        """
        return self.T @ vector(v, self.T.shape[1], "v")

    def acceleration(self, a: Vector_nv, v: Vector_nv) -> Vector_nv:
        """New acceleration ``T a + dT/dt v``.

        Args:
            a: Acceleration ``dv/dt``, ``nv``.
            v: Velocity, ``nv``.

        Returns:
            ``nv``.
        """
        n = self.T.shape[1]
        return self.T @ vector(a, n, "a") + self.T_dot @ vector(v, n, "v")

    def forces(self, forces: Vector_nv) -> Vector_nv:
        """New forces ``T^-T F``, which do the same work.

        Args:
            forces: Forces collocated with the old velocity, ``nv``.

        Returns:
            ``nv``.
        """
        return self.inverse.T @ vector(forces, self.T.shape[1], "forces")

    def jacobian(self, J: Matrix_k_nv) -> Matrix_k_nv:
        """Jacobian for the new velocity, ``J T^-1`` ([Traversaro] (21)).

        Args:
            J: Jacobian for the old velocity, ``k x nv``.

        Returns:
            ``k x nv`` matrix.
        """
        rows = (shape_of(J) or (0,))[0]
        return numbers(J, (rows, self.T.shape[1]), "J") @ self.inverse

    @property
    def inverse_dot(self) -> Matrix_nv_nv:
        """Time derivative of the inverse, ``d(T^-1)/dt = -T^-1 (dT/dt) T^-1`` (nv x nv)."""
        return -(self.inverse @ self.T_dot @ self.inverse)

    def inverted(self) -> VelocityChange:
        """Change back, ``v_x = T^-1 v_y``.

        Returns:
            Inverse change of velocity.
        """
        if self.T.shape[0] != self.T.shape[1]:
            raise ModelError(f"the change {self.name!r} drops velocities: it cannot be inverted")
        at = None if self.at is None else _MatrixAlongStep(lambda step: _inverse_at(self, step))
        return VelocityChange(self.inverse, self.inverse_dot, self.T, f"inverse of {self.name}", at=at)

    def then(self, other: VelocityChange) -> VelocityChange:
        """Compose two changes: first this one, then ``other``, ``T = T_other T_this``.

        Args:
            other: Change that follows.

        Returns:
            Both as one.
        """
        if not isinstance(other, VelocityChange) or other.T.shape[1] != self.T.shape[0]:
            raise ModelError(f"other is a VelocityChange of {self.T.shape[0]} numbers, not {describe(other)}")
        first, second = self.at, other.at
        return VelocityChange(
            other.T @ self.T,
            other.T_dot @ self.T + other.T @ self.T_dot,
            self.inverse @ other.inverse,
            f"{self.name}, then {other.name}",
            other.base,
            other.joints,
            other.claims,
            None if first is None or second is None else _MatrixAlongStep(lambda step: second(step) @ first(step)),
        )


class _MatrixAlongStep:
    """Matrix ``T`` as a function of a time step.  Local functions cannot be pickled: this one becomes None."""

    def __init__(self, matrix: Callable[[complex], Matrix]) -> None:
        self._matrix = matrix

    def __call__(self, step: complex) -> Matrix:
        return self._matrix(step)

    def __reduce__(self) -> Any:
        return type(None), ()

    def __deepcopy__(self, memo: Any) -> _MatrixAlongStep:
        return self


def _square(X: Matrix, size: int, what: str) -> Matrix:
    """``X`` if it is a square matrix of the given size that holds, where they can be seen, finite numbers only."""
    return numbers(X, (size, size), what)


def _inverse(T: Matrix, name: str) -> Matrix:
    """``T^-1``, or an error where there is none; rows may have any units."""
    if is_numeric(T) and len(T):
        # rows in m and in rad may differ by any factor, which says nothing about the rank: each is scaled to 1
        largest = np.abs(T).max(axis=1, keepdims=True)
        condition = np.linalg.cond(T / largest) if largest.all() else np.inf
        if not condition < 1e12:
            raise NumericsError(f"T of the change {name!r} is singular", value=float(condition))
    return solve(T, np.eye(len(T))) if len(T) else T


def derived_rate(model: Model, state: State, matrix: Callable[[State], Matrix], what: str) -> Matrix:
    """Rate of ``matrix(state)`` along the state; an error if it is a function of more than the configuration."""
    at = lambda step: matrix(state_after(model, state, step))  # noqa: E731
    rate = derivative(at, like=state)
    if not all(map(is_numeric, (rate, *state))):
        return rate
    still = State(state.pose, state.joints, 0.0 * state.twist, 0.0 * state.rates)
    # exactly equal: a function of the configuration does the same arithmetic at any velocity
    if not np.array_equal(matrix(still), matrix(state)):
        raise ModelError(f"{what} depends on the velocity: it must be a function of pose and joints")
    if not is_rate(rate, at, float(np.abs(state.velocity).max(initial=0.0))):
        hint = "give the rate, or avoid real arrays, abs and norms"
        raise ModelError(f"{what} does not compute with complex numbers, so its rate cannot be derived: {hint}")
    return rate


def _inverse_at(change: VelocityChange, step: complex) -> Matrix:
    assert change.at is not None
    return np.linalg.inv(change.at(step))


def upper(X: Matrix, X_inverse: Matrix, Y: Matrix, Z: Matrix, Z_inverse: Matrix) -> tuple[Matrix, Matrix]:
    """Upper triangular ``T = [[X, Y], [0, Z]]`` and its inverse ``[[X^-1, -X^-1 Y Z^-1], [0, Z^-1]]``."""
    zero = np.zeros((Z.shape[0], X.shape[1]))
    inverse = block([[X_inverse, -(X_inverse @ Y @ Z_inverse)], [np.zeros((Z_inverse.shape[0], len(X))), Z_inverse]])
    return block([[X, Y], [zero, Z]]), inverse


def identity(model: Model) -> VelocityChange:
    """Change that changes nothing; the start of a chain."""
    one, zero = np.eye(model.nv), np.zeros((model.nv, model.nv))
    return VelocityChange(
        one, zero, one, "body", "twist of the base, body-fixed", at=_MatrixAlongStep(lambda step: one)
    )
