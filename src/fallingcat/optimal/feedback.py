"""Feedback about an optimal motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import scale
from ..arrays.arguments import as_number
from ..arrays.types import Vector
from ..compiler import compile
from ..model import Model, State
from .problem import check_measured

if TYPE_CHECKING:
    from .result import OptimalResult


class Feedback:
    """Controller ``(t, state) -> joint forces``: those of an optimal motion, and its gains times what is off.

    Between nodes the motion is interpolated; after the last one its state is held with the last gains.

    Args:
        result: Optimal motion.
    """

    def __init__(self, result: OptimalResult) -> None:
        model = result.problem.model
        self.result, self.model = result, model
        self._q, self._v = (np.asarray(x, dtype=float) for x in model.flatten(result.states))
        sizes = {"q": model.nq, "p": model.nq, "share": 1, "now": model.nq}
        self._tangent_difference = compile(model, _tangent_difference, inputs=sizes)

    def __call__(self, t: float, state: State) -> Vector:
        """Joint forces (n; N m or N)."""
        as_number(t, "t (s)", real=True)
        times, last = self.result.times, len(self.result.forces) - 1
        # instants of a sampled controller are multiples of its period, up to rounding
        i = int(np.clip(np.searchsorted(times, t + 1e-9, side="right") - 1, 0, last))
        share = float(np.clip((t - times[i]) / (times[i + 1] - times[i]), 0.0, 1.0))
        check_measured(self.model, state)
        q, v = self.model.flatten(state)
        d = self._tangent_difference(self._q[i], self._q[i + 1], [share], q)
        speed = self._v[i] + share * (self._v[i + 1] - self._v[i])
        K = self.result.gains[i][:, : 2 * self.model.nv]
        u = self.result.forces[i] + K @ np.concatenate([d, np.asarray(v) - speed])
        return np.clip(u, *self.result.problem.limits)


def _tangent_difference(model: Model, q: Any, p: Any, share: Any, now: Any) -> Any:
    """Distance of ``now`` from the place between ``q`` and ``p``."""
    return model.difference(model.integrate(q, scale(share[0], model.difference(q, p))), now)
