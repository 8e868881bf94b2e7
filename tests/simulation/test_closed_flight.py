"""Free flight of robots with closed loops by the momentum-exact rule: closed to rounding, symplectic, exact."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring
from fallingcat.errors import ModelError
from fallingcat.lie.rotations import skew
from fallingcat.simulation import MomentumMidpoint

ARM = replace(fc.robots.planar_arm(fc.lie.SE3()), gravity=np.zeros(3))


def four_bar(*more, gravity=(0.0, 0.0, 0.0)):
    """The planar arm whose last link is pinned to its own post: in space one of three rows is redundant."""
    H = fc.forward_kinematics(ARM, ARM.state(joints=[0.4, 0.9, 0.8]))
    seen = (np.linalg.inv(H["post"]) @ H["link3"])[:3]
    pins = [fc.model.Pin(f"pin{x}", "link3", "post", (0.0, x, 0.9), seen @ (0.0, x, 0.9, 1.0)) for x in (0.0, *more)]
    model = replace(ARM.close_loops(*pins), gravity=np.array(gravity))
    moving = model.state(joints=[0.4, 0.9, 0.8], twist=[0.1, 0.2, 0.3, 0.5, -0.4, 0.3], rates=[1.0, 0.0, 0.0])
    return model, fc.constraints.assemble(model, moving, held=["joint1"])


def ring(joints, welded, seed):
    """A random chain of hinges whose ends hold each other."""
    rng = np.random.default_rng(seed)
    chain = fc.robots.random_tree(rng, joints, kinds=["revolute"], branching=0.0)
    state = chain.random_state(rng)
    H = fc.forward_kinematics(chain, state)
    first, last = chain.link_names[0], chain.link_names[-1]
    seen = np.linalg.inv(H[first]) @ H[last]
    loop = (
        fc.model.Weld("ring", first, last, seen)
        if welded
        else fc.model.Pin("ring", last, first, np.zeros(3), seen[:3, 3])
    )
    model = chain.close_loops(loop)
    return model, fc.constraints.assemble(model, state._replace(rates=0.5 * state.rates))


ROBOTS = {
    "four-bar": lambda: four_bar(gravity=(0.0, 0.0, -9.81)),
    "pinned twice": lambda: four_bar(0.1),
    "ring": lambda: ring(5, False, 0),
    "welded ring": lambda: ring(8, True, 1),
}


SLOW = pytest.mark.slow


@pytest.fixture(scope="module", params=[*list(ROBOTS)[:3], pytest.param("welded ring", marks=SLOW)])
def closed(request):
    return ROBOTS[request.param]()


def test_loops_close_and_momentum_stays(closed):
    model, start = closed
    run = fc.simulate(model, start, 0.2, dt=2e-3, passive=False)
    assert (run.integrator, run.status) == ("momentum", "finished")
    assert np.ptp(run.joints, axis=0).min() > 1e-3  # it moves
    assert run.loop_errors().max() < 1e-14
    opening = [fc.constraints.equations(model, state).jacobian @ state.velocity for state in run.states]
    assert np.abs(opening).max() < 1e-13 * np.abs(run.rates).max()
    h, c = run.momenta(), np.array([fc.center_of_mass(model, s) for s in run.states])
    linear = h[0, :3] + model.mass * model.gravity * run.times[:, None]
    np.testing.assert_allclose(h[:, :3], linear, rtol=0, atol=1e-12 * np.abs(linear).max())
    spin = h[:, 3:] - np.cross(c, h[:, :3])  # about the center of mass: gravity has no say
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), rtol=0, atol=1e-12 * np.abs(h).max())
    assert np.abs(run.ledger.work("loops")).max() == 0.0


OFTEN = pytest.mark.parametrize(
    "closed", [name if name == "four-bar" else pytest.param(name, marks=SLOW) for name in ROBOTS], indirect=True
)


@OFTEN
def test_the_slope_is_two(closed):
    model, start = closed
    fine = fc.simulate(model, start, 0.1, dt=2.5e-4, integrator="rkmk4", passive=False)
    missed = []
    for dt in (4e-3, 2e-3):
        run = fc.simulate(model, start, 0.1, dt=dt, integrator="momentum", passive=False)
        missed.append(max(np.abs(run.joints[-1] - fine.joints[-1]).max(), np.abs(run.poses[-1] - fine.poses[-1]).max()))
    assert np.log2(missed[0] / missed[1]) == pytest.approx(2.0, abs=0.1)


@OFTEN
def test_time_runs_backwards(closed):
    model, start = closed
    there = fc.simulate(model, start, 0.2, dt=1e-2, integrator="momentum", passive=False).state(-1)
    turned = there._replace(twist=-there.twist, rates=-there.rates)
    back = fc.simulate(model, turned, 0.2, dt=1e-2, integrator="momentum", passive=False).state(-1)
    np.testing.assert_allclose(back.joints, start.joints, atol=1e-10)
    np.testing.assert_allclose(back.velocity, -start.velocity, atol=1e-9)


def test_energy_has_no_trend():
    model, start = four_bar()
    run = fc.simulate(model, start, 40.0, dt=0.01, every=5, passive=False)
    energy = run.energies()[0]
    quarters = [np.mean(part) for part in np.array_split(energy - energy[0], 4)]
    assert np.ptp(energy) < 1e-4 * energy[0]
    assert np.ptp(quarters) < 0.1 * np.ptp(energy)


@SLOW
def test_energy_has_no_trend_in_200000_steps():
    """``rkmk4`` in the same steps loses a third of the energy, and most of the momentum."""
    model, start = four_bar()
    run = fc.simulate(model, start, 2000.0, dt=0.01, every=50, passive=False)
    energy, h = run.energies()[0], run.momenta()
    quarters = [np.mean(part) for part in np.array_split(energy - energy[0], 4)]
    assert np.ptp(energy) < 1e-4 * energy[0]
    assert np.ptp(quarters) < 0.1 * np.ptp(energy)
    np.testing.assert_allclose(h, np.broadcast_to(h[0], h.shape), rtol=0, atol=1e-10)
    other = fc.simulate(model, start, 1000.0, dt=0.01, every=50, integrator="rkmk4", passive=False)
    assert other.energies()[0][-1] < 0.8 * energy[0]


def test_steps_are_symplectic():
    """In body-fixed spin, the angle of the four-bar and its momentum a step keeps the bracket: ``DF B DF' = B(F)``."""
    model, start = four_bar()

    def shape(angle):
        state = fc.constraints.assemble(model, model.state(joints=[angle, *start.joints[1:]]), held=["joint1"])
        moving = fc.constraints.assemble(model, state._replace(rates=np.array([1.0, 0.0, 0.0])), held=["joint1"])
        N = np.zeros((model.nv, 7))
        N[:6, :6], N[6:, 6] = np.eye(6), moving.rates
        return state, N

    def step(z):
        state, N = shape(z[3])
        v = N @ np.linalg.solve(N.T @ fc.mass_matrix(model, state) @ N, [0.0, 0.0, 0.0, *z[:3], z[4]])
        moving = state._replace(twist=v[:6], rates=v[6:])
        end = fc.simulate(model, moving, 0.05, dt=0.05, integrator="momentum", passive=False).state(-1)
        p = shape(end.joints[0])[1].T @ fc.mass_matrix(model, end) @ end.velocity
        return np.array([*(end.pose[:3, :3].T @ z[:3]), end.joints[0], p[6]])

    def bracket(z):
        B = np.zeros((5, 5))
        B[:3, :3], B[3, 4], B[4, 3] = skew(z[:3]), 1.0, -1.0
        return B

    z = np.array([0.5, 1.0, -0.6, start.joints[0], 0.8])
    D = np.array([(step(z + d) - step(z - d)) / 2e-5 for d in 1e-5 * np.eye(5)]).T
    np.testing.assert_allclose(D @ bracket(z) @ D.T, bracket(step(z)), atol=1e-7)
    assert np.abs(D - np.eye(5)).max() > 0.01


