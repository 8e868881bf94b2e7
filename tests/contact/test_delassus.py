"""Delassus operators: velocities per impulse and Newton systems, against dense matrices of Jacobians."""

from dataclasses import replace

import numpy as np
import pytest
from random_robots import BASES, Robot, build

import fallingcat as fc
from fallingcat.arrays import skew
from fallingcat.contact import HardContacts, joint_stops
from fallingcat.contact.rigid.time_stepping import contact_jacobian as stacked_jacobian
from fallingcat.contact.rigid.time_stepping.stepped_contacts import SteppedContacts


def touching(model, per_link=2):
    """The model with points on its links, and their names."""
    frames = []
    for k, link in enumerate(model.link_names[1:]):
        for i in range(per_link):
            placement = np.eye(4)
            placement[:3, 3] = [0.1 * i, 0.05 * k, -0.1]
            frames.append(fc.model.Frame(f"{link} point {i}", link, placement))
    return replace(model, frames=(*model.frames, *frames)), tuple(frame.name for frame in frames)


def operators(base, monkeypatch, rows, seed):
    """A robot's footing, mass matrix and response to an impulse with dense (``rows`` large) or sparse operators."""
    model, state = build(Robot(base, 5, seed))
    model, points = touching(model)
    limited = tuple(replace(joint, limits=fc.model.Limits(-1.0, 1.0)) for joint in model.joints)
    model = replace(model, joints=limited)
    contact = SteppedContacts.of(HardContacts(points, friction=0.5, stops=joint_stops(model)), 0)
    monkeypatch.setattr(stacked_jacobian, "DENSE_ROWS", (rows, 0.0))
    on = contact.stacked_jacobian(model, state)
    armature = np.linspace(0.1, 0.5, model.n)
    M = fc.mass_matrix(model, state) + np.diag([*np.zeros(model.m), *armature])
    impulse = np.random.default_rng(seed).normal(size=model.nv)
    return model, state, points, contact, on, M, impulse, on.jacobian.response(armature, impulse)


def rows_of(model, state, points, contact, on):
    """``J`` (rows x nv) of points and stops, from the Jacobians of links."""
    A, rows = contact.ground(model).axes, []
    for point, axes in zip(points, contact.axes(model), strict=False):
        frame = model.frame(point)
        H, J = fc.link_pose(model, state, frame.link), fc.jacobian(model, state, frame.link)
        rows.append(A[axes] @ H[:3, :3] @ (J[:3] - skew(frame.placement[:3, 3]) @ J[3:]))
    rows += [[stop.sign * np.eye(model.nv)[model.m + stop.rate(model)]] for stop in contact.stops]
    assert len(rows) == len(on.levers)
    return rows


@pytest.mark.parametrize("rows", [1000, -1])
@pytest.mark.parametrize("seed", [3, 60, 99])
@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_velocities_per_impulse(base, seed, rows, monkeypatch):
    """``J v``, ``J M^-1 J'``, its mean diagonals, and ``M^-1 (impulse + J' x)``."""
    model, state, points, contact, on, M, impulse, response = operators(base, monkeypatch, rows, seed)
    J = rows_of(model, state, points, contact, on)
    whole, moved = np.concatenate(J), on.jacobian.of(state.velocity)
    G = whole @ np.linalg.solve(M, whole.T)
    x = np.random.default_rng(1).normal(size=len(whole))
    parts = np.split(x, np.cumsum([len(row) for row in J])[:-1])
    f = np.zeros(response.size)
    for lever, part in zip(on.levers, parts, strict=True):
        f[lever.span] += lever.along(part)

    def seen(V):
        return np.concatenate([lever.of(V) for lever in on.levers]).astype(float)

    hair = 1e-11 * np.abs(G).max()
    assert np.abs(seen(moved) - whole @ state.velocity).max() < 1e-12
    assert np.abs(seen(response.free) - whole @ np.linalg.solve(M, impulse)).max() < hair
    assert np.abs(seen(response.velocities(f)) - G @ x).max() < hair
    assert np.abs(response.change(f).astype(float) - np.linalg.solve(M, impulse + whole.T @ x)).max() < hair
    for lever, row in zip(on.levers, J, strict=True):
        own = np.trace(row @ np.linalg.solve(M, np.transpose(row))) / len(row)
        assert abs(response.mean_diagonal(lever) - own) < 1e-11 * own


@pytest.mark.parametrize("rows", [1000, -1])
@pytest.mark.parametrize("seed", [3, 60, 99])
@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_newton_systems(base, seed, rows, monkeypatch):
    """``y = f - K G y`` with matrices ``K`` that are not symmetric; ``V = G y``."""
    *_, on, _, _, response = operators(base, monkeypatch, rows, seed)
    rng, spans = np.random.default_rng(2), {lever.span.start: lever.span for lever in on.levers}
    blocks = [(span, _stiffness(rng, span.stop - span.start)) for _, span in sorted(spans.items())]
    K = np.zeros((response.size, response.size))
    for span, block in blocks:
        K[span, span] = block
    f = rng.normal(size=response.size)
    G = np.stack([response.velocities(one) for one in np.eye(response.size)]).astype(float)
    V, y = response.newton(blocks)(f)
    wanted = np.linalg.solve(np.eye(len(f)) + K @ G, f)
    assert np.abs(V.astype(float) - G @ wanted).max() < 1e-9 * np.abs(G @ wanted).max()
    assert y is None or np.abs(y - wanted).max() < 1e-9 * np.abs(wanted).max()


def _stiffness(rng, size):
    """Positive definite and not symmetric."""
    B, C = rng.normal(size=(2, size, size))
    return B @ B.T + 0.2 * (C - C.T)
