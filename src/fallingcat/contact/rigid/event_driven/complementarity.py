"""Impulses of points that collide, push and do not pull, with friction: which of them hold, slide or leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....errors import NumericsError
from ..solvers.cone_projection import STICKING_FRICTION, Cone
from ..solvers.proximal_newton import reactions

STICK, SLIDE, OPEN = "stick", "slide", "open"
MIN_SINGULAR_VALUE = 1e-11
"""Singular values, relative to the largest, of rows that depend on others."""
ACCEPTED_RESIDUAL = 1e-6
"""Velocity that may be off the contact law, relative to the largest: of points that nearly depend on each other."""


class Impulses(NamedTuple):
    """``impulse`` (rows) and the ``status`` of each point."""

    impulse: np.ndarray
    status: tuple[str, ...]


def collision_impulses(
    G: np.ndarray, before: np.ndarray, rows: Sequence[list[int]], target: np.ndarray, friction: Sequence[Any]
) -> Impulses:
    """Impulses ``x`` of a collision: ``v+ = v- + G x`` by the law of Moreau and Coulomb, as in time stepping.

    Either a point leaves (``x = 0``, ``v+_n >= target``), or ``v+_n = target`` and ``x_n >= 0``; then it sticks
    (``v+_t = 0``, ``|x_t| <= friction x_n``) or slides (``x_t = -friction x_n v+_t / |v+_t|``).

    Args:
        G: Inverse inertia ``J M^-1 J'`` of all rows.
        before: Velocities before (m/s).
        rows: Rows of each point, one point after the other: the normal, then tangents.
        target: Normal velocity of each point after the collision (m/s).
        friction: Coulomb's coefficient of each point; None: it sticks if it does not leave.

    Returns:
        Impulses (N s), of redundant points shared evenly, and what each point does.
    """
    wanted = np.zeros(len(before))
    wanted[[own[0] for own in rows]] = target
    speed = float(np.abs(before - wanted).max(initial=0.0))
    if not speed > 0.0:
        return Impulses(np.zeros(len(before)), (OPEN,) * len(rows))
    cones = [Cone(len(own), STICKING_FRICTION if mu is None else mu) for own, mu in zip(rows, friction, strict=True)]
    with np.errstate(all="ignore"):  # rounds that diverge are no answer
        found = reactions(G, (before - wanted) / speed, np.zeros(len(before)), cones)
    if not found.left <= ACCEPTED_RESIDUAL:
        raise NumericsError(f"no way was found in which {len(rows)} points share an impact", value=float(found.left))
    x = speed * np.asarray(found.impulses)
    after = before + G @ x
    moves = [bool(np.linalg.norm(after[own[1:]]) > ACCEPTED_RESIDUAL * speed) for own in rows]
    closed = [SLIDE if along else STICK for along in moves]
    return Impulses(x, tuple(status if x[own[0]] > 0.0 else OPEN for status, own in zip(closed, rows, strict=True)))
