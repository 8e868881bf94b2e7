"""Places of touchdown: Raibert's rule, capture points, and the ground below feet."""

from __future__ import annotations

from typing import Any

from .._deprecated import former_arguments
from ..arrays import array, clip, cross, scale, solve, sqrt, stack
from ..arrays.arguments import as_array, as_number, shape_of
from ..arrays.types import Matrix, Matrix_N_3, Scalar, Vector, Vector_2, Vector_3
from ..errors import ModelError, describe


def as_arrays(shape: tuple[int, ...], **given: Any) -> list[Any]:
    """Arguments by name as arrays of one shape, of numbers of any kind."""
    return [as_array(x, shape, name) for name, x in given.items()]


def check_numbers(**given: Any) -> None:
    """Raise an error that names an argument that is not one finite number."""
    for name, x in given.items():
        as_number(x, name)


@former_arguments(wanted="command")
def raibert(hip: Vector_2, velocity: Vector_2, command: Vector_2, stance: float, gain: float) -> Vector_2:
    """Raibert's rule: half a stance ahead of the hip, and further where the robot is too fast.

    ``p = hip + velocity stance / 2 + gain (velocity - command)``.  With ``gain = sqrt(height / gravity)`` the last term
    is that of the capture point.

    Args:
        hip: Neutral place of the foot when it touches down (2, m).
        velocity: Of the body (2, m/s).
        command: Velocity of the body to follow (2, m/s).
        stance: Time that the foot will stand (s).
        gain: Step per error of velocity (s).

    Returns:
        Place of touchdown (2, m).

    Example:
        >>> import numpy as np
        >>> raibert(np.zeros(2), np.array([1.0, 0.2]), np.array([1.0, 0.0]), 0.2, 0.15)
        array([0.1 , 0.05])
    """
    hip, velocity, command = as_arrays((2,), hip=hip, velocity=velocity, command=command)
    check_numbers(stance=stance, gain=gain)
    return hip + scale(0.5 * stance, velocity) + scale(gain, velocity - command)


def dcm_step(
    dcm: Vector_2, offset: Vector_2, support: Vector_2, reach: tuple[Vector_2, Vector_2], heading: Matrix
) -> Vector_2:
    """Step that leaves the divergent component of motion at its periodic offset, within reach of the other foot.

    Args:
        dcm: Divergent component of motion predicted at touchdown (2, m).
        offset: Its offset from the new foot in the wanted walk (2, m), see :meth:`.LinearPendulum.walking_offset`.
        support: Place of the foot that stands (2, m).
        reach: Least and largest step from that foot, along the heading and to the left (2 each, m).
        heading: Rotation of the heading (2 x 2).

    Returns:
        Place of touchdown (2, m).

    Example:
        >>> import numpy as np
        >>> reach = (np.array([-0.3, 0.15]), np.array([0.4, 0.4]))
        >>> dcm_step(np.array([0.9, 0.1]), np.array([0.05, -0.02]), np.zeros(2), reach, np.eye(2))
        array([0.4 , 0.15])
    """
    dcm, offset, support = as_arrays((2,), dcm=dcm, offset=offset, support=support)
    heading = as_array(heading, (2, 2), "heading")
    if not isinstance(reach, (tuple, list)) or len(reach) != 2:
        raise ModelError(f"reach must be the least and the largest step (2 each, m), got {describe(reach)}")
    low, high = as_arrays((2,), **{"least step": reach[0], "largest step": reach[1]})
    return support + heading @ clip(heading.T @ (dcm - offset - support), low, high)


def ground_plane(points: Matrix_N_3, center: Vector) -> Vector:
    """Plane ``z = c + a (x - x0) + b (y - y0)`` through points, by least squares.

    Args:
        points: Points on the ground (N x 3, m), three or more that are not on a line.
        center: Horizontal center ``(x0, y0)`` (m).

    Returns:
        ``[c, a, b]``: height at the center (m), slopes along x and y.

    Example:
        >>> import numpy as np
        >>> x, y = np.array([0.2, 0.2, -0.2, -0.2]), np.array([0.1, -0.1, 0.1, -0.1])
        >>> ground_plane(np.stack([x, y, 0.5 + 0.1 * x], axis=1), np.zeros(2)).round(12) + 0.0
        array([0.5, 0.1, 0. ])
    """
    if len(shape_of(points) or ()) != 2 or len(points) < 3:
        raise ModelError(f"points must be three or more (N x 3, m), got {describe(points)}")
    points, center = as_array(points, (len(points), 3), "points"), as_array(center, (2,), "center")
    one: Any = 0.0 * points[:, 0] + 1.0
    A = stack([one, points[:, 0] - center[0], points[:, 1] - center[1]], axis=1)
    return solve(A.T @ A, A.T @ points[:, 2])


def on_plane(plane: Vector_3, center: Vector_2, position: Vector_2) -> Scalar:
    """Height of a plane of :func:`ground_plane`.

    Args:
        plane: Coefficients ``[c, a, b]`` (3).
        center: Its center (2, m).
        position: Horizontal position (2, m).

    Returns:
        Height (m).

    Example:
        >>> import numpy as np
        >>> float(on_plane(np.array([0.5, 0.1, 0.0]), np.zeros(2), np.array([1.0, 3.0])))
        0.6
    """
    plane, center, position = as_array(plane, (3,), "plane"), *as_arrays((2,), center=center, position=position)
    return plane[0] + plane[1] * (position[0] - center[0]) + plane[2] * (position[1] - center[1])


def aligned_with(plane: Vector, cosine: Scalar, sine: Scalar) -> Matrix:
    """Rotation (3 x 3) whose z axis is normal to a plane and whose x axis points along the heading."""
    forward = array([cosine, sine, plane[1] * cosine + plane[2] * sine])
    up = array([-plane[1], -plane[2], 1.0 + 0.0 * plane[1]])
    x = forward * (1.0 / sqrt(forward @ forward))
    z = up * (1.0 / sqrt(up @ up))
    return stack([x, cross(z, x), z], axis=1)
