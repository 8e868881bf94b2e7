"""Tangential law of compliant contact: a spring and damper (bristle) in series with a Coulomb slider.

The bristle joins the contact point to its anchor on the ground.  Its trial force, with the anchor at rest, is
``T = K_t s + D_t v`` for the deflection ``s`` and the sliding velocity ``v``.  Inside the friction cone,
``|T| <= mu F_n``, the anchor rests and the point feels ``-T`` (sticking).  Outside, the point feels ``-mu F_n T / |T|``
(sliding) and the anchor moves so fast that the bristle carries exactly that:
``K_t s + D_t (v - da/dt) = mu F_n T / |T|``.

Every integrator takes the law from here, so that all of them converge to the same motion.
"""

from __future__ import annotations

from typing import Any

from ..arrays import less, scale, sqrt, where


def cone_share(trial: Any, limit: Any) -> Any:
    """``min(1, limit / |trial|)``: the part of a trial force (2, N) that stays within the friction ``limit`` (N)."""
    square = trial @ trial
    slides = less(limit * limit, square)
    return where(slides, limit / sqrt(where(slides, square, 1.0 + 0.0 * square)), 1.0 + 0.0 * square)


def cone_direction(trial: Any, limit: Any) -> Any:
    """``2``: unit vector of a trial force (2, N) beyond the friction ``limit`` (N); zero within it."""
    square = trial @ trial
    slides = less(limit * limit, square)
    return where(slides, scale(1.0 / sqrt(where(slides, square, 1.0 + 0.0 * square)), trial), 0.0 * trial)


def anchor_rate(excess: Any, damping: Any) -> Any:
    """``da/dt`` (2, m/s) where the trial force exceeds the friction force by ``excess`` (2, N): ``excess / D_t``."""
    return scale(1.0 / damping, excess)


def anchor_travel(excess: Any, stiffness: Any, damping: Any, dt: Any) -> Any:
    """``2`` (m): travel of the anchor in a step of ``dt`` (s) under a trial force that exceeds friction by ``excess``.

    The bristle relaxes at the rate ``K_t / D_t``: exactly, by ``dt excess / (D_t + theta dt K_t)`` with
    ``theta = 1 / (1 - exp(-z)) - 1 / z`` and ``z = dt K_t / D_t``, here by a rational function within 0.025 of that.
    """
    z = dt * (stiffness / damping)
    theta, unit = 12.0 + z * (5.0 + z), 24.0 + z * (6.0 + z)  # one division, not two
    return scale(unit * dt / (damping * (unit + theta * z)), excess)
