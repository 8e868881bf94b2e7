"""`v_y = T v_x`, on random robots: inverses, rates, chains, forces, and the way back."""

import numpy as np
import pytest
from formulation_changes import changes
from hypothesis import given, settings
from random_robots import build, rng_of, robots
from residuals import agree

import fallingcat as fc

STEP = 1e-40
laws = pytest.mark.parametrize("law", ["inverse", "rate", "work", "jacobian", "back", "chain"])


def inverse(eom, change, rng, name):
    one = np.eye(len(change.T))
    agree(f"T T^-1 = 1: {name}", change.T @ change.inverse, one)
    agree(f"T^-1 T = 1: {name}", change.inverse @ change.T, one)


def rate(eom, change, rng, name):
    """`dT/dt` against `T` a moment later, which is made from poses and inertias there."""
    agree(f"dT/dt: {name}", change.T_dot, np.imag(change.at(1j * STEP)) / STEP)
    agree(f"T now: {name}", change.T, np.real(change.at(0.0)))
    back = change.inverted()
    agree(f"d(T^-1)/dt: {name}", back.T_dot, np.imag(back.at(1j * STEP)) / STEP, 1e-11)


def work(eom, change, rng, name):
    """Forces do the same work, energy is the same, accelerations belong to each other."""
    F, a = rng.normal(size=(2, len(eom.v)))
    agree(f"power: {name}", change.forces(F) @ change.velocity(eom.v), F @ eom.v)
    changed = eom.change(change)
    agree(f"kinetic energy: {name}", changed.v @ changed.M @ changed.v, eom.v @ eom.M @ eom.v)
    agree(f"forces: {name}", changed.forces(change.acceleration(a, eom.v)), change.forces(eom.forces(a)), 1e-11)
    motion = changed.forward(change.forces(F))
    size = np.linalg.cond(eom.M) * 1e-14 if len(eom.v) else 0.0
    agree(f"forward: {name}", motion, change.acceleration(eom.forward(F), eom.v), max(1e-11, size))


def jacobian(eom, change, rng, name):
    """[Traversaro] (21): the link's twist is the same."""
    J = fc.jacobian(eom.model, eom.state, eom.model.link_names[-1])
    agree(f"J v: {name}", change.jacobian(J) @ change.velocity(eom.v), J @ eom.v)


def back(eom, change, rng, name):
    """To rounding of its own terms: |T^-1| |T| is far from 1 for the momentum at the world's origin."""
    again = eom.change(change).change(change.inverted())
    T, Ti, turn = np.abs(change.T), np.abs(change.inverse), np.abs(change.T_dot)
    K, M = Ti @ T, np.abs(eom.M)
    sizes = {what: K.T @ np.abs(getattr(eom, what)) @ K for what in ("M", "C", "Mdot")}
    sizes |= {"g": K.T @ np.abs(eom.g), "v": K @ np.abs(eom.v)}
    for what in ("C", "Mdot"):
        sizes[what] = sizes[what] + 2.0 * (K.T @ M @ Ti @ turn @ K)
    for what, size in sizes.items():
        agree(f"and back, {what}: {name}", getattr(again, what), getattr(eom, what), 1e-13, scale=size.max(initial=0.0))


def chain(eom, change, rng, name):
    """Two steps are one; the second starts from what the first arrived at."""
    other = fc.changes.mixed(eom.model, eom.state)
    there = other.inverted().then(change)  # from mixed velocities to `change`'s
    stepwise, at_once = eom.change(other).change(there), eom.change(change)
    for what in ("M", "C", "g", "Mdot", "v"):
        agree(f"via mixed, {what}: {name}", getattr(stepwise, what), getattr(at_once, what), 1e-11)
    agree(f"then: {name}", other.then(there).T, change.T)
    agree(f"then, rate: {name}", other.then(there).T_dot, change.T_dot, 1e-11)


LAWS = {"inverse": inverse, "rate": rate, "work": work, "jacobian": jacobian, "back": back, "chain": chain}


@laws
@settings(max_examples=25)
@given(recipe=robots(largest=16))
def test_law(law, recipe):
    model, state = build(recipe)
    rng = rng_of(recipe)
    eom = fc.equations(model, state)
    for name, change in changes(model, state, rng).items():
        LAWS[law](eom, change, rng, name)


def test_a_chain_keeps_its_name_and_its_clock():
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    first, second = fc.changes.mixed(cat, state), fc.changes.inertial(cat, state)
    chain = first.inverted().then(second)
    assert chain.name == "inverse of mixed, then inertial"
    assert chain.base == second.base
    eom = fc.equations(cat, state).change(first).change(chain)
    assert eom.name == "mixed, then inverse of mixed, then inertial"
    assert eom.certify().passed
    blind = fc.VelocityChange(first.T, first.T_dot, first.inverse, "blind")
    assert blind.then(second).at is None
    assert blind.inverted().at is None


def test_representations_are_what_they_say():
    """[Traversaro] 2.4: body-fixed, mixed and inertial velocity of the base, from the motion of its pose."""
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(1))
    later = fc.dynamics.displace(cat, state, 1j * STEP * state.velocity).pose
    H, H_dot = state.pose, np.imag(later) / STEP
    spin = H_dot[:3, :3] @ H[:3, :3].T
    w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    eom, both = fc.equations(cat, state), (fc.changes.mixed, fc.changes.inertial)
    mixed, inertial = (eom.change(change(cat, state)).v[:6] for change in both)
    agree("mixed velocity", mixed, np.concatenate([H_dot[:3, 3], w]))
    agree("inertial velocity", inertial, np.concatenate([H_dot[:3, 3] - np.cross(w, H[:3, 3]), w]))
