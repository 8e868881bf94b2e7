"""Leading-order displacement of a gait: the corrected body velocity integral ([Mishra] (11), Appendix C).

``zeta = - integral of DA over the area inside the gait`` and ``displacement ~ exp(zeta)``.  The area is the cone from a
point to the curve, ``q(u, s) = apex + u (q(s) - apex)``: any closed curve has one, in any number of joints, and a curve
that winds twice or crosses itself is counted right.  A momentum ``h`` adds ``integral of Mb^-1 h dt``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arrays import argument_sizes, solve
from ...arrays.types import Float_4_4, Float_m, Twist, Vector, Vector_m, Vector_n
from ...compiler.compilation import compile_step
from ...dynamics.checks import check_model, positive, vector
from ...errors import ModelError, NumericsError, describe
from ...formulations.connection import shape
from ...model import Model, State
from ...records import concise
from ..curvature.frames import GaitFrame, frame_pose, frame_poses, name_of, resolve_frame
from ..curvature.maps import Mapper
from ..curvature.regions import Region
from .displacement import Displacement
from .gait import Motion, check_motion, check_shape


@concise
class Estimate(NamedTuple):
    """Leading-order displacement of the base, by Stokes' theorem and the first bracket.

    Example:
        >>> Estimate(np.zeros(6), np.eye(4), "base").frame
        'base'
    """

    zeta: Float_m
    """``m``: corrected body velocity integral, in ``frame``"""
    pose: Float_4_4
    """``4 x 4``: the base at the end, relative to the start: ``exp(Ad zeta)``"""
    frame: str


def estimate(
    model: Model,
    motion: Motion,
    *,
    momentum: Vector_m | None = None,
    frame: GaitFrame = "base",
    apex: Vector_n | None = None,
    tolerance: float = 1e-9,
) -> Estimate:
    """Displacement of the base over a small closed gait, from curvature alone ([Mishra] V-B).

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        motion: Closed gait or curve of all joints.
        momentum: Momentum (m; N s, N m s) of the robot, relative to the base at the start, taken to leading order: the
            displacement that it causes in this time should be as small as the gait's; None: zero.
        frame: Frame of the integral.  In the virtual chassis or in minimum-perturbation coordinates (over the box
            around the gait) brackets are small and the estimate is good; in the base it can be poor.
        apex: Tip of the cone (n), which matters only beyond leading order; None: the mean of the curve.
        tolerance: Relative change at which the quadrature is fine enough.

    Returns:
        ``zeta`` (m) in the frame, and the pose of the base at the end (4 x 4).

    Example:
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
    mapper = Mapper(model, resolve_frame(model, frame, lambda: Region.around(motion, tip)))
    return estimate_with(mapper, motion, tip, tolerance, momentum)


def estimate_with(
    mapper: Mapper, motion: Motion, apex: Vector | None = None, tolerance: float = 1e-9, momentum: Vector | None = None
) -> Estimate:
    """:func:`estimate` with a compiled curvature."""
    model, frame = mapper.model, mapper.frame
    check_shape(model, motion.size)
    ends = motion([0.0, motion.duration]).q
    if np.abs(ends[1] - ends[0]).max() > 1e-9:
        raise ModelError("the gait is not closed: no area lies inside it")
    tip = np.asarray(_mean(motion) if apex is None else vector(apex, model.n, "apex"), dtype=float)
    zeta = _converged_integral(lambda order: _cone(mapper, motion, tip, order), tolerance)
    if momentum is not None:
        h = np.asarray(vector(momentum, model.m, "momentum"), dtype=float)
        zeta = zeta + _converged_integral(lambda order: _momentum_displacement(mapper, motion, h, order), tolerance)
    G, H = model.base, frame_pose(model, ends[0], frame)
    return Estimate(zeta, np.asarray(G.exp(G.Ad(H) @ zeta)), name_of(frame))


def estimate_error(model: Model, exact: Displacement, guess: Estimate) -> Float_m:
    """Error ``log(exact^-1 guess)`` of an estimate, as the paper measures it ([Mishra] V-B).

    Args:
        model: Robot.
        exact: Displacement of the base.
        guess: Estimate of it.

    Returns:
        Error (m; m, rad).

    Example:
        >>> from fallingcat.planning import Circle, displacement
        >>> from fallingcat.model import robots
        >>> cat, gait = robots.two_cylinder_cat(), Circle(0.3)
        >>> error = estimate_error(cat, displacement(cat, gait), estimate(cat, gait, frame="minimum_perturbation"))
        >>> bool(np.degrees(np.linalg.norm(error[3:])) < 0.1)
        True
    """
    check_model(model)
    if not isinstance(exact, Displacement) or not isinstance(guess, Estimate):
        raise ModelError(
            f"exact must be a Displacement and guess an Estimate, got {describe(exact)} and {describe(guess)}"
        )
    G = model.base
    return np.asarray(G.log(G.inverse(exact.pose) @ guess.pose))


@argument_sizes(h="m")
def locked_twist(model: Model, state: State, h: Vector) -> Twist:
    """Twist ``Mb^-1 h`` (m) of the frozen robot with the momentum ``h``, in the base frame."""
    return solve(shape(model, state).Mb, h)


def _mean(motion: Motion) -> np.ndarray:
    """The mean of the curve: the middle of a circle."""
    return np.asarray(motion(np.arange(256) / 256.0 * motion.duration).q.mean(axis=0))


def _converged_integral(integral: Callable[[int], np.ndarray], tolerance: float) -> np.ndarray:
    """Integral by Gauss' rules of increasing order until it converges."""
    before = None
    for order in (8, 16, 32, 64, 128):
        now = integral(order)
        if before is not None and np.abs(now - before).max() <= tolerance * max(1.0, float(np.abs(now).max())):
            return now
        before = now
    raise NumericsError("the area integral of the curvature does not converge: is the curve smooth?")


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


def _momentum_displacement(mapper: Mapper, motion: Motion, h: np.ndarray, order: int) -> np.ndarray:
    """``integral of Ad(H^-1) Mb^-1 h dt``: the momentum alone, with the base where it started."""
    model, G = mapper.model, mapper.model.base
    times, weights = _times(motion, order)
    q = motion(times).q
    twists = compile_step(model, locked_twist, {}, ["joints"])(q, h)
    poses = frame_poses(model, q, mapper.frame)
    seen = [G.Ad(G.inverse(H)) @ twist for H, twist in zip(poses, twists, strict=True)]
    return np.asarray(weights @ np.array(seen))
