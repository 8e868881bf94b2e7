"""Runs with laws and contacts: the ledger, events, files, pictures and rollouts."""

import json
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring, Law
from fallingcat.errors import FileError, ModelError
from fallingcat.simulation import Rosenbrock, SciPy
from fallingcat.simulation.problem.problem import Problem
from fallingcat.studies.hoppers import EnergyController, PolarSpring, RadialDamper, RadialSpring

FLOOR = fc.contact.CompliantFloor(("foot",), stiffness=(1e4, 1e4), damping=(1e3, 1e3), friction=None)


def hopping():
    """EXP VI of [Feurstein]: robot, state, laws."""
    hopper = fc.robots.revolute_hopper()
    spring = RadialSpring(2200.0, 0.1411)
    laws = [spring, RadialDamper(20.0), EnergyController(10.0, 2.8382, spring), PolarSpring(6.0)]
    pose = hopper.base.element(np.array([2.7676, 0.2574, -2.5243]))
    return hopper, hopper.state(pose=pose, joints=[1.7802], twist=[-0.1919, 0.1263, 0.3301]), laws


@pytest.fixture(scope="module")
def hop():
    hopper, state, laws = hopping()
    return fc.simulate(hopper, state, 1.0, laws, FLOOR)


# the ledger


def test_the_ledger_balances(hop):
    assert hop.status == "finished"
    assert hop.energy_residual < 1e-8
    energy = sum(hop.energies())
    gap = energy - energy[0] - hop.ledger.works.sum(axis=1)
    assert np.abs(gap).max() < 1e-7


def test_the_radial_laws_move_only_the_joints(hop):
    for port in ("radial spring", "radial damper", "energy controller"):
        column = hop.ledger.ports.index(port)
        assert not hop.ledger.base[:, column].any()
        assert not hop.port_forces[port][:, :3].any()
    assert np.abs(hop.port_forces["polar spring"][:, :2]).max() < 1e-14  # a torque on the base, no force
    assert np.abs(hop.port_forces["polar spring"][:, 2]).max() > 0.1


def test_joint_work_is_that_of_the_laws(hop):
    ours = [hop.ledger.ports.index(law.name) for law in hop.problem.laws]
    np.testing.assert_array_equal(hop.joint_work(), hop.ledger.joints[:, ours].sum(axis=1))
    assert abs(hop.joint_work()[-1] - hop.ledger.joints[-1].sum()) > 0.1  # the floor acts on the joints as well


def test_the_springs_work_is_its_energy(hop):
    spring = hop.problem.laws[0]
    stored = np.array([spring.energy(hop.model, s) for s in hop.states])
    np.testing.assert_allclose(hop.ledger.work("radial spring"), stored[0] - stored, atol=1e-8)


def test_an_independent_integrator_agrees(hop):
    """SciPy's LSODA to the first lift-off, from the same start."""
    lift = next(e.time for e in hop.events if "lift-off" in e.name)
    hopper, state, laws = hopping()
    other = fc.simulate(hopper, state, lift + 1e-3, laws, FLOOR, integrator=SciPy("LSODA", 1e-9, 1e-11), dt=1e-3)
    times = [e.time for e in other.events][:2]
    np.testing.assert_allclose(times, [e.time for e in hop.events][:2], atol=1e-6)


def test_power_over_time_is_work(cat_with_damper):
    run = cat_with_damper
    power = np.einsum("ij,ij->i", run.port_forces["joint dampers"][:, 6:], run.rates)
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(run.times))])
    np.testing.assert_allclose(
        run.ledger.work("joint dampers"), work, rtol=1e-3, atol=1e-9
    )  # midpoints against trapezoids
    assert (np.diff(run.ledger.work("joint dampers")) <= 0.0).all()
    assert run.energy_residual < 1e-4


@pytest.fixture(scope="module")
def cat_with_damper():
    cat = fc.robots.two_cylinder_cat()
    start = cat.state(joints=[0.4, 0.3], rates=[1.0, -0.5])
    return fc.simulate(cat, start, 0.2, [JointSpring(0.3), JointDamper(0.01)], dt=2e-3)


