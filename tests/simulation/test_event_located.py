"""One code for all modes whose switches are located: against single runs, in order and in time."""

import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import robots
from fallingcat.arrays import sqrt
from fallingcat.contact import CompliantFloor
from fallingcat.simulation import RKMK4, BatchSimulator, EventLocator, Problem, Rosenbrock
from fallingcat.simulation.devices import Gpu
from fallingcat.simulation.integrators.event_located import HEAD_SIZE, Ends, EventLocatorStepper
from fallingcat.simulation.integrators.implicit.integrator import CompiledStepper
from fallingcat.studies import load
from fallingcat.studies.hoppers.hopper import floor, laws, robot, start

P = load("revolute-6").parameters
HOPPER = robot(P)
START = start(HOPPER, P)
LAWS, FLOOR = laws(HOPPER, START, P), floor(P)
PERIOD = 0.3765
BALL = robots.free_body()
SPRING = CompliantFloor((BALL.links[0].name,), stiffness=(2000.0, 500.0), damping=(0.0, 0.0), friction=None)


def flat(run, i=0):
    """Everything at the end of a trajectory or of one simulation of a rollout."""
    last = (run.poses[-1], run.joints[-1], run.twists[-1], run.rates[-1])
    return np.concatenate([np.ravel(x[i] if isinstance(run, fc.simulation.Rollout) else x) for x in last])


def hopped(tolerance, duration=PERIOD, **options):
    method = EventLocator(Rosenbrock(tolerance))
    return fc.rollout(HOPPER, [START], duration, LAWS, FLOOR, integrator=method, dt=5e-3, **options)


@pytest.fixture(scope="module")
def hop():
    """Six touchdowns and lift-offs, by a single run."""
    run = fc.simulate(HOPPER, START, PERIOD, LAWS, FLOOR, integrator=Rosenbrock(1e-10))
    assert len(run.events) == 6
    return run


def test_a_hop_is_that_of_a_single_run(hop):
    errors = [np.abs(flat(hopped(tolerance)) - flat(hop)).max() for tolerance in (1e-5, 1e-7, 1e-9)]
    assert errors[0] < 1e-3
    assert errors[1] < 1e-5
    assert errors[2] < 1e-7
    run = hopped(1e-7)
    np.testing.assert_allclose(run.works[-1, 0], hop.ledger.works[-1], atol=1e-6)
    assert run.residual[0] < 1e-6
    assert run.status == "finished"


def test_switches_happen_where_they_do_in_a_single_run(hop):
    stepper = EventLocator(Rosenbrock(1e-9)).compiled_stepper(Problem(HOPPER, LAWS, FLOOR), 2)
    simulator = BatchSimulator(HOPPER, [START], LAWS, FLOOR, integrator=EventLocator(Rosenbrock(1e-9)))
    x, ahead, found = simulator._x, np.array([PERIOD, 5e-3]), []
    while x[0, 0] < PERIOD:
        after = stepper.kernel.iterate(x, ahead, stepper.numbers, np.zeros((1, 0)), rows=1)[0]
        if after[0, HEAD_SIZE] != x[0, HEAD_SIZE]:
            found.append((after[0, 0], after[0, HEAD_SIZE]))
        x = after
    assert [touches for _, touches in found] == [e.name == "touchdown foot" for e in hop.events]
    np.testing.assert_allclose([t for t, _ in found], [e.time for e in hop.events], atol=2e-8)


def test_the_gait_keeps_its_speed():
    """The first order of implicit steps at 0.05 ms gives 0.248 m/s here."""
    single = fc.simulate(HOPPER, START, 3.0, LAWS, FLOOR, integrator=Rosenbrock(1e-7))
    way = hopped(1e-5, 3.0).poses[-1, 0, 0, 3] - START.pose[0, 3]
    assert way / 3.0 == pytest.approx((single.poses[-1, 0, 3] - START.pose[0, 3]) / 3.0, abs=5e-5)


