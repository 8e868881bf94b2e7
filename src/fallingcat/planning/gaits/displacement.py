"""Displacement of the base over a gait: reconstruction on its group ([Mishra] (9)), to rounding.

``dg/dt = g hat(xi)`` with ``xi = -A dq + Mb^-1 Ad(g)' h``, where ``h`` is the momentum, constant in space.  Without
momentum ``xi`` is a given function of time and Magnus' series of order 6 integrates it; with momentum it depends on
``g``, and Gauss' collocation of order 6 does in exponential coordinates.  Steps are halved until the pose converges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import argument_sizes, solve
from ...arrays.arguments import as_array
from ...arrays.types import Float_4_4, Float_N_4_4, Float_N_m_n, FloatArray, Matrix_N_n, Pose, Vector, Vector_m
from ...compiler import compile
from ...compiler.compilation import compile_step
from ...dynamics.checks import check_model, positive, vector
from ...errors import NumericsError
from ...formulations import connection
from ...formulations.connection import shape
from ...lie.magnus import NODES, step_logarithm
from ...model import Model, State
from ...records import concise, of_robot
from ..curvature.frames import GaitFrame, KnownFrame, check_frame, frame_pose, resolve_frame
from ..curvature.regions import Region
from .curve_arguments import samples
from .gait import Motion, check_motion, check_shape

_ROOT = float(np.sqrt(15.0))
GAUSS = np.array(
    [
        [5 / 36, 2 / 9 - _ROOT / 15, 5 / 36 - _ROOT / 30],
        [5 / 36 + _ROOT / 24, 2 / 9, 5 / 36 - _ROOT / 24],
        [5 / 36 + _ROOT / 30, 2 / 9 + _ROOT / 15, 5 / 36],
    ]
)
"""Matrix of Gauss' method of order 6 on [0, 1]."""
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0
"""Weights of that method."""
FIRST_STEPS, MAX_STEPS = 8, 4096
"""First and largest number of steps on a smooth piece: each try has twice as many as the one before."""


@concise
class Displacement(NamedTuple):
    """Displacement of the base over a gait.

    Example:
        >>> from fallingcat.planning import Circle
        >>> from fallingcat.model import robots
        >>> displacement(robots.two_cylinder_cat(), Circle(0.3)).pose.shape
        (4, 4)
    """

    pose: Float_4_4
    """``4 x 4``: the frame at the end, relative to the frame at the start (m)"""
    times: FloatArray
    """``N`` (s): ends of the steps"""
    path: Float_N_4_4
    """``N x 4 x 4``: the base on the way, from the identity"""
    error: float
    """change of the pose when the steps were last halved"""


