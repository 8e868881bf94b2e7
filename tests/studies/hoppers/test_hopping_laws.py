"""The hopping laws of [Feurstein] 4.1.5: their Jacobians are rates, and radial laws leave the base alone."""

from itertools import pairwise

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.studies.hoppers import (
    EnergyController,
    LockedPolarSpring,
    PolarSpring,
    RadialDamper,
    RadialSpring,
    virtual_leg,
)

STANCE, FLIGHT = frozenset({"foot"}), frozenset()
HOPPERS = [fc.robots.revolute_hopper(), fc.robots.prismatic_hopper()]


def long_leg():
    """A planar chain of three rods on a trunk; the tip of the last one is the foot."""
    rod = fc.Body.from_points([(0.3, (0.05, 0.0, 0.0)), (0.1, (0.1, 0.02, 0.0))])
    at = np.eye(4)
    at[0, 3] = 0.1
    names = ("trunk", "thigh", "shank", "toe")
    joints = tuple(
        fc.Joint(f"to_{child}", fc.joints.Revolute((0.0, 0.0, 1.0)), parent=parent, child=child, placement=at)
        for parent, child in pairwise(names)
    )
    return fc.Model("long leg", fc.lie.SE2(), tuple(fc.Link(name, rod) for name in names), joints), "toe"


def cases():
    for model in HOPPERS:
        for seed in range(3):
            rng = np.random.default_rng(seed)
            state = model.random_state(rng)
            yield model, state._replace(joints=0.1 + np.abs(state.joints)), "foot"


@pytest.mark.parametrize(("model", "state", "foot"), list(cases()))
def test_jacobians_are_rates(model, state, foot):
    leg = virtual_leg(model, state, foot)
    h = 1e-6
    ahead, behind = (virtual_leg(model, fc.dynamics.displace(model, state, s * state.velocity), foot) for s in (h, -h))
    assert leg.radial @ state.velocity == pytest.approx((ahead.length - behind.length) / (2 * h), abs=1e-8)
    turn = (ahead.angle - behind.angle + np.pi) % (2 * np.pi) - np.pi
    assert leg.polar @ state.velocity == pytest.approx(turn / (2 * h), abs=1e-7)


@pytest.mark.parametrize(("model", "state", "foot"), list(cases()))
def test_radial_laws_move_the_joints_only(model, state, foot):
    spring = RadialSpring(2200.0, 0.1, foot)
    for law in (spring, RadialDamper(20.0, "always", foot), EnergyController(10.0, 2.0, spring)):
        forces = law.forces(model, 0.0, state, STANCE)
        assert not forces[: model.m].any()
        assert forces[model.m :].any()


@pytest.mark.parametrize(("model", "state", "foot"), list(cases()))
def test_the_polar_law_turns_the_base_without_pushing_it(model, state, foot):
    forces = PolarSpring(6.0, 0.3).forces(model, 0.0, state, STANCE)
    leg = virtual_leg(model, state, foot)
    torque = -6.0 * leg.angle - 0.3 * (leg.polar @ state.velocity)
    np.testing.assert_allclose(forces[:2], 0.0, atol=1e-12)
    assert forces[2] == pytest.approx(torque, rel=1e-12)  # the whole robot turns the leg one to one


@pytest.mark.parametrize(("model", "state", "foot"), list(cases()))
def test_the_locked_polar_law(model, state, foot):
    """Its angle's rate is the locked angular velocity, and its force on the base is its torque."""
    reference = tuple(0.5 * state.joints)
    law = LockedPolarSpring(6.0, angle=0.2, reference=reference)
    forces = law.forces(model, 0.0, state, STANCE)
    angle = np.arctan2(state.pose[1, 0], state.pose[0, 0]) + fc.formulations.locked_angle(
        model, state.joints, np.array(reference)
    )
    away = (angle - 0.2 + np.pi) % (2 * np.pi) - np.pi
    assert forces[2] == pytest.approx(-6.0 * away, rel=1e-9)
    np.testing.assert_allclose(forces[model.m :], forces[2] * fc.connection(model, state)[2], rtol=1e-12)
    h = 1e-6
    shift = fc.formulations.locked_angle(
        model, state.joints + h * state.rates, np.array(reference)
    ) - fc.formulations.locked_angle(model, state.joints - h * state.rates, np.array(reference))
    rate = state.twist[2] + shift / (2 * h)
    assert rate == pytest.approx(fc.locked_velocity(model, state)[2], abs=1e-7)


def test_the_spring_force_is_the_slope_of_its_energy():
    model = HOPPERS[0]
    state = model.random_state(np.random.default_rng(4))
    spring = RadialSpring(2200.0, 0.1411)
    h = 1e-6
    for k in range(model.nv):
        d = h * np.eye(model.nv)[k]
        up, down = (spring.energy(model, fc.dynamics.displace(model, state, s * d)) for s in (1, -1))
        assert spring.forces(model, 0.0, state, FLIGHT)[k] == pytest.approx(-(up - down) / (2 * h), abs=1e-5)