def test_order_of_an_explicit_rule_between_switches():
    """Errors fall by 16 when steps are halved, in one code and in single runs, which locate switches too."""
    pose = np.eye(4)
    pose[:3, 3] = 0.0, 0.0, 0.3
    state = BALL.state(pose=pose, twist=[0.3, 0.1, 0.0, 1.0, 2.0, 3.0])
    exact = flat(fc.simulate(BALL, state, 1.0, (), SPRING, integrator=Rosenbrock(1e-12)))
    slopes = {}
    for name, method in (("one code", EventLocator(RKMK4())), ("by name", RKMK4())):
        runs = [fc.rollout(BALL, [state], 1.0, (), SPRING, integrator=method, dt=dt) for dt in (8e-3, 4e-3, 2e-3)]
        errors = [np.abs(flat(run) - exact).max() for run in runs]
        slopes[name] = np.log2(errors[0] / errors[-1]) / 2.0
    assert slopes["one code"] > 3.5
    assert slopes["by name"] == slopes["one code"]


def test_robots_are_alone():
    """Each takes steps of its own, and the same bits come out whoever is beside it."""
    rng = np.random.default_rng(0)
    many = [START._replace(rates=np.array([rate])) for rate in rng.normal(size=11)]
    method = EventLocator(Rosenbrock(1e-5))
    together = fc.rollout(HOPPER, many, 0.3, LAWS, FLOOR, integrator=method, dt=0.01)
    for i in (0, 4, 10):
        alone = fc.rollout(HOPPER, many[i : i + 1], 0.3, LAWS, FLOOR, integrator=method, dt=0.01)
        np.testing.assert_array_equal(flat(together, i), flat(alone))


@pytest.mark.slow
def test_two_points_with_friction():
    cat = robots.two_cylinder_cat()
    points = tuple(link.name for link in cat.links[:2])
    ground = CompliantFloor(points, stiffness=(3000.0, 3000.0), damping=(30.0, 30.0), friction=0.5, height=-0.1)
    state = cat.state(twist=[0.5, 0.2, 0.0, 0.3, 0.4, 0.0], rates=[0.2, 0.4])
    single = fc.simulate(cat, state, 0.4, fc.control.JointDamper(0.2), ground, integrator=Rosenbrock(1e-8))
    assert len({event.name for event in single.events}) >= 2
    run = fc.rollout(cat, [state], 0.4, fc.control.JointDamper(0.2), ground, integrator=EventLocator(Rosenbrock(1e-8)))
    np.testing.assert_allclose(flat(run), flat(single), atol=2e-5)
    explicit = fc.rollout(
        cat, [state], 0.4, fc.control.JointDamper(0.2), ground, integrator=EventLocator(RKMK4()), dt=2e-4
    )
    np.testing.assert_allclose(flat(explicit), flat(single), atol=2e-4)


def test_it_is_the_default_under_few_points():
    run = fc.rollout(HOPPER, [START], 0.2, LAWS, FLOOR)
    single = fc.simulate(HOPPER, START, 0.2, LAWS, FLOOR)
    np.testing.assert_allclose(flat(run), flat(single), atol=1e-5)
    same = fc.rollout(HOPPER, [START], 0.2, LAWS, FLOOR, integrator="located")
    np.testing.assert_array_equal(flat(run), flat(same))
    assert fc.simulate(HOPPER, START, 0.01, LAWS, FLOOR, integrator=EventLocator()).status == "finished"


@dataclass(frozen=True)
class Push(fc.control.Law):
    """A constant force at the knee."""

    force: float
    name: str = "push"

    def forces(self, model, t, state, touching):
        return np.array([0.0, 0.0, 0.0, self.force])


@dataclass(frozen=True)
class Ending(fc.control.Law):
    """No number after 0.02 s."""

    name: str = "ending"

    def forces(self, model, t, state, touching):
        return np.array([0.0, 0.0, 0.0, 1e-3]) * sqrt(0.02 - t)


def test_forces_of_a_driven_batch_are_held():
    method = EventLocator(Rosenbrock(1e-9))
    simulator = BatchSimulator(HOPPER, [START, START], LAWS, FLOOR, driven=True, integrator=method, dt=5e-3)
    simulator.step(40, forces=np.array([[0.02], [0.0]]))
    pushed = fc.rollout(HOPPER, [START], 0.2, (*LAWS, Push(0.02)), FLOOR, integrator=method, dt=5e-3)
    free = fc.rollout(HOPPER, [START], 0.2, LAWS, FLOOR, integrator=method, dt=5e-3)
    assert abs(pushed.joints - free.joints).max() > 1e-3
    np.testing.assert_allclose(simulator.state.joints[0], pushed.joints[-1, 0], atol=1e-7)
    np.testing.assert_allclose(simulator.state.joints[1], free.joints[-1, 0], atol=1e-7)
    port = simulator.ports.index("controller")
    assert simulator.works[0, port] == pytest.approx(pushed.works[-1, 0, pushed.ports.index("push")], abs=1e-8)


