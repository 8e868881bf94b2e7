"""Coriolis matrices: five factorizations of the same forces, and the rate of the mass matrix.

For every choice of ``B_j``, ``C = sum T_j' (B_j T_j + L_j dT_j/dt)`` gives the same ``C v`` ([Mishra] Lemma 1,
[Feurstein] (3.41), (3.82)).  In the frame that coincides with the base the column ``s_k`` of ``T_j`` is that of
every other link behind joint k, so each entry is a product with one composite matrix: O(n x depth).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ..arrays import block, map_each
from ..arrays.types import Matrix, Matrix_nv_nv, Twist
from ..lie import SE3
from ..lie.rotations import skew
from ..model import Model, State
from ..model.literals import FACTORIZATIONS, Factorization
from ..progress import warn_of_time
from .checks import choice
from .geometry import geometry, inertias, pairwise_matrix, rate_of_mass, subtree_sums
from .hamel import hamel_matrix
from .rotors import with_rotor_coriolis
from .spatial import RigidInertia

_SE3 = SE3()


def _newton_euler(L: RigidInertia, nu: Twist) -> Matrix:
    return L.rate(nu).matrix()


def _passive(L: RigidInertia, nu: Twist) -> Matrix:
    return L.rate(nu).matrix() + L.times_ad(nu)


def _coadjoint(L: RigidInertia, nu: Twist) -> Matrix:
    return -_SE3.adt(L @ nu) - L.times_ad(nu)


def _christoffel(L: RigidInertia, nu: Twist) -> Matrix:
    """``(dL/dt - adt(L nu)) / 2``: as ``dh/dt = p``, half of it cancels, ``[[0, -[p]], [0, (dI/dt - [l]) / 2]]``."""
    momentum, zero = L @ nu, np.zeros((3, 3))
    half = 0.5 * (L.rate(nu).inertia - skew(momentum[3:]))
    return block([[zero, -skew(momentum[:3])], [zero, half]])


BODY_MATRICES: Final[dict[str, Callable[[RigidInertia, Twist], Matrix]]] = {
    "newton_euler": _newton_euler,
    "passive": _passive,
    "coadjoint": _coadjoint,
    "christoffel": _christoffel,
}
"""``B_j - L_j ad(nu_j)`` (6x6) of the factorizations that are sums over links: what multiplies the axes themselves.

With ``dL/dt = -(ad' L + L ad)`` in the standing frame: ``B = -ad' L`` (newton_euler), ``L ad - ad' L`` (passive),
``-adt(L nu)`` (coadjoint), the mean of the last two (christoffel).
"""


def coriolis_matrix(model: Model, state: State, factorization: Factorization = "christoffel") -> Matrix_nv_nv:
    """Coriolis matrix ``C(q, v)``.

    ``C v`` are the Coriolis and centrifugal forces of the quasi-velocity ``[twist; rates]``.

    ================  =========================  ==============  ============  ====================
    factorization     source                     Mdot = C + C'   torsion-free  decouples by (3.80)
    ================  =========================  ==============  ============  ====================
    ``christoffel``   mean of the next two       yes             yes           no
    ``passive``       [Feurstein] (3.82)         yes             no            no
    ``coadjoint``     [Mishra] style             yes             no            no
    ``newton_euler``  [Mishra] Lemma 1           no              no            yes
    ``hamel``         [Feurstein] (3.39)         no              no            yes
    ================  =========================  ==============  ============  ====================

    Args:
        model: Robot.
        state: Configuration and velocity.
        factorization: One of :data:`FACTORIZATIONS`, as in the table.

    Returns:
        ``nv x nv`` matrix.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> C = coriolis_matrix(cat, state)
        >>> bool(np.allclose(C + C.T, mass_matrix_derivative(cat, state), atol=1e-12))
        True
    """
    choice(factorization, FACTORIZATIONS, "factorization")
    if factorization == "hamel":  # one sum over the links for each joint
        warn_of_time(f"Hamel's matrix of {model.name!r}", 1.2e-5 * model.nv**2, "take another factorization")
    geo = geometry(model, state)
    L = inertias(model, geo)
    if factorization == "hamel":
        return with_rotor_coriolis(model, hamel_matrix(model, state, geo, L), state.rates, factorization)
    own = map_each(BODY_MATRICES[factorization], L, geo.twists)
    B, L = subtree_sums(geo, own), subtree_sums(geo, L)
    right = map_each(lambda B, L, s, s_dot: B @ s + L @ s_dot, B, L, geo.axes, geo.axes_dot)
    left = map_each(lambda B, L, s: (s.T @ B, (L @ s).T), B, L, geo.axes)
    sB, sL = ([x[i] for x in left] for i in range(2))
    C = pairwise_matrix(geo, [(geo.axes, right)], [(sB, geo.axes), (sL, geo.axes_dot)])
    return with_rotor_coriolis(model, C, state.rates, factorization)


def mass_matrix_derivative(model: Model, state: State) -> Matrix_nv_nv:
    """Time derivative of the mass matrix, ``dM/dt``, along the state.

    ``dL_j/dt = -(ad' L_j + L_j ad)`` in the fixed frame.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        ``nv x nv`` matrix, symmetric.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> rate = fc.mass_matrix_derivative(cat, cat.random_state(np.random.default_rng(0)))
        >>> bool(np.array_equal(rate, rate.T))
        True
    """
    geo = geometry(model, state)
    return rate_of_mass(geo, inertias(model, geo))
