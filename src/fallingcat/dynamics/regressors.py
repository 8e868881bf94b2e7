"""Equations of motion as products with the inertial parameters of the links: what learns a robot's masses.

A link has ten: ``[m, h_x, h_y, h_z, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz]``, its mass, mass times center, and inertia
about the origin of its frame, in Pinocchio's order.  All of dynamics is linear in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import argument_sizes, array, concatenate
from ..arrays.types import FloatArray, Matrix, Vector, Vector_nv
from ..errors import ModelError
from ..lie import SE3
from ..lie.rotations import skew
from ..model import Body, Model, State
from ..progress import check_memory, warn_of_time
from ..records import concise
from .checks import check_model, check_robot, choice, positive, vector
from .inverse import LinkMotion, base_motion, child_motion
from .kinematics import world_poses
from .spatial import motion_to_child
from .sweeps import Node, Places, ancestors, nodes, propagate_outward

_SE3 = SE3()
LINK_PARAMETERS = 10
"""Number of inertial parameters of a link."""


def inertial_parameters(model: Model) -> Vector:
    """Inertial parameters ``pi`` of all links.

    Args:
        model: Robot.

    Returns:
        Ten for each link, in order: mass (kg), first moment (kg m), inertia about the link's origin (kg m^2).

    Example:
        >>> from fallingcat.model import robots
        >>> inertial_parameters(robots.prismatic_hopper())[[0, 10]].tolist()
        [0.957, 0.05]
    """
    check_model(model)
    return concatenate([_parameters(link.body) for link in model.links])


def with_inertial_parameters(model: Model, parameters: Vector) -> Model:
    """Robot with other inertial parameters; the inverse of :func:`inertial_parameters`.

    Args:
        model: Robot.
        parameters: ``pi``, ten for each link (kg, kg m, kg m^2).

    Returns:
        Robot with these bodies.

    Example:
        >>> import fallingcat as fc
        >>> hopper = fc.robots.prismatic_hopper()
        >>> heavier = fc.dynamics.with_inertial_parameters(hopper, 2.0 * fc.dynamics.inertial_parameters(hopper))
        >>> bool(np.isclose(heavier.mass, 2.0 * hopper.mass))
        True
    """
    check_model(model)
    given = np.asarray(vector(parameters, LINK_PARAMETERS * len(model.links), "parameters"), dtype=float).reshape(
        -1, LINK_PARAMETERS
    )
    bodies = [_body(p, link.name) for p, link in zip(given, model.links, strict=True)]
    return replace(model, links=tuple(replace(link, body=b) for link, b in zip(model.links, bodies, strict=True)))


@argument_sizes(acceleration="nv")
def inverse_dynamics_regressor(model: Model, state: State, acceleration: Vector_nv) -> Matrix:
    """Regressor ``Y`` of inverse dynamics: ``Y pi = inverse_dynamics(model, state, acceleration)``, less rotors.

    Row by row in the order of a quasi-velocity, base first; ``pi`` are :func:`inertial_parameters`.  ``armature``
    adds ``armature rates_dot`` to the forces of the joints, beside ``Y pi``.

    Args:
        model: Robot.
        state: Configuration and velocity.
        acceleration: Time derivative of the quasi-velocity ``[twist; rates]``, ``nv`` (m/s^2, rad/s^2).

    Returns:
        ``nv x 10 links`` matrix.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> state, a = cat.random_state(np.random.default_rng(0)), np.ones(cat.nv)
        >>> from fallingcat.dynamics import inverse_dynamics
        >>> found = inverse_dynamics_regressor(cat, state, a) @ inertial_parameters(cat)
        >>> bool(np.allclose(found, inverse_dynamics(cat, state, a), atol=1e-10))
        True
    """
    check_robot(model, state)
    acceleration = vector(acceleration, model.nv, "acceleration")
    tree, rates_dot = nodes(model, state), acceleration[model.m :]

    def step(node: Node, parent: LinkMotion) -> LinkMotion:
        return child_motion(node, parent, rates_dot[model.v_slices[node.link - 1]])

    motions = propagate_outward(tree, base_motion(model, state, acceleration[: model.m]), step)
    return _project_on_joints(model, tree, [_force(motion) for motion in motions])


def momentum_regressor(model: Model, state: State, frame: str = "base") -> Matrix:
    """Regressor ``H`` of the momentum: ``H pi = momentum(model, state, frame)``.

    About the center of mass, which is a quotient of parameters, the momentum is not linear in them.

    Args:
        model: Robot.
        state: Configuration and velocity.
        frame: ``base`` or ``world``.

    Returns:
        ``6 x 10 links`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> found = fc.dynamics.momentum_regressor(cat, state) @ fc.dynamics.inertial_parameters(cat)
        >>> bool(np.allclose(found, fc.momentum(cat, state)))
        True
    """
    check_robot(model, state)
    choice(frame, ("base", "world"), "frame")
    tree = nodes(model, state)
    columns = []
    for link, nu in enumerate(_twists(model, state, tree)):
        columns.append(_to_base(tree, link, _momentum(nu)))
    H = concatenate(columns, axis=1)
    return H if frame == "base" else _SE3.Ad(_SE3.inverse(state.pose)).T @ H


def energy_regressors(model: Model, state: State) -> tuple[Vector, Vector]:
    """Regressors of the energies: ``t . pi`` is the kinetic energy of the links, ``u . pi`` their potential energy.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        ``t`` and ``u`` (10 links each).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> t, u = fc.dynamics.energy_regressors(cat, state)
        >>> bool(np.isclose(u @ fc.dynamics.inertial_parameters(cat), fc.potential_energy(cat, state)))
        True
    """
    check_robot(model, state)
    twists = _twists(model, state, nodes(model, state))
    kinetic = [0.5 * (nu @ _momentum(nu)) for nu in twists]
    potential = []
    for H in world_poses(model, state):
        weight = concatenate([array([model.gravity @ H[:3, 3]]), H[:3, :3].T @ model.gravity, np.zeros(6)])
        potential.append(-weight)
    return concatenate(kinetic), concatenate(potential)


# one link ---------------------------------------------------------------------------------------------------------


def _parameters(body: Body) -> Vector:
    I = body.spatial_inertia[3:, 3:]  # noqa: E741
    second = array([I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])
    return concatenate([array([body.mass]), body.first_moment, second])


def _body(p: np.ndarray, name: str) -> Body:
    m, h, I = p[0], p[1:4], matrix_of(p[4:])  # noqa: E741
    if m < 0.0 or (m == 0.0 and h.any()):
        raise ModelError(f"the mass of link {name!r} is positive where it has a first moment, and is {m:g}")
    center = h / m if m else np.zeros(3)
    return Body(m, center, I + m * (skew(center) @ skew(center)))


def matrix_of(entries: Vector) -> Matrix:
    """Symmetric matrix (3 x 3) of ``[xx, xy, yy, xz, yz, zz]``."""
    a, b, c, d, e, f = (entries[k] for k in range(6))
    return array([[a, b, d], [b, c, e], [d, e, f]])


def _times(x: Vector) -> Matrix:
    """``3 x 6``: ``I x`` of the six entries of ``I``."""
    a, b, c = (x[k] for k in range(3))
    o = 0.0
    return array([[a, b, o, c, o, o], [o, a, b, o, c, o], [o, o, o, a, b, c]])


def _force(motion: LinkMotion) -> Matrix:
    """``6 x 10``: the wrench on a link, ``[m a + K h; h x a + I alpha + w x I w]``, of its parameters."""
    zero = np.zeros((3, 6))
    turning = _times(motion.alpha) + skew(motion.w) @ _times(motion.w)
    top = concatenate([motion.a[:, None], motion.K, zero], axis=1)
    return concatenate([top, concatenate([np.zeros((3, 1)), -skew(motion.a), turning], axis=1)])


def _momentum(nu: Vector) -> Matrix:
    """``6 x 10``: ``[m v + w x h; h x v + I w]``."""
    v, w = nu[:3], nu[3:]
    top = concatenate([v[:, None], skew(w), np.zeros((3, 6))], axis=1)
    return concatenate([top, concatenate([np.zeros((3, 1)), -skew(v), _times(w)], axis=1)])


# the tree ---------------------------------------------------------------------------------------------------------


def _twists(model: Model, state: State, tree: list[Node]) -> list[Vector]:
    base = model.base.selection @ state.twist
    return propagate_outward(tree, base, lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates)


def _to_base(tree: list[Node], link: int, wrenches: Matrix) -> Matrix:
    for k in ancestors(tree, link)[:-1]:
        wrenches = _wrenches_on_parent(tree[k - 1], wrenches)
    return wrenches


def _wrenches_on_parent(node: Node, wrenches: Matrix) -> Matrix:
    """Wrenches on a link (6 x k) as those on its parent."""
    return _SE3.Ad(_SE3.inverse(node.H)).T @ wrenches


def _project_on_joints(model: Model, tree: list[Node], own: list[Matrix]) -> Matrix:
    """Forces of the base and of each joint due to every link's wrenches (6 x 10)."""
    what, size = f"a regressor of {model.name!r}", LINK_PARAMETERS * model.nv * len(own)
    check_memory(what, 2 * 8.0 * size, "lock joints (model.lock), or take a part of it")
    warn_of_time(what, 7e-7 * size, "lock joints (model.lock), or take a part of it")
    places = Places.from_model(model)
    columns = []
    for link, wrenches in enumerate(own):
        felt: list[Matrix] = [np.zeros((size, LINK_PARAMETERS)) for size in places.sizes]
        for k in ancestors(tree, link)[:-1]:
            felt[k] = tree[k - 1].S.T @ wrenches
            wrenches = _wrenches_on_parent(tree[k - 1], wrenches)
        felt[0] = model.base.selection.T @ wrenches
        columns.append(concatenate(places.add_followers(felt)))
    return concatenate(columns, axis=1)


# what can be learnt -----------------------------------------------------------------------------------------------


@concise
class BaseParameters(NamedTuple):
    """Base parameters: the fewest combinations ``P pi`` of inertial parameters that motions depend on.

    ``Y pi = Y[:, columns] (P pi)``; ``names`` writes each, e.g. ``I_0zz + 0.0144 m_1``.

    Example:
        >>> import fallingcat as fc
        >>> found = fc.dynamics.base_parameters(fc.robots.revolute_hopper())
        >>> found.P.shape, len(found.columns)
        ((7, 20), 7)
    """

    P: FloatArray
    """``k x 10 links``"""
    columns: tuple[int, ...]
    """``k``: the parameter that stands for each combination"""
    names: tuple[str, ...]
    """``k``: the combinations in words"""


def parameter_names(model: Model) -> tuple[str, ...]:
    """Names of the entries of ``pi``: ``m_0, h_0x, ..., I_0zz, m_1, ...``."""
    kinds = ("m_{}", "h_{}x", "h_{}y", "h_{}z", "I_{}xx", "I_{}xy", "I_{}yy", "I_{}xz", "I_{}yz", "I_{}zz")
    return tuple(kind.format(i) for i in range(len(model.links)) for kind in kinds)


def base_parameters(
    model: Model, regressor: Callable[..., Matrix] = inverse_dynamics_regressor, tolerance: float = 1e-9
) -> BaseParameters:
    """Base parameters of a robot, by the rank of the regressor at random states.

    The first parameters that are independent of those before them stay, from the base to the tips; each other one is
    written as a combination of these.

    Args:
        model: Robot.
        regressor: Function ``(model, state, acceleration)`` whose columns are compared.
        tolerance: Largest part of a column, relative to it, that counts as dependent on those before.

    Returns:
        Combinations, the parameters that stand for them, and their names.

    Example:
        >>> from fallingcat.model import robots
        >>> found = base_parameters(robots.revolute_hopper())
        >>> len(found.names), found.names[0], found.names[3]
        (7, 'm_0 + m_1', 'I_0zz + 0.0144 m_1')
    """
    check_model(model)
    positive(tolerance, "tolerance")
    rng = np.random.default_rng(0)
    W = np.concatenate(
        [
            _regressor_samples(model, regressor, rng)
            for _ in range(2 + 2 * LINK_PARAMETERS * len(model.links) // max(1, model.nv))
        ]
    )
    return combinations(W, parameter_names(model), tolerance)


def combinations(W: FloatArray, names: tuple[str, ...], tolerance: float) -> BaseParameters:
    """Combinations of parameters (with these ``names``) that the columns of a regressor ``W`` tell apart."""
    size = np.linalg.norm(W, axis=0)
    # columns of unit length, so that kg, kg m and kg m^2 count alike; those of nothing but rounding become zero
    W = W / np.where(size > tolerance * size.max(initial=0.0), size, np.inf)
    Q = np.zeros((len(W), 0))
    kept: list[int] = []
    for column in range(W.shape[1]):
        rest = W[:, column] - Q @ (Q.T @ W[:, column])
        # twice is enough (Kahan, Parlett): one projection leaves rounding along Q where columns nearly depend
        rest = rest - Q @ (Q.T @ rest)
        if np.linalg.norm(rest) > tolerance:
            Q, kept = np.column_stack([Q, rest / np.linalg.norm(rest)]), [*kept, column]
    scaled = np.linalg.lstsq(W[:, kept], W, rcond=None)[0]
    P = scaled * size[None, :] / size[kept][:, None]
    # coefficients of scaled columns: what is small beside 1 is rounding of the least squares
    P[np.abs(scaled) < tolerance] = 0.0
    P[:, size <= tolerance * size.max(initial=0.0)] = 0.0
    P[:, kept] = np.eye(len(kept))
    return BaseParameters(P, tuple(kept), tuple(_combination_name(row, names) for row in P))


def _regressor_samples(model: Model, regressor: Callable[..., Matrix], rng: np.random.Generator) -> np.ndarray:
    state = model.random_state(rng)
    further = (rng.normal(size=model.nv),) if regressor is inverse_dynamics_regressor else ()
    return np.asarray(regressor(model, state, *further))


def _combination_name(row: np.ndarray, names: tuple[str, ...]) -> str:
    """``I_0zz + 0.0144 m_1``: what stands for it first."""
    text = ""
    for i in np.flatnonzero(row):
        x = float(row[i])
        factor = "" if abs(abs(x) - 1.0) < 1e-9 else f"{abs(x):.6g} "
        sign = (" - " if x < 0 else " + ") if text else ("-" if x < 0 else "")
        text += f"{sign}{factor}{names[i]}"
    return text
