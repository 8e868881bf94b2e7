"""Compliant contact between bodies: springs, dampers and friction, beside closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.object_scenes import G, at, gripper, squeezed, stack, table

import fallingcat as fc
from fallingcat.contact import BodyContacts, body_pairs
from fallingcat.model import combine, rigid_object
from fallingcat.model.shapes import Sphere

K = 1e4  # N/m


def bouncing(damping):
    """Speed (m/s) of 1 kg that falls on a spring and a damper, 0.12 s after it was 5 cm above them at -1 m/s."""

    def slope(t, y):
        return [y[1], -G + (max(0.0, -K * y[0] - damping * y[1]) if y[0] < 0.0 else 0.0)]

    return solve_ivp(slope, (0.0, 0.12), [0.05, -1.0], max_step=2e-5, rtol=1e-9).y[1, -1]


@pytest.mark.parametrize("damping", [pytest.param(0.0, marks=pytest.mark.slow), 20.0])
def test_a_ball_bounces_as_on_a_spring_to_first_order(damping):
    scene = combine({"table": table(), "ball": rigid_object(Sphere(0.05), mass=1.0)})
    touch = BodyContacts(body_pairs(scene), stiffness=K, damping=damping)
    start, errors = scene.state(joints=at(0.0, 0.0, 0.1), rates=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), []
    for dt in (2e-4, 1e-4):
        run = fc.simulate(scene, start, 0.12, contact=touch, dt=dt)
        errors.append(run.rates[-1, 2] - bouncing(damping))
        assert run.energy_residual < 1e-9
        assert "contacts gave" not in run.status
    assert abs(errors[1]) < 0.025
    assert 1.7 < errors[0] / errors[1] < 2.3


@pytest.mark.slow
def test_cubes_rest_at_the_depth_of_their_weight():
    scene, start, touch = stack(2, friction=0.5)
    touch = replace(touch, stiffness=K, damping=50.0)
    run = fc.simulate(scene, start, 1.0, contact=touch, dt=1e-3)
    sunk = (start.joints - run.state(-1).joints)[[2, 9]]
    assert np.allclose(sunk, [2.0 * G / (4.0 * K), 3.0 * G / (4.0 * K)], atol=1e-12)
    assert run.status == "finished"


@pytest.mark.slow
def test_a_cube_on_a_slope_is_held_by_springs_and_does_not_creep():
    tilt = 0.2
    scene, start, touch = stack(1, tilt, friction=0.5)
    run = fc.simulate(scene, start, 2.0, contact=replace(touch, stiffness=K, damping=50.0), dt=1e-3)
    pull, turn = G * np.sin(tilt), G * np.sin(tilt) * 0.05 / (4.0 * K * 0.05**2)
    assert run.state(-1).joints[0] == pytest.approx(pull / (4.0 * K) + 0.05 * turn, rel=5e-3)
    assert np.abs(run.rates[-1]).max() < 1e-12


@pytest.mark.slow
def test_a_cube_slides_down_a_slope_as_coulomb_says():
    tilt = 0.6
    scene, start, touch = stack(1, tilt, friction=0.5)
    run = fc.simulate(scene, start, 0.5, contact=replace(touch, stiffness=K, damping=50.0), dt=1e-3)
    last = (run.rates[-1, 0] - run.rates[250, 0]) / (run.times[-1] - run.times[250])
    assert last == pytest.approx(G * (np.sin(tilt) - 0.5 * np.cos(tilt)), rel=1e-3)


@pytest.mark.slow
def test_a_block_between_two_compliant_fingers_slips_at_the_limit():
    scene = gripper()
    touch = BodyContacts(body_pairs(scene, [("hand/l", "cube"), ("hand/r", "cube")]), stiffness=K, damping=20.0)
    start = scene.state(joints=[-0.04, 0.04, *at(0.0, 0.0, 0.0)])
    stays, falls = (
        fc.simulate(scene, start, 0.4, squeezed(share * 0.5 * G), contact=touch, dt=1e-3) for share in (1.002, 0.99)
    )
    assert abs(stays.rates[-1, 4]) < 1e-9
    assert (falls.rates[-1, 4] - falls.rates[200, 4]) / 0.2 == pytest.approx(-0.01 * G, rel=1e-2)


def test_springs_of_bodies_are_checked():
    pairs = body_pairs(gripper())
    with pytest.raises(fc.ModelError, match="beside a stiffness"):
        BodyContacts(pairs, damping=1.0)
    with pytest.raises(fc.ModelError, match="leave restitution out"):
        BodyContacts(pairs, stiffness=1e4, restitution=0.5)
    with pytest.raises(fc.ModelError, match="damping between bodies is not negative"):
        BodyContacts(pairs, stiffness=1e4, damping=-1.0)
    with pytest.raises(fc.ModelError, match="stiffness between bodies"):
        BodyContacts(pairs, stiffness=0.0)