@of_robot
class Reconstruction:
    """Compiled connection of one robot, for the displacements of many gaits.

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.

    Example:
        >>> from fallingcat.planning import carried_bend
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> moved = Reconstruction(cat).displacement(carried_bend(np.radians(20.0)))
        >>> round(float(np.degrees(cat.base.log(moved.pose)[3])), 1)
        41.9
    """

    def __init__(self, model: Model) -> None:
        """Compile the connection and the exponential."""
        check_model(model)
        check_shape(model, model.n)
        self.model = model
        self._connection = compile_step(model, connection, {}, ["joints"])
        self._exponentials = compile(model, exponential, inputs={"x": model.m})
        self._rates: Any = None
        G = model.base
        self._brackets = np.stack([G.ad(e) for e in np.eye(model.m)], axis=1)  # [x, y] = brackets[:, i, j] x_i y_j

    def connection(self, joints: Matrix_N_n) -> Float_N_m_n:
        """Mechanical connection at many shapes.

        Args:
            joints: Shapes (N x n).

        Returns:
            ``A`` (N x m x n).
        """
        out: FloatArray = self._connection(samples(joints, self.model.n, "joints"))
        return out

    def displacement(
        self, motion: Motion, *, momentum: Vector_m | None = None, frame: GaitFrame = "base", tolerance: float = 1e-12
    ) -> Displacement:
        """Displacement of the base over a gait, see :func:`displacement`.

        Args:
            motion: Gait or curve of all joints.
            momentum: Momentum (m; N s, N m s) relative to the base at the start; None: zero.
            frame: Frame that is followed.
            tolerance: Change of the pose at which steps are small enough.

        Returns:
            Pose at the end (4 x 4), and the base on the way.
        """
        check_motion(motion)
        check_shape(self.model, motion.size)
        positive(tolerance, "tolerance")
        known = check_frame(self.model, frame)
        h = None if momentum is None else vector(momentum, self.model.m, "momentum")
        steps, before, error = FIRST_STEPS, None, np.inf
        while steps <= MAX_STEPS:
            times, path = self._path(motion, steps, h)
            if before is not None:
                # each halving divides the error by 64 (order 6), so the change is the error of the coarser path
                change = float(np.abs(path[-1] - before).max())
                if change <= tolerance or (change <= 1e-10 and change >= error):  # rounding is reached
                    return Displacement(self._relative_displacement(motion, path[-1], known), times, path, change)
                error = change
            steps, before = 2 * steps, path[-1]
        raise NumericsError(f"the displacement does not converge to {tolerance:g}: is the curve smooth?", value=error)

    def _relative_displacement(self, motion: Motion, pose: np.ndarray, frame: KnownFrame) -> np.ndarray:
        if frame == "base":
            return pose
        frame = resolve_frame(self.model, frame, lambda: Region.around(motion))
        ends = motion([0.0, motion.duration]).q
        start, end = (frame_pose(self.model, q, frame) for q in ends)
        inverse = self.model.base.inverse
        return np.asarray(inverse(start) @ pose @ end)

    def _path(self, motion: Motion, steps: int, h: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        edges = np.array(motion.breaks)
        fractions = np.arange(steps) / steps
        starts = (edges[:-1, None] + np.diff(edges)[:, None] * fractions).ravel()
        sizes = np.repeat(np.diff(edges) / steps, steps)
        jet = motion((starts[:, None] + sizes[:, None] * NODES).ravel())
        A = self.connection(jet.q)
        slopes = -np.einsum("kmn,kn->km", A, jet.dq).reshape(len(starts), 3, self.model.m)
        times = np.append(starts, edges[-1])
        if h is None:
            logarithms = step_logarithm(self._bracket, *(sizes[:, None] * slopes[:, i] for i in range(3)))
            return times, self._product(logarithms)
        return times, self._collocate(slopes, jet.q.reshape(len(starts), 3, -1), sizes, h)

    # without momentum -------------------------------------------------------------------------------------------

    def _bracket(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.einsum("kij,si,sj->sk", self._brackets, x, y)

    def _product(self, logarithms: np.ndarray) -> np.ndarray:
        path = [np.asarray(self.model.base.identity(), dtype=float)]
        for step in self._exponentials(logarithms):
            path.append(path[-1] @ step)
        return np.array(path)

    # with momentum ----------------------------------------------------------------------------------------------

    def _collocate(self, slopes: np.ndarray, joints: np.ndarray, sizes: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Steps ``g exp(x)`` with ``dx/dt = dexp^-1(x) xi(g exp(x))``, solved by iteration at the nodes."""
        if self._rates is None:
            self._rates = compile(self.model, exponential_rate, state=["pose", "joints"])
        path, rates = [np.asarray(self.model.base.identity(), dtype=float)], slopes[0]
        for slope, shapes, dt in zip(slopes, joints, sizes, strict=True):
            for _ in range(100):
                now = self._rates(path[-1][:3], shapes, dt * GAUSS @ rates, slope, h)
                change = np.abs(now - rates).max()
                rates = now
                # fixed-point iteration of the implicit Gauss stages: contracts by the step, so it ends at rounding
                if change <= 1e-15 * max(1.0, float(np.abs(now).max())):
                    break
            path.append(path[-1] @ self._exponentials(dt * (WEIGHTS @ rates)))
        return np.array(path)


def exponential(model: Model, x: Vector) -> Pose:
    """Exponential ``exp(x)`` (4 x 4) on the group of the base."""
    return model.base.exp(x)


@argument_sizes(chart="m", slope="m", h="m")
def exponential_rate(model: Model, state: State, chart: Vector, slope: Vector, h: Vector) -> Vector:
    """Rate (m) ``dexp^-1(x) (slope + Mb^-1 Ad(g exp(x))' h)`` of exponential coordinates ``x`` at ``g exp(x)``."""
    G = model.base
    body = G.Ad(state.pose @ G.exp(chart)).T @ h
    return G.dexp_right_inverse(chart) @ (slope + solve(shape(model, state).Mb, body))


def displacement(
    model: Model,
    motion: Motion,
    *,
    momentum: Vector_m | None = None,
    frame: GaitFrame = "base",
    tolerance: float = 1e-12,
) -> Displacement:
    """Exact displacement of the base over a gait, or over any curve of shapes ([Mishra] (9)).

    Without momentum the speed of the gait does not matter.  Gravity moves every part alike and is left out.

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        motion: Gait or curve of all joints.
        momentum: Momentum (m; N s, N m s) of the robot, relative to the base at the start; None: zero.
        frame: Frame that is followed: the base, the center of mass with the axes of the base, the virtual chassis,
            principal axes, minimum-perturbation coordinates over the box around the motion, or a frame of your own, as
            a pose on the base or a function of the joints (:mod:`fallingcat.planning.curvature.frames`).
        tolerance: Change of the pose at which steps are small enough.

    Returns:
        Pose of the frame at the end relative to its start (4 x 4), and the base on the way.

    Raises:
        NumericsError: The displacement does not converge, as for curves that are not smooth.

    Example:
        >>> from fallingcat.planning import Circle
        >>> from fallingcat.model import robots
        >>> moved = displacement(robots.two_cylinder_cat(), Circle(0.3))
        >>> moved.error < 1e-12
        True
    """
    return Reconstruction(model).displacement(motion, momentum=momentum, frame=frame, tolerance=tolerance)


@concise
class LockedFrame(NamedTuple):
    """Frame that moves with the locked velocity, along a curve of shapes ([Feurstein] (3.70)-(3.75)).

    Example:
        >>> from fallingcat.planning import Circle
        >>> from fallingcat.model import robots
        >>> locked_frame_along(robots.two_cylinder_cat(), Circle(0.3)).holonomy.shape
        (4, 4)
    """

    times: FloatArray
    """``N`` (s)"""
    poses: Float_N_4_4
    """``N x 4 x 4``: ``H_bc``, relative to the base"""
    holonomy: Float_4_4
    """``4 x 4``: ``H_bc(end) H_bc(start)^-1``; on a closed curve the identity where the frame is integrable, and the
    inverse of the displacement of the base"""


def locked_frame_along(
    model: Model, motion: Motion, start: Pose | None = None, tolerance: float = 1e-12
) -> LockedFrame:
    """Locked frame ``H_bc`` along a path, whether or not it is integrable ([Feurstein] (3.70), (3.74)).

    ``dH_bc/dt H_bc^-1 = hat(A rates)``.  It depends on the whole path unless the curvature vanishes, and its speed does
    not matter.  It is the inverse of the displacement of the base without momentum (:func:`displacement`).

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        motion: Gait or curve of all joints.
        start: ``H_bc`` (4 x 4) at the start; None: the identity.
        tolerance: Change of the pose at which steps are small enough.

    Returns:
        Times (N), poses (N x 4 x 4) and holonomy (4 x 4).

    Example:
        >>> from fallingcat.planning import Circle
        >>> from fallingcat.model import robots
        >>> found = locked_frame_along(robots.two_cylinder_cat(), Circle(0.3))
        >>> bool(abs(found.holonomy - np.eye(4)).max() > 1e-3)  # a cat can turn
        True
    """
    check_model(model)
    moved = Reconstruction(model).displacement(motion, tolerance=tolerance)
    H = np.eye(4) if start is None else as_array(start, (4, 4), "start")
    poses = np.array([model.base.inverse(g) @ H for g in moved.path])
    return LockedFrame(moved.times, poses, np.asarray(model.base.inverse(moved.path[-1])))
