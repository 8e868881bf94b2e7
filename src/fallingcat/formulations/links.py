"""Robot link by link: the reference that certificates hold equations of motion against.

Every quantity is a plain sum over the links, ``M = sum J' L J``, ``C = sum J' (B J + L dJ/dt)`` ([Mishra] Lemma 1),
with Jacobians by a sweep in the links' own frames and their rates by complex step; the library makes none of its
equations like this.  The same sums of absolute values say how large an entry is by nature.  The rotor of a joint is one
more link, weightless, whose twist is the joint's rates and whose brackets are those of the joint's group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import any_nonzero
from ..arrays.types import Matrix
from ..caching import cached_property
from ..dynamics import coriolis_matrix, inverse_dynamics, kinetic_energy, potential_energy
from ..dynamics.sweeps import nodes, propagate_outward
from ..lie import SE3
from ..lie.rotations import block_diagonal, homogeneous
from ..model import Model, State
from ..model.literals import Factorization
from ..progress import check_memory
from .time import STEP, state_after

_SE3 = SE3()
ARRAYS = 8
"""Jacobians of all links, links x 6 x nv, that are in memory at once; measured"""


class Links:
    """Robot at a state, link by link, for the velocity ``[twist; rates]``.

    Twists of links are at their centers of mass, in their own axes.  ``acceleration`` and ``random_velocity`` are
    random directions to try equations along.
    """

    def __init__(self, model: Model, state: State, seed: int = 0) -> None:
        self.model, self.state = model, state
        bytes_each = 6 * 8 * model.nv * len(model.links)
        check_memory(f"a certificate of {model.name!r}", ARRAYS * bytes_each, "fix joints (model.lock), or take a part")
        self.acceleration, self.random_velocity = np.random.default_rng(seed).normal(size=(2, model.nv))
        driven = [i for i, joint in enumerate(model.joints) if any_nonzero(joint.armature)]
        self.J = np.array([*jacobians(model, state), *(_pad_with_zeros(_rates(model, i)) for i in driven)])
        """links x 6 x nv"""
        self.J_dot = np.zeros_like(self.J)
        self.J_dot[: len(model.links)] = np.imag(jacobians(model, state_after(model, state, 1j * STEP))) / STEP
        bodies = [block_diagonal([link.body.mass * np.eye(3), link.body.inertia]) for link in model.links]
        rotors = [_pad_with_zeros(np.diag(model.joints[i].rotor), 6) for i in driven]
        self.inertia = np.array([*bodies, *rotors])
        """links x 6 x 6"""
        twists = self.J @ state.velocity
        groups = [*(_SE3 for _ in bodies), *(model.joints[i].kind.group for i in driven)]
        self._ad = np.array([_pad_with_zeros(G.ad(nu[: G.dim]), 6) for G, nu in zip(groups, twists, strict=True)])
        momenta = [L @ nu for L, nu in zip(self.inertia, twists, strict=True)]
        self._adt = np.array([_pad_with_zeros(G.adt(h[: G.dim]), 6) for G, h in zip(groups, momenta, strict=True)])
        self._coriolis: dict[str, np.ndarray] = {}

    @cached_property
    def M(self) -> np.ndarray:
        """Mass matrix ``M`` (nv x nv)."""
        return over_links(self.J, self.inertia, self.J)

    @cached_property
    def scale(self) -> np.ndarray:
        """Roots ``M_ii^1/2`` (nv)."""
        return np.sqrt(np.diag(self.M))

    @cached_property
    def weights(self) -> np.ndarray:
        """Weight of each link, in its axes (links x 3)."""
        poses = propagate_outward(nodes(self.model, self.state), self.state.pose, lambda node, H: H @ node.H)
        weights = np.zeros((len(self.inertia), 3))
        for i, (link, H) in enumerate(zip(self.model.links, poses, strict=True)):
            weights[i] = link.body.mass * H[:3, :3].T @ self.model.gravity
        return weights

    def body_matrices(self, factorization: Factorization) -> np.ndarray:
        """Matrices ``B`` of the links (links x 6 x 6), of the factorizations that are sums over links."""
        left = -(self._ad.transpose(0, 2, 1) @ self.inertia)
        passive, coadjoint = self.inertia @ self._ad + left, -self._adt
        matrices = {"newton_euler": left, "passive": passive, "coadjoint": coadjoint}
        return matrices.get(factorization, 0.5 * (passive + coadjoint))

    @cached_property
    def body_sizes(self) -> np.ndarray:
        """Sizes of the entries of any ``B`` (links x 6 x 6)."""
        left = np.abs(self._ad).transpose(0, 2, 1) @ np.abs(self.inertia)
        return np.asarray(left + left.transpose(0, 2, 1) + np.abs(self._adt))

    def sizes(self, J: np.ndarray, J_dot: np.ndarray) -> np.ndarray:
        """Sizes of the entries of any Coriolis matrix, for Jacobians of some velocity."""
        J, L = np.abs(J), np.abs(self.inertia)
        return over_links(J, self.body_sizes, J) + over_links(J, L, np.abs(J_dot))

    def coriolis(self, factorization: Factorization) -> np.ndarray:
        """Coriolis matrix ``C`` (nv x nv) by its definition: the sum over links, or [Feurstein] (3.39)."""
        if factorization not in self._coriolis:
            B = self.body_matrices(factorization)
            C = over_links(self.J, B, self.J) + over_links(self.J, self.inertia, self.J_dot)
            self._coriolis[factorization] = self._hamel() if factorization == "hamel" else C
        return self._coriolis[factorization]

    def _hamel(self) -> np.ndarray:
        """``C = dM/dt - ad(v)' M - E``, with the derivatives of ``M`` along every joint in ``E`` (3.37)."""
        model, state, m = self.model, self.state, self.model.m
        half = over_links(self.J, self.inertia, self.J_dot)
        C = half + half.T - brackets(model, state.velocity).T @ self.M
        for i, unit in enumerate(np.eye(model.nv)[m:], start=m):
            along = State(state.pose, state.joints, unit[:m], unit[m:])
            J_i = np.imag(jacobians(model, state_after(model, along, 1j * STEP))) / STEP
            bodies = len(J_i)  # rotors move alike at every shape
            half = over_links(self.J[:bodies], self.inertia[:bodies], J_i)
            M_i = half + half.T
            C[i, :m] -= 0.5 * state.twist @ M_i[:m, :m]
            C[i, m:] -= state.twist @ M_i[:m, m:] + 0.5 * state.rates @ M_i[m:, m:]
        return np.asarray(C)

    @cached_property
    def forces(self) -> np.ndarray:
        """Forces (nv) that give ``acceleration``, by recursive Newton-Euler."""
        return np.asarray(inverse_dynamics(self.model, self.state, self.acceleration))

    @cached_property
    def power(self) -> float:
        """Rate of the energies of the links under ``acceleration``, by complex step."""
        moved = state_after(self.model, self.state, 1j * STEP, self.acceleration)
        return float(np.imag(kinetic_energy(self.model, moved) + potential_energy(self.model, moved)) / STEP)

    @cached_property
    def elsewhere(self) -> Links:
        """Same robot in the same place with the velocity ``random_velocity``."""
        m, (pose, joints, _, _) = self.model.m, self.state
        return Links(self.model, State(pose, joints, self.random_velocity[:m], self.random_velocity[m:]))

    def recursive_coriolis(self, factorization: Factorization) -> np.ndarray:
        """Coriolis matrix ``C`` (nv x nv) as the library makes it, once."""
        key = f"recursive {factorization}"
        if key not in self._coriolis:
            self._coriolis[key] = coriolis_matrix(self.model, self.state, factorization)
        return self._coriolis[key]


