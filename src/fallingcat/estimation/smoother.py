"""Smoothing: beliefs about a time that use readings after it."""

from __future__ import annotations

import numpy as np

from ..arrays.types import Matrix
from ..errors import ModelError, describe
from .belief import Belief, Estimates
from .contact_filter import ContactFilter
from .sensors import Readings


def smooth(filter: ContactFilter, readings: Readings, start: Belief, lag: int | None = None) -> Estimates:
    """Beliefs that use readings after their time too: Rauch, Tung and Striebel's smoother on the group.

    Args:
        filter: Filter of the base.
        readings: Readings of one run.
        start: Belief at the first time.
        lag: Number of later readings that each belief uses; None: all.

    Returns:
        Beliefs at all times; the last one is that of the filter.

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> run = fc.simulate(body, body.state(twist=[0, 0, 0, 0, 0, 1.0]), 0.1)
        >>> filter = fc.estimation.ContactFilter(body, [])
        >>> readings = fc.estimation.read(run, [], rate=100, rng=np.random.default_rng(0))
        >>> found = fc.estimation.smooth(filter, readings, filter.begin(run.state(0)), lag=3)
        >>> found.poses.shape
        (11, 4, 4)
    """
    if not isinstance(filter, ContactFilter):
        raise ModelError(f"filter must be a ContactFilter, got {describe(filter)}")
    if lag is not None and (isinstance(lag, bool) or not isinstance(lag, (int, np.integer)) or lag < 1):
        raise ModelError(f"lag must be a whole number of at least 1, got {describe(lag)}")
    found = filter.run(readings, start)
    beliefs = [Belief(*(part[k] for part in found.beliefs)) for k in range(len(found.times))]
    last = len(beliefs) - 1
    gains = [_gain(filter, readings, beliefs[k], k) for k in range(last)]
    if lag is None:
        path = [beliefs[last]]
        for k in reversed(range(last)):
            path.append(_smoothing_step(filter, beliefs[k], *gains[k], path[-1]))
        path.reverse()
    else:
        path = []
        for k in range(last + 1):
            end = min(k + lag, last)
            belief = beliefs[end]
            for j in reversed(range(k, end)):
                belief = _smoothing_step(filter, beliefs[j], *gains[j], belief)
            path.append(belief)
    return filter.estimates(readings, Belief(*(np.array(part) for part in zip(*path, strict=True))))


def _gain(filter: ContactFilter, readings: Readings, belief: Belief, k: int) -> tuple[Belief, Matrix]:
    """Belief that is predicted for time ``k + 1``, and the gain ``P F' P+^-1`` of the smoother at ``k``."""
    stance = (readings.touching[k] & readings.touching[k + 1]).astype(float)
    dt = readings.times[1] - readings.times[0]
    predicted, F = filter.predict(belief, readings.imu[k], readings.joints[k + 1], stance, dt)
    # the covariances are symmetric, so (P+^-1 F P)' is the gain: no inverse is formed
    return predicted, np.linalg.solve(predicted.covariance, F @ belief.covariance).T


def _smoothing_step(filter: ContactFilter, belief: Belief, predicted: Belief, C: Matrix, after: Belief) -> Belief:
    """Smoothed belief at a time, from the one of one period later."""
    group, coordinates = filter.group, filter.coordinates
    error = coordinates.error(group, predicted.element, after.element)
    correction = C @ np.concatenate([error, predicted.bias - after.bias])
    element = coordinates.correct(group, belief.element, correction[:-6])
    P = belief.covariance + C @ (after.covariance - predicted.covariance) @ C.T
    return Belief(element, belief.bias - correction[-6:], 0.5 * (P + P.T))
