"""Kinematics: poses, velocities and accelerations of links, and their Jacobians."""

from __future__ import annotations

import numpy as np

from ..arrays import argument_sizes, concatenate
from ..arrays.types import Matrix, Matrix_6_nv, Matrix_k_nv, Pose, Twist, Vector, Vector_3, Vector_6, Vector_nv
from ..errors import ModelError, describe
from ..lie import SE3
from ..lie.charts import Cartesian, EulerZYX
from ..lie.charts.chart import PositionChart, RotationChart
from ..lie.rotations import skew
from ..model import Frame, Model, State
from ..model.literals import REPRESENTATIONS, Place, Representation
from .checks import check_robot, choice, vector
from .geometry import Geometry, geometry
from .sweeps import nodes, propagate_outward

_SE3 = SE3()


def world_poses(model: Model, state: State) -> list[Pose]:
    """Poses ``H_wj`` (4x4) of the links, in the order of ``model.links``."""
    return propagate_outward(nodes(model, state), state.pose, lambda node, H: H @ node.H)


def forward_kinematics(model: Model, state: State) -> dict[str, Pose]:
    """Poses of all links and frames.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        ``H_w_link`` (4x4) by name: link coordinates to world coordinates (m).

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> sorted(forward_kinematics(arm, arm.neutral())) == sorted({*arm.link_names, *(f.name for f in arm.frames)})
        True
    """
    check_robot(model, state)
    poses = dict(zip(model.link_names, world_poses(model, state), strict=True))
    return poses | {frame.name: poses[frame.link] @ frame.placement for frame in model.frames}


def link_pose(model: Model, state: State, link: Place) -> Pose:
    """Pose of a link or frame in the world.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        link: Link or frame: its name, or a :class:`Frame`.

    Returns:
        ``H_w_link`` (4x4): link coordinates to world coordinates (m).

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> bool(np.array_equal(fc.link_pose(body, body.neutral(), body.link_names[0]), np.eye(4)))
        True
    """
    check_robot(model, state)
    frame = place_frame(model, link)
    return world_poses(model, state)[model.link_index(frame.link)] @ frame.placement


def link_twist(model: Model, state: State, link: Place, representation: Representation = "body") -> Twist:
    """Velocity of a link or frame relative to the world, ``J [twist; rates]``.

    Args:
        model: Robot.
        state: Configuration and velocity.
        link: Link or frame: its name, or a :class:`Frame`.
        representation: ``body`` (the frame's origin and axes), ``mixed`` (its origin, the world's axes) or ``inertial``
            (the world's origin and axes).

    Returns:
        ``[v; w]``, 6 (m/s, rad/s).

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> fc.link_twist(body, body.state(twist=[1.0, 0, 0, 0, 0, 2.0]), body.link_names[0])
        array([1., 0., 0., 0., 0., 2.])
    """
    return jacobian(model, state, link, representation) @ state.velocity


@argument_sizes(acceleration="nv")
def link_acceleration(
    model: Model, state: State, acceleration: Vector_nv, link: Place, representation: Representation = "body"
) -> Vector_6:
    """Acceleration of a link or frame: the time derivative of :func:`link_twist`, ``J a + dJ/dt v``.

    Args:
        model: Robot.
        state: Configuration and velocity.
        acceleration: Time derivative of the quasi-velocity ``[twist; rates]``, ``nv`` (m/s^2, rad/s^2).
        link: Link or frame: its name, or a :class:`Frame`.
        representation: ``body`` (the frame's origin and axes), ``mixed`` (its origin, the world's axes) or ``inertial``
            (the world's origin and axes).

    Returns:
        ``[dv/dt; dw/dt]``, 6 (m/s^2, rad/s^2).

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> fc.dynamics.link_acceleration(body, body.neutral(), [1.0, 0, 0, 0, 0, 2.0], body.link_names[0])
        array([1., 0., 0., 0., 0., 2.])
    """
    check_robot(model, state)
    a = vector(acceleration, model.nv, "acceleration")
    J, J_dot = _jacobian_and_rate(model, state, link, representation)
    return J @ a + J_dot @ state.velocity


def jacobian(
    model: Model, state: State, link: Place, representation: Representation = "body", point: Vector_3 | None = None
) -> Matrix_6_nv:
    """Jacobian of a link or frame: ``[v; w] = J [twist; rates]``.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        link: Link or frame: its name, or a :class:`Frame`.
        representation: ``body`` (the frame's origin and axes), ``mixed`` (its origin, the world's axes) or ``inertial``
            (the world's origin and axes).
        point: Point of the frame that takes the place of its origin (3, m); None: the origin.

    Returns:
        ``6 x nv`` matrix (m/s and rad/s per unit velocity).

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> jacobian(cat, cat.neutral(), cat.link_names[0])[:, :6].round(12).tolist() == np.eye(6).tolist()
        True
    """
    return _jacobian(model, geometry(model, state), state, place_frame(model, link, point), representation)[0]


