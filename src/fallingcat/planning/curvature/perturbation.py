"""Minimum-perturbation coordinates (Hatton and Choset): the frame in which a robot's shape moves it least.

A frame ``g H(q)`` that depends on the shape has the connection ``A_H = Ad(H^-1) A - H^-1 dH``; brackets, and with
them the error of the area integral ([Mishra] (11)), are small where ``A_H`` is.  The frame found here makes the mean of
``|A_H|^2`` over a region of shapes stationary:

- where the base can translate, it follows the center of mass; the linear part of ``A_H`` is zero there, and nothing is
  smaller, whatever unit lengths have;
- its axes turn by a product of exponentials of polynomials of the shape.  Each factor is a step of Newton's method,
  which begins with the ``x`` of least mean ``|A_H - dx|^2``.  In the end ``A_H`` is free of divergence and does not
  flow through the boundary of the region, as far as the polynomials can tell.

Where rotations commute (planar bases, X(z), R^3) the problem is linear and no frame is better; on SO(3) and SE(3) it is
a minimum that descent reached from the axes of the base.  A flat connection becomes zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays.types import Float_N_4_4, FloatArray, Matrix, Matrix_N_n, Pose, Vector, Vectors_n
from ...compiler import compile
from ...dynamics import center_of_mass
from ...dynamics.checks import check_model
from ...errors import ModelError, NumericsError, describe
from ...formulations import connection
from ...model import Model
from ...records import concise
from ..gaits.curve_arguments import samples
from ..gaits.gait import check_shape
from .regions import Region

GRADIENT_TOLERANCE = 1e-14
"""Relative gradient at which the search ends: rounding."""
MAX_GRADIENT = 1e-7
"""Largest relative gradient that is accepted when it falls no further."""
MAX_NEWTON_STEPS = 60
"""Largest number of steps of Newton's method."""


class FrameChange(NamedTuple):
    """Change of frame by ``exp(x)``."""

    pose: Pose
    """``4 x 4``"""
    back: Matrix
    """``m x m``: ``Ad(exp(-x))``"""
    rate: Matrix
    """``m x m``: the body velocity of ``exp(x)`` per rate of ``x``"""


def exponential_change(model: Model, chart: Vector) -> FrameChange:
    """Exponential ``exp(x)`` of exponential coordinates ``chart`` (m), its inverse adjoint, and its rate."""
    G = model.base
    pose = G.exp(chart)
    return FrameChange(pose, G.Ad(G.inverse(pose)), G.dexp_right(chart))


def translations(model: Model) -> np.ndarray:
    """Projection (3 x 3) onto the directions in which the base can translate without turning."""
    S = model.base.selection
    _, sizes, rows = np.linalg.svd(S[3:])
    # null space of the rows of rotation: motions of the group that translate without turning
    still = rows[int((sizes > 1e-12).sum()) :].T
    directions = np.linalg.qr(S[:3] @ still)[0]
    return np.asarray(directions @ directions.T)


