"""How far a gait carries a robot, to leading order: the corrected body velocity integral ([Mishra] (11), Appendix C).

``zeta = - integral of DA over the area inside the gait`` and ``displacement ~ exp(zeta)``.  The area is the cone from a
point to the curve, ``q(u, s) = apex + u (q(s) - apex)``: any closed curve has one, in any number of joints, and a curve
that winds twice or crosses itself is counted right.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dynamics.checks import vector
from ..errors import ModelError, NumericsError
from ..model import Model
from .frames import frame_pose
from .gait import Motion, check_shape
from .maps import Mapper


class Estimate(NamedTuple):
    """What a gait does to the base, by Stokes' theorem and the first bracket."""

    zeta: np.ndarray
    """``m``: the corrected body velocity integral, in ``frame``"""
    pose: np.ndarray
    """``4 x 4``: the base at the end, seen from the start: ``exp(Ad zeta)``"""
    frame: str


def estimate(
    model: Model, motion: Motion, *, frame: str = "base", apex: Any | None = None, tolerance: float = 1e-9
) -> Estimate:
    """The displacement of the base over a small closed gait without momentum, from curvature alone ([Mishra] V-B).

    ``frame`` is where the integral is taken: in the virtual chassis, the center of mass with principal axes, brackets
    are small and the estimate is good; in the base it can be poor.
    ``apex`` (n) is the tip of the cone, the mean of the curve if left out; it matters only beyond leading order.

    >>> from fallingcat.gaits import Circle, displacement
    >>> from fallingcat.model import robots
    >>> cat = robots.two_cylinder_cat()
    >>> guess, exact = estimate(cat, Circle(0.05)), displacement(cat, Circle(0.05))
    >>> bool(abs(guess.pose - exact.pose).max() < 0.1 * abs(exact.pose - np.eye(4)).max())
    True
    """
    return estimate_with(Mapper(model, frame), motion, apex, tolerance)


def estimate_with(mapper: Mapper, motion: Motion, apex: Any | None = None, tolerance: float = 1e-9) -> Estimate:
    """:func:`estimate` with a curvature that is compiled already."""
    model, frame = mapper.model, mapper.frame
    check_shape(model, motion.size)
    ends = motion([0.0, motion.duration]).q
    if np.abs(ends[1] - ends[0]).max() > 1e-9:
        raise ModelError("the gait is not closed: no area lies inside it")
    tip = _mean(motion) if apex is None else vector(apex, model.n, "apex")
    zeta = _integral(mapper, motion, np.asarray(tip, dtype=float), tolerance)
    G, H = model.base, frame_pose(model, ends[0], frame)
    return Estimate(zeta, np.asarray(G.exp(G.Ad(H) @ zeta)), frame)


def _mean(motion: Motion) -> np.ndarray:
    """The mean of the curve: the middle of a circle."""
    return np.asarray(motion(np.arange(256) / 256.0 * motion.duration).q.mean(axis=0))


def _integral(mapper: Mapper, motion: Motion, tip: np.ndarray, tolerance: float) -> np.ndarray:
    """``- integral of DA(q_u, q_s) du ds`` over the cone, by Gauss' rules that grow until the value stands still."""
    before = None
    for order in (8, 16, 32, 64, 128):
        now = _cone(mapper, motion, tip, order)
        if before is not None and np.abs(now - before).max() <= tolerance * max(1.0, float(np.abs(now).max())):
            return now
        before = now
    raise NumericsError("the area integral of the curvature does not settle: is the curve smooth?")


def _cone(mapper: Mapper, motion: Motion, tip: np.ndarray, order: int) -> np.ndarray:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    edges = np.array(motion.breaks)
    times = (edges[:-1, None] + np.diff(edges)[:, None] * nodes).ravel()
    along = (np.diff(edges)[:, None] * weights).ravel()
    jet = motion(times)
    outward = jet.q - tip
    shapes = tip + nodes[:, None, None] * outward
    x = np.broadcast_to(outward, shapes.shape)
    y = nodes[:, None, None] * jet.dq
    n = shapes.shape[-1]
    F = mapper.curvature(shapes.reshape(-1, n), x.reshape(-1, n), y.reshape(-1, n))
    return -np.einsum("u,s,usm->m", weights, along, F.reshape(len(nodes), len(times), -1))
