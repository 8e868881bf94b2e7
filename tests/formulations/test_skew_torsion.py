"""Torsions of the passive and the coadjoint matrix are opposite three-forms; ranks of reduced matrices."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from oracles.motion import bracket
from random_robots import build, rng_of, robots
from residuals import agree

import fallingcat as fc


def coriolis(model, state, v, name):
    moving = state._replace(twist=v[: model.m], rates=v[model.m :])
    return fc.coriolis_matrix(model, moving, name)


def torsion(model, state, v, w, name):
    """`C(v) w - C(w) v - M [v, w]`."""
    M = fc.mass_matrix(model, state)
    given = coriolis(model, state, v, name) @ w - coriolis(model, state, w, name) @ v
    return given - M @ bracket(model, v, w)


def swept(model, state, u, v, w):
    """`2 sum m (w_u . (v x w) + ...)` over point masses that stand for the links."""
    total = 0.0
    for link in model.links:
        J = fc.jacobian(model, state, link.name)
        a, b, c = (J @ x for x in (u, v, w))
        for mass, r in points(link.body):
            va, vb, vc = (t[:3] + np.cross(t[3:], r) for t in (a, b, c))
            total += mass * (a[3:] @ np.cross(vb, vc) + b[3:] @ np.cross(vc, va) + c[3:] @ np.cross(va, vb))
    return 2.0 * total


def points(body):
    """Point masses with the mass, center and inertia of a body; some may be negative."""
    if not body.mass:
        return []
    second = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia  # sum m r r', about the center
    sizes, axes = np.linalg.eigh(second)
    found = [(body.mass, body.center)]
    for size, axis in zip(sizes, axes.T, strict=True):
        # pairs of points at a distance of 1 m from the center, which takes their mass
        found += [(0.5 * size, body.center + axis), (0.5 * size, body.center - axis), (-size, body.center)]
    return found


@given(recipe=robots(largest=8))
def test_passive_and_coadjoint_have_opposite_torsion(recipe):
    """And it is a three-form, so both have the geodesics of the Levi-Civita connection."""
    model, state = build(recipe)
    u, v, w = rng_of(recipe).normal(size=(3, model.nv))
    scale = max(1.0, np.abs(fc.mass_matrix(model, state)).max(initial=0.0)) * 10.0 * model.nv
    form = {
        name: [
            x @ torsion(model, state, y, z, name) for x, y, z in ((u, v, w), (v, w, u), (w, u, v), (v, u, w), (u, w, v))
        ]
        for name in ("passive", "coadjoint")
    }
    agree("opposite", np.array(form["passive"]), -np.array(form["coadjoint"]), 1e-11, scale)
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    agree("alternating", form["passive"] * signs, np.full(5, form["passive"][0]), 1e-11, scale)


@pytest.mark.parametrize("seed", range(6))
def test_the_torsion_by_points(seed):
    """Of rigid links; rotors of joints that turn about several axes add to it."""
    rng = np.random.default_rng(seed)
    base = (fc.lie.SE3(), fc.lie.SE2(), fc.lie.SO3())[seed % 3]
    model = fc.robots.random_tree(rng, 5, base=base)
    state, (u, v, w) = model.random_state(rng), rng.normal(size=(3, model.nv))
    wanted = swept(model, state, u, v, w)
    agree("torsion by points", u @ torsion(model, state, v, w, "passive"), wanted, 1e-12, max(10.0, abs(wanted)))


@pytest.mark.parametrize(
    ("planar", "ranks"), [(False, {"Gamma": 12, "Lq": 6, "B": 8}), (True, {"Gamma": 6, "Lq": 3, "B": 4})]
)
def test_ranks_between_two_branches(planar, ranks):
    rng, joints = np.random.default_rng(0), []
    links = [fc.robots.random_tree(rng, 1, kinds=["revolute"], planar=planar).links[0]]
    for branch in range(2):
        chain = fc.robots.random_tree(rng, 15, kinds=["revolute"], branching=0.0, planar=planar)
        rename = {f"link{i}": f"{branch}-{i}" if i else links[0].name for i in range(16)}
        links += [replace(link, name=rename[link.name]) for link in chain.links[1:]]
        joints += [
            replace(j, name=f"{branch}-{j.name}", parent=rename[j.parent], child=rename[j.child]) for j in chain.joints
        ]
    model = fc.Model("fork", chain.base, tuple(links), tuple(joints))
    rel = fc.reduced_equations(model, model.random_state(rng))
    found = {}
    for name in ranks:
        sizes = np.linalg.svd(getattr(rel, name)[:15, 15:], compute_uv=False)
        found[name] = int(np.count_nonzero(sizes > 1e-11 * sizes[0]))
    assert found == ranks