def test_a_controller_is_a_port_too():
    cat = replace(fc.robots.two_cylinder_cat(), gravity=np.zeros(3))
    pull = lambda t, s: np.array([0.02 * np.sin(9 * t), -0.01])  # noqa: E731
    for integrator, bound in (("momentum", 2e-4), ("rkmk4", 1e-9)):
        run = fc.simulate(cat, cat.neutral(), 0.3, pull, integrator=integrator, dt=1e-3)
        assert run.ledger.ports == ("controller",)
        assert run.energy_residual < bound


# contact


def test_a_body_rests_on_the_floor_with_its_weight():
    body = fc.robots.free_body()
    floor = fc.contact.CompliantFloor((body.link_names[0],), (2e4, 2e4), (300.0, 300.0), friction=0.5)
    pose = np.eye(4)
    pose[2, 3] = 0.01
    held = fc.simulate(body, body.state(pose=pose), 2.0, contact=floor)
    assert held.status == "finished"
    push = held.port_forces["floor normal"][-1]
    np.testing.assert_allclose(push[:3], [0.0, 0.0, 9.81 * body.mass], rtol=1e-6, atol=1e-8)
    assert held.poses[-1, 2, 3] == pytest.approx(-9.81 * body.mass / 2e4, rel=1e-6)


@pytest.mark.parametrize("friction", [0.2, 0.9])
def test_a_block_on_a_slope_slides_beyond_the_cone(friction):
    """Gravity tilted by 30 degrees: tan(30) = 0.577 lies between."""
    tilt = np.radians(30.0)
    g = 9.81 * np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    block = replace(fc.robots.free_body(), gravity=g)
    name = block.link_names[0]
    floor = fc.contact.CompliantFloor((name,), (1e5, 1e5), (2e3, 2e3), friction=friction, normal=(0.0, 0.0, 1.0))
    pose = np.eye(4)
    pose[2, 3] = -9.81 * block.mass * np.cos(tilt) / 1e5  # at rest on it
    run = fc.simulate(block, block.state(pose=pose), 1.0, contact=floor)
    x, v = run.poses[-1, 0, 3], (run.poses[-1, :3, :3] @ run.twists[-1, :3])[0]
    if friction > np.tan(tilt):
        assert abs(x) < 2e-3
        assert abs(v) < 1e-6
        assert run.energy_residual < 1e-5  # it hardly moves: little is turned over
    else:
        a = 9.81 * (np.sin(tilt) - friction * np.cos(tilt))
        assert v == pytest.approx(a, rel=1e-2)
        assert run.energy_residual < 1e-6


def test_friction_stays_in_its_cone(hop):
    hopper, state, laws = hopping()
    floor = replace(FLOOR, friction=0.3)
    run = fc.simulate(hopper, state, 0.5, laws, floor)
    J = np.array([fc.jacobian(hopper, s, "foot", "mixed")[:2] for s in run.states])
    for name, along in (("floor normal", 1), ("floor tangential", 0)):
        F = run.port_forces[name]
        world = np.array([np.linalg.lstsq(j.T, f, rcond=None)[0] for j, f in zip(J, F, strict=True)])
        np.testing.assert_allclose(world[:, 1 - along], 0.0, atol=1e-8)
        if along:
            normal = world[:, 1]
        else:
            assert (np.abs(world[:, 0]) <= 0.3 * normal + 1e-9).all()
            assert (np.abs(world[:, 0]) > 0.29 * normal).any()


def test_floors_refuse_nonsense():
    with pytest.raises(ModelError, match="not negative"):
        fc.contact.CompliantFloor(("foot",), (-1.0, 1.0), (1.0, 1.0))
    with pytest.raises(ModelError, match="tangential damping"):
        fc.contact.CompliantFloor(("foot",), (1.0, 1.0), (1.0, 0.0), friction=0.5)
    hopper, state, laws = hopping()
    with pytest.raises(ModelError, match="toe"):
        fc.simulate(hopper, state, 0.1, laws, replace(FLOOR, points=("toe",)))
    with pytest.raises(ModelError, match="same name"):
        fc.simulate(hopper, state, 0.1, [laws[0], laws[0]])
    with pytest.raises(ModelError, match=r"a controller is a force law, .* not 'spring'"):
        fc.simulate(hopper, state, 0.1, ["spring"])


