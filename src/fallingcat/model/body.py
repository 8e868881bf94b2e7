"""The mass of a link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np

from ..arrays import array, is_expression, is_numeric, mirror, scale
from ..arrays.types import Float_3, Float_3_3, Float_6_6, Matrix_3_3, Pose, Vector_3
from ..caching import cached_property
from ..errors import ModelError, describe
from ..lie.rotations import skew
from ..records import concise

TRIANGLE_TOLERANCE = 1e-6  # relative: what six printed digits of a flat plate can break


class Frozen:
    """Base class of frozen dataclasses whose copies, pickled ones too, come from the constructor: read-only arrays."""

    def __reduce__(self) -> Any:
        return partial(_rebuilt, type(self)), tuple(getattr(self, each.name) for each in _given(type(self)))


def _given(kind: Any) -> list[Any]:
    return [each for each in fields(kind) if each.init]


def _rebuilt(kind: Any, *values: Any) -> Any:
    return kind(**{each.name: value for each, value in zip(_given(kind), values, strict=True)})


MAX_BODY_NUMBER = 1e100
"""Largest number of a body, in SI units: squares and quotients stay finite."""


@concise
@dataclass(frozen=True, eq=False)
class Body(Frozen):
    """Rigid body: mass, center of mass and inertia.

    The center of mass is given in the link frame; the inertia is taken about the center of mass, along the axes of the
    link frame.  ``Body()`` is massless.  Each may be an expression (of SymPy, CasADi, or traced) instead of a number:
    the same algorithms run on it, and rules of physics are not looked at.

    Example:
        >>> Body(mass=2.0, center=[0.0, 0.0, 0.1], inertia=np.diag([0.3, 0.2, 0.1])).mass
        2.0
    """

    mass: float = 0.0
    """kg"""
    center: Vector_3 = field(default_factory=lambda: np.zeros(3))
    """``3``: center of mass in the link frame (m)"""
    inertia: Matrix_3_3 = field(default_factory=lambda: np.zeros((3, 3)))
    """``3 x 3``: about the center of mass, along the axes of the link frame (kg m^2)"""

    def __post_init__(self) -> None:
        if not is_expression(self.mass):
            try:
                object.__setattr__(self, "mass", float(self.mass))
            except (TypeError, ValueError, OverflowError):
                raise ModelError(f"the mass of a body is a number, not {describe(self.mass)}") from None
        object.__setattr__(self, "center", frozen_array(self.center, (3,), "center"))
        object.__setattr__(self, "inertia", frozen_array(self.inertia, (3, 3), "inertia"))
        self._check_sizes()
        if is_numeric(self.inertia):
            # rounding of a rotated inertia passes, a typing error does not
            if np.abs(self.inertia - self.inertia.T).max() > 1e-12 * np.abs(self.inertia).max():
                raise ModelError("the inertia of a body is a symmetric matrix")
        elif any(_differ(self.inertia[i, j], self.inertia[j, i]) for i, j in ((0, 1), (0, 2), (1, 2))):
            raise ModelError("the inertia of a body is a symmetric matrix: write the same expression above and below")

    def _check_sizes(self) -> None:
        """Raise an error where numbers are out of range."""
        if is_numeric(self.mass) and (not np.isfinite(self.mass) or self.mass < 0.0):
            raise ModelError(f"the mass of a body is finite and not negative, not {self.mass!r}")
        sizes: dict[str, Any] = {"mass": self.mass, "inertia": self.inertia}
        for what, x in sizes.items():
            size = float(np.abs(x).max()) if is_numeric(x) else 0.0
            if size and not 1.0 / MAX_BODY_NUMBER < size < MAX_BODY_NUMBER:
                raise ModelError(f"the {what} of a body is 0 or between 1e-100 and 1e100, not {size:.3g}")
        if is_numeric(self.center) and float(abs(self.center).max()) > MAX_BODY_NUMBER:
            raise ModelError(f"the center of a body is no further than 1e100 m, not at {self.center.tolist()}")

    @property
    def is_numeric(self) -> bool:
        """True if mass, center and inertia are numbers, none an expression."""
        return all(map(is_numeric, (self.mass, self.center, self.inertia)))

    @classmethod
    def from_points(cls, points: Iterable[tuple[float, Sequence[float]]]) -> Body:
        """Body of point masses, as in [Feurstein] Table 4.3.

        Args:
            points: ``(mass, position)`` of each point (kg, m), in the link frame.

        Returns:
            Body with their mass, center and inertia.

        Example:
            >>> Body.from_points([(1.0, (0.5, 0.0, 0.0)), (1.0, (-0.5, 0.0, 0.0))]).inertia.diagonal()
            array([0. , 0.5, 0.5])
        """
        try:
            pairs = [(mass, position) for mass, position in points]
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"points are pairs of a mass and a position, not {describe(points)}") from None
        return sum_bodies(cls(mass, frozen_array(position, (3,), "center")) for mass, position in pairs)

    @cached_property
    def spatial_inertia(self) -> Float_6_6:
        """Spatial inertia (6 x 6) for twists ``[v; w]`` of the link frame.

        ``[[m 1, -m C], [m C, I - m C C]]`` with ``C = skew(c)``.
        """
        C, one = skew(self.center), np.eye(3)
        top = np.concatenate([scale(self.mass, one), -scale(self.mass, C)], axis=1)
        bottom = np.concatenate([scale(self.mass, C), self.inertia - scale(self.mass, C @ C)], axis=1)
        inertia = np.concatenate([top, bottom])
        inertia.setflags(write=False)
        return inertia

    @cached_property
    def first_moment(self) -> Float_3:
        """First moment (3): mass times center (kg m)."""
        out = scale(self.mass, self.center)
        out.setflags(write=False)
        return out

    @cached_property
    def second_moment(self) -> Float_3_3:
        """Second moment (3 x 3): sum of ``m x x'`` over the points of the body, about the link's origin (kg m^2)."""
        about_center = scale(0.5 * np.trace(self.inertia), np.eye(3)) - self.inertia
        out = about_center + scale(self.mass, np.outer(self.center, self.center))
        out.setflags(write=False)
        return out

    @property
    def principal_inertia(self) -> Float_3:
        """Principal moments (3) about the center of mass, ascending (kg m^2)."""
        return np.linalg.eigvalsh(self.inertia)

    def moved(self, H: Pose) -> Body:
        """Same body seen from another frame.

        Args:
            H: ``4 x 4``: coordinates of this frame to those of the new one.

        Returns:
            Body in the new frame.
        """
        H = frozen_pose(H, "the pose of a body")
        R, p = H[:3, :3], H[:3, 3]
        inertia = R @ self.inertia @ R.T
        return Body(self.mass, R @ self.center + p, mirror(inertia))

    @cached_property
    def possible(self) -> Body:
        """Body with the nearest principal moments that a body can have: none negative, the triangle inequality.

        Example:
            >>> Body(1.0, np.zeros(3), np.diag([-1e-20, 0.0, 2.0])).possible.inertia.diagonal()
            array([1., 1., 2.])
        """
        moments, axes = np.linalg.eigh(self.inertia)
        low, mid, high = moments.clip(min=0.0)
        # half to each of the two smaller moments; the largest stays
        missing = max(0.0, high - low - mid) / 2.0
        inertia = (axes * [low + missing, mid + missing, high]) @ axes.T
        return Body(self.mass, self.center, 0.5 * (inertia + inertia.T))

    def problems(self) -> list[str]:
        """Rules of physics that this body breaks.

        Returns:
            Sentences; empty for a body that can exist.

        Example:
            >>> Body(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])).problems()
            ['principal moments 1, 1, 3 break the triangle inequality (the largest exceeds the sum of the others by 50
            %)']
        """
        if not self.is_numeric:
            return []  # symbols have no values yet
        if self.mass == 0.0:
            return ["the mass is zero"]
        low, mid, high = self.principal_inertia
        moments = f"principal moments {low:.4g}, {mid:.4g}, {high:.4g}"
        if low <= 0.0:
            return [f"{moments} are not all positive"]
        # plates lie on the boundary, where rounding may fall on either side
        if high > (low + mid) * (1.0 + TRIANGLE_TOLERANCE):
            excess = f"the largest exceeds the sum of the others by {100 * (high / (low + mid) - 1):.2g} %"
            return [f"{moments} break the triangle inequality ({excess})"]
        return []


def sum_bodies(bodies: Iterable[Body]) -> Body:
    """Sum of bodies of one frame, welded into one."""
    parts = list(bodies)
    mass = sum(b.mass for b in parts)
    if is_numeric(mass) and mass == 0.0:
        return Body(0.0, np.zeros(3), sum((b.inertia for b in parts), start=np.zeros((3, 3))))
    center = sum((b.first_moment for b in parts), start=np.zeros(3)) / np.asarray(mass)
    inertia = np.zeros((3, 3))
    for b in parts:
        C = skew(b.center - center)
        inertia = inertia + b.inertia - scale(b.mass, C @ C)
    return Body(mass, center, inertia if is_numeric(inertia) else mirror(inertia))


def _differ(a: Any, b: Any) -> bool:
    """True if two entries are known to differ: a number beside an expression, or two expressions of other form."""
    if is_expression(a) != is_expression(b):
        return True
    same = a is b if is_expression(a) and not hasattr(a, "equals") else a == b
    return same is False or same is np.False_


def frozen_array(x: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Read-only array of floats or expressions, finite, or an error that names ``what``."""
    if isinstance(x, np.ma.MaskedArray):
        raise ModelError(f"{what} is an array of numbers of shape {shape}, not {x!r}")
    try:
        out = _of_expressions(x) if _holds_expressions(x) else np.array(x, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} is an array of numbers of shape {shape}, not {x!r}") from None
    if out.shape != shape:
        raise ModelError(f"{what} must have shape {shape}, got {out.shape}")
    finite = np.isfinite(out).all() if is_numeric(out) else all(np.isfinite(e) for e in out.flat if is_numeric(e))
    if not finite:
        raise ModelError(f"{what} holds a number that is not finite: {out.tolist()}")
    out.setflags(write=False)
    return out


