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
MIN_SWAY = 1e-3
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
    def still(self) -> bool:
        """True if there is none."""
        return not len(self.frequencies)

    def motion(self, t: Scalar, begun: Scalar) -> tuple[Vector, Vector, Vector]:
        """Displacement (m), velocity (m/s) and acceleration (m/s^2) at a time, 2 each.

        Args:
            t: Time (s).
            begun: Periods since the start; in the first one the sway grows.
        """
        if self.still:
            return np.zeros(2), np.zeros(2), np.zeros(2)
        place = rate = bend = np.zeros(2)
        for w, a, b in zip(self.frequencies.tolist(), self.cosines, self.sines, strict=True):
            c, s = cos(w * t), sin(w * t)
            term = c * a + s * b
            place, rate, bend = place + term, rate + w * (c * b - s * a), bend - w * w * term
        grown = swing_foot(np.zeros(1), np.ones(1), clip(begun, 0.0, 1.0), self.period, 0.0)
        g, dg, ddg = grown.position[0], grown.velocity[0], grown.acceleration[0]
        return g * place, g * rate + dg * place, g * bend + 2.0 * dg * rate + ddg * place


def support_sway(schedule: Schedule, home: FloatArray, rate: float) -> Sway:
    """Sway of a trunk under a schedule.

    Args:
        schedule: Contact schedule.
        home: Feet in the middle (feet x 2, m).
        rate: Rate ``w`` of the pendulum (1/s).

    Returns:
        Sway about its mean.
    """
    times = (np.arange(SAMPLES) + 0.5) * (schedule.period / SAMPLES)
    masks = np.array([np.asarray(schedule.contacts(float(t))) for t in times])
    count = masks.sum(axis=1, keepdims=True)
    middle = np.where(count > 0.0, masks @ home / np.maximum(count, 1.0), home.mean(axis=0))
    harmonics = np.fft.rfft(middle - middle.mean(axis=0), axis=0)[1 : HARMONICS + 1] * (2.0 / SAMPLES)
    frequencies = np.arange(1, len(harmonics) + 1) * (2.0 * np.pi / schedule.period)
    harmonics = harmonics * np.exp(-0.5j * frequencies * (schedule.period / SAMPLES))[:, None]  # of mid-points
    harmonics *= (rate**2 / (rate**2 + frequencies**2))[:, None]
    felt = np.abs(harmonics).max(axis=1) > MIN_SWAY
    return Sway(schedule.period, frequencies[felt], harmonics[felt].real, -harmonics[felt].imag)