# events


def test_guards_are_located_and_do_not_fire_twice(hop):
    heights = [fc.link_pose(hop.model, hop.at(e.time), "foot")[1, 3] for e in hop.events]
    np.testing.assert_allclose(heights, 0.0, atol=1e-9)
    names = [e.name for e in hop.events]
    assert all(a != b for a, b in pairwise(names))
    times = np.array([e.time for e in hop.events])
    assert (np.diff(times) > 0.0).all()


def test_events_come_in_their_order():
    ball = fc.robots.free_body()
    marks = [fc.Event(f"z={z}", lambda t, s, z=z: s.pose[2, 3] - z, -1) for z in (-0.3, -0.1, -0.2)]
    run = fc.simulate(ball, ball.neutral(), 1.0, events=marks, dt=0.5)
    assert [e.name for e in run.events] == ["z=-0.1", "z=-0.2", "z=-0.3"]
    np.testing.assert_allclose([e.time for e in run.events], np.sqrt(2 * np.array([0.1, 0.2, 0.3]) / 9.81), atol=2e-10)


def test_no_event_of_one_instant_is_lost():
    """Two at the same height, and one a moment (less than events are told apart by) below."""
    ball = fc.robots.free_body()
    heights = {"one": -0.1, "two": -0.1, "three": -0.1 - 1e-10}
    marks = [fc.Event(name, lambda t, s, z=z: s.pose[2, 3] - z, -1) for name, z in heights.items()]
    run = fc.simulate(ball, ball.neutral(), 0.3, events=marks, dt=0.05)
    assert [e.name for e in run.events] == ["one", "two", "three"]


def test_an_event_at_a_touchdown_is_reported_too():
    body = fc.robots.free_body()
    pose = np.eye(4)
    pose[2, 3] = 0.05
    floor = fc.contact.CompliantFloor((body.link_names[0],), (2e4, 2e4), (300.0, 300.0))
    down = fc.Event("down", lambda t, s: s.pose[2, 3], -1)
    run = fc.simulate(body, body.state(pose=pose), 0.12, contact=floor, events=[down])
    assert sorted(e.name for e in run.events)[:2] == ["down", "touchdown body"]


@dataclass(frozen=True)
class Tether(Law):
    """Pulls the base to the origin: nothing at the neutral state."""

    name: str = "tether"

    def forces(self, model, t, state, touching):
        from fallingcat.arrays import concatenate

        pull = -20.0 * (state.pose[:3, :3].T @ state.pose[:3, 3])
        return concatenate([pull, np.zeros(model.nv - 3)])