def test_when_laws_act():
    model = HOPPERS[0]
    state = model.random_state(np.random.default_rng(1))
    assert not PolarSpring(6.0).forces(model, 0.0, state, FLIGHT).any()
    assert not RadialDamper(20.0).forces(model, 0.0, state, STANCE).any()
    assert RadialDamper(20.0).forces(model, 0.0, state, FLIGHT).any()
    with pytest.raises(ModelError, match="'never'"):
        RadialDamper(20.0, when="never").forces(model, 0.0, state, STANCE)
    with pytest.raises(ModelError, match="planar"):
        virtual_leg(fc.robots.cat(), fc.robots.cat().neutral(), fc.robots.cat().link_names[0])


def test_longer_legs_hop_too():
    model, foot = long_leg()
    assert model.n > 1
    state = model.random_state(np.random.default_rng(2))
    leg = virtual_leg(model, state, foot)
    h = 1e-6
    ahead, behind = (virtual_leg(model, fc.dynamics.displace(model, state, s * state.velocity), foot) for s in (h, -h))
    assert leg.radial @ state.velocity == pytest.approx((ahead.length - behind.length) / (2 * h), rel=1e-6, abs=1e-7)


# what the locked polar spring asks of a robot ---------------------------------------------------------------------


def wheels():
    """A trunk with two balanced reaction wheels: the locked angle is a sum of their angles, whatever the path."""
    disc = fc.Body.from_points([(0.2, (0.05, 0.0, 0.0)), (0.2, (-0.05, 0.0, 0.0))])
    joints = []
    for i, x in enumerate((0.1, -0.07)):
        at = np.eye(4)
        at[0, 3] = x
        joints.append(fc.Joint(f"axle{i}", fc.joints.Revolute((0.0, 0.0, 1.0)), "trunk", f"wheel{i}", at))
    links = tuple(fc.Link(name, disc) for name in ("trunk", "wheel0", "wheel1"))
    return fc.Model("wheels", fc.lie.SE2(), links, tuple(joints), np.array([0.0, -9.81, 0.0]))


def locked_angle(model, state):
    return fc.formulations.locked_angle(model, state.joints)


def test_the_locked_angle_is_refused_on_every_path_where_it_depends_on_the_path():
    """Numbers, compiled functions, simulations of every integrator and rollouts: none runs silently."""
    model, foot = long_leg()
    law, state = LockedPolarSpring(6.0, foot=foot, when="always"), model.state(joints=[0.3, -0.2, 0.1])
    with pytest.raises(fc.NumericsError, match="depends on the path"):
        law.forces(model, 0.0, state, STANCE)
    with pytest.raises(fc.NumericsError, match="depends on the path"):
        fc.compile(model, locked_angle)
    named = "law 'polar spring' cannot act on 'long leg': the orientation of the locked velocity depends on the path"
    for integrator in (None, "rkmk4", "semi_implicit", "rosenbrock", "scipy"):
        with pytest.raises(ModelError, match=named):
            fc.simulate(model, state, 0.01, law, integrator=integrator)
    with pytest.raises(ModelError, match=named):
        fc.rollout(model, [state], 0.01, [RadialSpring(100.0, 0.2, foot), law])


def test_the_locked_angle_of_balanced_wheels():
    """It exists with two joints: `theta_bc = (I_1 q_1 + I_2 q_2) / I`, on numbers and compiled."""
    model = wheels()
    state = model.state(joints=[0.7, -1.9], rates=[2.0, 0.5])
    M = fc.mass_matrix(model, state)
    center = M[:2, 2] / M[0, 0]
    about_center = M[2, 2] - M[0, 0] * center @ center
    expected = M[2, 3:] @ state.joints / about_center
    assert fc.formulations.locked_angle(model, state.joints) == pytest.approx(expected, rel=1e-13)
    assert fc.compile(model, locked_angle)(*model.flatten(state)) == pytest.approx(expected, rel=1e-13)
    law = LockedPolarSpring(6.0, foot="wheel0", when="always")
    assert fc.simulate(model, state, 0.01, law, integrator="rkmk4").status == "finished"


@pytest.mark.parametrize("name", ["RadialSpring", "virtual_leg", "Leg"])
def test_old_names_keep_working_and_say_where_they_are(name):
    with pytest.warns(DeprecationWarning, match=rf"is now fallingcat\.studies\.hoppers\.{name};"):
        assert getattr(fc.control, name) is getattr(fc.studies.hoppers, name)
    with pytest.raises(AttributeError, match="no attribute 'PogoStick'"):
        fc.control.PogoStick  # noqa: B018