def jacobian_derivative(
    model: Model, state: State, link: Place, representation: Representation = "body", point: Vector_3 | None = None
) -> Matrix_6_nv:
    """Time derivative of :func:`jacobian` along the state.

    Args:
        model: Robot.
        state: Configuration and velocity.
        link: Link or frame: its name, or a :class:`Frame`.
        representation: ``body`` (the frame's origin and axes), ``mixed`` (its origin, the world's axes) or ``inertial``
            (the world's origin and axes).
        point: Point of the frame that takes the place of its origin (3, m); None: the origin.

    Returns:
        ``dJ/dt``, ``6 x nv`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state, paw = cat.random_state(np.random.default_rng(0)), cat.link_names[-1]
        >>> bias = fc.dynamics.jacobian_derivative(cat, state, paw) @ state.velocity
        >>> bool(np.allclose(bias, fc.dynamics.link_acceleration(cat, state, np.zeros(cat.nv), paw), atol=1e-12))
        True
    """
    return _jacobian_and_rate(model, state, link, representation, point)[1]


def analytical_jacobian(
    model: Model,
    state: State,
    link: Place,
    position: PositionChart | None = None,
    rotation: RotationChart | None = None,
) -> Matrix_k_nv:
    """Analytical Jacobian: ``d/dt [position chart; rotation chart] = J_A [twist; rates]`` ([ETH] 2.8.4-2.8.6).

    ``J_A = E^-1 J``, with the mixed Jacobian and the rate matrices of the charts.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        link: Link or frame: its name, or a :class:`Frame`.
        position: Chart of the position; None: Cartesian.
        rotation: Chart of the rotation; None: Euler ZYX.

    Returns:
        ``k x nv`` matrix, with one row for each of the ``k`` parameters of the charts.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state, paw = cat.random_state(np.random.default_rng(0)), cat.link_names[-1]
        >>> fc.dynamics.analytical_jacobian(cat, state, paw).shape == (6, cat.nv)
        True
    """
    position, rotation = _charts(model, state, position, rotation)
    H = link_pose(model, state, link)
    J = jacobian(model, state, link, "mixed")
    rate_p = position.rate_matrix_inverse(position.from_position(H[:3, 3]))
    rate_r = rotation.rate_matrix_inverse(rotation.from_matrix(H[:3, :3]))
    return concatenate([rate_p @ J[:3], rate_r @ J[3:]])


def end_effector_parameters(
    model: Model,
    state: State,
    link: Place,
    position: PositionChart | None = None,
    rotation: RotationChart | None = None,
) -> Vector:
    """Parameters ``chi_e = [position chart; rotation chart]`` of a link or frame in the world, [ETH] (2.134), (2.137).

    For links that move in a plane take ``PlanarPosition`` and ``PlanarAngle``.  The rate of the parameters is
    ``analytical_jacobian(...) @ state.velocity``.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        link: Link or frame: its name, or a :class:`Frame`.
        position: Chart of the position; None: Cartesian.
        rotation: Chart of the rotation; None: Euler ZYX.

    Returns:
        Parameters of the two charts, ``k`` (m, rad).

    Example:
        >>> from fallingcat.lie.charts import PlanarAngle, PlanarPosition
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> plane = PlanarPosition("x", "z"), PlanarAngle((0.0, 1.0, 0.0))
        >>> end_effector_parameters(arm, arm.state(joints=[0.5 * np.pi, 0.0, 0.0]), "end_effector", *plane).round(6)
        array([3.      , 1.      , 1.570796])
    """
    position, rotation = _charts(model, state, position, rotation)
    H = link_pose(model, state, link)
    return concatenate([position.from_position(H[:3, 3]), rotation.from_matrix(H[:3, :3])])


def _charts(
    model: Model, state: State, position: PositionChart | None, rotation: RotationChart | None
) -> tuple[PositionChart, RotationChart]:
    """The given charts, or Cartesian and Euler ZYX."""
    check_robot(model, state)
    position = Cartesian() if position is None else position
    rotation = EulerZYX() if rotation is None else rotation
    if not isinstance(position, PositionChart) or not isinstance(rotation, RotationChart):
        raise ModelError(
            f"position and rotation are charts of fallingcat.lie, not {describe(position)}, {describe(rotation)}"
        )
    return position, rotation