def jacobians(model: Model, state: State) -> np.ndarray:
    """Jacobians of the links (links x 6 x nv): ``Ad(H^-1) J_parent + S``, moved to the center of mass at the end."""
    unit = np.eye(model.nv)
    rows = [unit[model.m :][v] for v in model.v_slices]

    def child_jacobian(node: Any, J: Any) -> Matrix:
        return _SE3.Ad(_SE3.inverse(node.H)) @ J + node.S @ rows[node.link - 1]

    at_origins = propagate_outward(nodes(model, state), model.base.selection @ unit[: model.m], child_jacobian)
    to_centers = [_SE3.Ad(homogeneous(np.eye(3), -link.body.center)) for link in model.links]
    return np.array([X @ J for X, J in zip(to_centers, at_origins, strict=True)])


def _rates(model: Model, joint: int) -> np.ndarray:
    """The rows that pick the rates of a joint (or of its leader) out of ``[twist; rates]``: those of its rotor."""
    return np.eye(model.nv)[model.m :][model.v_slices[joint]]


def _pad_with_zeros(X: np.ndarray, width: int | None = None) -> np.ndarray:
    """``X`` with zeros below, up to six rows, and to its right, up to ``width`` columns."""
    return np.pad(X, ((0, 6 - X.shape[0]), (0, (width or X.shape[1]) - X.shape[1])))


def over_links(left: np.ndarray, middle: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sum ``sum left' middle right`` over the links."""
    carried = middle @ right
    rows = left.shape[0] * left.shape[1]  # of all links, one above the other: no matrix of each link is in memory
    return np.asarray(left.reshape(rows, -1).T @ carried.reshape(rows, -1))


def brackets(model: Model, v: np.ndarray) -> np.ndarray:
    """Brackets ``[v, .]`` (nv x nv) in the algebra of the base and of every joint."""
    groups = [model.base, *(joint.kind.group for joint in model.joints if not joint.mimic)]
    ends = np.cumsum([g.dim for g in groups])
    parts = [g.ad(v[e - g.dim : e]) for g, e in zip(groups, ends, strict=True) if g.dim]
    return np.asarray(block_diagonal(parts)) if parts else np.zeros((0, 0))