def test_without_a_ledger():
    method = EventLocator(Rosenbrock(1e-8))
    bare = BatchSimulator(HOPPER, [START], LAWS, FLOOR, integrator=method, ledger=False, dt=5e-3)
    bare.step(60)
    assert bare.ports == ()
    assert bare.works.shape == (1, 0)
    single = fc.simulate(HOPPER, START, 0.3, LAWS, FLOOR, integrator=Rosenbrock(1e-9))
    np.testing.assert_allclose(bare.state.joints[0], single.joints[-1], atol=1e-6)


def test_robots_approach_times_of_their_own_and_leave():
    many = [START] * 5
    simulator = BatchSimulator(HOPPER, many, LAWS, FLOOR, integrator=EventLocator(Rosenbrock(1e-5)), dt=5e-3)
    until = np.array([0.0, 0.1, 0.2, 0.3, 0.3])
    while not simulator.approach(until).all():
        pass
    np.testing.assert_array_equal(simulator.times, until)
    simulator.keep(np.array([False, True, False, True, True]))
    np.testing.assert_array_equal(simulator.times, until[[1, 3, 4]])
    np.testing.assert_array_equal(simulator.state.joints[1], simulator.state.joints[2])
    simulator.keep([2])
    assert simulator.count == 1
    simulator.reset([0], many[:1])
    assert simulator.times.tolist() == [0.0]
    simulator.keep(np.zeros(1, dtype=bool))
    assert simulator.approach(np.zeros(0)).shape == (0,)


def test_what_no_step_meets_ends_as_no_number():
    run = fc.rollout(HOPPER, [START, START], 0.05, (*LAWS, Ending()), FLOOR, every=10)
    assert run.finite.tolist() == [False, False]
    assert np.isfinite(run.joints[run.times < 0.02]).all()
    assert "2 of 2" in run.status


def test_points_that_start_on_the_ground_and_below():
    pose = np.eye(4)
    for height in (0.0, -0.01):
        pose[2, 3] = height
        run = fc.rollout(BALL, [BALL.state(pose=pose)], 0.3, (), SPRING, integrator=EventLocator(RKMK4()), dt=1e-3)
        single = fc.simulate(BALL, BALL.state(pose=pose), 0.3, (), SPRING, integrator=Rosenbrock(1e-11))
        np.testing.assert_allclose(flat(run), flat(single), atol=1e-6)


def test_the_cubic_is_crossed_where_it_is():
    rng, off = np.random.default_rng(0), []
    for start_, end, rate, end_rate in np.abs(rng.normal(size=(400, 4))):
        ends = Ends(start_, -end, rng.choice([0.0, 0.1, -1.0]) * rate, -end_rate)
        s = ends.crosses(0.0)
        a = 2.0 * (ends.start - ends.end) + ends.rate + ends.end_rate
        b = 3.0 * (ends.end - ends.start) - 2.0 * ends.rate - ends.end_rate
        assert 0.0 < s < 1.0
        assert abs(np.roots([a, b, ends.rate, ends.start]) - s).min() < 0.05
        off.append(abs(((a * s + b) * s + ends.rate) * s + ends.start))
    assert np.median(off) < 1e-12
    assert np.percentile(off, 95) < 1e-3  # a guess that is worse costs one attempt more


def test_refusals():
    with pytest.raises(fc.ModelError, match="at most 2 points"):
        EventLocator().compiled_stepper(Problem(HOPPER, (), CompliantFloor(("foot",) * 3, (1.0, 1.0), (1.0, 1.0))), 6)
    with pytest.raises(fc.ModelError, match="linearised forces"):
        fc.rollout(HOPPER, [START], 0.1, LAWS, fc.contact.HardContacts(("foot",)), integrator="located")
    with pytest.raises(fc.ModelError, match="float64"):
        EventLocator().compiled_stepper(Problem(HOPPER, LAWS, FLOOR), 2).on("cuda", "float32")
    with pytest.raises(fc.ModelError, match="is one for vectors"):
        EventLocator("rosenbrock")
    simulator = BatchSimulator(HOPPER, [START], LAWS, FLOOR)
    with pytest.raises(fc.ModelError, match=r"EventLocator\(\)"):
        simulator.approach(np.ones(1))
    with pytest.raises(fc.ModelError, match="Implicit"):
        BatchSimulator(HOPPER, [START], LAWS, FLOOR, ledger=False)
    with pytest.raises(fc.ModelError, match="integrator of a BatchSimulator"):
        BatchSimulator(HOPPER, [START], LAWS, FLOOR, integrator=RKMK4())
    with pytest.raises(fc.ModelError, match="a time"):
        BatchSimulator(HOPPER, [START], LAWS, FLOOR, integrator=EventLocator()).approach(1.0)


