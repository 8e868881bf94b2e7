"""Identification of inertial parameters, joint friction, rotor inertias and motor constants from measured forces.

A body exists where its pseudo-inertia ``P = [[S, h], [h', m]]`` (4x4; ``S`` the second moment) is positive definite
[Wensing].  ``P`` is linear in the inertial parameters, so least squares with the divergence
``tr(P0^-1 P) - log det(P0^-1 P)`` from the bodies ``P0`` of the model as a regularisation is a convex problem [Lee]:
it keeps every ``P`` positive definite, and Newton's method finds its only minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from ..arrays import argument_sizes, concatenate, numbers_only, sign
from ..arrays.arguments import shape_of
from ..arrays.types import Matrix, Vector, Vector_n, Vector_nv
from ..errors import ModelError, describe
from ..model import Body, Model, State
from ..records import tabulated
from .checks import check_model, check_robot, check_state, choice, numbers, positive, vector
from .regressors import LINK_PARAMETERS, BaseParameters, combinations, parameter_names, with_inertial_parameters

TERMS: Final = ("damping", "friction", "armature", "motor")
"""Parameters of a joint: viscous and dry friction, rotor inertia, torque per current."""
TYPICAL: Final = {"damping": 0.1, "friction": 0.1, "armature": 0.01, "motor": 1.0}
"""Start values of the search, in SI units, for joints whose model has none."""
MIN_INDEPENDENT_PART: Final = 1e-7
"""Part of a column of the regressor that must be independent of those before it."""
FIRST_WEIGHT, WEIGHT_FACTOR = 1e-2, 0.1
"""Weight of the divergence at the start, relative to the squared residual, and its factor from stage to stage."""
MAX_BOUNDARY_SHARE = 0.7
"""Part of the way to the boundary of bodies that exist that a step goes at most."""
STAGE_DECREMENT, FINAL_DECREMENT = 1.0, 1e-8
"""Newton decrements, squared and relative to the weight, at which a stage and the search end."""
_LOWER = np.tril_indices(4)
_BASIS = np.zeros((LINK_PARAMETERS, 4, 4))
_BASIS[np.arange(LINK_PARAMETERS), _LOWER[0], _LOWER[1]] = _BASIS[np.arange(LINK_PARAMETERS), _LOWER[1], _LOWER[0]] = (
    1.0
)


@tabulated
class IdentificationResult(NamedTuple):
    """Identified parameters; ``p = 10 links`` inertial parameters and ``t`` of joints.

    Example:
        >>> from fallingcat.dynamics import inertial_parameters
        >>> from fallingcat.model import robots
        >>> body = robots.free_body()
        >>> found = identify(body, np.eye(10), inertial_parameters(body))
        >>> found.converged, found.parameters.shape
        (True, (10,))
    """

    parameters: np.ndarray
    """``p``: ``pi``, 10 for each link"""
    model: Model
    """robot with these bodies, and with the damping, friction and rotor inertias of its joints"""
    residual: float
    """root of the mean square of ``Y pi - forces`` (N m, N)"""
    iterations: int
    """Newton steps that were taken"""
    converged: bool
    """True if it ended before ``iterations`` ran out"""
    names: tuple[str, ...]
    """``p + t``: of the parameters, ``m_0, h_0x, ..., damping knee``"""
    joint_parameters: np.ndarray
    """``t``: of joints, in the order of ``terms``"""
    identifiable: np.ndarray
    """``p + t`` truth values: whether the motions determine this parameter by itself"""
    deviations: np.ndarray
    """``p + t``: standard deviations by the noise of the forces; infinite where a parameter is not identifiable"""
    base: BaseParameters
    """combinations of parameters that the motions determine"""
    base_deviations: np.ndarray
    """their standard deviations"""


@argument_sizes(acceleration="nv", currents="n")
def joint_regressor(
    model: Model,
    state: State,
    acceleration: Vector_nv,
    currents: Vector_n | None = None,
    *,
    terms: Sequence[str] = TERMS[:3],
) -> Matrix:
    """Forces that friction, rotors and motors of joints add to inverse dynamics, per parameter.

    ``forces = Y pi + Z z`` with ``z`` one number for each term and joint of one degree of freedom, term by term.

    Args:
        model: Robot.
        state: Configuration and velocity; only the rates count.
        acceleration: Time derivative of the quasi-velocity ``[twist; rates]``, ``nv`` (m/s^2, rad/s^2).
        currents: ``n`` (A), for the term ``"motor"``: its columns are ``-current``, so that ``forces`` are those that
            are known otherwise, such as minus those of a known load.
        terms: Of :data:`TERMS`.

    Returns:
        ``nv x (terms joints)`` matrix.

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> joint_regressor(arm, arm.state(rates=[0.5, 0.0, 0.0]), np.zeros(3), terms=["damping"])[0]
        array([0.5, 0. , 0. ])
    """
    check_robot(model, state)
    check_state(model, state)
    acceleration = vector(acceleration, model.nv, "acceleration")
    felt = {"damping": state.rates, "friction": sign(state.rates), "armature": acceleration[model.m :]}
    if "motor" in terms:
        if currents is None:
            raise ModelError("the term 'motor' needs currents")
        felt["motor"] = -vector(currents, model.n, "currents")
    places = [place for joint, place in zip(model.joints, model.v_slices, strict=True) if joint.nv == 1]
    rows = np.array([np.isin(np.arange(model.n), np.arange(place.start, place.stop)) for place in places], dtype=float)
    columns = [rows.T * felt[choice(term, TERMS, "term")][:, None] for term in terms]
    joint_rows = concatenate(columns, axis=1) if columns else np.zeros((model.n, 0))
    return concatenate([np.zeros((model.m, joint_rows.shape[1])), joint_rows])


@numbers_only("least squares choose by values")
def identify(
    model: Model,
    regressor: Matrix,
    forces: Vector,
    prior: float = 1e-6,
    iterations: int = 500,
    *,
    joints: Matrix | None = None,
    terms: Sequence[str] = TERMS[:3],
) -> IdentificationResult:
    """Parameters that explain measured forces best, among bodies that can exist.

    Minimises ``|Y pi + Z z - forces|^2 / 2 + w D``, with ``D`` the divergence of all bodies, and of the parameters of
    joints, from those of ``model``, and ``w = (prior |forces|)^2``, or 0.1 % of the variance of the noise where that is
    more.  Parameters that the motions do not show stay near ``model``.

    Args:
        model: Robot; links without mass stay without.
        regressor: ``k x 10 links``, or ``samples x nv x 10 links`` as
            ``fc.compile(model, fc.dynamics.inverse_dynamics_regressor)(states, accelerations)`` returns it.
        forces: ``k``, or ``samples x nv`` (N m, N).
        prior: Weight of the model, relative to the forces.
        iterations: Newton steps at most.
        joints: Columns (rows x k) of :func:`joint_regressor`, with the rows of ``regressor``; None: there are none.
        terms: Those that ``joints`` was made with.

    Returns:
        Parameters, the robot with them, standard deviations, and what the motions determine.

    Example:
        >>> from fallingcat.model import robots
        >>> from fallingcat.dynamics import inertial_parameters, inverse_dynamics_regressor
        >>> arm, rng = robots.planar_arm(), np.random.default_rng(0)
        >>> states, a = [arm.random_state(rng) for _ in range(20)], rng.normal(size=(20, arm.nv))
        >>> Y = np.array([inverse_dynamics_regressor(arm, s, x) for s, x in zip(states, a)])
        >>> guess = arm.replace_body("link3", Body(2.0, [0.0, 0.0, 0.4], 0.1 * np.eye(3)))
        >>> found = identify(guess, Y, Y @ inertial_parameters(arm))
        >>> found.residual < 1e-6, not any(link.body.problems() for link in found.model.links)
        (True, True)
        >>> found.converged, [name for name, shown in zip(found.names, found.identifiable) if shown]
        (True, ['h_1x', 'h_2x', 'h_3x', 'h_3z', 'I_3yy'])
    """
    check_model(model)
    Y, tau = _rows(regressor, LINK_PARAMETERS * len(model.links), "regressor"), np.asarray(forces, dtype=float).ravel()
    numbers(tau, (len(Y),), "forces")
    moving = [joint.name for joint in model.joints if joint.nv == 1]
    terms = tuple(choice(term, TERMS, "term") for term in terms) if joints is not None else ()
    Z = np.zeros((len(Y), 0)) if joints is None else _rows(joints, len(terms) * len(moving), "joints")
    if len(Z) != len(Y):
        raise ModelError(f"joints has {len(Z)} rows, and the regressor {len(Y)}")
    names = (*parameter_names(model), *(f"{term} {name}" for term in terms for name in moving))
    triangle: Any = np.linalg.qr(np.column_stack([Y, Z, tau]), mode="r")  # as many rows as columns
    cones = _cones(model, terms)
    weight = _weight(positive(prior, "prior"), tau, triangle)
    x, steps, converged = _minimum(triangle[:, :-1] @ cones.map, triangle[:, -1], cones, weight, iterations)
    found = cones.map @ x
    pi, z = np.split(found, [Y.shape[1]])
    misfit = Y @ pi + Z @ z - tau
    base = combinations(triangle[:, :-1], names, MIN_INDEPENDENT_PART)
    alone = _single_parameters(base, len(names))
    sizes = _deviations(triangle[:, list(base.columns)], misfit)
    every = np.full(len(names), np.inf)
    every[alone] = sizes[np.isin(base.columns, np.flatnonzero(alone))]
    error = float(np.sqrt(np.mean(misfit**2))) if len(tau) else 0.0
    robot = _with_terms(with_inertial_parameters(model, pi), terms, z.reshape(len(terms), len(moving)))
    return IdentificationResult(pi, robot, error, steps, converged, names, z, alone, every, base, sizes)


def _weight(prior: float, tau: np.ndarray, triangle: np.ndarray) -> float:
    """Weight of the divergence: ``prior`` of the forces, and at least 0.1 % of the variance of the noise."""
    # the last entry of the triangle of [Y, Z, tau] is the norm of what least squares leave over, without solving them
    free = len(tau) - triangle.shape[1] + 1
    noise = triangle[-1, -1] ** 2 / free if free > 0 else 0.0
    return float(max((prior * max(float(np.linalg.norm(tau)), 1e-300)) ** 2, 1e-3 * noise))


def _rows(given: Matrix, columns: int, what: str) -> np.ndarray:
    """``k x columns``, of that or of ``samples x rows x columns``."""
    shape = shape_of(given)
    if shape is None or len(shape) not in (2, 3) or shape[-1] != columns:
        raise ModelError(
            f"{what} must have shape (rows, {columns}) or (samples, rows, {columns}), got {shape or describe(given)}"
        )
    return np.asarray(numbers(given, shape, what), dtype=float).reshape(-1, columns)


# what is identifiable ---------------------------------------------------------------------------------------------


def _single_parameters(base: BaseParameters, count: int) -> np.ndarray:
    """``count`` truth values: parameters that are a combination by themselves."""
    single = (base.P != 0.0).sum(axis=1) == 1
    return np.isin(np.arange(count), np.array(base.columns, dtype=int)[single])


def _deviations(columns: np.ndarray, misfit: np.ndarray) -> np.ndarray:
    """Standard deviations of least squares with these columns, by the noise that they leave over."""
    free = len(misfit) - columns.shape[1]
    if free <= 0 or not columns.shape[1]:
        return np.full(columns.shape[1], np.inf)
    size = np.linalg.norm(columns, axis=0)
    # (A'A)^-1 = R^-1 R^-T by QR: forming A'A would square the condition number
    R: Matrix = np.linalg.qr(columns / size, mode="r")
    return float(np.sqrt(misfit @ misfit / free)) * np.linalg.norm(np.linalg.inv(R), axis=1) / size


def _with_terms(model: Model, terms: tuple[str, ...], values: np.ndarray) -> Model:
    """Robot whose joints have these parameters (terms x joints)."""
    moving = {joint.name: i for i, joint in enumerate(joint for joint in model.joints if joint.nv == 1)}
    joints = list(model.joints)
    for k, joint in enumerate(joints):
        if joint.name not in moving:
            continue
        own = {term: float(values[j, moving[joint.name]]) for j, term in enumerate(terms)}
        friction = {name: own[name] for name in ("damping", "friction") if name in own}
        armature = np.array([own["armature"]]) if "armature" in own else joint.armature
        joints[k] = replace(joint, passive=replace(joint.passive, **friction), armature=armature)
    return replace(model, joints=tuple(joints))


# the convex problem -----------------------------------------------------------------------------------------------


class _Cones(NamedTuple):
    """Unknowns ``x`` of the least-squares problem, inside their cones.

    Ten for the matrix ``X`` of each link with mass, ``P = L X L'`` with ``P0 = L L'``, then one positive number for
    each parameter of a joint, as a multiple of its start.
    """

    links: int
    map: np.ndarray
    """``parameters x unknowns``"""

    @property
    def start(self) -> np.ndarray:
        one = np.eye(4)[_LOWER]
        return np.concatenate([np.tile(one, self.links), np.ones(self.map.shape[1] - LINK_PARAMETERS * self.links)])

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Matrices (links x 4 x 4), and positive numbers."""
        matrices, rest = np.split(x, [LINK_PARAMETERS * self.links])
        return np.einsum("ik,kab->iab", matrices.reshape(-1, LINK_PARAMETERS), _BASIS), rest


