"""Sampled-data controllers: evaluated at a rate, with outputs held in between and latency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._deprecated import former_attribute, former_name
from ...arrays import is_numeric
from ...errors import ModelError, describe
from ...model import State
from ...records import concise
from .base import Law

WHOLE_PERIOD_TOLERANCE = 1e-9
"""Part of a period by which a latency may miss a whole number of periods and still mean it: rounding of decimals."""


@concise
@dataclass(frozen=True)
class SampledController:
    """Sampled-data controller: evaluated ``rate`` times a second, with outputs held in between (zero-order hold).

    ``controller`` is a function of time and state that returns joint forces (n), or forces on base and joints (nv), as
    :func:`fallingcat.simulate` takes it; or a law, or several, whose forces are added.  It is evaluated at the times
    ``k / rate``, ``k = 0, 1, ...``.  Its output acts from ``latency`` (s) after that until the next one arrives; before
    the first arrives there are no forces.  Steps of every integrator end at these instants.  Laws with a state of their
    own advance from sample to sample, and receive the state that their sensors measure, with noise by ``seed``.

    In :func:`fallingcat.rollout` it is made of laws, or has a method ``batch_forces(t, states)`` for many robots at
    once: forces ``N x n`` or ``N x nv`` for states whose fields have a first axis over them.  A loop of
    :class:`.WholeBody` has one.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> pd = lambda t, state: -5.0 * state.joints - state.rates
        >>> servo = fc.control.SampledController(pd, rate=500.0, latency=2e-3)
        >>> run = fc.simulate(arm, arm.state(joints=[0.1, 0.2, 0.3]), 0.01, servo)
        >>> [round(float(f), 3) for f in run.port_forces["controller"][:4, 1]]
        [0.0, 0.0, -1.0, -1.0]
    """

    controller: Callable[..., Any] | Law | Sequence[Law]
    rate: float
    """1/s"""
    latency: float = 0.0
    """s: delay from sample to output"""
    name: str = "controller"
    """its line in the energy ledger"""
    seed: int = 0
    """seed of the sensor noise of laws"""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not _is_number(self.rate) or self.rate <= 0.0:
            raise ModelError(f"rate must be finite and positive (1/s), got {describe(self.rate)}")
        if not _is_number(self.latency) or self.latency < 0.0:
            raise ModelError(f"latency must be finite and not negative (s), got {describe(self.latency)}")
        if not isinstance(self.name, str):
            raise ModelError(f"name of a sampled controller must be a text, got {describe(self.name)}")
        if not isinstance(self.seed, (int, np.integer)) or self.seed < 0:
            raise ModelError(f"seed must be an integer that is not negative, got {describe(self.seed)}")
        odd: list[Any] = [law for law in self.laws if not isinstance(law, Law) or law.saturates]
        if odd or isinstance(self.controller, type) or not (self.laws or callable(self.controller)):
            wrong = odd[0] if odd else self.controller
            hint = "; compile it first: .compile()" if hasattr(wrong, "compile") and not odd else ""
            rule = "controller of a SampledController must be a function of time and state, or commanded laws"
            raise ModelError(f"{rule}, got {describe(wrong)}{hint}")

    @property
    def laws(self) -> tuple[Law, ...]:
        """Force laws of the controller; empty for a function."""
        if isinstance(self.controller, Law):
            return (self.controller,)
        return tuple(self.controller) if isinstance(self.controller, (tuple, list)) else ()

    @property
    def batch_forces(self) -> Callable[[float, State], Any] | None:
        """Batched controller, if ``controller`` has one, else None."""
        if not hasattr(self.controller, "batch_forces") and hasattr(self.controller, "together"):
            former_name(f"{type(self.controller).__name__}.together", f"{type(self.controller).__name__}.batch_forces")
            return self.controller.together
        return getattr(self.controller, "batch_forces", None)

    together = former_attribute("together", "batch_forces")

    @property
    def delay(self) -> int | None:
        """Latency in sampling periods where it is a whole number of them, else None."""
        periods = self.latency * self.rate
        return round(periods) if abs(periods - round(periods)) <= WHOLE_PERIOD_TOLERANCE else None

    def sample_time(self, k: int) -> float:
        """Time of a sample, not accumulated, so that there is no drift.

        Args:
            k: Index of the sample.

        Returns:
            ``k / rate`` (s).
        """
        return k / self.rate

    def acts(self, k: int) -> float:
        """Time from which the output of a sample acts.

        Args:
            k: Index of the sample.

        Returns:
            Time (s); exactly a time of :meth:`looks` where the latency is a whole number of periods.
        """
        return k / self.rate + self.latency if self.delay is None else (k + self.delay) / self.rate


def _is_number(x: Any) -> bool:
    return is_numeric(x) and not isinstance(x, bool) and np.shape(x) == () and bool(np.isreal(x) and np.isfinite(x))
