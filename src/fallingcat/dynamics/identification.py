"""Inertial parameters from measured forces, such that every body can exist.

A body exists where its pseudo-inertia ``[[S, h], [h', m]]`` (4x4; ``S`` the second moment) is positive definite.
Written as ``R R'`` with a triangle ``R`` whose diagonal is ``exp`` of numbers, every choice of ten numbers is a body:
the search has no constraints to break.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays import numbers_only
from ..arrays.types import Matrix, Vector
from ..errors import ModelError
from ..model import Body, Model
from ..records import tabulated
from .checks import check_model, numbers, positive
from .regressors import EACH, with_inertial_parameters

SETTLED = 1e-9
"""A step that lowers the sum of squares by less than this part of it is the last."""
SMALLEST = 1e-12
"""So is one that changes no number by more than this."""
BEND = 0.1
"""Part of a step after which its second order is looked at."""
_LOWER = np.tril_indices(4)


@tabulated
class Identified(NamedTuple):
    """What was found."""

    parameters: np.ndarray
    """``pi``, 10 for each link"""
    model: Model
    """the robot with these"""
    residual: float
    """root of the mean square of ``Y pi - forces``"""
    iterations: int
    converged: bool = True
    """whether it ended before ``iterations`` ran out"""


@numbers_only("least squares choose by values")
def identify(model: Model, regressor: Matrix, forces: Vector, prior: float = 1e-6, iterations: int = 100) -> Identified:
    """The inertial parameters that explain ``forces`` (k) best, ``regressor`` (k x 10 links) times them.

    Least squares over bodies that can exist, by damped steps of Gauss and Newton, started at those of ``model``.
    What the motions do not show stays where ``prior``, the weight of each relative step away from ``model``, keeps it.

    >>> from fallingcat.model import robots
    >>> from fallingcat.dynamics import inertial_parameters, inverse_dynamics_regressor
    >>> arm, rng = robots.planar_arm(), np.random.default_rng(0)
    >>> states, a = [arm.random_state(rng) for _ in range(20)], rng.normal(size=(20, arm.nv))
    >>> Y = np.concatenate([inverse_dynamics_regressor(arm, s, x) for s, x in zip(states, a)])
    >>> guess = arm.replace_body("link3", Body(2.0, [0.0, 0.0, 0.4], 0.1 * np.eye(3)))
    >>> found = identify(guess, Y, Y @ inertial_parameters(arm))
    >>> found.residual < 1e-6, not any(link.body.problems() for link in found.model.links)
    (True, True)
    >>> found.converged, found.iterations < 20
    (True, True)
    """
    check_model(model)
    size = EACH * len(model.links)
    Y = np.asarray(numbers(regressor, (len(regressor), size), "regressor"), dtype=float)
    tau = np.asarray(numbers(forces, (len(Y),), "forces"), dtype=float)
    weight = positive(prior, "prior") * max(float(np.linalg.norm(tau)), 1e-300)
    start = np.concatenate([_numbers_of(link.body, link.name) for link in model.links])

    def residuals(at: np.ndarray) -> np.ndarray:
        return np.concatenate([Y @ _parameters_of(at) - tau, weight * (at - start)])

    def slopes(at: np.ndarray) -> np.ndarray:
        return np.concatenate([Y @ _slopes(at), weight * np.eye(size)])

    theta, steps, converged = _least_squares(residuals, slopes, start, iterations)
    found = _parameters_of(theta)
    error = float(np.sqrt(np.mean((Y @ found - tau) ** 2))) if len(tau) else 0.0
    return Identified(found, with_inertial_parameters(model, found), error, steps, converged)


def _least_squares(
    residuals: Callable[[np.ndarray], np.ndarray],
    slopes: Callable[[np.ndarray], np.ndarray],
    theta: np.ndarray,
    iterations: int,
) -> tuple[np.ndarray, int, bool]:
    """By Levenberg and Marquardt: where it ends, after how many steps, and whether none lowers the sum any more.

    What motions do not show is a curved valley with a floor that falls by the prior alone.  A straight step along it
    has to be short; so each is bent by its second order, as a geodesic is (Transtrum and Sethna).
    """
    r, damping = residuals(theta), 1e-3
    for steps in range(1, iterations + 1):
        J = slopes(theta)
        ridge = np.sqrt(damping) * np.linalg.norm(J) / np.sqrt(len(theta)) * np.eye(len(theta))
        Q, R = np.linalg.qr(np.concatenate([J, ridge]))
        step = -np.linalg.solve(R, Q[: len(r)].T @ r)
        curvature = 2.0 * ((residuals(theta + BEND * step) - r) / BEND - J @ step) / BEND
        bent = step - 0.5 * np.linalg.solve(R, Q[: len(r)].T @ curvature)
        wild = np.abs(step).max() > 3.0 or np.linalg.norm(bent - step) > 0.75 * np.linalg.norm(step)
        tried = r if wild else residuals(theta + bent)
        gain = 1.0 - (tried @ tried) / max(r @ r, 1e-300)
        if gain > 0.0:
            theta, r = theta + bent, tried
        if 0.0 < gain < SETTLED or np.abs(step).max() < SMALLEST:
            return theta, steps, True
        damping *= 0.2 if gain > 0.0 else 3.0
    return theta, iterations, False


def _numbers_of(body: Body, name: str) -> np.ndarray:
    """Ten numbers of a body: the triangle of its pseudo-inertia, logarithms on the diagonal."""
    h, m = body.first_moment[:, None], np.array([[body.mass]])
    P = np.block([[body.second_moment, h], [h.T, m]])
    try:
        R = np.linalg.cholesky(P + 1e-12 * np.trace(P) * np.eye(4))
    except np.linalg.LinAlgError:
        raise ModelError(f"the body of link {name!r} cannot exist, so no search starts at it") from None
    np.fill_diagonal(R, np.log(np.diag(R)))
    return R[_LOWER]


def _parameters_of(theta: np.ndarray) -> np.ndarray:
    """``pi`` of the numbers of all bodies."""
    parts = []
    for numbers_of_one in theta.reshape(-1, EACH):
        P = _pseudo_inertia(numbers_of_one)
        I = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]  # noqa: E741
        parts.append([P[3, 3], *P[:3, 3], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])
    return np.array(parts).ravel()


def _pseudo_inertia(theta: np.ndarray) -> np.ndarray:
    R = np.zeros((4, 4), dtype=theta.dtype)
    R[_LOWER] = theta
    np.fill_diagonal(R, np.exp(np.diag(R)))
    return R @ R.T


def _slopes(theta: np.ndarray) -> np.ndarray:
    """``d pi / d theta``, body by body, by complex steps."""
    out = np.zeros((theta.size, theta.size))
    for start in range(0, theta.size, EACH):
        for k in range(start, start + EACH):
            one = theta[start : start + EACH].astype(complex)
            one[k - start] += 1e-30j
            out[start : start + EACH, k] = _parameters_of(one).imag / 1e-30
    return out