def _cones(model: Model, terms: tuple[str, ...]) -> _Cones:
    """Unknowns at whose start all parameters are those of the model."""
    heavy = [i for i, link in enumerate(model.links) if link.body.mass or np.any(link.body.inertia)]
    moving = [joint for joint in model.joints if joint.nv == 1]
    size, own = LINK_PARAMETERS * len(model.links), len(terms) * len(moving)
    out = np.zeros((size + own, LINK_PARAMETERS * len(heavy) + own))
    for k, i in enumerate(heavy):
        L = _factor(model.links[i].body, model.links[i].name)
        parts = [_entries(L @ B @ L.T) for B in _BASIS]
        out[LINK_PARAMETERS * i : LINK_PARAMETERS * (i + 1), LINK_PARAMETERS * k : LINK_PARAMETERS * (k + 1)] = (
            np.stack(parts, axis=1)
        )
    starts = [_start(joint, term) for term in terms for joint in moving]
    out[size:, LINK_PARAMETERS * len(heavy) :] = np.diag(starts) if starts else np.zeros((0, 0))
    return _Cones(len(heavy), out)


def _start(joint: Any, term: str) -> float:
    own = {"damping": joint.passive.damping, "friction": joint.passive.friction, "armature": np.max(joint.armature)}
    return float(own.get(term, 0.0)) or TYPICAL[term]