@pytest.mark.parametrize("asked", [False, True], ids=["law", "controller"])
def test_a_gear_moves_as_one_coordinate(asked):
    """The rule over joints of which one follows is the same rule, to rounding."""
    first, second, _ = ARM.joint_names
    geared = ARM.close_loops(fc.model.Couple("gear", second, first, (0.2, -0.5)))
    joints = [replace(j, mimic=fc.model.Mimic(first, -0.5, 0.2)) if j.name == second else j for j in ARM.joints]
    follower = replace(ARM, joints=tuple(joints))
    twist, law = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0], JointDamper(0.1, only=(first,))
    start = geared.state(joints=[0.3, 0.05, 0.5], rates=[1.0, -0.5, 0.2], twist=twist)
    alone = follower.state(joints=[0.3, 0.5], rates=[1.0, 0.2], twist=twist)
    brake = (lambda t, s: np.array([-0.1 * s.rates[0], 0.0, 0.0])) if asked else law
    run = fc.simulate(geared, start, 0.2, brake, dt=5e-3, integrator="momentum")
    lean = fc.simulate(follower, alone, 0.2, law, dt=5e-3, integrator=MomentumMidpoint())
    np.testing.assert_allclose(run.joints[:, [0, 2]], lean.joints, atol=1e-12)
    np.testing.assert_allclose(run.poses, lean.poses, atol=1e-12)
    np.testing.assert_allclose(run.joint_work(), lean.joint_work(), atol=1e-12)


def test_a_joint_that_is_held_makes_two_links_one():
    tree = fc.robots.random_tree(np.random.default_rng(0), 1, kinds=["revolute"])
    (name,) = tree.joint_names
    held, one = tree.close_loops(fc.model.Couple("lock", name, None, (0.3,))), tree.lock({name: 0.3})
    twist = [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]
    a = fc.simulate(held, held.state(joints=[0.3], twist=twist), 0.1, dt=5e-3, passive=False)
    b = fc.simulate(one, one.state(twist=twist), 0.1, dt=5e-3, passive=False, integrator=MomentumMidpoint())
    assert a.integrator == b.integrator == "momentum"
    np.testing.assert_allclose(a.poses, b.poses, atol=1e-12)


