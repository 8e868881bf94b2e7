"""The mass matrix (composite rigid bodies)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import concatenate, numbers_only
from ..arrays.types import Matrix, Matrix_nv_nv
from ..model import Model, State
from .checks import check_robot
from .rotors import with_rotors
from .spatial import rigid_inertias, wrenches_to_parent
from .sweeps import Node, Places, accumulate_inward, nodes


def mass_matrix(model: Model, state: State) -> Matrix_nv_nv:
    """Mass matrix ``M(q)``: the kinetic energy is ``v' M v / 2`` of the quasi-velocity ``v = [twist; rates]``.

    ``M = sum T_j' L_j T_j`` ([Mishra] Lemma 1) and the joints' ``armature`` on its diagonal, by composite inertias in
    O(n x depth): the momentum that a joint gives to all that it carries, projected on the axes between it and the base.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        ``nv x nv`` matrix, symmetric (kg, kg m, kg m^2).

    Example:
        >>> from fallingcat.model import robots
        >>> body = robots.free_body()
        >>> bool(mass_matrix(body, body.neutral())[0, 0] == body.mass)
        True
    """
    return composite_mass(model, nodes(model, state), rigid_inertias(model))


@numbers_only("a condition number is found by iteration")
def mass_condition(model: Model, state: State) -> float:
    """Condition number of the mass matrix scaled to unit diagonal, ``D M D`` with ``D_ii = M_ii^-1/2``.

    Forward dynamics errs by this times 1e-16, relative to the largest acceleration: a heavy load at the tip of light
    links moves almost as one with them, and little is left of their own inertia.  Units and the masses of single
    bodies do not matter to it.  Infinite where ``M`` is singular.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        Ratio of the largest eigenvalue to the smallest; infinite where ``M`` is singular.

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> mass_condition(arm, arm.neutral()) < 1e4
        True
    """
    check_robot(model, state)
    if model.kinematic:
        return float("inf")
    M = np.asarray(mass_matrix(model, state), dtype=float)
    size = np.sqrt(np.diag(M))
    if not np.all(size > 0.0):
        return float("inf")
    # Unit diagonal: by van der Sluis' theorem within a factor nv of the best scaling of rows and columns.
    values = np.linalg.eigvalsh(M / np.outer(size, size))
    return float(values[-1] / values[0]) if values.size and values[0] > 0.0 else float("inf" if values.size else 1.0)


def composite_mass(model: Model, tree: Sequence[Node], own: Sequence[Any]) -> Matrix:
    """Mass matrix of joints, their rotors and bodies in any frames."""
    composite = accumulate_inward(tree, own, lambda node, inertia: inertia.to_parent(node.H))
    axes = [model.base.selection, *(node.S for node in tree)]
    carried: list[list[Matrix]] = [[] for _ in axes]  # momenta of all that moves behind a link, the last child first
    rows: list[Matrix] = []
    for link in reversed(range(len(axes))):
        momenta = concatenate([composite[link] @ axes[link], *reversed(carried[link])], axis=1)
        carried[link].clear()
        rows.append(axes[link].T @ momenta)
        if link:
            carried[tree[link - 1].parent].append(wrenches_to_parent(tree[link - 1].H, momenta))
    return with_rotors(model, Places.from_model(model).symmetric(rows[::-1]))
