"""The curvature in O(n^2) from composite inertias, as THEORY has it: one 6 x 6 matrix per axis.

`s_i` the axes and `I_i` what they carry, in base coordinates; `N_i = -(ad(s_i)' I_i + I_i ad(s_i))`;
`d_i h_j = -ad(s_i)' h_j` if i is j or above it, `N_i s_j` if j is above i, else 0.  For joints whose motion subspace is
constant in the child; two axes of one joint count as `above` both ways.
"""

from __future__ import annotations

import numpy as np
from link_sums import link_poses

from fallingcat.lie import SE3
from fallingcat.model import Model, State

_SE3 = SE3()
ad = _SE3.ad


def curvature(model: Model, state: State) -> np.ndarray:
    """`F[:, i, j] = DA(e_i, e_j)` (m x n x n), without the bracket of the joints' own groups."""
    S, at_base = model.base.selection, state._replace(pose=np.eye(4))
    poses = link_poses(model, at_base)
    inertia = {}
    for link in model.links:
        X = _SE3.Ad(_SE3.inverse(poses[link.name]))
        inertia[link.name] = X.T @ link.body.spatial_inertia @ X
    above: dict[str, set[str]] = {model.links[0].name: set()}
    for joint in model.joints:
        above[joint.child] = above[joint.parent] | {joint.child}
    carried = {a: sum(inertia[b] for b in inertia if a in above[b]) for a in inertia}
    whole = sum(inertia.values())
    s, link, T = [], [], [np.zeros((0, model.n))]  # every axis, and the rate that moves it
    for joint, q, v in zip(model.joints, model.q_slices, model.v_slices, strict=True):
        columns = _SE3.Ad(poses[joint.child]) @ joint.motion_subspace(state.joints[q])
        s.extend(columns.T)
        link.extend([joint.child] * columns.shape[1])
        T.append(np.eye(model.n)[v])
    n, Mb = len(s), S.T @ whole @ S
    h = [carried[a] @ si for a, si in zip(link, s, strict=True)]
    A = np.linalg.solve(Mb, S.T @ np.stack(h, axis=1)) if n else np.zeros((model.m, 0))
    N = [-(ad(si).T @ carried[a] + carried[a] @ ad(si)) for a, si in zip(link, s, strict=True)]
    dA = np.zeros((n, model.m, n))
    for i in range(n):
        for j in range(n):
            if link[i] in above[link[j]]:
                d = -ad(s[i]).T @ h[j]
            elif link[j] in above[link[i]]:
                d = N[i] @ s[j]
            else:
                d = np.zeros(6)
            dA[i, :, j] = np.linalg.solve(Mb, S.T @ (d - N[i] @ S @ A[:, j]))
    F = np.zeros((model.m, n, n))
    for i in range(n):
        for j in range(n):
            F[:, i, j] = dA[i, :, j] - dA[j, :, i] - model.base.ad(A[:, i]) @ A[:, j]
    return np.concatenate(T).T @ F @ np.concatenate(T)
