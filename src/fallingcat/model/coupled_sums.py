"""Loops between sums of joint coordinates: fixed tendons of which one follows the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import scale, stack
from ..arrays.types import Scalar, Vector
from ..errors import ModelError
from ..records import concise
from .force_elements import finite
from .loops import KINDS, Loop, RobotMotion, Rows


@concise
@dataclass(frozen=True)
class CoupledSums(Loop):
    """Coupling ``sum(factors q) = c0 + c1 x + c2 x^2 + ...`` with ``x = sum(other_factors q_other)``.

    MuJoCo's equality of fixed tendons.  Without ``others`` the sum is held at ``c0``.

    Example:
        >>> CoupledSums("fingers", ("left", "right"), (1.0, -1.0), coefficients=(0.0,)).joints
        ('left', 'right')
    """

    name: str
    """name of the loop"""
    over: tuple[str, ...]
    """joints of the sum on the left"""
    factors: tuple[float, ...]
    """factor of each of them"""
    others: tuple[str, ...] = ()
    """joints of the sum on the right"""
    other_factors: tuple[float, ...] = ()
    """factor of each of them"""
    coefficients: tuple[float, ...] = (0.0, 1.0)
    """``c0, c1, ...``"""

    def __post_init__(self) -> None:
        for names, numbers in (("over", "factors"), ("others", "other_factors")):
            given = tuple(finite(x, f"{numbers} of loop {self.name!r}") for x in getattr(self, numbers))
            if len(given) != len(tuple(getattr(self, names))):
                raise ModelError(f"loop {self.name!r} has one factor for each joint of {names}")
            object.__setattr__(self, names, tuple(getattr(self, names)))
            object.__setattr__(self, numbers, given)
        polynomial = tuple(finite(x, f"coefficients of loop {self.name!r}") for x in self.coefficients)
        if not self.over or not polynomial:
            raise ModelError(f"loop {self.name!r} has joints and coefficients")
        object.__setattr__(self, "coefficients", polynomial)

    @property
    def count(self) -> int:
        """Number of equations."""
        return 1

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it names."""
        return tuple(dict.fromkeys((*self.over, *self.others)))

    @property
    def internal(self) -> bool:
        """True for an equation between parts of the robot alone."""
        return True

    def rows(self, motion: RobotMotion) -> Rows:
        """Equations in a motion."""
        q, _, row = _sum(motion, self.over, self.factors)
        x, rate, other = _sum(motion, self.others, self.other_factors)
        p = np.polynomial.Polynomial(self.coefficients)
        value, slope, bend = (_at(each.coef, x) for each in (p, p.deriv(), p.deriv(2)))
        return Rows(stack([q - value]), (row - scale(slope, other))[None], stack([-bend * rate * rate]))


def _sum(motion: RobotMotion, joints: tuple[str, ...], factors: tuple[float, ...]) -> tuple[Scalar, Scalar, Vector]:
    """Sum of coordinates, its rate and its row."""
    value: Scalar = 0.0
    rate: Scalar = 0.0
    row: Vector = np.zeros(len(motion.velocity))
    for joint, factor in zip(joints, factors, strict=True):
        q, v, picks = motion.joint(joint)
        value, rate, row = value + factor * q, rate + factor * v, row + factor * picks
    return value, rate, row


def _at(coefficients: np.ndarray, x: Scalar) -> Scalar:
    """Value of a polynomial, of any kind of number."""
    value: Scalar = 0.0 * x
    for c in coefficients.tolist()[::-1]:
        value = value * x + c
    return value


KINDS.add("coupled_sums", CoupledSums)
