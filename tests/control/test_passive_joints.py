"""What the model holds acts in every run: springs, damping, dry friction, stops, limits of drives."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import DriveLimits, DryFriction, JointDamper, JointSpring, JointStops, PassiveSprings
from fallingcat.control.laws.carried_inertia import carried_inertia, least_inertia, shapes
from fallingcat.control.laws.compliant_stops import STEP
from fallingcat.errors import ModelError
from fallingcat.lie import SE3, Trivial
from fallingcat.model import Body, Joint, Limits, Link, Model, Passive, Prismatic, Revolute
from fallingcat.testing import check_law

BODY = Body(1.0, np.zeros(3), np.diag([0.5, 0.5, 0.5]))
STEPS = [1e-4, 1e-3, 1e-2, 0.1, 1.0]


def wheel(kind=None, gravity=(0.0, 0.0, 0.0), **parts):
    """One body on a hinge (0.5 kg m^2) about z, fixed to the world."""
    joint = Joint("axle", kind or Revolute((0.0, 0.0, 1.0)), "stand", "wheel", **parts)
    links = (Link("stand", BODY), Link("wheel", BODY))
    return Model("wheel", Trivial(), links, (joint,), gravity=np.array(gravity))


def with_parts(model, rng, **ranges):
    """The same robot, whose joints have random springs, dampers and friction (upper ends in ``ranges``)."""
    joints = tuple(
        replace(joint, passive=Passive(**{key: float(rng.uniform(0.1 * top, top)) for key, top in ranges.items()}))
        for joint in model.joints
    )
    return replace(model, joints=joints)


def tree(rng, n=6, base=None, **ranges):
    model = fc.robots.random_tree(rng, n, base=base or SE3(), kinds=["revolute", "prismatic", "spherical"])
    return with_parts(model, rng, **ranges)


# springs and damping ------------------------------------------------------------------------------------------------

MJCF = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" stiffness="3" springref="0.4" damping="0.05"/>
 <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.002"/>
 <body name="lower" pos="0 0 -0.4"><joint name="rail" type="slide" axis="1 0 0" stiffness="80" damping="1.5"/>
  <inertial pos="0 0 -0.1" mass="0.6" diaginertia="0.01 0.01 0.001"/>
  <body name="hand" pos="0 0 -0.2"><joint name="wrist" type="ball" stiffness="0.3" damping="0.01"/>
   <inertial pos="0.02 0 -0.1" mass="0.3" diaginertia="0.003 0.002 0.001"/></body></body></body>
</worldbody></mujoco>"""


def test_springs_and_damping_move_a_robot_as_in_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(MJCF)
    robot = fc.load(path, base="fixed")
    peer = mujoco.MjModel.from_xml_path(str(path))
    peer.opt.integrator, peer.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 2e-4
    data = mujoco.MjData(peer)
    data.qvel[:] = [0.5, -0.3, 1.0, 2.0, -1.0]
    for _ in range(2500):
        mujoco.mj_step(peer, data)
    start = robot.state(rates=[0.5, -0.3, 1.0, 2.0, -1.0])
    run = fc.simulate(robot, start, 0.5, integrator="rkmk4", dt=1e-3)
    assert run.ledger.ports == ("passive springs", "passive damping")
    end, q = run.state(-1), data.qpos
    turned = np.array([*q[3:6], q[2]])  # wxyz to xyzw
    np.testing.assert_allclose(end.joints[:2], q[:2], atol=1e-8)
    np.testing.assert_allclose(end.joints[2:] * np.sign(end.joints[2:] @ turned), turned, atol=1e-8)
    np.testing.assert_allclose(end.rates, data.qvel, atol=1e-7)
    assert np.abs(end.joints - fc.simulate(robot, start, 0.5, passive=False).joints[-1]).max() > 0.1


def test_springs_store_and_dampers_take():
    rng = np.random.default_rng(3)
    robot = tree(rng, stiffness=5.0, damping=0.2)
    start = robot.random_state(rng)
    run = fc.simulate(robot, start, 0.5, integrator="rkmk4")
    spring = PassiveSprings()
    stored = [float(spring.energy(robot, state)) for state in run.states]
    np.testing.assert_allclose(run.ledger.work("passive springs"), stored[0] - np.array(stored), atol=1e-8)
    assert (np.diff(run.ledger.work("passive damping")) < 0.0).all()
    assert run.status == "finished"
    assert run.energy_residual < 1e-6


