"""What is written outside of the library, in examples/extending, works as what is written inside."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flying_mass import flying_mass
from heun import Heun
from hunt_crossley import HuntCrossley
from saddle_joint import Saddle
from swinging_arm import SwingingArm

import fallingcat as fc
from fallingcat.testing import check_change, check_contact, check_integrator, check_joint

BALL = fc.robots.free_body()
ARM = str(Path(__file__).parents[2] / "examples" / "extending" / "swinging_arm.toml")
FLOOR = HuntCrossley(("body",), 1e5, 0.3, 0.5)


def thrown(height=0.2):
    """A ball over the ground."""
    pose = np.eye(4)
    pose[2, 3] = height
    return BALL.state(pose=pose, twist=[0.5, 0.0, 0.0, 0.1, 0.2, 0.3])


def thumbs():
    """A hand with two saddle joints."""
    return fc.robots.random_tree(np.random.default_rng(1), 4, kinds=[Saddle, "revolute"])


# by their laws ----------------------------------------------------------------------------------------------------


def test_a_saddle_joint():
    assert check_joint(Saddle).passed


@pytest.mark.parametrize("tolerance", [None, 1e-5])
def test_heuns_rule(tolerance):
    assert check_integrator(Heun(tolerance)).passed


def test_a_floor_of_hunt_and_crossley():
    assert check_contact(FLOOR, BALL, thrown(0.05)).passed


def test_a_change_of_velocity():
    free = [fc.robots.random_tree(np.random.default_rng(i), 3) for i in range(3)]
    report = check_change(flying_mass, free)
    assert report["flying apart"].holds


def test_a_study_of_an_arm():
    """Nothing in it knows hoppers, and its file is read as theirs are."""
    study = fc.studies.run(ARM)
    assert study.holds
    assert {row.name for row in study.rows if row.holds is None} == {"turn of the base"}
    assert "gap to the connection" in study.page().html()
    softer = fc.studies.load(ARM).with_parameters({"stiffness": 0.5})
    assert softer.other_experiment == "parameters were changed: stiffness"


def test_files_of_other_kinds_are_refused_by_name(tmp_path):
    _, text = Path(ARM).read_text(encoding="utf-8").split("\n", 1)  # without its comment
    wrong = {
        ('"arm"', '"leg"'): "kind: there is no kind of study 'leg': they are .*hopper, hopper-scan",
        ('"orbital_arm"', '"revolute_hopper"'): "robot: should be 'orbital_arm', not 'revolute_hopper'",
        ("stiffness", "stifness"): "there is no parameter 'stifness'; do you mean 'stiffness'",
        ('"base_turn"', '"hop_periods"'): "there is no measure 'hop_periods'",
    }
    for (old, new), words in wrong.items():
        (tmp_path / "mine.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(fc.FallingCatError, match=words):
            fc.studies.run(str(tmp_path / "mine.toml"), duration=0.1)


def test_two_kinds_of_one_name_are_an_error():
    with pytest.raises(fc.ModelError, match="there is a kind of study 'arm' already: SwingingArm"):

        @fc.studies.study_kind
        class Other(SwingingArm):
            pass


# by their use -----------------------------------------------------------------------------------------------------


def test_a_floor_that_declares_itself_stiff_gets_the_stiff_integrator():
    """It got rkmk4, with an energy residual of 2e-2: the default asked for the library's own class."""
    run = fc.simulate(BALL, thrown(), 0.6, contact=FLOOR)
    assert run.integrator == "rosenbrock"
    assert run.energy_residual < 1e-7
    assert [event.name for event in run.events][:2] == ["touchdown body", "lift-off body"]


@pytest.mark.parametrize("contact", [fc.contact.HardContacts(("body",)), fc.contact.CompliantFloor])
def test_contacts_say_whether_they_are_stiff(contact):
    assert contact.stiff == (contact is fc.contact.CompliantFloor)


def test_a_robot_with_saddles_does_what_robots_do():
    """Derivatives, kernels of them, certificates, other base links, and all of it together in a run."""
    hand = thumbs()
    state = hand.random_state(np.random.default_rng(2))
    a = np.random.default_rng(3).normal(size=hand.nv)
    forces = fc.compile(hand, fc.inverse_dynamics)(*hand.flatten(state), a)
    np.testing.assert_allclose(forces, fc.inverse_dynamics(hand, state, a), rtol=1e-12, atol=1e-12)
    by_forces = fc.forward_dynamics_derivatives(hand, state, forces).forces
    np.testing.assert_allclose(by_forces @ fc.mass_matrix(hand, state), np.eye(hand.nv), atol=1e-10)
    assert fc.equations(hand, state).change(flying_mass(hand, state)).certify().passed
    assert fc.formulations.certify_reduced(hand, state).passed
    turned = hand.reroot("link2")
    moved = fc.dynamics.reroot_state(hand, state, "link2")
    energy = fc.kinetic_energy(hand, state)
    assert fc.kinetic_energy(turned, moved) == pytest.approx(energy, rel=1e-12)


def test_all_of_them_in_one_run():
    hand = replace(thumbs(), gravity=np.array([0.0, 0.0, -9.81]))
    floor = HuntCrossley(hand.link_names, 1e4, 0.3, 0.5)
    pose = np.eye(4)
    pose[2, 3] = 2.0
    run = fc.simulate(hand, hand.state(pose=pose), 0.7, contact=floor, integrator=Heun(1e-6))
    assert run.status == "finished"
    assert any("touchdown" in event.name for event in run.events)
    assert run.energy_residual < 1e-6