def relative_jacobian(
    model: Model, state: State, link: Place, relative_to: Place | None = None, axes: Place | None = None
) -> Matrix_6_nv:
    """Relative Jacobian ``J_BC`` with ``J_C = J_B + J_BC``, [ETH] (2.152)-(2.154).

    It gives the velocity of the origin of C less that of B, and the angular velocity of C less that of B.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        link: C: link or frame.
        relative_to: B: link or frame; None: the world.
        axes: Link or frame along whose axes both velocities are written; None: the world.

    Returns:
        ``6 x nv`` matrix (m/s and rad/s per unit velocity).

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> a, b = cat.link_names[0], cat.link_names[-1]
        >>> whole = relative_jacobian(cat, state, a) + relative_jacobian(cat, state, b, a)
        >>> bool(np.allclose(whole, jacobian(cat, state, b, "mixed")))
        True
    """
    check_robot(model, state)
    J = jacobian(model, state, link, "mixed")
    if relative_to is not None:
        J = J - jacobian(model, state, relative_to, "mixed")
    return J if axes is None else _rotate_twists(link_pose(model, state, axes)[:3, :3].T, J)


def reroot_state(model: Model, state: State, link: str) -> State:
    """State of ``model.reroot(link)`` for the same motion.

    Args:
        model: Robot with its present base.
        state: State of that robot.
        link: Link that becomes the base.

    Returns:
        State with the pose and the twist of the new base link.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state, paw = cat.random_state(np.random.default_rng(0)), cat.link_names[-1]
        >>> turned = fc.dynamics.reroot_state(cat, state, paw)
        >>> bool(np.allclose(fc.kinetic_energy(cat.reroot(paw), turned), fc.kinetic_energy(cat, state)))
        True
    """
    check_robot(model, state)
    other = model.reroot(link)
    twist = other.base.coselection @ link_twist(model, state, link)
    by_name = {j.name: (q, v) for j, q, v in zip(model.joints, model.q_slices, model.v_slices, strict=True)}
    joints = [state.joints[by_name[name][0]] for name in other.joint_names]
    rates = [state.rates[by_name[name][1]] for name in other.joint_names]
    empty = np.zeros(0)
    return State(link_pose(model, state, link), concatenate([empty, *joints]), twist, concatenate([empty, *rates]))


def place_frame(model: Model, link: Place, point: Vector | None = None) -> Frame:
    """Frame that a place means, moved to a point (3, m) of it if one is given."""
    frame = link if isinstance(link, Frame) else model.frame(link)
    if point is None:
        return frame
    shift = np.eye(4)
    shift[:3, 3] = vector(point, 3, "point")
    return Frame(frame.name, frame.link, frame.placement @ shift)


def _jacobian_and_rate(
    model: Model, state: State, link: Place, representation: Representation, point: Vector | None = None
) -> tuple[Matrix, Matrix]:
    return _jacobian(model, geometry(model, state), state, place_frame(model, link, point), representation)


def frame_motion(model: Model, geo: Geometry, state: State, frame: Frame) -> tuple[Pose, Matrix, Matrix]:
    """World pose, mixed Jacobian and its rate of a frame, given the geometry of the state."""
    J, J_dot = _jacobian(model, geo, state, frame, "mixed")
    return state.pose @ geo.poses[model.link_index(frame.link)] @ frame.placement, J, J_dot


def _jacobian(
    model: Model, geo: Geometry, state: State, frame: Frame, representation: Representation
) -> tuple[Matrix, Matrix]:
    """``J`` and ``dJ/dt``: the axes between the link and the base, seen from the wanted frame.

    ``X`` takes the frame that coincides with the base to the wanted one, which moves with the twist ``nu``:
    ``J = X s`` and ``dJ/dt = X (ds/dt - ad(nu) s)``.
    """
    choice(representation, REPRESENTATIONS, "representation")
    link = model.link_index(frame.link)
    s, s_dot = (geo.places.columns(geo.mask_moving_joints(link, parts)) for parts in (geo.axes, geo.axes_dot))
    H = geo.poses[link] @ frame.placement
    if representation == "inertial":
        X = _SE3.Ad(state.pose)
        return X @ s, X @ s_dot
    X = _SE3.Ad(_SE3.inverse(H))
    J, J_dot = X @ s, X @ (s_dot - _SE3.ad(geo.twists[link]) @ s)
    if representation == "body":
        return J, J_dot
    R, W = (state.pose @ H)[:3, :3], skew((X @ geo.twists[link])[3:])
    return _rotate_twists(R, J), _rotate_twists(R, J_dot + _rotate_twists(W, J))


def _rotate_twists(R: Matrix, twists: Matrix) -> Matrix:
    """Both parts of ``[v; w]`` multiplied by a 3x3 matrix."""
    return concatenate([R @ twists[:3], R @ twists[3:]])
