"""Series of any length, with as many points and digits as a picture can show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays.types import Vector

INTERVALS = 1500
"""Number of intervals of a chart: more than its width has pixels."""
PLACES = 3000
"""Largest number of points of a curve on a map, and of pictures of a motion."""


def thin_series(x: Vector, lines: Sequence[Vector]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Series ``x`` (increasing) and lines over it, at most some 3,000 points: no peak is lost.

    Of every interval of ``x`` each line keeps its lowest and its highest value, in the order in which they came, at the
    ends of the interval; the first and the last point of all stay as they are.

    Example:
        >>> x, (y,) = thin_series(np.arange(10**6), [np.where(np.arange(10**6) == 777_777, 5.0, 0.0)])
        >>> len(x) < 3010, float(y.max()), float(y[0])
        (True, 5.0, 0.0)
    """
    x, values = np.asarray(x, dtype=float).ravel(), [np.asarray(y, dtype=float).ravel() for y in lines]
    count = len(x)
    if count <= 2 * INTERVALS or any(len(y) != count for y in values):
        return x, values
    if not (np.diff(x) >= 0.0).all():
        keep = sample_indices(count)
        return x[keep], [y[keep] for y in values]
    grid = np.searchsorted(x, np.linspace(x[0], x[-1], INTERVALS + 1)[1:-1])
    # intervals of one sample at both ends: the first and the last point stay
    edges = np.unique([0, 1, *grid.tolist(), count - 1, count])
    ends = np.stack([edges[:-1], edges[1:] - 1], axis=1)
    return x[ends].ravel(), [_extremes(y, edges).ravel() for y in values]


def _extremes(y: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """``intervals x 2``: lowest and highest value between the edges, in order; NaN where there is no number."""
    low, high = np.where(np.isfinite(y), y, np.inf), np.where(np.isfinite(y), y, -np.inf)
    places = [
        sorted((a + int(low[a:b].argmin()), a + int(high[a:b].argmax())))
        for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    return np.asarray(y[np.array(places)])


def sample_indices(count: int) -> np.ndarray:
    """Indices of at most :data:`PLACES` of ``count`` samples, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, PLACES)).round().astype(int))


def numbers(values: Vector, digits: int = 6) -> list[float | None]:
    """Floats with a few digits; None for what is not finite."""
    array = np.asarray(values, dtype=float).ravel()
    return [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in array.tolist()]
