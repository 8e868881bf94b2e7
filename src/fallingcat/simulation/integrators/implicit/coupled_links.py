"""Links that springs and dampers couple: accelerations from the mass matrix, where articulated bodies do not serve.

Springs between two links that both move resist their relative acceleration ``A = J a + drift`` by ``R A``, with a
Jacobian ``J`` (6 x nv) that has columns of both: ``(M + sum J' R J) a = forces - bias + sum J' (W - R drift)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....arrays import concatenate, mirror, solve, solve_tree
from ....dynamics import inverse_dynamics, mass_matrix
from ....dynamics.forward import Response
from ....dynamics.geometry import geometry
from ....geometry.body_touch import BodyTouch, link_motion
from ....model import Model, State


class CoupledLinks(NamedTuple):
    """Robot in the middle of a step."""

    mass: Any
    """``nv x nv``"""
    bias: Any
    """``nv``: forces at no acceleration"""
    motions: dict[int, tuple[Any, Any]]
    """Jacobian (6 x nv) and drift (6) of the accelerations of links with points, less gravity, and of pairs"""

    @classmethod
    def of(cls, model: Model, state: State, links: Sequence[int], pairs: Sequence[BodyTouch]) -> CoupledLinks:
        """Robot at a state, with the links that points are on, and pairs, which are counted after all links."""
        geo = geometry(model, state)
        motions = {i: link_motion(geo, state, i, model.gravity) for i in links if i < len(model.links)}
        motions |= {len(model.links) + k: (pair.J, np.zeros(6)) for k, pair in enumerate(pairs)}
        bias = inverse_dynamics(model, state, np.zeros(model.nv))
        return cls(mass_matrix(model, state), bias, motions)

    def response(
        self,
        forces: Any,
        wrenches: Sequence[tuple[int, Any]],
        resisting: Sequence[tuple[int, Any]],
        armature: Any,
        given: Any,
        symmetric: bool,
    ) -> Response:
        """Accelerations under ``forces`` and wrenches; see :func:`fallingcat.dynamics.forward.response`."""
        none = np.zeros(len(forces) - len(armature))
        start = np.zeros(len(forces)) if given is None else concatenate([none, given])
        mass, rest = self.mass, forces - self.bias
        for link, wrench in wrenches:
            rest = rest + self.motions[link][0].T @ wrench
        for link, R in resisting:
            J, drift = self.motions[link]
            further = J.T @ (R @ J)
            mass = mass + (mirror(further) if symmetric else further)
            rest = rest - J.T @ (R @ drift)
        rest = rest - mass @ start
        mass = mass + concatenate([none, armature])[:, None] * np.eye(len(mass))
        beyond = solve_tree(mass, rest, range(-1, len(mass) - 1)) if symmetric else solve(mass, rest)
        acceleration = start + beyond
        links: Any = {link: J @ acceleration + drift for link, (J, drift) in self.motions.items()}
        return Response(acceleration, links, beyond[len(none) :])
