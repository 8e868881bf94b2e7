"""Coriolis matrices: five factorizations of the same forces, and the rate of the mass matrix.

For every choice of ``B_j``, ``C = sum T_j' (B_j T_j + L_j dT_j/dt)`` gives the same ``C v`` ([Mishra] Lemma 1,
[Feurstein] (3.41), (3.82)).  In the frame that coincides with the base the column ``s_k`` of ``T_j`` is that of
every other link behind joint k, so each entry is a product with one composite matrix: O(n x depth).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..lie import SE3
from ..model import Model, State
from .checks import choice
from .geometry import geometry, inertias, pairwise_matrix, rate_of_mass, subtree_sums
from .hamel import hamel_matrix

_SE3 = SE3()
ad, adt = _SE3.ad, _SE3.adt


def _newton_euler(L: Any, nu: Any) -> Any:
    return -(ad(nu).T @ L)


def _passive(L: Any, nu: Any) -> Any:
    return L @ ad(nu) - ad(nu).T @ L


def _coadjoint(L: Any, nu: Any) -> Any:
    return -adt(L @ nu)


def _christoffel(L: Any, nu: Any) -> Any:
    return 0.5 * (_passive(L, nu) + _coadjoint(L, nu))


BODY_MATRICES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "newton_euler": _newton_euler,
    "passive": _passive,
    "coadjoint": _coadjoint,
    "christoffel": _christoffel,
}
"""``B_j(L_j, nu_j)``, 6x6, of the factorizations that are sums over links."""

FACTORIZATIONS: Final = ("christoffel", "passive", "coadjoint", "newton_euler", "hamel")


def coriolis_matrix(model: Model, state: State, factorization: str = "christoffel") -> Any:
    """``C(q, v)`` (nv x nv) with ``C v`` the Coriolis and centrifugal forces of the quasi-velocity ``[twist; rates]``.

    ================  =========================  ==============  ============  ====================
    factorization     source                     Mdot = C + C'   torsion-free  decouples by (3.80)
    ================  =========================  ==============  ============  ====================
    ``christoffel``   mean of the next two       yes             yes           no
    ``passive``       [Feurstein] (3.82)         yes             no            no
    ``coadjoint``     [Mishra] style             yes             no            no
    ``newton_euler``  [Mishra] Lemma 1           no              no            yes
    ``hamel``         [Feurstein] (3.39)         no              no            yes
    ================  =========================  ==============  ============  ====================

    >>> import numpy as np
    >>> from fallingcat.model import robots
    >>> cat = robots.cat()
    >>> state = cat.random_state(np.random.default_rng(0))
    >>> C = coriolis_matrix(cat, state)
    >>> bool(np.allclose(C + C.T, mass_matrix_derivative(cat, state), atol=1e-12))
    True
    """
    choice(factorization, FACTORIZATIONS, "factorization")
    geo = geometry(model, state)
    L = inertias(model, geo)
    if factorization == "hamel":
        return hamel_matrix(model, state, geo, L)
    body_matrix = BODY_MATRICES[factorization]
    own = [body_matrix(Lj, nu) - Lj @ ad(nu) for Lj, nu in zip(L, geo.twists, strict=True)]
    B, L = subtree_sums(geo, own), subtree_sums(geo, L)
    right = [B[k] @ geo.axes[k] + L[k] @ geo.axes_dot[k] for k in range(len(L))]

    def entry(i: int, k: int) -> tuple[Any, Any]:
        # s_k' (B_k s_i + L_k ds_i/dt), read from the left so that the products with s_k are shared by all i
        return geo.axes[i].T @ right[k], left_B[k] @ geo.axes[i] + left_L[k] @ geo.axes_dot[i]

    left_B = [s.T @ Bk for s, Bk in zip(geo.axes, B, strict=True)]
    left_L = [s.T @ Lk for s, Lk in zip(geo.axes, L, strict=True)]
    return pairwise_matrix(geo, entry)


def mass_matrix_derivative(model: Model, state: State) -> Any:
    """``dM/dt`` (nv x nv) along the state, symmetric: ``dL_j/dt = -(ad' L_j + L_j ad)`` in the fixed frame."""
    geo = geometry(model, state)
    return rate_of_mass(geo, inertias(model, geo))
