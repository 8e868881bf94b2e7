"""Base class for torque controllers: joint torques, projected to what ``model.actuation`` can exert."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, is_numeric
from ...arrays.arguments import shape_of
from ...arrays.types import Scalar, Vector, Vector_n, Vector_nv
from ...compiler import compile
from ...dynamics.checks import check_dynamic, check_model
from ...errors import ModelError, NumericsError, describe
from ...lie.group import constant
from ...model import Model, State
from .base import Law

MAX_ROW = 1_000_000
"""Largest number of gains or targets"""


@dataclass(frozen=True, kw_only=True)
class TorqueLaw(Law):
    """Base class for torque controllers.

    They run in ``simulate`` and ``rollout``, compile, and answer plain calls.  Write :meth:`commanded_torques`;
    torques of joints without a drive are left out (``model.actuation``).

    Example:
        >>> from dataclasses import dataclass
        >>> import fallingcat as fc
        >>> @dataclass(frozen=True)
        ... class Damper(TorqueLaw):
        ...     name: str = "damper"
        ...     def commanded_torques(self, model, t, state):
        ...         return -2.0 * state.rates
        >>> arm = fc.robots.planar_arm()
        >>> Damper().torques(arm, arm.state(rates=[1.0, 0.0, 0.5]))
        array([-2.,  0., -1.])
    """

    estimate: Model | None = None
    """model that the controller uses, [ETH] (3.76): without payload, with a wrong mass; None: the robot itself"""

    @abstractmethod
    def commanded_torques(self, model: Model, t: Scalar, state: State) -> Vector_n:
        """Joint torques that the controller computes, before the actuation of the robot.

        Args:
            model: Robot, or :attr:`estimate` where there is one.
            t: Time (s).
            state: Configuration and velocity.

        Returns:
            Joint torques (n; N m or N).
        """

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """The commanded torques, projected to those that drives can exert; no wrench on the base."""
        known = model if self.estimate is None else self.estimate
        torques = self.commanded_torques(known, t, state)
        return concatenate([np.zeros(model.m), drives(model).projector @ torques])

    def torques(self, model: Model, state: State, t: Scalar = 0.0) -> Vector_n:
        """Joint torques of the controller at one state.

        Args:
            model: Robot.
            state: Configuration and velocity.
            t: Time (s).

        Returns:
            Joint torques (n; N m or N) that drives exert.

        Raises:
            NumericsError: The torques are not finite.
        """
        found = self.forces(model, t, state, frozenset())[model.m :]
        if is_numeric(found) and not np.isfinite(found).all():
            odd = [name for name, x in zip(State._fields, state, strict=True) if not np.isfinite(x).all()]
            why = f"{odd[0]} of the state is not finite" if odd else "a term of the law is not finite"
            raise NumericsError(f"torques of {self.name!r} are not finite: {why}")
        return found

    def compile(self, model: Model, target: str = "cpu", **options: Any) -> Any:
        """Kernel ``k(q, v, t)`` that returns the joint torques, for a control loop.

        Args:
            model: Robot.
            target: ``"cpu"`` for machine code, ``"c"`` for C source; see :func:`fallingcat.compile`.
            **options: Further options of :func:`fallingcat.compile`.

        Returns:
            Kernel of flat coordinates (nq), velocities (nv) and time (s) that returns torques (n), or C source.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> fast = fc.control.Impedance([0.1, 0.2, 0.3], 20.0, 3.0).compile(arm)
            >>> fast(np.zeros(3), np.zeros(3), 0.0)
            array([2., 4., 6.])
        """
        self.check(model)
        return compile(model, commanded, target=target, inputs={"t": ()}, law=self, **options)

    def check(self, model: Model) -> None:
        """Check that the robot has masses, and that :attr:`estimate` has its joints and base."""
        check_model(model)
        check_dynamic(model)
        if self.estimate is None:
            return
        if not isinstance(self.estimate, Model):
            raise ModelError(f"estimate of {self.name!r} must be a Model, got {describe(self.estimate)}")
        check_dynamic(self.estimate)
        shape = [(each.base, each.rate_joints, each.nq) for each in (model, self.estimate)]
        if shape[0] != shape[1]:
            raise ModelError(f"estimate of {self.name!r} has other joints, or another base, than {model.name!r}")


def commanded(model: Model, state: State, t: Scalar, *, law: TorqueLaw) -> Vector:
    """Joint torques (n) of a law, for kernels."""
    return law.torques(model, state, t)


class Drives(NamedTuple):
    """Constant matrices of the actuation ``S = model.actuation`` (k x nv)."""

    S: np.ndarray
    right: np.ndarray
    """``S^+`` (nv x k): joint accelerations of drive accelerations"""
    free: np.ndarray
    """``Z`` (nv x (nv - k)), ``S Z = 0``: motions without drives, that of the base among them"""
    projector: np.ndarray
    """``n x n``: projects joint torques to those that drives can exert"""


@lru_cache(maxsize=32)
def drives(model: Model) -> Drives:
    """Matrices of a robot's drives; zeros and ones where each joint has its own."""
    S = model.actuation
    moved = S.any(axis=0)
    if ((S == 0.0) | (S == 1.0)).all() and S.sum(axis=0).max(initial=0.0) <= 1.0 and (S.sum(axis=1) == 1.0).all():
        right, free = S.T, np.eye(model.nv)[:, ~moved]
    else:
        right = np.linalg.pinv(S)
        free = np.hstack([np.eye(model.nv)[:, ~moved], _null(S, np.flatnonzero(moved))])
    projector = (right @ S)[model.m :, model.m :]
    # rounding of the pseudo-inverse would couple drives that have nothing in common
    projector[np.abs(projector) < 1e-15] = 0.0
    return Drives(S, *(constant(np.array(x)) for x in (right, free, projector)))