@pytest.mark.parametrize("seed", range(2))
def test_each_law_is_a_law(seed):
    rng = np.random.default_rng(seed)
    robot = tree(rng, stiffness=5.0, damping=0.2, friction=0.5)
    robot = replace(
        robot, joints=tuple(replace(j, limits=Limits(-1.0, 1.0, 2.0, 3.0)) for j in robot.joints[:2]) + robot.joints[2:]
    )
    laws = fc.control.passive(robot)
    assert [law.name for law in laws] == [
        "passive springs",
        "passive damping",
        "dry friction",
        "joint stops",
        "drive limits",
    ]
    for law in laws:
        check_law(law, robot)


# dry friction -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", STEPS)
@pytest.mark.parametrize("integrator", ["rkmk4", "semi_implicit", "implicit"])
@pytest.mark.parametrize("friction", [1e-3, 1.0, 1e3])
def test_friction_never_adds_energy_whatever_the_step(dt, integrator, friction):
    rubbing = wheel(passive=Passive(friction=friction))
    for speed in (1e-4, 1.0, 30.0):
        run = fc.simulate(rubbing, rubbing.state(rates=[speed]), 20.0 * dt, integrator=integrator, dt=dt)
        kinetic, _ = run.energies()
        assert (np.diff(kinetic) <= 0.0).all()
        assert run.rates[-1, 0] >= 0.0  # it is not thrown back either


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_friction_of_whole_robots_takes_energy_only(seed, dt):
    rng = np.random.default_rng(seed)
    robot = replace(tree(rng, 8, friction=3.0), gravity=np.zeros(3))
    run = fc.simulate(robot, robot.random_state(rng), 200 * dt, integrator="rkmk4", dt=dt)
    total = sum(run.energies())
    assert (np.diff(run.ledger.work("dry friction")) <= 0.0).all()
    assert np.diff(total).max() <= 1e-6 * total[0]
    assert total[-1] < 0.999 * total[0]


def test_a_joint_slides_to_rest_and_a_loaded_one_creeps_as_stated():
    friction, dt = 1.0, 1e-3
    model = wheel(passive=Passive(friction=friction))
    run = fc.simulate(model, model.state(rates=[2.0]), 2.0, integrator="rkmk4", dt=dt)
    slow = 4.0 * friction * dt / carried_inertia(model)[0]
    before = run.times < 0.8  # it would rest after v m / f = 1 s
    np.testing.assert_allclose(run.rates[before, 0], 2.0 - 2.0 * run.times[before], atol=slow)
    assert abs(run.rates[-1, 0]) < 1e-3 * slow
    held = fc.simulate(model, model.neutral(), 1.0, lambda t, s: np.array([0.6]), integrator="rkmk4", dt=dt)
    assert held.rates[-1, 0] == pytest.approx(slow * 0.6 / np.sqrt(1.0 - 0.6**2), rel=1e-6)


def test_inertias_behind_joints_are_the_same_on_every_processor():
    """BLAS rounds as its kernels for a processor do: equal legs had inertias that differed in their last bits."""
    model = fc.robots.quadruped()
    behind, rng = carried_inertia(model), np.random.default_rng(3)
    assert behind[5] == behind[8] == behind[11]
    assert behind[7] == behind[10]
    masses = np.array([fc.mass_matrix(model, state) for state in shapes(model)])
    for _ in range(20):
        noise = 4e-16 * rng.normal(size=masses.shape)
        assert np.array_equal(least_inertia(masses * (1.0 + noise + noise.swapaxes(1, 2)), model.m), behind)


def test_the_inertia_behind_joints_is_a_lower_bound():
    rng = np.random.default_rng(8)
    for _ in range(5):
        robot = fc.robots.random_tree(rng, 7, base=SE3())
        B = np.linalg.inv(fc.mass_matrix(robot, robot.neutral()))[robot.m :, robot.m :]
        room = np.linalg.eigvalsh(np.linalg.inv(B) - np.diag(carried_inertia(robot)))
        assert room.min() > -1e-12


