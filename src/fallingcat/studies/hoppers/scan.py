"""Figure 4.7: the angular momentum that the first lift-off leaves, over the joint angle at which the leg is dropped."""

from __future__ import annotations

import numpy as np

from ...model import Model
from ..kind import Progress
from .hopper import simulated_together, upright_angle
from .measures import liftoff_spin
from .observed import Observed
from .parameters import ScanParameters

RUNS_AT_ONCE = 16
"""Runs at once."""
NUMBERS = ("least_angle", "least_spin", "excess")
"""Names of the numbers that :func:`about_scan` returns."""


def scan_leg_angles(model: Model, p: ScanParameters, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
    """Joint angles (rad) and angular momenta (N m s); the virtual leg starts vertical and at rest, unstretched."""
    angles, spins = np.linspace(p.q1_first, p.q1_last, p.points), []
    for first in range(0, p.points, RUNS_AT_ONCE):
        progress("scanning", first / p.points)
        each = [
            ScanParameters.model_validate(
                p.model_dump() | {"q1": q1, "theta": upright_angle(model, q1), "r_des": "initial"}
            )
            for q1 in map(float, angles[first : first + RUNS_AT_ONCE])
        ]
        for run, own in zip(simulated_together(each), each, strict=True):
            if isinstance(run, Exception):
                raise run
            spins.append(liftoff_spin(Observed(run, own)))
    return angles, np.array(spins)


def about_scan(angles: np.ndarray, spins: np.ndarray, at: float) -> dict[str, float]:
    """Least angular momentum of a scan, and its angle.

    ``least_angle``: where the size of the angular momentum is least (degrees, from a parabola through the lowest
    three), ``least_spin`` (N m s), ``excess``: how much more there is at the angle ``at`` (rad) (%).

    Example:
        >>> found = about_scan(np.radians([100.0, 110.0, 120.0]), np.array([2.0, 1.0, 2.0]), np.radians(100.0))
        >>> print(f"{found['least_angle']:.1f} {found['excess']:.1f}")
        110.0 100.0
    """
    known = np.isfinite(spins)
    x, y = np.degrees(angles[known]), np.abs(spins[known])
    if len(x) < 3:
        return dict.fromkeys(NUMBERS, float("nan"))
    k = min(max(int(np.argmin(y)), 1), len(x) - 2)
    a, b, c = np.polyfit(x[k - 1 : k + 2], y[k - 1 : k + 2], 2)
    lowest = float(np.clip(-b / (2.0 * a), x[k - 1], x[k + 1])) if a > 0.0 else float(x[np.argmin(y)])
    least = float(min(np.polyval([a, b, c], lowest), y.min()))
    here = float(np.interp(np.degrees(at), x, y))
    return dict(zip(NUMBERS, (lowest, least, 100.0 * (here / least - 1.0)), strict=True))