class OnGpu:
    """The kernel of a stepper as the GPU calls it, on this processor."""

    dtype = np.dtype("float64")

    def __init__(self, stepper):
        self.stepper = stepper

    def iterate(self, *arguments, every):
        for x in arguments:
            assert x.flags.c_contiguous
            assert x.dtype == self.dtype
        rows = self.stepper.kernel.iterate(*(np.ascontiguousarray(x.T) for x in arguments), rows=1, every=every)[0]
        return np.ascontiguousarray(rows.T)


@pytest.mark.parametrize("method", [EventLocator(Rosenbrock(1e-5)), None])
def test_batches_on_a_gpu_take_the_same_way(method, monkeypatch):
    """CuPy's arrays are NumPy's here: what is sent, iterated, looked at, reset and kept is the same."""
    cupy = SimpleNamespace(**{name: getattr(np, name) for name in dir(np)})
    cupy.asnumpy = np.asarray
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for kind in (EventLocatorStepper, CompiledStepper):
        monkeypatch.setattr(kind, "on", lambda stepper, target, dtype: [OnGpu(stepper)])
    many = [START._replace(rates=np.array([0.1 * i])) for i in range(5)]
    batches = [
        BatchSimulator(HOPPER, many, LAWS, FLOOR, integrator=method, target=target, dt=1e-3)
        for target in ("cpu", "cuda")
    ]
    for simulator in batches:
        simulator.step(20)
        simulator.reset([3], many[:1])
        simulator.keep(np.array([True, False, True, True, False]))
        simulator.step(7)
        if method is not None:
            simulator.approach(simulator.times + 0.05)
    np.testing.assert_array_equal(batches[0].times, batches[1].times)
    np.testing.assert_array_equal(batches[0].packed(), batches[1].packed())
    np.testing.assert_array_equal(batches[0].state.pose, batches[1].state.pose)


def test_on_a_gpu_those_who_are_late_go_on_alone(monkeypatch):
    """One of twelve lands, each with a mass of its own: as on the CPU, bit by bit."""
    cupy = SimpleNamespace(**{name: getattr(np, name) for name in dir(np)})
    cupy.asnumpy = np.asarray
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(EventLocatorStepper, "on", lambda stepper, target, dtype: [OnGpu(stepper)])
    part, parts = Gpu.part, []
    monkeypatch.setattr(Gpu, "part", lambda gpu, which: parts.append(len(which)) or part(gpu, which))
    pose = START.pose.copy()
    pose[1, 3] += 1.0
    many, masses = [START._replace(pose=pose)] * 11 + [START], np.linspace(1.0, 1.5, 12)
    about = {
        "integrator": EventLocator(Rosenbrock(1e-5)),
        "dt": 5e-3,
        "parameters": {f"{HOPPER.links[0].name}.mass": masses},
    }
    batches = [BatchSimulator(HOPPER, many, LAWS, FLOOR, target=target, **about) for target in ("cpu", "cuda")]
    for simulator in batches:
        simulator.step(75)
    assert parts == [1]
    np.testing.assert_array_equal(batches[0].packed(), batches[1].packed())
    assert not any(simulator.stalled.any() for simulator in batches)


def test_the_text_for_a_gpu_and_what_an_attempt_costs():
    """The ledger costs a quarter; all modes and located switches less than a tenth of the stiffer mode alone."""
    kernel = (
        EventLocator(Rosenbrock(1e-5))
        .compiled_stepper(Problem(HOPPER, LAWS, FLOOR, ledger=False), 2)
        .on("cuda", "float64")[0]
    )
    assert "double" in kernel.source
    assert sum(kernel.operations.values()) < 7000
    assert EventLocator(Rosenbrock(1e-5)).compiled_stepper(Problem(HOPPER, LAWS, FLOOR), 2).kernel._work < 9000
