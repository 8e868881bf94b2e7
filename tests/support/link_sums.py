"""The readable closed forms of the seeds: everything a sum over links.  Slow, obvious, and an oracle for the tests.

Written from the definitions alone: poses by multiplying transforms down the tree, Jacobians by differencing nothing but
`joint.motion_subspace`, `M = sum T_j' L_j T_j` ([Mishra] Lemma 1 before any recursion).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fallingcat.lie import SE3
from fallingcat.model import Model, State
from fallingcat.model.body import Body, sum_bodies

_SE3 = SE3()


def link_poses(model: Model, state: State) -> dict[str, Any]:
    """`H_wj` for every link."""
    poses = {model.links[0].name: state.pose}
    for joint, place in zip(model.joints, model.q_slices, strict=True):
        poses[joint.child] = poses[joint.parent] @ joint.transform(state.joints[place])
    return poses


def link_jacobians(model: Model, state: State) -> dict[str, np.ndarray]:
    """`T_j`, 6 x nv: the body-fixed twist of link j is `T_j @ [twist; rates]`."""
    base = model.links[0].name
    jacobians = {base: np.concatenate([model.base.selection, np.zeros((6, model.n))], axis=1)}
    for joint, q, v in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        T = _SE3.Ad(_SE3.inverse(joint.transform(state.joints[q]))) @ jacobians[joint.parent]
        T[:, model.m + v.start : model.m + v.stop] += joint.motion_subspace(state.joints[q])
        jacobians[joint.child] = T
    return jacobians


def link_twists(model: Model, state: State) -> dict[str, np.ndarray]:
    """`nu_j = T_j v`, body-fixed, for every link."""
    return {name: T @ state.velocity for name, T in link_jacobians(model, state).items()}


def mass_matrix(model: Model, state: State) -> np.ndarray:
    """`M = sum T_j' L_j T_j`, and the rotors' inertia on its diagonal."""
    T = link_jacobians(model, state)
    rotors = np.zeros((model.nv, model.nv))
    for joint, v in zip(model.joints, model.v_slices, strict=True):
        own = np.eye(model.nv)[model.m :][v] * (joint.mimic.ratio if joint.mimic else 1.0)
        rotors += own.T @ np.diag(joint.armature) @ own
    return sum((T[k.name].T @ k.body.spatial_inertia @ T[k.name] for k in model.links), rotors)


def whole_body(model: Model, state: State) -> Body:
    """The robot frozen in its shape, as one body in the world frame."""
    poses = link_poses(model, state)
    return sum_bodies(link.body.moved(poses[link.name]) for link in model.links)


def potential_energy(model: Model, state: State) -> float:
    """`-sum m_j g . c_j` (J)."""
    return float(-model.mass * model.gravity @ whole_body(model, state).center)


def connection(model: Model, state: State) -> np.ndarray:
    """The mechanical connection `A = Mbb^-1 Mbq`, m x n."""
    M = mass_matrix(model, state)
    return np.linalg.solve(M[: model.m, : model.m], M[: model.m, model.m :])