def _factor(body: Body, name: str) -> np.ndarray:
    """``L`` (4 x 4) with ``P = L L'``, of a body that exists."""
    h, m = body.first_moment[:, None], np.array([[body.mass]])
    P = np.block([[body.second_moment, h], [h.T, m]])
    try:
        # point masses and rods lie on the boundary of the cone: the search has to start inside it
        return np.linalg.cholesky(P + 1e-12 * np.trace(P) * np.eye(4))
    except np.linalg.LinAlgError:
        raise ModelError(f"the body of link {name!r} cannot exist, so no search starts at it") from None


def _entries(P: np.ndarray) -> np.ndarray:
    """Ten parameters of a pseudo-inertia."""
    I = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]  # noqa: E741
    return np.array([P[3, 3], *P[:3, 3], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def _minimum(
    A: np.ndarray, b: np.ndarray, cones: _Cones, weight: float, iterations: int
) -> tuple[np.ndarray, int, bool]:
    """Minimum of ``|A x - b|^2 / 2 + weight D(x)``, after how many steps, and whether they sufficed.

    The weight of ``D`` falls from stage to stage, so that steps stay away from the boundary of the cones.  Steps solve
    a least-squares problem with a factor of the Hessian matrix of ``D``: normal equations would lose half the digits.
    """
    x = cones.start
    w = max(weight, FIRST_WEIGHT * float(np.sum((A @ x - b) ** 2)))
    for steps in range(1, iterations + 1):
        # Newton step of |A x - b|^2 / 2 + w D as least squares: [A; sqrt(w) C] step = -[A x - b; sqrt(w) C^-T gradient]
        C, gradient, change = _divergence(cones, x)
        Q, R = np.linalg.qr(np.concatenate([A, np.sqrt(w) * C]))
        c = Q.T @ np.concatenate([A @ x - b, np.sqrt(w) * np.linalg.solve(C.T, gradient)])
        step, decrement = -np.linalg.solve(R, c), float(c @ c) / w
        # the step ends inside the cones: no eigenvalue loses more than MAX_BOUNDARY_SHARE of itself
        x = x + min(1.0, MAX_BOUNDARY_SHARE / max(1e-300, -change(step))) * step
        if w == weight and decrement < FINAL_DECREMENT:
            return x, steps, True
        w = max(weight, WEIGHT_FACTOR * w) if decrement < STAGE_DECREMENT else w
    return x, iterations, False


def _divergence(cones: _Cones, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Factor ``C`` of the Hessian ``C'C`` of ``D = sum tr X - log det X``, its gradient, and a function of a step.

    The function says by which part the step lowers an eigenvalue at most (negative).
    """
    X, numbers_of = cones.split(x)
    W = np.linalg.inv(np.linalg.cholesky(X))
    moved = np.einsum("iab,kbc,idc->ikad", W, _BASIS, W)
    factors = np.linalg.qr(moved.reshape(cones.links, LINK_PARAMETERS, 16).transpose(0, 2, 1))[1]
    C = np.diag(np.concatenate([np.zeros(LINK_PARAMETERS * cones.links), 1.0 / numbers_of]))
    for i, factor in enumerate(factors):
        C[LINK_PARAMETERS * i : LINK_PARAMETERS * (i + 1), LINK_PARAMETERS * i : LINK_PARAMETERS * (i + 1)] = factor
    traces = np.einsum("kaa->k", _BASIS) - np.einsum("ikaa->ik", moved)
    gradient = np.concatenate([traces.ravel(), 1.0 - 1.0 / numbers_of])

    def change(step: np.ndarray) -> float:
        D, d = cones.split(step)
        lowest = np.linalg.eigvalsh(W @ D @ W.transpose(0, 2, 1)).min(initial=0.0)
        return float(min(lowest, (d / numbers_of).min(initial=0.0)))

    return C, gradient, change