def test_what_is_at_rest_stays_so():
    model, start = four_bar(gravity=(0.0, 0.0, -9.81))
    run = fc.simulate(model, model.state(joints=start.joints), 0.1, dt=1e-2, passive=False)
    assert run.integrator == "momentum"
    np.testing.assert_allclose(run.joints, np.broadcast_to(start.joints, run.joints.shape), atol=1e-15)


def test_what_it_cannot_do_is_reported():
    model, start = four_bar()
    opened = start._replace(joints=start.joints + np.array([1e-3, 0.0, 0.0]))
    with pytest.raises(ModelError, match=r"loop 'pin0.0' is open by 0.00\d+ at the start: fc.constraints.assemble"):
        fc.simulate(model, opened, 0.1)
    slightly = start._replace(joints=start.joints + np.array([1e-9, 0.0, 0.0]))
    assert fc.simulate(model, slightly, 0.01, passive=False).loop_errors()[1:].max() < 1e-14  # closed by one step
    assert fc.simulate(model, start, 5.0, dt=1.0, integrator="momentum", passive=False).status.startswith("stopped")
    wall = ARM.close_loops(fc.model.Pin("wall", "post"))
    with pytest.raises(ModelError, match=r"loop 'wall' holds more than the robot's shape.*take 'rkmk4'"):
        fc.simulate(wall, wall.state(), 0.01, integrator="momentum")
    assert fc.simulate(wall, wall.state(), 0.01, passive=False).integrator == "rkmk4"
    ball = fc.robots.free_body().close_loops(fc.model.Rolling("rolls", "body", 0.1))
    with pytest.raises(ModelError, match=r"loop 'rolls' holds more than the robot's shape.*take 'rkmk4'"):
        fc.simulate(ball, fc.constraints.assemble(ball, ball.state(), base=True), 0.01, integrator="momentum")


def rhomb(angle):
    """Folding at 1 rad/s, so many rad before it is flat, where it loses a row and could go on in two ways."""
    model = ARM.close_loops(fc.model.Pin("tip", "link3", "post", (0.0, 0.0, 1.0)))
    joints = [np.pi - angle, angle, np.pi - angle]
    return model, model.state(joints=joints, rates=[1.0, -1.0, 1.0])


@pytest.mark.parametrize("angle", [0.0205, 0.0201, 0.02003])
def test_steps_across_a_flat_loop_keep_their_way(angle):
    model, start = rhomb(angle)
    run = fc.simulate(model, start, 0.04, dt=1e-3, integrator="momentum", passive=False)
    assert run.status == "finished"
    np.testing.assert_allclose(run.rates, np.broadcast_to([1.0, -1.0, 1.0], run.rates.shape), atol=1e-5)
    np.testing.assert_allclose(run.joints[-1], [np.pi - angle + 0.04, angle - 0.04, np.pi - angle + 0.04], atol=1e-6)
    assert run.loop_errors().max() < 1e-14


def test_steps_that_lose_their_way_where_a_loop_is_flat_are_reported():
    for dt in (1e-3, 1e-2):
        model, start = rhomb(5e-6)
        run = fc.simulate(model, start, dt, dt=dt, integrator="momentum", passive=False)
        assert "the loops of 'planar_arm' do not close" in run.status
        assert "take a smaller one, or 'rkmk4' where a loop is flat" in run.status


@pytest.mark.parametrize("damping", [1e2, 1e5])
def test_loops_close_under_stiff_drives(damping):
    """Dampers far faster than a step: passes that knew inertia alone did not close them.  What the strongest should
    stop at once rings in the rates, which is told.
    """
    model, start = four_bar()
    laws = [JointDamper(damping), JointSpring(10.0 * damping)]
    run = fc.simulate(model, start, 0.05, laws, dt=1e-3, integrator="momentum", passive=False)
    rings = np.abs(run.rates[-1]).max() > 0.5 * np.abs(start.rates).max()
    assert rings == (damping > 1e3)
    assert ("goes to and fro with the steps under its dampers" if rings else "finished") in run.status
    assert run.loop_errors().max() < 1e-14
    fine = fc.simulate(model, start, 0.05, laws, dt=1e-4, integrator="momentum", passive=False)
    np.testing.assert_allclose(run.joints[-1], fine.joints[-1], atol=1e-5)


@OFTEN
def test_many_fly_as_one(closed):
    model, start = closed
    turned = start._replace(twist=-start.twist, rates=-start.rates)
    many = fc.rollout(model, [start, turned], 0.02, dt=2e-3, integrator="momentum", passive=False)
    for i, state in enumerate((start, turned)):
        one = fc.simulate(model, state, 0.02, dt=2e-3, integrator="momentum", passive=False)
        np.testing.assert_allclose(many.joints[-1, i], one.joints[-1], atol=1e-13)
        np.testing.assert_allclose(many.twists[-1, i], one.twists[-1], atol=1e-11)
