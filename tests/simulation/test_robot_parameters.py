"""Masses, inertias and friction of each robot of many: each moves as a single run of the robot with these numbers."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import CompliantFloor
from fallingcat.control import JointDamper, SampledController, SelfContact
from fallingcat.control.laws.carried_inertia import carried_inertia
from fallingcat.errors import ModelError
from fallingcat.model import Frame
from fallingcat.simulation import BatchSimulator, Implicit
from fallingcat.simulation.problem.robot_parameters import CARRIED_INERTIA, checked

COUNT = 3


def with_numbers(model, parameters, i):
    """The edited model of robot ``i``, through the constructors that users have."""
    links = []
    for link in model.links:
        own = {what: parameters.get(f"{link.name}.{what}") for what in ("mass", "center", "inertia")}
        links.append(replace(link, body=replace(link.body, **{k: x[i] for k, x in own.items() if x is not None})))
    return replace(model, links=tuple(links))


def numbers(model, rng, *links):
    """Other masses, centers and inertias of these links."""
    found = {}
    for link in model.links:
        if link.name in links:
            factors = rng.uniform(0.6, 1.6, COUNT)
            found[f"{link.name}.mass"] = link.body.mass * factors
            found[f"{link.name}.center"] = link.body.center + 0.01 * rng.normal(size=(COUNT, 3))
            found[f"{link.name}.inertia"] = factors[:, None, None] * link.body.inertia
    return found


def check_alike(many, singles):
    for i, one in enumerate(singles):
        for field in ("poses", "joints", "twists", "rates", "works"):
            expected = getattr(one, field)[:, 0]
            found = getattr(many, field)[:, i]
            np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max(initial=1.0), err_msg=field)
        np.testing.assert_allclose(many.residual[i], one.residual[0], atol=1e-10)


@pytest.fixture(scope="module")
def arm_on_feet():
    """A box on four corners that carries an arm."""
    arm = fc.robots.two_cylinder_cat()
    base = arm.links[0].name
    corners = [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    placements = [np.block([[np.eye(3), np.array([[x], [y], [-0.1]])], [np.zeros((1, 3)), 1.0]]) for x, y in corners]
    frames = tuple(Frame(f"corner{k}", base, H) for k, H in enumerate(placements))
    return replace(arm, frames=(*arm.frames, *frames))


@pytest.mark.parametrize("sweeps", [1, 2])
def test_robots_on_a_floor_move_as_single_ones(arm_on_feet, sweeps):
    model, rng = arm_on_feet, np.random.default_rng(sweeps)
    parameters = numbers(model, rng, model.link_names[0], model.link_names[-1]) | {
        "friction": np.array([0.1, 0.4, 0.9])
    }
    floor = CompliantFloor(tuple(f"corner{k}" for k in range(4)), (1e4, 1e4), (50.0, 50.0), friction=0.5)
    start = model.state(position=[0, 0, 0.09], twist=[0.5, 0.0, 0.0, 0.0, 0.0, 0.3], joints=[0.1, -0.2])
    about = {"duration": 0.05, "dt": 1e-3, "integrator": Implicit(sweeps), "every": 10, "passive": False}
    many = fc.rollout(model, [start] * COUNT, contact=floor, parameters=parameters, **about)
    singles = [
        fc.rollout(with_numbers(model, parameters, i), [start], contact=replace(floor, friction=float(mu)), **about)
        for i, mu in enumerate(parameters["friction"])
    ]
    check_alike(many, singles)
    assert np.ptp(many.poses[-1, :, 0, 3]) > 1e-4


def test_robots_on_one_foot_and_in_the_air_move_as_single_ones():
    """Those of ``located``, with switches and without, by default."""
    hopper = fc.robots.revolute_hopper()
    floor = CompliantFloor(("foot",), (1e4, 1e4), (100.0, 100.0))
    for contact, law in ((floor, JointDamper(1.0)), (None, None)):
        parameters = numbers(hopper, np.random.default_rng(3), hopper.link_names[0])
        start = hopper.state(twist=[0.2, -0.1, 0.3])
        about = {"laws": law, "contact": contact, "duration": 0.05, "dt": 1e-3}
        many = fc.rollout(hopper, [start] * COUNT, parameters=parameters, **about)
        integrator = "located" if contact is not None else fc.simulation.EventLocator(fc.simulation.RKMK4())
        singles = [
            fc.rollout(with_numbers(hopper, parameters, i), [start], integrator=integrator, **about)
            for i in range(COUNT)
        ]
        check_alike(many, singles)


def test_a_block_slides_by_its_own_friction(arm_on_feet):
    """``dv/dt = -mu g``, whatever it weighs."""
    block = fc.robots.free_body()
    level = np.diag([1.0, 1.0, 0.0, 1.0])  # corners as high as the center: nothing tips it
    frames = tuple(
        Frame(f.name, block.link_names[0], level @ f.placement + np.diag([0.0, 0.0, 1.0, 0.0]))
        for f in arm_on_feet.frames
    )
    block = replace(block, frames=frames)
    floor = CompliantFloor(tuple(f.name for f in frames), (2e4, 2e4), (100.0, 100.0), friction=0.3)
    friction, masses = np.array([0.1, 0.2, 0.4]), block.mass * np.array([0.5, 1.0, 3.0])
    depth = masses * 9.81 / (4 * 2e4)
    starts = []
    for sunk in depth:
        pose = np.eye(4)
        pose[2, 3] = -sunk
        starts.append(block.state(pose=pose, twist=[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    link = block.link_names[0]
    parameters = {"friction": friction, f"{link}.mass": masses, f"{link}.center": np.zeros((COUNT, 3))}
    run = fc.rollout(block, starts, 0.2, contact=floor, dt=2.5e-4, every=400, parameters=parameters)
    np.testing.assert_allclose(run.twists[1, :, 0] - run.twists[2, :, 0], 0.1 * 9.81 * friction, rtol=0.01)


def test_a_batch_keeps_the_numbers_with_the_robots(arm_on_feet):
    model = arm_on_feet
    parameters = numbers(model, np.random.default_rng(5), model.link_names[-1])
    starts = [model.state(rates=[1.0, 0.5])] * COUNT
    whole, some = (BatchSimulator(model, starts, dt=1e-3, parameters=parameters, passive=False) for _ in range(2))
    some.keep(np.array([False, False, True]))
    for simulator in (whole, some):
        simulator.step(20)
    np.testing.assert_array_equal(some.state.joints[0], whole.state.joints[2])
    assert np.abs(whole.state.joints[0] - whole.state.joints[2]).max() > 1e-6


def test_what_cannot_be_a_parameter_is_reported():
    cat = fc.robots.two_cylinder_cat()
    link, start = cat.link_names[0], [cat.neutral()] * 2
    floor, hard = CompliantFloor((link,), (1e4, 1e4), (50.0, 50.0), friction=None), fc.contact.HardContacts((link,))
    one = np.ones(2)
    for given, contact, words in (
        ([1.0], None, "arrays by name"),
        ({"tail.mass": one}, None, "a link of .* with .mass, .center or .inertia, not 'tail.mass'"),
        ({f"{link}.color": one}, None, "not '.*color'"),
        ({f"{link}.mass": np.ones(3)}, None, r"an array \(2,\) of finite numbers"),
        ({f"{link}.mass": np.array([1.0, np.nan])}, None, "of robot 1 is finite, not nan"),
        ({f"{link}.mass": np.array([1.0, 0.0])}, None, "of robot 1 is above zero"),
        ({f"{link}.inertia": np.arange(18.0).reshape(2, 3, 3)}, None, "a symmetric matrix"),
        ({"friction": one}, None, "takes a floor that has friction"),
        ({"friction": one}, floor, "takes a floor that has friction"),
        ({"friction": -one}, replace(floor, friction=0.5), "of robot 0 is not negative"),
    ):
        with pytest.raises(ModelError, match=words):
            checked(cat, contact, given, 2)
    masses = {f"{link}.mass": one}
    with pytest.raises(ModelError, match="'implicit', 'moreau' or 'located', not 'rkmk4'"):
        fc.rollout(cat, start, 0.01, contact=hard, integrator="rkmk4", parameters=masses)
    with pytest.raises(ModelError, match="sampled laws know one robot"):
        fc.rollout(
            cat, start, 0.01, SampledController(JointDamper(1.0), rate=100.0), integrator="implicit", parameters=masses
        )


def swinging(friction, stop):
    """An arm whose joints rub, or hit stops."""
    arm = fc.robots.planar_arm()
    passive, limits = fc.model.Passive(friction=friction), fc.model.Limits(-stop, stop)
    return replace(arm, joints=tuple(replace(joint, passive=passive, limits=limits) for joint in arm.joints))


def test_dry_friction_of_robots_of_their_own_holds_as_in_single_runs():
    arm = swinging(0.3, np.inf)
    own, start = {f"{arm.link_names[-1]}.mass": np.array([1.0, 2.0, 5.0])}, arm.state(rates=[1.0, -0.5, 0.3])
    many = fc.rollout(arm, [start] * COUNT, 0.2, parameters=own, integrator=Implicit(), dt=1e-3)
    assert many.status == "finished"
    for i in range(COUNT):
        alone = fc.simulate(with_numbers(arm, own, i), start, 0.2, integrator="implicit", dt=1e-3)
        np.testing.assert_allclose(many.joints[-1, i], alone.joints[-1], atol=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("integrator", [Implicit(), "rkmk4"], ids=["implicit", "rkmk4"])
def test_stops_are_those_of_each_robot(friction, integrator):
    """As stiff as its own masses ask for; friction of ``rkmk4``, which fades at a speed that they say, too."""
    arm = swinging(friction, 0.5)
    own = {
        f"{arm.link_names[-1]}.mass": np.array([0.5, 1.0, 3.0]),
        f"{arm.link_names[0]}.mass": np.array([4.0, 2.0, 9.0]),
    }
    starts = [arm.state(rates=[rate, 0.0, 0.0]) for rate in (4.0, 8.0, -8.0)]
    about = {"duration": 0.2, "integrator": integrator, "dt": 1e-3, "every": 20}
    many = fc.rollout(arm, starts, parameters=own, **about)
    assert many.residual.max() < 0.01
    assert (np.abs(many.joints).max(axis=(0, 2)) > 0.5).all()  # all have hit them
    check_alike(many, [fc.rollout(with_numbers(arm, own, i), [starts[i]], **about) for i in range(COUNT)])
    alike = fc.rollout(arm, starts, **about)
    assert np.abs(many.rates - alike.rates).max() > 0.1


def test_inertias_behind_joints_are_those_of_single_robots():
    dog, rng = fc.robots.quadruped(), np.random.default_rng(7)
    own = numbers(dog, rng, dog.link_names[0], dog.link_names[3])
    names, found = checked(dog, None, own, COUNT)
    assert names[-1] == CARRIED_INERTIA
    expected = [carried_inertia(with_numbers(dog, own, i)) for i in range(COUNT)]
    np.testing.assert_allclose(found[:, -dog.n :], expected, rtol=1e-12)
    assert CARRIED_INERTIA not in checked(dog, None, {}, COUNT).names


def test_the_status_tells_of_links_that_push_as_those_of_another_robot():
    """Springs between links are made for the masses of the model; given ones are what they are."""
    rail, along = fc.Link("rail", fc.Body(3.0, (0.0, 0.0, 0.0), np.eye(3))), fc.joints.Prismatic((1.0, 0.0, 0.0))
    body, ahead = fc.Body(1.0, (0.0, 0.0, 0.0), 0.004 * np.eye(3)), np.eye(4)
    ahead[0, 3] = 0.21
    balls = [fc.Link(name, body, collisions=(fc.model.shapes.Sphere(0.1),)) for name in ("left", "right")]
    joints = [fc.Joint("l", along, "rail", "left"), fc.Joint("r", along, "rail", "right", placement=ahead)]
    model = fc.Model("sliders", fc.lie.Trivial(), [rail, *balls], joints, gravity=np.zeros(3))
    starts, own = [model.state(rates=[rate, 0.0]) for rate in (0.0, 1.0)], {"left.mass": np.array([1.0, 2.0])}
    told = fc.rollout(model, starts, 0.05, SelfContact(), parameters=own, dt=1e-3, integrator="rkmk4").status
    assert told == "finished, but in 1 of 2 simulations self-contact acted, as stiff as that of 'sliders' itself"
    springs = SelfContact(stiffness=1e3, damping=0.0)
    assert fc.rollout(model, starts, 0.05, springs, parameters=own, dt=1e-3, integrator="rkmk4").status == "finished"