# stops --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [1e-3, 1.0, 40.0])
def test_a_stop_is_as_deep_as_stated(speed):
    model = wheel(limits=Limits(-0.3, 0.2))
    run = fc.simulate(model, model.state(joints=[0.2], rates=[speed]), 0.05, integrator="rkmk4", dt=1e-5)
    depth = run.joints.max() - 0.2
    assert depth == pytest.approx(np.exp(-0.6) * speed * 4.0 * STEP, rel=1e-4)  # w = 1 / (4 STEP)
    assert run.rates[-1, 0] == pytest.approx(-np.exp(-1.6) * speed, rel=1e-4)
    assert run.ledger.work("joint stops")[-1] == pytest.approx(-0.25 * (1.0 - np.exp(-3.2)) * speed**2, rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("integrator", [None, "rkmk4", "semi_implicit", "implicit"])
def test_limp_robots_stay_between_their_stops(seed, integrator):
    """They swung through: nothing held them."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 6, base=(SE3(), Trivial())[seed % 2], kinds=["revolute"])
    model = replace(model, joints=tuple(replace(j, limits=Limits(-0.7, 0.9)) for j in model.joints))
    start = model.state(joints=rng.uniform(-0.7, 0.9, model.n), rates=rng.normal(scale=3.0, size=model.n))
    run = fc.simulate(model, start, 0.6, integrator=integrator, dt=5e-4)
    beyond = max((-0.7 - run.joints).max(), (run.joints - 0.9).max())
    assert 0.0 < beyond < 0.1
    loose = fc.simulate(model, start, 0.6, integrator="rkmk4", passive=False)
    assert max((-0.7 - loose.joints).max(), (loose.joints - 0.9).max()) > 0.3
    if integrator in (None, "rkmk4"):  # the others are of order 1
        assert run.energy_residual < 1e-3
        gains = np.diff(sum(run.energies()))
        assert gains.max() < 1e-3 * np.abs(gains).sum() or run.ledger.work("joint stops")[-1] < 0.0


def test_stops_in_free_flight_leave_momentum_alone():
    rng = np.random.default_rng(1)
    cat = fc.robots.cat()
    start = cat.state(rates=rng.normal(scale=4.0, size=cat.n), twist=rng.normal(size=6))
    run = fc.simulate(cat, start, 0.3)
    assert run.integrator == "momentum"
    assert run.ledger.work("joint stops")[-1] < -1e-3
    spin = run.momenta("centroidal")[:, 3:]
    assert np.abs(spin - spin[0]).max() < 1e-12


def test_a_run_goes_on_from_where_one_ended_in_a_stop():
    model = wheel(Prismatic((0.0, 0.0, 1.0)), gravity=(0.0, 0.0, -9.81), limits=Limits(-0.1, 0.1))
    whole = fc.simulate(model, model.neutral(), 0.2, integrator="rkmk4")
    half = fc.simulate(model, model.neutral(), 0.1, integrator="rkmk4")
    rest = fc.simulate(model, half.state(-1), 0.1, integrator="rkmk4")
    np.testing.assert_allclose(rest.joints[-1], whole.joints[-1], atol=1e-12)
    deep = fc.simulate(model, model.state(joints=[-0.102]), 0.1, integrator="rkmk4")
    assert deep.status == "finished"


def test_a_start_far_beyond_a_stop_is_named():
    model = wheel(limits=Limits(-0.3, 0.2))
    bad, good = model.state(joints=[-0.5]), model.neutral()
    words = "joint 'axle' starts 0.2 beyond its lower stop at -0.3"
    with pytest.raises(ModelError, match=words):
        fc.simulate(model, bad, 0.1)
    with pytest.raises(ModelError, match=words):
        fc.rollout(model, [good, good, bad], 0.1)
    assert fc.simulate(model, bad, 0.1, passive=False).status == "finished"


# drives -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_law", [True, False])
@pytest.mark.parametrize("integrator", ["rkmk4", "semi_implicit", "implicit", "rosenbrock"])
def test_drives_give_their_effort_at_most(as_law, integrator):
    model = wheel(limits=Limits(effort=2.0))
    asked = JointSpring(10.0, rest=(100.0,)) if as_law else lambda t, s: np.array([1e3])
    run = fc.simulate(model, model.neutral(), 0.3, asked, integrator=integrator, dt=1e-3)
    assert run.joints[-1, 0] == pytest.approx(
        0.5 * (2.0 / 0.5) * 0.3**2, rel=1e-2 if "implicit" in integrator else 1e-9
    )
    both = sum(run.port_forces[port][:, 0] for port in run.ledger.ports)
    np.testing.assert_allclose(both, 2.0, rtol=1e-12)
    np.testing.assert_allclose(run.joint_work(), run.ledger.works.sum(axis=1), atol=1e-12)


def test_drives_in_free_flight_are_limited_too():
    """The momentum-exact rule asks the controller itself."""
    cat = fc.robots.two_cylinder_cat()
    cat = replace(cat, joints=tuple(replace(j, limits=Limits(effort=0.01)) for j in cat.joints))
    runs = [
        fc.simulate(cat, cat.neutral(), 0.2, how, integrator="momentum", dt=2e-3, passive=passive)
        for how, passive in ((lambda t, s: np.array([5.0, 0.002]), True), (lambda t, s: np.array([0.01, 0.002]), False))
    ]
    np.testing.assert_allclose(runs[0].joints, runs[1].joints, atol=1e-13)


def test_a_drive_does_not_pass_its_speed_limit_but_may_brake_and_be_pushed():
    model = wheel(limits=Limits(velocity=3.0))
    run = fc.simulate(model, model.neutral(), 2.0, lambda t, s: np.array([5.0]), integrator="rkmk4", dt=5e-3)
    assert 2.99 < run.rates[-1, 0] <= run.rates.max() <= 3.0
    braked = fc.simulate(model, model.state(rates=[4.0]), 0.1, lambda t, s: np.array([-5.0]), integrator="rkmk4")
    assert braked.rates[-1, 0] == pytest.approx(3.0, abs=1e-9)
    kept = fc.simulate(model, model.state(rates=[4.0]), 0.1, lambda t, s: np.array([5.0]), integrator="rkmk4")
    assert kept.rates[-1, 0] == 4.0


def test_limits_of_drives_do_not_bound_what_is_built_in():
    model = wheel(limits=Limits(effort=0.1), passive=Passive(stiffness=50.0, rest=1.0))
    run = fc.simulate(model, model.neutral(), 0.1, integrator="rkmk4")
    assert run.ledger.ports == ("passive springs",)
    assert run.joints[-1, 0] == pytest.approx(1.0 - np.cos(10.0 * 0.1), rel=1e-6)


def test_a_zero_says_nothing():
    model = wheel(limits=Limits(0.0, 0.0, velocity=0.0, effort=0.0))
    assert fc.control.passive(model) == ()


def test_a_saturated_servo_has_no_impedance_left():
    """Implicit steps take the stiffness of a law along; beyond the effort limit there is none."""
    model = wheel(limits=Limits(effort=2.0))
    laws = [JointSpring(1e6, rest=(100.0,)), JointDamper(1e4)]
    run = fc.simulate(model, model.neutral(), 0.3, laws, integrator="implicit", dt=1e-3)
    assert run.joints[-1, 0] == pytest.approx(0.5 * (2.0 / 0.5) * 0.3**2, rel=1e-2)
    simulator = fc.simulation.BatchSimulator(model, [model.neutral()] * 2, driven=True)
    simulator.step(300, forces=np.array([[1e3], [-1e3]]))
    np.testing.assert_allclose(simulator.state.joints[:, 0], [0.18, -0.18], rtol=1e-2)


# runs ---------------------------------------------------------------------------------------------------------------


def test_rollouts_do_the_same():
    rng = np.random.default_rng(4)
    model = tree(rng, 5, base=Trivial(), stiffness=2.0, damping=0.1, friction=0.3)
    starts = [model.random_state(rng) for _ in range(5)]
    many = fc.rollout(model, starts, 0.2, JointDamper(0.02), integrator="rkmk4", dt=2e-3)
    one = fc.simulate(model, starts[3], 0.2, JointDamper(0.02), integrator="rkmk4", dt=2e-3)
    assert many.ports == one.ledger.ports
    np.testing.assert_allclose(many.joints[-1, 3], one.joints[-1], atol=1e-12)
    np.testing.assert_allclose(many.works[-1, 3], one.ledger.works[-1], atol=1e-12)
    bare = fc.rollout(model, starts, 0.2, dt=2e-3, passive=False)
    assert bare.ports == ()


def test_damping_that_is_too_stiff_for_a_step_gets_an_implicit_method():
    """An explicit rule at 1 ms would be thrown off; MuJoCo treats such damping implicitly."""
    model = wheel(passive=Passive(damping=5e3))  # 1e4 1/s
    start = model.state(rates=[1.0])
    run = fc.simulate(model, start, 0.1, dt=1e-3)
    assert (run.integrator, run.status) == ("rosenbrock", "finished")
    free = fc.simulate(model, start, 0.1)  # ten times faster than steps of 1 ms resolve, and nothing swings
    assert (free.integrator, free.status) == ("rosenbrock", "finished")
    rule = fc.simulate(model, start, 0.1, integrator="rkmk4")
    assert rule.times[1] == pytest.approx(5e-5)
    for one in (run, free, rule):
        assert one.joints[-1, 0] == pytest.approx(1e-4, rel=1e-3)


def test_what_is_wrong_is_named():
    model = wheel(passive=Passive(damping=1.0))
    with pytest.raises(ModelError, match="passive is True or False"):
        fc.simulate(model, model.neutral(), 0.1, passive="no")
    with pytest.raises(ModelError, match="dt must be finite"):
        fc.control.passive(model, 0.0)


def test_a_law_of_the_same_name_takes_the_place_of_the_models_own():
    model = wheel(passive=Passive(damping=1.0), limits=Limits(-0.1, 0.1))
    run = fc.simulate(model, model.state(rates=[1.0]), 0.3, JointDamper(5.0, name="passive damping"))
    assert run.ledger.ports == ("passive damping", "joint stops")
    assert run.joints[-1, 0] == pytest.approx(0.1 * (1.0 - np.exp(-10.0 * 0.3)), rel=1e-4)
    again = fc.simulate(model, run.state(0), 0.3, list(run.problem.laws), dt=run.times[1])
    np.testing.assert_array_equal(again.joints, run.joints)
    alone = fc.simulate(model, model.state(rates=[1.0]), 0.1, fc.control.passive(model), passive=False)
    assert alone.ledger.ports == ("passive damping", "joint stops")


def test_sliders_have_stops_in_metres():
    model = wheel(Prismatic((0.0, 0.0, 1.0)), gravity=(0.0, 0.0, -9.81), limits=Limits(-0.1, 0.1))
    run = fc.simulate(model, model.neutral(), 1.0, integrator="rkmk4")
    assert -0.1 - 4e-3 < run.joints.min() < -0.1
    w = 0.25 / STEP
    assert run.joints[-1, 0] == pytest.approx(-0.1 - 9.81 / w**2, abs=1e-9)


def test_laws_are_as_they_print():
    assert (DryFriction(1e-3).commanded, JointStops(1e-3).commanded, DriveLimits().commanded) == (False, False, True)


def test_joints_that_follow_others_bring_their_springs_and_stops_along():
    """The same robot, with the follower tied to its leader by a loop in a run of the whole, is the oracle of forces."""
    rng = np.random.default_rng(2)
    free = fc.robots.random_tree(rng, 3, base=Trivial(), kinds=["revolute"], branching=0.0)
    parts = [Passive(0.3, 0.0, 2.0, 0.1), Passive(0.2, 0.0, 5.0, -0.2), Passive(0.1, 0.0, 1.0, 0.0)]
    free = replace(
        free, joints=tuple(replace(j, passive=p, limits=Limits()) for j, p in zip(free.joints, parts, strict=True))
    )
    leader, follower = free.joints[0].name, free.joints[1].name
    tied = replace(free.joints[1], mimic=fc.model.Mimic(leader, ratio=-0.5, offset=0.2), limits=Limits(-0.4, 0.6))
    model = replace(free, joints=(free.joints[0], tied, free.joints[2]))
    state = model.random_state(rng)
    q, v = state.joints, state.rates
    T = np.array([[1.0, 0.0], [-0.5, 0.0], [0.0, 1.0]])
    whole = free.state(joints=T @ q + [0.0, 0.2, 0.0], rates=T @ v)
    for mine, theirs in zip(fc.control.passive(model)[:2], fc.control.passive(free), strict=True):
        expected = T.T @ theirs.forces(free, 0.0, whole, frozenset())
        np.testing.assert_allclose(mine.forces(model, 0.0, state, frozenset()), expected, atol=1e-13)
    run = fc.simulate(model, model.state(rates=[9.0, 0.0]), 0.5, integrator="rkmk4")
    other = -0.5 * run.joints[:, 0] + 0.2
    assert -0.45 < other.min() < other.max() < 0.65
    assert run.energy_residual < 1e-3
    assert follower not in model.joint_names
    servo = fc.model.Actuator("servo", follower, "position", kp=3.0, kv=0.1)
    pulls = fc.control.Actuators((0.3,)).forces(replace(model, actuators=(servo,)), 0.0, state, frozenset())
    np.testing.assert_allclose(pulls, [-0.5 * servo.effort(0.3, -0.5 * q[0] + 0.2, -0.5 * v[0]), 0.0], atol=1e-14)


def test_stops_are_the_same_law_at_both_ends_and_where_there_is_one():
    """Against the equation of a stop, end by end; what is no number stays none."""
    whole = fc.robots.quadruped()
    one_sided = [{"upper": np.inf}, {"lower": -np.inf}, *({} for _ in whole.joints[2:])]
    pairs = zip(whole.joints, one_sided, strict=True)
    model = replace(whole, joints=tuple(replace(j, limits=replace(j.limits, **end)) for j, end in pairs))
    rng, law, w, m = np.random.default_rng(0), JointStops(1e-3), 250.0, carried_inertia(model)
    for _ in range(20):
        q, v = rng.uniform(-3.0, 3.0, model.n), rng.normal(size=model.n) * 10.0 ** rng.uniform(-2.0, 2.0)
        expected = np.zeros(model.n)
        for i, limits in enumerate(model.limits):
            for sign, end in ((1.0, limits.lower), (-1.0, limits.upper)):
                depth = max(sign * (end - q[i]), 0.0)
                push = m[i] * w * w * depth - 2.0 * m[i] * w * sign * v[i]
                expected[i] += sign * np.clip(push, 0.0, 4.0 * m[i] * w * w * depth)
        force = law.forces(model, 0.0, model.neutral()._replace(joints=q, rates=v), frozenset())
        np.testing.assert_allclose(force[model.m :], expected, rtol=1e-13, atol=1e-13)
    lost = law.forces(model, 0.0, model.neutral()._replace(rates=np.full(model.n, np.nan)), frozenset())
    assert np.isnan(lost[model.m :]).all()


def test_stops_take_up_the_fall_of_a_heavy_robot():
    """A light leg under a heavy trunk: the stop yields to its drive by 0.02 m, and by less than 0.1 m to the fall."""
    trunk = fc.Body(60.0, np.zeros(3), np.diag([1.0, 1.0, 1.0]))
    leg = fc.Body(0.5, np.array([0.0, 0.0, -0.4]), np.diag([0.01, 0.01, 0.01]))
    slide = fc.model.Prismatic((0.0, 0.0, 1.0))
    limits = fc.model.Limits(-0.2, 0.2, effort=50.0)
    joint = fc.Joint("slide", slide, "trunk", "leg", limits=limits)
    tip = np.eye(4)
    tip[2, 3] = -0.8
    frames = (fc.model.Frame("foot", "leg", tip),)
    model = fc.Model("pogo", fc.lie.R3(), (fc.Link("trunk", trunk), fc.Link("leg", leg)), (joint,), frames=frames)
    floor = fc.contact.CompliantFloor(("foot",), friction=0.8)
    start = model.state(position=[0.0, 0.0, 0.85 + 0.2], joints=[-0.2])
    run = fc.simulate(model, start, 0.6, contact=floor)
    assert run.status == "finished"
    assert 0.2 < run.joints.max() < 0.3