def test_a_law_that_acts_on_the_base_somewhere_is_no_free_flight():
    cat = replace(fc.robots.two_cylinder_cat(), gravity=np.zeros(3))
    start = cat.state(twist=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(cat, start, 0.3, Tether())
    assert run.integrator == "rkmk4"
    assert run.twists[-1, 0] < 0.9
    assert run.energy_residual < 1e-8
    with pytest.raises(ModelError, match="'tether' pulls on the base"):
        fc.simulate(cat, start, 0.3, Tether(), integrator="momentum")


@dataclass(frozen=True)
class Flutter(fc.contact.Contact):
    """A contact that can never make up its mind."""

    ports = ()

    def begin(self, model, state):
        return (0,), np.zeros(0)

    def touching(self, mode):
        return frozenset()

    def forces(self, model, mode, state, memory, applied):
        return {}

    def guards(self, model, mode, state, memory, applied):
        return -1.0 - 0.0 * state.rates[:1]

    def jump(self, model, mode, guard, state, memory, applied):
        return fc.contact.Jump("flip", (1 - mode[0],), state, memory)


def test_chattering_is_reported():
    cat = fc.robots.two_cylinder_cat()
    run = fc.simulate(cat, cat.neutral(), 1.0, contact=Flutter(), integrator="rkmk4")
    assert "chatter" in run.status
    assert run.times[-1] < 1e-3


@dataclass(frozen=True)
class Breaking(Law):
    name: str = "breaking"

    def forces(self, model, t, state, touching):
        from fallingcat.arrays import concatenate, less, where

        pull = where(less(t, 0.05), 0.0 * t, 1e300 * (1e300 + t))
        return concatenate([np.zeros(model.m), np.reshape(pull, 1), np.zeros(model.n - 1)])


@pytest.mark.parametrize("integrator", ["rkmk4", "rosenbrock", "semi_implicit"])
def test_a_law_that_breaks_stops_the_run(integrator):
    cat = fc.robots.two_cylinder_cat()
    run = fc.simulate(cat, cat.neutral(), 0.2, Breaking(), integrator=integrator, dt=0.01)
    assert run.status.startswith("stopped after 0.0")
    assert 0.03 < run.times[-1] < 0.07
    assert np.isfinite(run.poses).all()


# between samples, files, pictures


def test_states_between_samples():
    cat = fc.robots.two_cylinder_cat()
    start = cat.state(joints=[0.4, 0.3], twist=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], rates=[1.0, -0.5])
    fine = fc.simulate(cat, start, 0.4, dt=1e-3)
    errors = []
    for step, t in ((100, 0.25), (50, 0.225)):  # in the middle of an interval
        coarse = replace(
            fine, **{name: getattr(fine, name)[::step] for name in ("times", "poses", "joints", "twists", "rates")}
        )
        errors.append(np.abs(coarse.at(t).pose - fine.at(t).pose).max())
    assert errors[1] < errors[0] / 10  # order 4
    with pytest.raises(ModelError, match="outside"):
        fine.at(0.5)


@pytest.mark.parametrize("suffix", ["npz", "nc"])
def test_save_and_load(hop, tmp_path, suffix):
    if suffix == "nc":
        pytest.importorskip("xarray")
    path = tmp_path / f"run.{suffix}"
    hop.save(path)
    again = fc.Trajectory.load(path, hop.model, hop.problem)
    for name in ("times", "poses", "joints", "twists", "rates", "memory", "forces"):
        np.testing.assert_array_equal(getattr(again, name), getattr(hop, name))
    assert (again.modes, again.events, again.status) == (hop.modes, hop.events, hop.status)
    assert again.energy_residual == hop.energy_residual
    alone = fc.Trajectory.load(path, hop.model)
    np.testing.assert_array_equal(alone.ledger.works, hop.ledger.works)
    for ask in (lambda: alone.forces, lambda: alone.touching, alone.joint_work):
        with pytest.raises(ModelError, match="give problem="):
            ask()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileError, match="no trajectory"):
        fc.Trajectory.load(path, hop.model)
    with pytest.raises(FileError, match=r"\.npz or \.nc"):
        hop.save(tmp_path / "run.txt")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_dataset_has_names_and_units(hop):
    pytest.importorskip("xarray")
    data = hop.to_xarray()
    assert data["time"].attrs["units"] == "s"
    assert list(data["joint"].values) == ["knee"]
    works = data["joint_work"] + data["base_work"]
    np.testing.assert_array_equal(works.sel(port="floor normal"), hop.ledger.work("floor normal"))


def test_pages_say_what_they_show(hop, tmp_path):
    page = hop.animate("joints", "rates", "forces", "energies", "works", "momenta", "center")
    kinds = [block.data()["kind"] for block in page.blocks]
    assert kinds[0] == "scene"
    charts = [block.data() for block in page.blocks[1:]]
    assert {(c["title"], c["unit"]) for c in charts} >= {("joints", "rad"), ("mechanical energy", "J")}
    assert all(c["unit"] and c["lines"] for c in charts)
    json.dumps(charts, allow_nan=False)
    hop.plot("works").write(tmp_path / "run.html")
    with pytest.raises(ModelError, match="series is one of"):
        hop.plot("speed")


