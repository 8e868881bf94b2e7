"""Gaits: curves in shape space with a time parametrization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...arrays.types import Vector
from ...dynamics.checks import check_model, choice, positive
from ...errors import ModelError, describe
from ...model import Model
from ...records import concise
from .curve_arguments import at_once
from .curves import Curve, Jet

PROFILES = ("smooth", "constant")


class Motion(Protocol):
    """Protocol of shape motions: a :class:`Gait`, or a bare :class:`Curve` as the motion that takes unit time."""

    @property
    def duration(self) -> float:
        """Duration (s)."""

    @property
    def size(self) -> int:
        """Number of coordinates."""

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times (s) between which the motion is smooth."""

    def __call__(self, t: Vector, /) -> Jet:
        """Shapes, rates and accelerations (N x k each) at times (s)."""


@concise
@dataclass(frozen=True, eq=False)
class Gait:
    """Curve in shape space, followed in ``duration`` (s).

    ``profile="smooth"`` starts and ends at rest and rests at every corner, with ``s = 10 x^3 - 15 x^4 + 6 x^5`` on the
    pieces between, which makes rates and accelerations continuous; ``"constant"`` has ``s = t / duration``.

    Example:
        >>> from fallingcat.planning import Circle
        >>> gait = Gait(Circle(0.5), duration=2.0)
        >>> gait([0.0, 1.0, 2.0]).q.round(12) + 0.0
        array([[ 0.5,  0. ],
               [-0.5,  0. ],
               [ 0.5,  0. ]])
        >>> bool(abs(gait([0.0, 2.0]).dq).max() == 0.0)
        True
    """

    curve: Curve
    duration: float = 1.0
    profile: str = "smooth"

    def __post_init__(self) -> None:
        """Check the fields."""
        if not isinstance(self.curve, Curve):
            raise ModelError(f"curve of a gait must be a Curve, got {describe(self.curve)}")
        positive(self.duration, "the duration of a gait")
        choice(self.profile, tuple(PROFILES), "profile")

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.curve.size

    @property
    def breaks(self) -> tuple[float, ...]:
        """Times (s) from 0 to the duration between which the motion is smooth."""
        return tuple(self._time(s) for s in self.curve.breaks)

    def __call__(self, t: Vector) -> Jet:
        """Shapes, rates and accelerations; at rest before and after the gait.

        Args:
            t: Times (N; s), or one number.

        Returns:
            Shapes, rates and accelerations (N x k each).
        """
        times = at_once(t, "t")
        s, ds, dds = self._pace(np.clip(times / self.duration, 0.0, 1.0))
        outside = (times < 0.0) | (times > self.duration)
        ds, dds = np.where(outside, 0.0, ds) / self.duration, np.where(outside, 0.0, dds) / self.duration**2
        jet = self.curve(s)
        return Jet(jet.q, jet.dq * ds[:, None], jet.ddq * ds[:, None] ** 2 + jet.dq * dds[:, None])

    def _corner_times(self) -> np.ndarray:
        return np.array([0.0, *self.curve.corners, 1.0])

    def _pace(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``s`` and its derivatives at the fraction ``x`` of the duration."""
        if self.profile == "constant":
            return x, np.ones_like(x), np.zeros_like(x)
        rests = self._corner_times()
        piece = np.clip(np.searchsorted(rests, x, side="right") - 1, 0, len(rests) - 2)
        a, w = rests[piece], np.diff(rests)[piece]
        y = (x - a) / w
        value = y**3 * (10.0 - 15.0 * y + 6.0 * y**2)
        return a + w * value, 30.0 * (y * (1.0 - y)) ** 2, 60.0 * y * (1.0 - y) * (1.0 - 2.0 * y) / w

    def _time(self, s: float) -> float:
        """Time at which the curve's parameter is ``s``, by bisection: the parameter is monotone."""
        if s in self._corner_times() or self.profile == "constant":
            return s * self.duration
        low, high = 0.0, 1.0
        # the second condition ends where no float is left between the bounds
        while high - low > 1e-15 and low < 0.5 * (low + high) < high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._pace(np.array([middle]))[0][0] < s else (low, middle)
        return high * self.duration


def check_motion(motion: Any) -> None:
    """Raise an error unless this is a :class:`Motion`."""
    if not (callable(motion) and hasattr(motion, "size") and hasattr(motion, "duration")):
        raise ModelError(f"motion must be a gait or a curve, got {describe(motion)}")


def check_shape(model: Model, size: int) -> None:
    """Raise an error unless curves of ``size`` coordinates are shapes of the model.

    Its joints are angles and lengths, one coordinate for each degree of freedom.
    """
    check_model(model)
    if not model.m:
        raise ModelError(f"the base of {model.name!r} is fixed: no gait moves it")
    for joint in model.joints:
        if not joint.kind.group.additive:
            raise ModelError(f"joint {joint.name!r}: gaits need joints that are angles and lengths")
    if size != model.n:
        raise ModelError(f"the gait has {size} coordinates, but {model.name!r} has {model.n}: embed the curve")


def turning_axes(model: Model) -> np.ndarray:
    """Orthogonal axes (k x 3) about which the base can turn, in its frame."""
    U, sizes, _ = np.linalg.svd(model.base.selection[3:])
    return np.asarray(U[:, : int((sizes > 1e-9).sum())].T)
