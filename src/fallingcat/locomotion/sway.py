"""Sway of a trunk above feet that do not surround it: periodic motion of a pendulum under a contact schedule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import clip, cos, sin
from ..arrays.types import FloatArray, Scalar, Vector
from .schedule import Schedule
from .swing import swing_foot

SAMPLES = 256
"""Times in a period at which the schedule is looked at."""
HARMONICS = 8
"""Harmonics of the sway; they decay with the cube of their number."""
MIN_SUPPORTING_FEET = 3
"""Feet that stand between which a trunk need not sway."""
MIN_SWAY = 1e-4
"""m: smaller harmonics are left out"""


@dataclass(frozen=True, eq=False)
class Sway:
    """Periodic solution of ``c'' = w^2 (c - p(t))``, with ``p`` the middle of the feet that stand, as a Fourier sum.

    Args:
        period: Time of a stride (s).
        frequencies: Angular frequencies (k; rad/s).
        cosines: Amplitudes along x and y (k x 2; m).
        sines: Amplitudes along x and y (k x 2; m).
    """

    period: float
    frequencies: FloatArray
    cosines: FloatArray
    sines: FloatArray

    @property
    def is_zero(self) -> bool:
        """True if there is none."""
        return not len(self.frequencies)

    def motion(self, t: Scalar, begun: Scalar) -> tuple[Vector, Vector, Vector]:
        """Displacement (m), velocity (m/s) and acceleration (m/s^2) at a time, 2 each.

        Args:
            t: Time (s).
            begun: Periods since the start; in the first one the sway grows.
        """
        if self.is_zero:
            return np.zeros(2), np.zeros(2), np.zeros(2)
        place = rate = bend = np.zeros(2)
        for w, a, b in zip(self.frequencies.tolist(), self.cosines, self.sines, strict=True):
            c, s = cos(w * t), sin(w * t)
            term = c * a + s * b
            place, rate, bend = place + term, rate + w * (c * b - s * a), bend - w * w * term
        grown = swing_foot(np.zeros(3), np.ones(3), clip(begun, 0.0, 1.0), self.period, 0.0)
        g, dg, ddg = grown.position[0], grown.velocity[0], grown.acceleration[0]
        return g * place, g * rate + dg * place, g * bend + 2.0 * dg * rate + ddg * place


def reachable_supports(schedule: Schedule, home: FloatArray, reach: FloatArray, center: FloatArray) -> FloatArray:
    """Feet moved towards the center of mass where the trunk sways: forces through them stay within friction cones.

    Args:
        schedule: Contact schedule.
        home: Feet in the middle (feet x 2, m).
        reach: Largest distance of the middle of feet that stand from its mean, along x and y (2, m).
        center: Center of mass (2, m).

    Returns:
        Feet (feet x 2, m).
    """
    away = np.abs(_middles(schedule, home)).max(axis=0)
    if not away.max() > MIN_SWAY:
        return home
    return center + (home - home.mean(axis=0)) * np.minimum(1.0, reach / np.maximum(away, reach))


def _middles(schedule: Schedule, home: FloatArray) -> FloatArray:
    """Middle of the feet that stand (samples x 2, m), less its mean."""
    times = (np.arange(SAMPLES) + 0.5) * (schedule.period / SAMPLES)
    masks = np.array([np.asarray(schedule.contacts(float(t))) for t in times])
    count = masks.sum(axis=1, keepdims=True)
    if count.min() >= MIN_SUPPORTING_FEET:
        return np.zeros((SAMPLES, 2))
    middle = np.where(count > 0.0, masks @ home / np.maximum(count, 1.0), home.mean(axis=0))
    return np.asarray(middle - middle.mean(axis=0))


def support_sway(schedule: Schedule, home: FloatArray, rate: float) -> Sway:
    """Sway of a trunk under a schedule.

    Args:
        schedule: Contact schedule.
        home: Feet in the middle (feet x 2, m).
        rate: Rate ``w`` of the pendulum (1/s).

    Returns:
        Sway about its mean.
    """
    middle = _middles(schedule, home)
    harmonics = np.fft.rfft(middle, axis=0)[1 : HARMONICS + 1] * (2.0 / SAMPLES)
    frequencies = np.arange(1, len(harmonics) + 1) * (2.0 * np.pi / schedule.period)
    harmonics = harmonics * np.exp(-0.5j * frequencies * (schedule.period / SAMPLES))[:, None]  # of mid-points
    harmonics *= (rate**2 / (rate**2 + frequencies**2))[:, None]
    felt = np.abs(harmonics).max(axis=1) > MIN_SWAY
    return Sway(schedule.period, frequencies[felt], harmonics[felt].real, -harmonics[felt].imag)
