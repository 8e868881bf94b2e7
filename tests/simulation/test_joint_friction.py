"""Dry friction in steps of ``implicit``: joints that are held exactly, slide, stop, and obey Coulomb's law together."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from random_robots import driven, following
from residuals import agree

import fallingcat as fc
from fallingcat.dynamics.forward import response
from fallingcat.lie import SE3, Trivial
from fallingcat.model import Body, Joint, Limits, Link, Model, Passive, Prismatic
from fallingcat.simulation import BatchSimulator
from fallingcat.simulation.integrators.implicit.integrator import Implicit

G = 9.81
BODY = Body(2.0, np.zeros(3), np.diag([0.5, 0.5, 0.5]))
STILL = 1e-9
"""rad/s or m/s: what counts as no motion at all"""


def rail(friction, slope=0.0, stiffness=0.0):
    """A body of 2 kg on a slope, along x."""
    joint = Joint(
        "rail", Prismatic((1.0, 0.0, 0.0)), "ground", "block", passive=Passive(stiffness=stiffness, friction=friction)
    )
    gravity = G * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    return Model("rail", Trivial(), (Link("ground", BODY), Link("block", BODY)), (joint,), gravity=gravity)


def rubbing(robot, friction):
    """The same robot with this friction in each of its joints, and without stops."""
    joints = [
        replace(j, passive=Passive(friction=float(f)), limits=Limits())
        for j, f in zip(robot.joints, friction, strict=True)
    ]
    return replace(robot, joints=tuple(joints))


def run(robot, state, duration, dt=1e-3, **options):
    return fc.simulate(robot, state, duration, integrator="implicit", dt=dt, **options)


# one joint, in closed form ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [-0.999, 0.0, 0.5, 0.999])
@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_a_load_below_friction_moves_nothing(share, dt):
    block = rail(3.0, slope=np.arcsin(share * 3.0 / (2.0 * G)))
    still = run(block, block.neutral(), 100 * dt, dt)
    assert still.status == "finished"
    assert np.abs(still.rates).max() < STILL
    assert np.abs(still.joints).max() < STILL
    creeps = fc.simulate(block, block.neutral(), 100 * dt, dt=dt, integrator="rkmk4")
    assert share == 0.0 or np.abs(creeps.rates).max() > 1e-6  # the law of the others does


def test_a_load_above_friction_moves_as_the_rest_of_it_does():
    block = rail(3.0, slope=0.4)
    slides = run(block, block.neutral(), 0.2)
    agree("speed", slides.rates[:, 0], (G * np.sin(0.4) - 1.5) * slides.times, 1e-12)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_block_that_slides_stops_in_time_and_stays(way):
    block = rail(3.0)
    stops = run(block, block.state(rates=[way * 0.3]), 0.4)
    rests = stops.times > 0.3 * 2.0 / 3.0 + 1e-3
    agree("slides", stops.rates[~rests, 0], way * np.maximum(0.3 - 1.5 * stops.times[~rests], 0.0), 1e-12)
    assert np.abs(stops.rates[rests]).max() < STILL
    assert abs(stops.joints[-1, 0] - way * 0.3**2 / 3.0) < 0.3 * 1e-3  # a step
    agree("work", stops.ledger.work("dry friction")[-1], -0.5 * 2.0 * 0.3**2, 1e-12)


def test_a_spring_loses_twice_friction_over_stiffness_in_every_half_swing():
    """Order 1: with half the step, what is missing halves."""
    block, loss = rail(1.0, stiffness=50.0), 2.0 * 1.0 / 50.0
    half = np.pi * np.sqrt(2.0 / 50.0)
    ends = {}
    for dt in (2e-4, 1e-4):
        swing = run(block, block.state(joints=[0.5]), 2.6 * half, dt)
        ends[dt] = np.array([swing.joints[swing.times < 1.5 * half].min(), swing.joints[swing.times > half].max()])
    exact = [-(0.5 - loss), 0.5 - 2.0 * loss]
    agree("amplitudes", 2.0 * ends[1e-4] - ends[2e-4], exact, 1e-5)
    rest = run(block, block.state(joints=[0.5]), 9.0)
    assert abs(rest.rates[-1, 0]) < STILL
    assert abs(50.0 * rest.joints[-1, 0]) <= 1.0


def test_a_load_that_grows_beyond_friction_breaks_the_joint_loose():
    block = rail(3.0)
    loose = run(block, block.neutral(), 1.0, laws=lambda t, state: np.array([6.0 * t]))
    moves = loose.times > 0.5 + 2e-3
    assert np.abs(loose.rates[~moves]).max() < 3e-2  # a step or two of 6 N/s
    agree("speed", loose.rates[-1, 0], 0.5 * 3.0 * 0.5**2, 1e-2)


# many joints --------------------------------------------------------------------------------------------------------


def coulomb(M, momentum, friction, dt):
    """The velocity with ``M v = momentum + dt f`` and Coulomb's law, by trying every case: the only one."""
    for signs in product((-1.0, 0.0, 1.0), repeat=len(friction)):
        s = np.array(signs)
        slides, v = s != 0.0, np.zeros(len(friction))
        push = (momentum - dt * s * friction)[slides]
        v[slides] = np.linalg.solve(M[np.ix_(slides, slides)], push)
        f = (M @ v - momentum) / dt
        if (v[slides] * s[slides] > 0.0).all() and (np.abs(f[~slides]) <= friction[~slides]).all():
            return v
    raise AssertionError("no case obeys Coulomb's law")