def _holds_expressions(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(map(is_expression, x.flat))
    return any(map(_holds_expressions, x)) if isinstance(x, (list, tuple)) else is_expression(x)


def _of_expressions(x: Any) -> np.ndarray:
    """An array of expressions and floats; numbers of SymPy become floats."""
    listed = x.tolist() if isinstance(x, np.ndarray) else x

    def entry(e: Any) -> Any:
        if isinstance(e, np.ndarray):
            e = e.tolist()
        return [entry(part) for part in e] if isinstance(e, (list, tuple)) else e if is_expression(e) else float(e)

    return np.asarray(array(entry(listed)))


def frozen_pose(x: Any, what: str) -> np.ndarray:
    """Read-only rigid transformation (4x4), up to six printed digits, or an error that names ``what``."""
    H = frozen_array(x, (4, 4), what)
    if not is_numeric(H):
        return _frozen_expressions(H, what)
    (a, b, c, _), (d, e, f, _), (g, h, i, _), last = H.tolist()  # nine floats: faster than arrays of them
    products = (a * a + b * b + c * c, d * d + e * e + f * f, g * g + h * h + i * i)
    across = (a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i)
    misses = [*(p - 1.0 for p in products), *across, *last[:3], last[3] - 1.0]
    volume = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    # files write six or seven digits; a reflection has orthonormal rows too, but a negative volume
    if not (max(map(abs, misses)) <= 1e-6 and volume > 0.0):
        raise ModelError(f"{what} is not a rigid transformation")
    return H


def _frozen_expressions(H: np.ndarray, what: str) -> np.ndarray:
    """Pose with expressions; entries that are numbers are checked."""
    if not all(is_numeric(x) and x == e for x, e in zip(H[3], (0.0, 0.0, 0.0, 1.0), strict=True)):
        raise ModelError(f"{what} is not a rigid transformation: its last row is 0, 0, 0, 1")
    if not any(map(is_expression, H[:3, :3].flat)):
        turned = np.eye(4)
        turned[:3, :3] = H[:3, :3]
        frozen_pose(turned, what)
    return H