def _null(S: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Orthonormal ``Z`` with ``S Z = 0`` in the columns of the joints ``moved``."""
    Vt = np.linalg.svd(S[:, moved])[2]
    Z = np.zeros((S.shape[1], len(moved) - len(S)))
    Z[moved] = Vt[len(S) :].T
    return Z


def per_row(x: Any, size: int, what: str) -> Vector:
    """Gain, one for all or one for each of ``size`` rows, as ``size`` numbers of any kind."""
    if shape_of(x) in ((), None):
        return x * np.ones(size)
    if len(x) != size:
        raise ModelError(f"{what} must be one number or {size}, got {len(x)}")
    return np.array(x, dtype=float)


def as_gain(x: Any, what: str) -> Any:
    """Gain as a float or a tuple of floats; not negative."""
    row = _is_row(x) and (is_numeric(x) or isinstance(x, (list, tuple)))
    numbers = np.ravel(x) if row else np.array([None])
    if numbers.dtype.kind not in "fiu" or not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        raise ModelError(f"{what} must be finite and not negative, one number or several, got {describe(x)}")
    return tuple(map(float, numbers)) if np.ndim(x) else float(x)


def _is_row(x: Any) -> bool:
    """True for one number or a row of them, of a size that a robot may have."""
    shape = shape_of(x)
    return shape is not None and len(shape) <= 1 and sum(shape) <= MAX_ROW


def as_tuple(x: Any, what: str) -> tuple[float, ...]:
    """Numbers as a tuple, which is plain data."""
    try:
        numbers = np.array(x if _is_row(x) else None, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"{what} must be numbers, or a function of time that returns them, got {describe(x)}"
        ) from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ModelError(
            f"{what} must be a row of finite numbers, or a function of time that returns them, got {describe(x)}"
        )
    return tuple(map(float, numbers))


def as_damping(x: Any, what: str) -> Any:
    """Damping; zero becomes the integer 0.

    An integer is not a parameter of compiled steps that may change, so that code without damping is shorter.
    """
    if is_numeric(x) and x < 0.0:
        raise ModelError(f"{what} must not be negative, got {x}")
    return 0 if is_numeric(x) and x == 0.0 else x


def names_of(given: Any, what: str) -> tuple[Any, ...]:
    """Sequence as a tuple."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ModelError(f"{what} must be a list, got {describe(given)}")
    return tuple(given)