@pytest.mark.parametrize("seed", range(6))
def test_steps_obey_coulombs_law_in_all_joints_together(seed):
    rng = np.random.default_rng(seed)
    robot = fc.robots.random_tree(rng, 4, base=Trivial(), kinds=["revolute", "prismatic"])
    friction = rng.uniform(0.1, 8.0, 4)
    robot, dt = rubbing(robot, friction), 1e-2
    state = robot.random_state(rng)
    state = state._replace(rates=rng.choice([0.0, 0.02, 0.5], 4) * rng.normal(size=4))
    middle = robot.configuration.displace(state, 0.5 * dt * state.velocity)
    M, bias = fc.mass_matrix(robot, middle), fc.bias_forces(robot, middle)
    exact = coulomb(M, M @ state.rates - dt * bias, friction, dt)
    found = fc.simulate(robot, state, dt, integrator=Implicit(sweeps=8), dt=dt)
    agree("velocity after", found.rates[-1], exact, 1e-9)


@pytest.mark.parametrize("base", [Trivial(), SE3()])
@pytest.mark.parametrize("seed", range(3))
def test_friction_takes_energy_and_brings_robots_to_rest(seed, base):
    rng = np.random.default_rng(seed)
    robot = fc.robots.random_tree(rng, 6, base=base, kinds=["revolute", "prismatic"])
    robot = rubbing(replace(robot, gravity=np.zeros(3)), rng.uniform(0.5, 2.0, 6))
    slows = run(robot, robot.state(rates=rng.normal(0.0, 0.5, 6)), 3.0)
    work = slows.ledger.work("dry friction")
    assert np.diff(work).max() < 1e-3 * abs(work[-1])
    assert np.abs(slows.rates[-1]).max() < STILL


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_armature_resists_what_is_beyond_the_given_accelerations(seed, tied):
    rng = np.random.default_rng(seed)
    robot = driven(fc.robots.random_tree(rng, 6), rng)
    robot = following(robot, rng) if tied else robot
    state = robot.random_state(rng)
    forces, given, more = rng.normal(size=robot.nv), rng.normal(size=robot.n), rng.uniform(0.0, 1.0, robot.n)
    found = response(robot, state, forces, armature=more, given=given)
    extra = np.concatenate([np.zeros(robot.m), more * found.joint_accelerations])
    left = fc.mass_matrix(robot, state) @ found.acceleration + extra + fc.bias_forces(robot, state)
    agree("forces", left, forces, 1e-10)
    agree("beyond", found.acceleration[robot.m :] - given, found.joint_accelerations, 1e-10)


def test_a_batch_holds_what_friction_holds():
    block = rail(3.0, slope=0.1)
    simulator = BatchSimulator(block, [block.neutral(), block.state(rates=[0.1])])
    simulator.step(500)
    assert np.abs(simulator.state.rates).max() < STILL


def test_mujoco_holds_and_slides_alike():
    """Its friction loss is soft: it creeps, ours does not; both slide alike."""
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option gravity="{g} 0 -9" timestep="0.001"/><worldbody><body><joint name="rail" type="slide"
    axis="1 0 0" frictionloss="3"/><inertial pos="0 0 0" mass="2" diaginertia="0.5 0.5 0.5"/></body></worldbody>
    </mujoco>"""
    for pull in (1.2, 2.0):
        peer = mujoco.MjModel.from_xml_string(text.format(g=pull))
        data = mujoco.MjData(peer)
        mujoco.mj_step(peer, data, 500)
        block = replace(rail(3.0), gravity=np.array([pull, 0.0, -9.0]))
        ours = run(block, block.neutral(), 0.5).rates[-1, 0]
        assert abs(ours - max(0.0, pull - 1.5) * 0.5) < STILL
        assert abs(data.qvel[0] - ours) < 0.02


# default runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("contact", "integrator"), [(None, "implicit"), (("block",), "moreau")])
def test_default_runs_hold_what_sticks(contact, integrator):
    """Under a quarter of its friction, far above a floor too: at rest, and said to be."""
    robot = rail(friction=8.0 * G, slope=np.arcsin(1.0))
    floor = contact and fc.contact.HardContacts(contact, height=-5.0)
    held = fc.simulate(robot, robot.neutral(), 0.2, contact=floor)
    assert held.integrator == integrator
    assert held.status == "finished"
    assert np.abs(held.rates).max() < STILL


def test_weak_friction_leaves_the_default_as_it_is():
    robot = rail(friction=1e-4)
    assert fc.simulate(robot, robot.neutral(), 0.002).integrator != "implicit"
