"""Standing: feet with corners, contact forces, center of pressure, and the foot as the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._deprecated import former_arguments
from ..arrays import argument_sizes, concatenate, scale
from ..arrays.arguments import shape_of
from ..arrays.types import Matrix_points_3, Vector_3, Vector_nv
from ..constraints.redundant_constraints import (
    check_consistent,
    check_resolved,
    moving_axes,
    solve_constraint_forces,
    tree_response,
)
from ..dynamics import bias_forces, reroot_state
from ..dynamics.checks import check_model, check_robot, vector
from ..errors import ModelError, describe
from ..geometry.contact_points import (
    checked_points,
    named_points,
    plane,
    point_bias,
    point_jacobian,
    position,
    stack_rows,
)
from ..model import Frame, Model, State

_WORLD = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@former_arguments(place="link")
def corners(
    model: Model, link: str, outline: Sequence[Sequence[float]] | tuple[float, float]
) -> tuple[Model, tuple[str, ...]]:
    """Model with a frame at each corner of a flat foot, and their names: a surface is its corners.

    Args:
        model: Robot.
        link: Link or frame of the foot.
        outline: Corners (x, y) or (x, y, z) in the frame of ``link`` (m), or length and width of a rectangle
            around its origin.

    Returns:
        Model with further frames, and their names.

    Example:
        >>> from fallingcat.model import robots
        >>> walker, sole = corners(robots.humanoid(), "left_sole", (0.24, 0.1))
        >>> sole
        ('left_sole_1', 'left_sole_2', 'left_sole_3', 'left_sole_4')
    """
    try:
        given = np.array(outline, dtype=float)
    except (TypeError, ValueError, OverflowError):
        given = np.zeros(0)
    if given.shape == (2,) and (given > 0.0).all():
        given = 0.5 * given * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    if given.ndim != 2 or given.shape[1] not in (2, 3) or not np.isfinite(given).all():
        raise ModelError(f"the outline of a foot is a list of points (x, y) or (x, y, z), not {outline!r}")
    check_model(model)
    foot = model.frame(link)
    frames = []
    for k, corner in enumerate(given, start=1):
        H = np.eye(4)
        H[: len(corner), 3] = corner
        frames.append(Frame(f"{link}_{k}", foot.link, foot.placement @ H))
    return replace(model, frames=(*model.frames, *frames)), tuple(frame.name for frame in frames)


@argument_sizes(forces="nv")
def contact_forces(model: Model, state: State, forces: Vector_nv, points: Sequence[str]) -> Matrix_points_3:
    """Contact forces that keep points without acceleration ([ETH] (3.61)-(3.62)).

    ``M a + C v + g = forces + J' F`` with ``J a + dJ/dt v = 0``.  ([ETH] counts the forces that the robot exerts, so
    the sign is the other one.)  Redundant points share the forces of least norm; points that cannot all be without
    acceleration are refused by name.  Works on every kind of number.

    Args:
        model: Robot.
        state: Configuration and velocity.
        forces: Generalized forces (nv) of everything else.
        points: Links or frames whose origins have no acceleration.

    Returns:
        Forces (points x 3, N, world) on the robot.

    Example:
        >>> from fallingcat.model import robots
        >>> dog = robots.quadruped()
        >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
        >>> F = contact_forces(dog, dog.neutral(), np.zeros(dog.nv), feet)
        >>> bool(np.allclose(F.sum(axis=0), [0.0, 0.0, 9.81 * dog.mass]))
        True
    """
    points = named_points(points)
    checked_points(model, points)
    forces = vector(forces, model.nv, "forces")
    axes = moving_axes(model, points, _WORLD)
    J = stack_rows(
        [point_jacobian(model, state, p)[np.array(a, dtype=int)] for p, a in zip(points, axes, strict=True)], model.nv
    )
    bias = concatenate(
        [np.zeros(0), *(point_bias(model, state, p)[np.array(a, dtype=int)] for p, a in zip(points, axes, strict=True))]
    )
    names = [p for p, a in zip(points, axes, strict=True) for _ in a]
    check_consistent(J, bias, names, "the accelerations")
    free = forces - bias_forces(model, state)
    respond = tree_response(model, state)
    x = check_resolved(solve_constraint_forces(respond, J, J, respond(free), -bias), points, "the forces").forces
    rows, start = [np.zeros((0, 3))], 0
    for a in axes:
        rows.append(np.reshape(np.eye(3)[:, a] @ x[start : start + len(a)], (1, 3)))
        start += len(a)
    return concatenate(rows)


def center_of_pressure(
    model: Model,
    state: State,
    forces: Matrix_points_3,
    points: Sequence[str],
    normal: tuple[float, float, float] | None = None,
) -> Vector_3:
    """Center of pressure: mean of points, weighted by the normal parts of their forces.

    About this point the forces have no moment along the ground, when the points lie in one plane with the given normal.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        forces: Forces (points x 3, N, world), as of :func:`contact_forces`.
        points: Links or frames at which they act.
        normal: Normal of the ground (3, world); None: against gravity.

    Returns:
        Position (3, m, world).

    Example:
        >>> from fallingcat.model import robots
        >>> dog = robots.quadruped()
        >>> feet = ["front_left_foot", "front_right_foot"]
        >>> F = np.array([[0.0, 0.0, 30.0], [0.0, 0.0, 30.0]])
        >>> center_of_pressure(dog, dog.neutral(), F, feet)[1].round(9) + 0.0
        np.float64(0.0)
    """
    check_robot(model, state)
    points = named_points(points)
    if shape_of(forces) != (len(points), 3) or not points:
        raise ModelError(f"forces must have shape ({len(points)}, 3), one row for each point, got {describe(forces)}")
    n = plane(model, normal).normal
    weights = [F @ n for F in forces]
    moments = [scale(w, position(model, state, place)) for place, w in zip(points, weights, strict=True)]
    return scale(1.0 / sum(weights[1:], start=weights[0]), sum(moments[1:], start=moments[0]))


def stance_base(model: Model, state: State, foot: str) -> tuple[Model, State]:
    """Robot with the link of a foot as its base, and the same motion ([Traversaro] 6).

    With the foot at rest the new twist is zero, and the joint rows of the equations of motion are those of a fixed-base
    arm: :func:`fallingcat.formulations.fixed_at`.

    Args:
        model: Robot.
        state: Configuration and velocity.
        foot: Link, or frame on one.

    Returns:
        Model and state with the new base.

    Example:
        >>> from fallingcat.model import robots
        >>> walker = robots.humanoid()
        >>> standing, state = stance_base(walker, walker.neutral(), "left_sole")
        >>> standing.link_names[0]
        'left_ankle_roll_link'
    """
    check_robot(model, state)
    link = model.frame(foot).link
    return model.reroot(link), reroot_state(model, state, link)
