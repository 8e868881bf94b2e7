"""Springs and dampers in the middle of a step: as they are there where steps resolve them, damped where they do not."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays import scale


class ThetaWeights(NamedTuple):
    """Weights of a step of the theta method: position of the springs, and velocity of the dampers.

    In a step of ``dt`` (s) the velocity changes from ``v`` before to ``w`` after; both are linear in ``w``.
    Springs see the place in the middle of the step, and ``dt (spring w + (w - v) / 4)`` beyond; dampers see
    ``v + damper (w - v)``.  With ``spring = 0`` and ``damper = 1/2`` this is the midpoint rule: of order 2, and stable
    however stiff they are, but what is much faster than a step swings for ever.  So both parts grow to 1, the rule of
    Euler that foresees the end, where steps do not resolve springs and dampers.
    """

    spring: Any
    """0 to 1"""
    damper: Any
    """1/2 to 1"""
    dt: Any
    mobility: Any
    """1/kg or 1/(kg m^2): 1 / inertia"""

    @classmethod
    def of(cls, K: Any, D: Any, gives: Any, dt: Any) -> ThetaWeights:
        """Weights for springs ``K`` and dampers ``D`` at the mobility ``gives`` (1 / inertia).

        A damper alone, ``z = dt D gives``, is as good as exact: its part is ``1 / (1 - exp(-z)) - 1 / z`` but for less
        than 0.09.  The part of a spring is ``y^2 / (1 + y^2)`` with ``y = dt^2 K gives / (1 + z)``, of order 4 in the
        step.

        >>> ThetaWeights.of(1.0, 0.0, 1.0, 1e-2).spring < 1e-7, ThetaWeights.of(1.0, 1.0, 1.0, 1e6).damper > 0.99
        (True, True)
        """
        # numbers without a unit: damping and stiffness as the step sees them, by the mobility of the point
        z, y = dt * D * gives, dt * dt * K * gives
        y, resists = y * y, (1.0 + z) * (1.0 + z)
        return cls(y / (resists + y), (3.0 + z) / (6.0 + z), dt, gives)

    @classmethod
    def of_joints(cls, K: Any, D: Any, gives: Any, dt: Any) -> ThetaWeights:
        """The same for joints, where nothing lands: the part of a damper alone is exact but for 0.011.

        >>> abs(ThetaWeights.of_joints(0.0, 4.0, 1.0, 1.0).damper - 0.7687) < 0.011
        True
        """
        z = dt * D * gives
        return cls.of(K, D, gives, dt)._replace(damper=(6.0 + (3.0 + z) * z) / (12.0 + (4.0 + z) * z))

    def beyond(self, v: Any, w: Any) -> Any:
        """Distance (m) of the position that springs see from the one in the middle of the step."""
        return scale(self.dt, self.spring * w + 0.25 * (w - v))

    def predicted(self, K: Any, D: Any) -> tuple[Any, Any]:
        """Terms ``(drift, gain)`` of the force of spring and damper.

        The force is larger by ``drift v + gain (w - v)`` than it would be in the middle, at the velocity before.
        """
        stiff = self.dt * K
        drift = self.spring * stiff
        return drift, self.damper * D + 0.25 * stiff + drift
