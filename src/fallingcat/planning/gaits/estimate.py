"""How far a gait carries a robot, to leading order: the corrected body velocity integral ([Mishra] (11), Appendix C).

``zeta = - integral of DA over the area inside the gait`` and ``displacement ~ exp(zeta)``.  The area is the cone from a
point to the curve, ``q(u, s) = apex + u (q(s) - apex)``: any closed curve has one, in any number of joints, and a curve
that winds twice or crosses itself is counted right.  A momentum ``h`` adds ``integral of Mb^-1 h dt``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...arrays import solve, takes
from ...compiler.kernel import compile_step
from ...dynamics.checks import check_model, positive, vector
from ...errors import ModelError, NumericsError, describe
from ...formulations.connection import shape
from ...model import Model, State
from ...records import concise
from ..curvature.frames import GaitFrame, frame_pose, frame_poses, name_of, settled
from ..curvature.maps import Mapper
from ..curvature.regions import Region
from .displacement import Displacement
from .gait import Motion, check_motion, check_shape


@concise
class Estimate(NamedTuple):
    """What a gait does to the base, by Stokes' theorem and the first bracket."""

    zeta: np.ndarray
    """``m``: the corrected body velocity integral, in ``frame``"""
    pose: np.ndarray
    """``4 x 4``: the base at the end, seen from the start: ``exp(Ad zeta)``"""
    frame: str


def estimate(
    model: Model,
    motion: Motion,
    *,
    momentum: Any | None = None,
    frame: GaitFrame = "base",
    apex: Any | None = None,
    tolerance: float = 1e-9,
) -> Estimate:
    """The displacement of the base over a small closed gait, from curvature alone ([Mishra] V-B).

    ``frame`` is where the integral is taken.  In the virtual chassis or in minimum-perturbation coordinates (found over
    the box around the gait) brackets are small and the estimate is good; in the base it can be poor.
    ``apex`` (n) is the tip of the cone, the mean of the curve if left out; it matters only beyond leading order.
    ``momentum`` (m; N s, N m s) is that of the robot, seen from the base at the start, and is taken to leading order,
    too: the way that it carries the frozen robot in this time should be as small as the gait's.

    >>> from fallingcat.planning import Circle, displacement
    >>> from fallingcat.model import robots
    >>> cat = robots.two_cylinder_cat()
    >>> guess, exact = estimate(cat, Circle(0.05)), displacement(cat, Circle(0.05))
    >>> bool(abs(guess.pose - exact.pose).max() < 0.1 * abs(exact.pose - np.eye(4)).max())
    True
    """
    check_motion(motion)
    check_shape(model, motion.size)
    positive(tolerance, "tolerance")
    tip = _mean(motion) if apex is None else vector(apex, model.n, "apex")
    mapper = Mapper(model, settled(model, frame, lambda: Region.around(motion, tip)))
    return estimate_with(mapper, motion, tip, tolerance, momentum)


def estimate_with(
    mapper: Mapper, motion: Motion, apex: Any | None = None, tolerance: float = 1e-9, momentum: Any | None = None
) -> Estimate:
    """:func:`estimate` with a curvature that is compiled already."""
    model, frame = mapper.model, mapper.frame
    check_shape(model, motion.size)
    ends = motion([0.0, motion.duration]).q
    if np.abs(ends[1] - ends[0]).max() > 1e-9:
        raise ModelError("the gait is not closed: no area lies inside it")
    tip = np.asarray(_mean(motion) if apex is None else vector(apex, model.n, "apex"), dtype=float)
    zeta = _settled(lambda order: _cone(mapper, motion, tip, order), tolerance)
    if momentum is not None:
        h = np.asarray(vector(momentum, model.m, "momentum"), dtype=float)
        zeta = zeta + _settled(lambda order: _carried(mapper, motion, h, order), tolerance)
    G, H = model.base, frame_pose(model, ends[0], frame)
    return Estimate(zeta, np.asarray(G.exp(G.Ad(H) @ zeta)), name_of(frame))


def estimate_error(model: Model, exact: Displacement, guess: Estimate) -> np.ndarray:
    """``log(exact^-1 guess)`` (m): the error of an estimate as the paper measures it ([Mishra] V-B).

    ``exact`` is the displacement of the base.

    >>> from fallingcat.planning import Circle, displacement
    >>> from fallingcat.model import robots
    >>> cat, gait = robots.two_cylinder_cat(), Circle(0.3)
    >>> error = estimate_error(cat, displacement(cat, gait), estimate(cat, gait, frame="minimum_perturbation"))
    >>> bool(np.degrees(np.linalg.norm(error[3:])) < 0.1)
    True
    """
    check_model(model)
    if not isinstance(exact, Displacement) or not isinstance(guess, Estimate):
        raise ModelError(f"exact is a Displacement and guess an Estimate, not {describe(exact)} and {describe(guess)}")
    G = model.base
    return np.asarray(G.log(G.inverse(exact.pose) @ guess.pose))


@takes(h="m")
def locked_twist(model: Model, state: State, h: Any) -> Any:
    """``Mb^-1 h`` (m): how the frozen robot moves with the momentum ``h``, seen from the base."""
    return solve(shape(model, state).Mb, h)


def _mean(motion: Motion) -> np.ndarray:
    """The mean of the curve: the middle of a circle."""
    return np.asarray(motion(np.arange(256) / 256.0 * motion.duration).q.mean(axis=0))


def _settled(integral: Callable[[int], np.ndarray], tolerance: float) -> np.ndarray:
    """An integral by Gauss' rules that grow until the value stands still."""
    before = None
    for order in (8, 16, 32, 64, 128):
        now = integral(order)
        if before is not None and np.abs(now - before).max() <= tolerance * max(1.0, float(np.abs(now).max())):
            return now
        before = now
    raise NumericsError("the area integral of the curvature does not settle: is the curve smooth?")


def _times(motion: Motion, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss' nodes and weights on every smooth piece of a motion (s)."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    edges = np.array(motion.breaks)
    widths = np.diff(edges)[:, None]
    return (edges[:-1, None] + 0.5 * widths * (nodes + 1.0)).ravel(), (0.5 * widths * weights).ravel()


def _cone(mapper: Mapper, motion: Motion, tip: np.ndarray, order: int) -> np.ndarray:
    """``- integral of DA(q_u, q_s) du ds`` over the cone."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    times, along = _times(motion, order)
    jet = motion(times)
    outward = jet.q - tip
    shapes = tip + nodes[:, None, None] * outward
    x = np.broadcast_to(outward, shapes.shape)
    y = nodes[:, None, None] * jet.dq
    n = shapes.shape[-1]
    F = mapper.curvature(shapes.reshape(-1, n), x.reshape(-1, n), y.reshape(-1, n))
    return -np.einsum("u,s,usm->m", weights, along, F.reshape(len(nodes), len(times), -1))


def _carried(mapper: Mapper, motion: Motion, h: np.ndarray, order: int) -> np.ndarray:
    """``integral of Ad(H^-1) Mb^-1 h dt``: the momentum alone, with the base where it started."""
    model, G = mapper.model, mapper.model.base
    times, weights = _times(motion, order)
    q = motion(times).q
    twists = compile_step(model, locked_twist, {}, ["joints"])(q, h)
    poses = frame_poses(model, q, mapper.frame)
    seen = [G.Ad(G.inverse(H)) @ twist for H, twist in zip(poses, twists, strict=True)]
    return np.asarray(weights @ np.array(seen))
