"""What laws of drives have in common: they ask for joint torques, and get what ``model.actuation`` can bring about."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, is_numeric
from ...arrays.arguments import shape_of
from ...compiler import compile
from ...dynamics.checks import check_dynamic, check_model
from ...errors import ModelError, NumericsError, describe
from ...lie.group import constant
from ...model import Model, State
from .base import Law


@dataclass(frozen=True, kw_only=True)
class TorqueLaw(Law):
    """Torques of drives: a law that runs in ``simulate`` and ``rollout``, compiles, and answers plain calls.

    Write :meth:`asked`; what a joint without a drive is asked for is left out (``model.actuation``).
    """

    estimate: Model | None = None
    """what the law takes the robot to be, [ETH] (3.76): without its payload, with a wrong mass; None: what it is"""

    @abstractmethod
    def asked(self, model: Model, t: Any, state: State) -> Any:
        """Joint torques (n) at time ``t`` (s) of the robot ``model``, that is :attr:`estimate` where there is one."""

    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        known = model if self.estimate is None else self.estimate
        torques = self.asked(known, t, state)
        return concatenate([np.zeros(model.m), drives(model).projector @ torques])

    def torques(self, model: Model, state: State, t: Any = 0.0) -> Any:
        """Joint torques (n; N m or N) that it commands."""
        found = self.forces(model, t, state, frozenset())[model.m :]
        if is_numeric(found) and not np.isfinite(found).all():
            odd = [name for name, x in zip(State._fields, state, strict=True) if not np.isfinite(x).all()]
            why = f"{odd[0]} of the state is not finite" if odd else "what it asks for is not finite"
            raise NumericsError(f"there are no torques of {self.name!r}: {why}")
        return found

    def compile(self, model: Model, target: str = "cpu", **options: Any) -> Any:
        """A kernel ``k(q, v, t)`` that gives the joint torques (n), for a control loop; ``target="c"`` is its text.

        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> fast = fc.control.Impedance([0.1, 0.2, 0.3], 20.0, 3.0).compile(arm)
        >>> fast(np.zeros(3), np.zeros(3), 0.0)
        array([2., 4., 6.])
        """
        self.check(model)
        return compile(model, commanded, target=target, inputs={"t": ()}, law=self, **options)

    def check(self, model: Model) -> None:
        check_model(model)
        check_dynamic(model)
        if self.estimate is None:
            return
        if not isinstance(self.estimate, Model):
            raise ModelError(f"estimate of {self.name!r} is a model, not {describe(self.estimate)}")
        check_dynamic(self.estimate)
        shape = [(each.base, each.rate_joints, each.nq) for each in (model, self.estimate)]
        if shape[0] != shape[1]:
            raise ModelError(f"estimate of {self.name!r} has other joints, or another base, than {model.name!r}")


def commanded(model: Model, state: State, t: Any, *, law: TorqueLaw) -> Any:
    """Joint torques (n) of a law, for kernels."""
    return law.torques(model, state, t)


class Drives(NamedTuple):
    """What drives move, from ``S = model.actuation`` (k x nv); constants of a robot."""

    S: np.ndarray
    right: np.ndarray
    """``S^+`` (nv x k): accelerations of drives as those of joints"""
    free: np.ndarray
    """``Z`` (nv x (nv - k)), ``S Z = 0``: what no drive moves; the base is there"""
    projector: np.ndarray
    """``n x n``: joint torques to those that drives can bring about"""


@lru_cache(maxsize=32)
def drives(model: Model) -> Drives:
    """What the drives of a robot move; where each joint has its own, all of it is zeros and ones."""
    S = model.actuation
    moved = S.any(axis=0)
    if ((S == 0.0) | (S == 1.0)).all() and S.sum(axis=0).max(initial=0.0) <= 1.0 and (S.sum(axis=1) == 1.0).all():
        right, free = S.T, np.eye(model.nv)[:, ~moved]
    else:
        right = np.linalg.pinv(S)
        free = np.hstack([np.eye(model.nv)[:, ~moved], _null(S, np.flatnonzero(moved))])
    projector = (right @ S)[model.m :, model.m :]
    projector[np.abs(projector) < 1e-15] = 0.0
    return Drives(S, *(constant(np.array(x)) for x in (right, free, projector)))


def _null(S: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Orthonormal ``Z`` with ``S Z = 0`` that moves nothing but the joints ``moved``."""
    Vt = np.linalg.svd(S[:, moved])[2]
    Z = np.zeros((S.shape[1], len(moved) - len(S)))
    Z[moved] = Vt[len(S) :].T
    return Z


def per_row(x: Any, size: int, what: str) -> Any:
    """A gain, one for all or one for each of ``size`` rows, as ``size`` numbers of any kind."""
    if shape_of(x) in ((), None):
        return x * np.ones(size)
    if len(x) != size:
        raise ModelError(f"{what} is one number or {size}, not {len(x)}")
    return np.array(x, dtype=float)


def as_gain(x: Any, what: str) -> Any:
    """A float, or a tuple of floats; not negative."""
    flat = shape_of(x) is not None and (is_numeric(x) or isinstance(x, (list, tuple)))
    numbers = np.ravel(x) if flat else np.array([None])
    if numbers.dtype.kind not in "fiu" or np.ndim(x) > 1 or not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        raise ModelError(f"{what} is a number, or several, finite and not negative, not {describe(x)}")
    return tuple(map(float, numbers)) if np.ndim(x) else float(x)


def as_tuple(x: Any, what: str) -> tuple[float, ...]:
    """Numbers as a tuple, which is plain data."""
    try:
        numbers = np.array(x, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} are numbers, or a function of time that gives them, not {describe(x)}") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ModelError(
            f"{what} are finite numbers in a row, or a function of time that gives them, not {describe(x)}"
        )
    return tuple(map(float, numbers))


def as_damping(x: Any, what: str) -> Any:
    """A damping; none is a whole number, which steps of simulations do not take for one that may change: code without
    damping is shorter.
    """
    if is_numeric(x) and x < 0.0:
        raise ModelError(f"{what} is not negative, not {x}")
    return 0 if is_numeric(x) and x == 0.0 else x


def names_of(given: Any, what: str) -> tuple[Any, ...]:
    """A sequence as a tuple."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ModelError(f"{what} are a list, not {describe(given)}")
    return tuple(given)