# many at once


def test_a_rollout_is_many_simulations():
    cat = fc.robots.two_cylinder_cat()
    rng = np.random.default_rng(3)
    starts = [
        cat.state(joints=rng.normal(size=2), twist=rng.normal(size=6), rates=rng.normal(size=2)) for _ in range(13)
    ]
    law = JointDamper(0.02)
    many = fc.rollout(cat, starts, 0.05, law, dt=5e-3, every=5, threads=2)
    assert many.times.tolist() == [0.0, 0.025, 0.05]
    assert many.finite.all()
    for i in (0, 7, 12):
        one = fc.simulate(cat, starts[i], 0.05, law, integrator="rkmk4", dt=5e-3)
        np.testing.assert_allclose(many.poses[-1, i], one.poses[-1], atol=1e-13)
        np.testing.assert_allclose(many.rates[-1, i], one.rates[-1], atol=1e-13)
        np.testing.assert_allclose(many.works[-1, i], one.ledger.works[-1], atol=1e-15)


def test_rollouts_touch_the_floor():
    hopper, state, laws = hopping()
    many = fc.rollout(hopper, [state, state], 0.17, laws, FLOOR, integrator=Rosenbrock(None), dt=2e-5)
    one = fc.simulate(hopper, state, 0.17, laws, FLOOR)
    np.testing.assert_allclose(many.poses[-1, 0], one.poses[-1], atol=2e-3)
    np.testing.assert_array_equal(many.poses[-1, 0], many.poses[-1, 1])


def test_rollouts_refuse_what_they_cannot_compile():
    cat = fc.robots.two_cylinder_cat()
    with pytest.raises(ModelError, match="force laws"):
        fc.rollout(cat, [cat.neutral()], 0.1, lambda t, s: np.zeros(2))
    with pytest.raises(ModelError, match="no state"):
        fc.rollout(cat, [], 0.1)


# a robot with four feet


@pytest.fixture(scope="module")
def standing():
    dog = fc.robots.quadruped()
    feet = tuple(frame.name for frame in dog.frames)
    floor = fc.contact.CompliantFloor(feet, (2e4, 2e4), (300.0, 300.0), friction=0.8)
    crouch = np.array([0.0, 0.6, -1.2] * 4)
    pose = np.eye(4)
    pose[2, 3] = 0.36
    laws = [JointSpring(200.0, tuple(crouch)), JointDamper(4.0)]
    return fc.simulate(dog, dog.state(pose=pose, joints=crouch), 0.15, laws, floor, integrator="rosenbrock")


def test_four_feet_land_at_once(standing):
    assert len({event.time for event in standing.events[:4]}) == 1
    assert standing.touching[-1] == {frame.name for frame in standing.model.frames}
    assert standing.energy_residual < 1e-6


@pytest.mark.slow
def test_a_large_robot_is_differenced_to_the_same_motion(standing):
    model, problem = standing.model, standing.problem
    other = fc.simulate(
        model, standing.state(0), 0.15, list(problem.laws), problem.contact, integrator="rkmk4", dt=5e-5, every=100
    )
    np.testing.assert_allclose(other.poses[-1], standing.poses[-1], atol=2e-7)


def test_a_plain_controller_with_hard_contacts_is_the_same_motion():
    """The contact's own kernel stands in where a controller in plain Python keeps the step from being compiled."""
    body = fc.robots.free_body()
    pose = np.eye(4)
    pose[2, 3] = 0.1
    start = body.state(pose=pose, twist=[1.0, 0.3, 0.0, 0.0, 0.0, 0.0])
    hard = fc.contact.HardContacts((body.link_names[0],), friction=0.4)
    free, asked = (fc.simulate(body, start, 0.4, force, hard) for force in (None, lambda t, s: np.zeros(6)))
    assert [event.name for event in free.events] == [event.name for event in asked.events]
    np.testing.assert_allclose(free.poses[-1], asked.poses[-1], atol=1e-9)  # as far as events are located


