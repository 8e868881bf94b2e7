"""Belief of a filter: extended pose, biases and covariance, at one time and over a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays.arguments import as_array, shape_of
from ..arrays.types import (
    FloatArray,
    Matrix,
    Matrix_N_3,
    Poses,
    Rotations,
    Vector,
    Vector_6,
    Vectors_3,
)
from ..errors import ModelError, describe
from ..records import concise


@concise
class Belief(NamedTuple):
    """Estimate of an inertial measurement unit's motion, of the feet and of the biases, with its covariance.

    Arrays may have axes in front: a batch of beliefs.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> filter = fc.estimation.ContactFilter(dog, [frame.name for frame in dog.frames])
        >>> belief = filter.begin(dog.state(position=[0, 0, 0.4]))
        >>> belief.position, belief.covariance.shape
        (array([0. , 0. , 0.4]), (27, 27))
    """

    element: Matrix
    """``(5 + N) x (5 + N)``: rotation, position, velocity and ``N`` feet in world coordinates, an element of
    :class:`~fallingcat.lie.SEk3`"""
    bias: Vector_6
    """``6``: of gyroscope (rad/s) and accelerometer (m/s^2)"""
    covariance: Matrix
    """``(15 + 3 N)`` square: of the error ``[position, velocity, feet, rotation, gyroscope, accelerometer]`` in the
    coordinates of the filter"""

    @property
    def rotation(self) -> Rotations:
        """Rotation (3 x 3) from the unit's axes to the world's."""
        return self.element[..., :3, :3]

    @property
    def position(self) -> Vectors_3:
        """Position (3, m) in the world."""
        return self.element[..., :3, 3]

    @property
    def velocity(self) -> Vectors_3:
        """Velocity (3, m/s) in world axes."""
        return self.element[..., :3, 4]

    @property
    def feet(self) -> Matrix_N_3:
        """Positions (N x 3, m) of the feet in the world."""
        return np.swapaxes(self.element[..., :3, 5:], -1, -2)

    @property
    def deviations(self) -> Vector:
        """Standard deviations: square roots of the covariance's diagonal."""
        return np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))


def check_belief(belief: Any, vectors: int, size: int, *, one: bool = True) -> None:
    """Raise an error unless this is a belief about so many vectors, with a covariance of that size."""
    if not isinstance(belief, Belief):
        raise ModelError(f"a belief must be one of the filter, such as of begin, got {describe(belief)}")
    for name, shape in (("element", (3 + vectors, 3 + vectors)), ("bias", (6,)), ("covariance", (size, size))):
        x = getattr(belief, name)
        given = shape_of(x)
        if given is None or (given if one else given[len(given) - len(shape) :]) != shape:
            raise ModelError(f"{name} of the belief must have shape {shape}, got {describe(x)}")
        if one:
            as_array(x, shape, f"{name} of the belief")


@concise
class Estimates(NamedTuple):
    """Beliefs of a filter at ``K`` times, and the base of the robot that follows from them.

    Example:
        >>> Estimates._fields
        ('times', 'beliefs', 'poses', 'twists')
    """

    times: FloatArray
    """``K`` (s)"""
    beliefs: Belief
    """with a first axis over the times"""
    poses: Poses
    """``K x 4 x 4``: base to world"""
    twists: Matrix
    """``K x 6``: ``[v; w]`` of the base, body-fixed (m/s, rad/s)"""
