"""Balls and ellipsoids around contact points; the rim of a wheel is a flat ellipsoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..arrays import cross, scale, sqrt
from ..arrays.differentiate import derivative
from ..arrays.types import Matrix, Vector, Vector_3
from ..dynamics.checks import positive
from ..errors import ModelError, describe
from ..lie.group import constant
from ..records import concise

RIM_FLATNESS: Final = 2e-4
"""Thickness of a rim relative to its diameter: a disc on its face is not thrown from edge to edge by rounding, and one
that leans by more than a few milliradians touches the ground at its edge."""


@concise
class ContactEllipsoid(NamedTuple):
    """Ellipsoid around a contact point, in the axes of its frame; give it as the ``radius`` of the point.

    It touches at its lowest place, which moves over the body as it rolls.

    Example:
        >>> import fallingcat as fc
        >>> egg = fc.robots.free_body()
        >>> floor = fc.contact.HardContacts(("body",), friction=0.8, radius=ContactEllipsoid((0.1, 0.1, 0.2)))
        >>> round(float(egg.standing(floor).pose[2, 3]), 9)
        0.2
    """

    radii: tuple[float, float, float]
    """m: semi-axes along x, y and z"""
    margin: float = 0.0
    """m: thickness of a layer around it"""


Around = float | ContactEllipsoid
"""Radius of a ball around a point (m; 0: the point itself), or an ellipsoid."""


def rim(radius: float, tube: float = 0.0) -> ContactEllipsoid:
    """Rim of a wheel around the z axis of a frame: an ellipsoid as flat as a disc.

    Its thickness is 0.02 % of its diameter (:data:`RIM_FLATNESS`).  With a ``tube`` it is a tire.

    Args:
        radius: Radius of the circle (m).
        tube: Radius of the ball that moves along the circle (m).

    Returns:
        Ellipsoid for the ``radius`` of a contact point.

    Example:
        >>> import fallingcat as fc
        >>> wheel, floor = fc.robots.free_body(), fc.contact.HardContacts(("body",), friction=0.8, radius=rim(0.3))
        >>> round(float(wheel.standing(floor, rpy=(0.5 * np.pi, 0.0, 0.0)).pose[2, 3]), 9)  # its axis along y
        0.3
    """
    r = positive(radius, "the radius of a rim")
    return check_ellipsoid(ContactEllipsoid((r, r, RIM_FLATNESS * r), tube))


def check_ellipsoid(given: ContactEllipsoid) -> ContactEllipsoid:
    """Refuse ellipsoids whose semi-axes are not three positive numbers, or whose margin is negative."""
    try:
        radii, margin = np.array(given.radii, dtype=float), float(given.margin)
    except (TypeError, ValueError, OverflowError):
        radii, margin = np.zeros(0), 0.0
    if not (radii.shape == (3,) and np.isfinite(radii).all() and (radii > 0.0).all() and 0.0 <= margin < np.inf):
        rule = (
            "an ellipsoid has a radius along each of three axes, finite and positive, and a margin that is not negative"
        )
        raise ModelError(f"{rule}, not {describe(given)}")
    return ContactEllipsoid((float(radii[0]), float(radii[1]), float(radii[2])), margin)


def radii_and_margin(around: Around) -> tuple[np.ndarray | None, float]:
    """Semi-axes (3, m), None for a ball, and the radius (m) of a ball that moves over the ellipsoid."""
    return (np.array(around.radii), around.margin) if isinstance(around, ContactEllipsoid) else (None, around)


def ball_radii(around: Sequence[Around]) -> tuple[float, ...]:
    """Radii (m) of the balls, on ellipsoids or not."""
    return tuple(radii_and_margin(one)[1] for one in around)


def extents(around: Sequence[Around]) -> np.ndarray:
    """Distances (m) up to which ellipsoids reach from their points, without their margins; 0 for balls."""
    return np.array([0.0 if radii is None else radii.max() for radii, _ in map(radii_and_margin, around)])


def thicker(around: Around, margin: float) -> Around:
    """The same with a further layer (m) around it."""
    return around._replace(margin=around.margin + margin) if isinstance(around, ContactEllipsoid) else around + margin


def is_rim(around: Around) -> bool:
    """True for an ellipsoid as flat as a rim."""
    return isinstance(around, ContactEllipsoid) and around.radii[2] <= 2.0 * RIM_FLATNESS * around.radii[0]


# lowest places: with the normal m in the axes of the ellipsoid, and D = diag(radii), x = -D^2 m / sqrt(m' D^2 m) -----


def _lowest_in_frame(radii: np.ndarray, m: Vector) -> Vector:
    y = radii * radii * m
    return scale(-1.0 / sqrt(m @ y), y)


def lowest_place(around: Around, axes: Matrix, normal: Vector_3) -> Any:
    """From the center of an ellipsoid to its lowest place (3, m), without its margin; zeros for a ball.

    Args:
        around: Ellipsoid, or radius of a ball.
        axes: Axes of its frame (3 x 3, columns), in those in which the result is wanted.
        normal: Unit normal of the ground (3), likewise.

    Returns:
        Vector (3).
    """
    radii, _ = radii_and_margin(around)
    return np.zeros(3) if radii is None else axes @ _lowest_in_frame(radii, axes.T @ normal)


def lowest_lever(around: Around, axes: Matrix, normal: Vector_3) -> Any:
    """From a point to the lowest place of what is around it (3, m): :func:`lowest_place` less the margin."""
    return lowest_place(around, axes, normal) - radii_and_margin(around)[1] * normal


_STILL = constant(np.zeros(3))


def lowest_rate(
    around: Around, axes: Matrix, normal: Vector_3, spin: Vector_3, normal_rate: Vector_3 = _STILL
) -> Vector_3:
    """Rate (3, m/s) of :func:`lowest_place`, of a body with the angular velocity ``spin`` (3, rad/s); 0 for a ball."""
    radii, _ = radii_and_margin(around)
    if radii is None:
        return np.zeros(3)
    m, rate = axes.T @ normal, axes.T @ (normal_rate - cross(spin, normal))
    turned = axes @ derivative(lambda t: _lowest_in_frame(radii, m + t * rate), like=[m, rate])
    return turned + cross(spin, axes @ _lowest_in_frame(radii, m))


def depth_below(radii: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Depths (..., m) of the lowest places of ellipsoids below their centers: ``sqrt(m' D^2 m)``.

    Args:
        radii: Semi-axes (..., 3, m); zeros for balls.
        normals: Normal of the ground in the axes of each (..., 3).

    Returns:
        Depths, margins left out.
    """
    return np.asarray(np.linalg.norm(radii * normals, axis=-1))