def test_a_contact_that_has_the_same_name_is_refused():
    cat = fc.robots.two_cylinder_cat()
    with pytest.raises(ModelError, match="frozen dataclass"):
        fc.simulate(cat, cat.neutral(), 0.1, contact="floor")


def test_adaptive_steps_are_at_most_dt_to_the_end():
    """The last steps once grew to what was left of the run."""
    cat = fc.robots.two_cylinder_cat()
    run = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.1, integrator=Rosenbrock(1e-2), dt=0.03)
    assert np.diff(run.times).max() <= 0.03 * (1.0 + 1e-12)


def test_works_that_have_the_same_name_are_refused():
    class Push(fc.control.Law):
        name = "controller"

        def forces(self, model, t, state, touching=frozenset()):
            return np.zeros(model.nv)

    cat = fc.robots.two_cylinder_cat()
    problem = Problem(cat, (Push(),))
    with pytest.raises(ModelError, match="two things that act are named 'controller'"):
        replace(problem, controller=lambda t, state: np.zeros(2))


def test_a_trajectory_prints_itself_in_one_line():
    run = fc.simulate(fc.robots.two_cylinder_cat(), fc.robots.two_cylinder_cat().neutral(), 0.01)
    assert repr(run) == "<Trajectory of 'two_cylinder_cat': 0.01 s, 11 samples, momentum, finished>"


def test_columns_of_a_table_have_axes_and_units():
    hopper = fc.robots.revolute_hopper()
    names = list(fc.simulate(hopper, hopper.neutral(), 2e-3).to_dataframe().columns)[:7]
    assert names == [
        "base x (m)",
        "base y (m)",
        "base angle (rad)",
        "knee (rad)",
        "base velocity x (m/s)",
        "base velocity y (m/s)",
        "base angular velocity z (rad/s)",
    ]


@pytest.mark.parametrize("external", [False, True])
def test_what_joints_do_beside_a_function_is_compiled_and_the_same(external):
    """Springs, damping, dry friction, stops and drive limits, at speeds and forces on both sides of the limits."""
    dog, rng = fc.robots.quadruped(), np.random.default_rng(1)
    own = fc.model.Passive(damping=0.1, friction=0.3, stiffness=2.0, rest=0.1)
    limits = fc.model.Limits(-0.4, 0.4, velocity=3.0, effort=2.0)
    dog = replace(dog, joints=tuple(replace(joint, passive=own, limits=limits) for joint in dog.joints))
    forces = rng.normal(scale=3.0, size=dog.nv if external else dog.n)
    problem = Problem(dog, fc.control.passive(dog), None, lambda t, state: forces, external=external)
    for _ in range(5):
        state = dog.random_state(rng)
        state = state._replace(rates=2.0 * state.rates)
        got, expected = problem.applied((), 0.1, state), problem._applied(frozenset(), 0.1, state, forces)
        assert list(got) == list(expected)
        for port, force in expected.items():
            np.testing.assert_allclose(got[port], force, rtol=1e-12, atol=1e-12, err_msg=port)


def test_a_function_that_is_too_stiff_for_steps_is_reported():
    """And a robot that has blown up is not said to have no inertia.  Of noise nobody knows how stiff it is."""
    arm, rng = fc.robots.planar_arm(), np.random.default_rng(0)
    start, about = arm.state(joints=[0.1, 0.2, 0.3]), {"integrator": "implicit", "dt": 1e-2}
    assert fc.simulate(arm, start, 1.0, lambda t, s: -1e4 * s.rates, **about).status == "finished"
    run = fc.simulate(arm, start, 1.0, lambda t, s: -1e4 * s.rates + 1e-9 * rng.normal(size=3), **about)
    assert (
        "no longer finite: forces of a function are held or looked at in steps, take smaller ones, or a law"
        in run.status
    )


def test_states_of_a_run_are_a_sequence():
    cat = fc.robots.two_cylinder_cat()
    run = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.01)
    assert len(run.states) == len(run)
    for found, expected in zip(run.states[-1], run.state(-1), strict=True):
        np.testing.assert_array_equal(found, expected)