class Robot:
    """Compiled functions of one robot, with the base at the identity."""

    def __init__(self, model: Model) -> None:
        """Compile connection, center of mass and exponential."""
        self.model, G = model, model.base
        self._connection, self._center = (compile(model, f, state=["joints"]) for f in (connection, center_of_mass))
        self._exponential_change: Any = compile(model, exponential_change, inputs={"chart": model.m})
        self._translations = translations(model)
        self.turning_components = np.flatnonzero(np.any(G.selection[3:] != 0.0, axis=0))
        """components of the algebra that turn: the others are zero at the center of mass"""
        ad = np.stack([G.ad(e) for e in np.eye(model.m)], axis=1)  # [x, y] = ad[:, i, j] x_i y_j
        self.brackets = ad[np.ix_(self.turning_components, self.turning_components, self.turning_components)]

    def centers(self, joints: np.ndarray) -> np.ndarray:
        """Centers of mass (N x 3), as far as the base can translate there."""
        return np.asarray(self._center(joints) @ self._translations)

    def rotational_connection(self, joints: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Rotational part (N x f x k) of the connection at the center of mass along directions (n x k)."""
        return np.asarray((self._connection(joints) @ directions)[:, self.turning_components])

    def exponential(self, x: np.ndarray) -> FrameChange:
        """Exponential for ``x`` (N x f)."""
        chart = np.zeros((len(x), self.model.m))
        chart[:, self.turning_components] = x
        out: FrameChange = self._exponential_change(chart)
        return out

    def transform_connection(self, A: np.ndarray, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Connection (N x f x k) ``Ad(exp(-x)) A - rate dx`` after a turn ``x`` with slopes ``dx`` (N x k x f)."""
        by = self.exponential(x)
        inner: Any = (slice(None), *np.ix_(self.turning_components, self.turning_components))
        return np.asarray(by.back[inner] @ A - by.rate[inner] @ np.swapaxes(dx, 1, 2))


@concise
@dataclass(frozen=True, eq=False)
class MinimumPerturbation:
    """Minimum-perturbation frame over a region, as a function of the shape; a ``frame`` for maps and displacements.

    In the middle of the region its axes are those of the base.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> found = minimum_perturbation(cat, Region(np.eye(2), np.zeros(2), [-0.5, -0.5], [0.5, 0.5]))
        >>> found.poses(np.zeros((1, 2))).shape
        (1, 4, 4)
    """

    robot: Robot
    region: Region
    factors: tuple[FloatArray, ...]
    """polynomial coefficients (P x f) of each exponential"""
    before: float
    """root of the mean of ``|A|^2`` over the region, along orthonormal directions, with the axes of the base"""
    after: float
    """the same in this frame"""
    gradient: float
    """gradient of that mean by the polynomials, relative to the mean before: zero where it is stationary"""

    name = "minimum_perturbation"

    def poses(self, joints: Vectors_n) -> Float_N_4_4:
        """Poses of the frame on the base.

        Args:
            joints: Shapes (N x n), or one (n).

        Returns:
            Poses (N x 4 x 4).
        """
        q = samples(joints, self.robot.model.n, "joints")
        turn, middle = (self._product(x, lambda by: by.pose) for x in (q, self.region.middle[None]))
        at = np.broadcast_to(np.eye(4), turn.shape).copy()
        at[:, :3, 3] = self.robot.centers(q)
        return np.asarray(at @ turn @ np.linalg.inv(middle[0]))

    def seen(self, joints: Matrix_N_n) -> FloatArray:
        """Adjoints from the center of mass, along the base's axes, into the frame.

        Args:
            joints: Shapes (N x n).

        Returns:
            Matrices (N x m x m) that map elements of the algebra.
        """
        q = samples(joints, self.robot.model.n, "joints")
        turn, middle = (self._product(x, lambda by: by.back, back=True) for x in (q, self.region.middle[None]))
        return np.asarray(np.linalg.inv(middle[0]) @ turn)

    def connection(self, joints: Matrix_N_n) -> FloatArray:
        """Connection ``A_H`` in the frame along the directions of the region; zero where the base translates.

        Args:
            joints: Shapes (N x n).

        Returns:
            ``A_H`` (N x m x k).
        """
        q = samples(joints, self.robot.model.n, "joints")
        A = self.robot.rotational_connection(q, self.region.directions)
        r = self.region.coordinates(q)
        B, dB = self.region.polynomials(r), self.region.slopes(r)
        for factor in self.factors:
            A = self.robot.transform_connection(A, B @ factor, dB @ factor)
        out = np.zeros((len(q), self.robot.model.m, self.region.size))
        out[:, self.robot.turning_components] = A
        middle = self._product(self.region.middle[None], lambda by: by.back, back=True)[0]
        return np.asarray(np.linalg.inv(middle) @ out)

    def _product(self, q: np.ndarray, part: Callable[[FrameChange], np.ndarray], back: bool = False) -> np.ndarray:
        """Product of one part of all factors: the first one is leftmost, or rightmost where they act ``back``."""
        out = np.eye(self.robot.model.m if back else 4) + np.zeros((len(q), 1, 1))
        B = self.region.polynomials(self.region.coordinates(q))
        for factor in self.factors:
            now = part(self.robot.exponential(B @ factor))
            out = now @ out if back else out @ now
        return out


def minimum_perturbation(model: Model, region: Region) -> MinimumPerturbation:
    """Minimum-perturbation coordinates of a robot over a region of shapes.

    Args:
        model: Robot with a floating base, whose joints are angles and lengths.
        region: Box of shapes.

    Returns:
        Frame as a function of the shape, with the mean of ``|A|`` before and after.

    Raises:
        NumericsError: Newton's method does not converge.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> found = minimum_perturbation(cat, Region(np.eye(2), np.zeros(2), [-1.0, -1.0], [1.0, 1.0]))
        >>> print(f"mean |A| falls from {found.before:.2f} to {found.after:.2f}")
        mean |A| falls from 0.81 to 0.45
    """
    check_model(model)
    check_shape(model, model.n)
    if not isinstance(region, Region):
        raise ModelError(f"region must be a Region, got {describe(region)}")
    if len(region.origin) != model.n:
        raise ModelError(f"the region must be in {model.n} joints of {model.name!r}, got {len(region.origin)}")
    search = _Search(Robot(model), region)
    before, factors = search.mean, []
    for _ in range(MAX_NEWTON_STEPS):
        if search.gradient <= GRADIENT_TOLERANCE:
            break
        factor = search.step()
        if factor is None:
            break
        factors.append(factor)
    if not search.gradient <= MAX_GRADIENT:
        raise NumericsError("the minimum-perturbation coordinates do not converge", value=search.gradient)
    return MinimumPerturbation(
        search.robot, region, tuple(factors), before**0.5, search.mean**0.5, float(search.gradient)
    )


class _Search:
    """Descent of the mean of ``|A|^2`` at the nodes of a region."""

    def __init__(self, robot: Robot, region: Region) -> None:
        self.robot = robot
        r, self.weights = region.quadrature()
        self.joints = region.shapes(r)
        axes = np.linalg.qr(region.directions)[0]  # orthonormal: the mean does not depend on how a plane is given
        self.B = region.polynomials(r)
        self.dB = np.einsum("nip,ij->njp", region.slopes(r), np.linalg.pinv(region.directions) @ axes)
        self.A = robot.rotational_connection(self.joints, axes)
        flat = (self.weights[:, None, None] * self.dB).reshape(-1, self.B.shape[1])
        self.stiff = flat.T @ self.dB.reshape(flat.shape)
        # the size of a gradient, by which residuals are judged; never zero, also where polynomials are constant
        self._scale = max(float(np.sqrt(self.mean * np.diag(self.stiff).max())), 1e-300)

    @property
    def mean(self) -> float:
        return self._mean(self.A)

    def _mean(self, A: np.ndarray) -> float:
        return float(self.weights @ np.einsum("nfi,nfi->n", A, A))

    @property
    def slope(self) -> np.ndarray:
        """Half the rate (P x f) at which the mean falls: the mean of ``<A, dx>``."""
        weighted = self.weights[:, None, None] * self.A
        return np.asarray(np.einsum("nip,nfi->pf", self.dB, weighted, optimize=True))

    @property
    def gradient(self) -> float:
        return float(np.abs(self.slope).max(initial=0.0)) / self._scale

    def step(self) -> np.ndarray | None:
        """Factor (P x f) after which the mean is smaller; None where rounding is reached."""
        slope, now = self.slope, self.mean
        for hessian in self._hessians():
            x = np.linalg.solve(hessian, slope.ravel()).reshape(slope.shape)
            # 2^-20 of a step that still gains nothing: rounding is reached
            for _ in range(20):
                A = self.robot.transform_connection(self.A, self.B @ x, self.dB @ x)
                if self._mean(A) < now:
                    self.A = A
                    return x
                x = 0.5 * x
        return None

    def _hessians(self) -> list[np.ndarray]:
        """Halved Hessians of the mean: ``|dx|^2 + <[x, A], dx>`` with an invariant metric, and its first part.

        The first part alone is positive definite, so that its step descends.
        """
        P, f = self.B.shape[1], self.A.shape[1]
        plain = np.einsum("pq,fg->pfqg", self.stiff, np.eye(f)).reshape(P * f, P * f)
        if not self.robot.brackets.any():
            return [plain]
        turning = np.einsum("fgh,nhi->fgin", self.robot.brackets, self.A)  # [x, A]_f = turning_fg x_g
        mixed = np.zeros((P, f, P, f))
        for i, j in np.argwhere(self.robot.brackets.any(axis=2)):
            for k in range(self.dB.shape[1]):
                mixed[:, i, :, j] += self.dB[:, k].T @ ((self.weights * turning[i, j, k])[:, None] * self.B)
        flat = mixed.reshape(P * f, P * f)
        full = plain + 0.5 * (flat + flat.T)
        # the full one is quadratic near the minimum, but may be indefinite away from it; the first part never is
        return [full, plain] if np.linalg.eigvalsh(full)[0] > 0.0 else [plain]
