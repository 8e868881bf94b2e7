"""Sampled controllers: held answers, latency, steps that end at the instants, against closed forms."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import Body, Joint, Link, Model
from fallingcat.contact import CompliantFloor, HardContacts
from fallingcat.control import JointDamper, JointSpring, Law, SampledController
from fallingcat.errors import Interrupted
from fallingcat.lie import Trivial
from fallingcat.simulation import Rosenbrock

MASS, KP, KD = 2.0, 60.0, 5.0
EXACT = ["rkmk4", "rosenbrock", "scipy"]
"""Integrators that are exact under forces that do not change."""


def cart(**more):
    """A double integrator: one mass on a rail."""
    rail = Joint("rail", fc.joints.Prismatic((1.0, 0.0, 0.0)), "ground", "cart", **more)
    links = Link("ground", Body()), Link("cart", Body(MASS, [0.0, 0.0, 0.0], np.eye(3)))
    return Model("cart", Trivial(), links, (rail,), gravity=np.zeros(3))


def pd(t, state):
    return -KP * state.joints - KD * state.rates


@dataclass(frozen=True)
class PD(Law):
    """The same as a law."""

    name: str = "pd"

    def forces(self, model, t, state, touching):
        return np.concatenate([np.zeros(model.m), -KP * state.joints - KD * state.rates])


def closed_form(rate, latency, end, start=(0.3, -0.1)):
    """State of the cart at ``end`` and all instants before: quadratic between changes of the force."""
    x, v = start
    looks = [(k / rate, "look") for k in range(int(end * rate) + 1)]
    acts = [(k / rate + latency, k) for k in range(int(end * rate) + 1)]
    happens = sorted([*looks, *acts, (end, "end")], key=lambda item: (round(item[0], 12), item[1] != "look"))
    said, u, t = [], 0.0, 0.0
    for time, what in happens:
        if time > end + 1e-12:
            break
        h, t = time - t, time
        x, v = x + h * v + 0.5 * h * h * u / MASS, v + h * u / MASS
        if what == "look":
            said.append(-KP * x - KD * v)
        elif what != "end":
            u = said[what]
    return x, v


@pytest.mark.parametrize("integrator", EXACT)
@pytest.mark.parametrize("controller", [pd, PD(), (PD(),)], ids=["function", "law", "laws"])
@pytest.mark.parametrize(("rate", "latency"), [(50.0, 0.0), (50.0, 0.02), (50.0, 0.06), (50.0, 0.0137), (30.0, 0.05)])
def test_a_double_integrator_is_the_discrete_time_solution(integrator, controller, rate, latency):
    model = cart()
    sampled = SampledController(controller, rate=rate, latency=latency)
    run = fc.simulate(model, model.state(joints=[0.3], rates=[-0.1]), 0.5, sampled, integrator=integrator, dt=7e-3)
    assert run.status == "finished"
    x, v = closed_form(rate, latency, 0.5)
    assert run.times[-1] == 0.5
    np.testing.assert_allclose([run.joints[-1, 0], run.rates[-1, 0]], [x, v], rtol=1e-10, atol=1e-11)


def test_it_is_asked_once_at_whole_multiples_and_nowhere_else():
    asked = []

    def controller(t, state):
        asked.append(t)
        return [0.0]

    model = cart()
    fc.simulate(model, model.neutral(), 1.0, SampledController(controller, rate=1000.0, latency=3.3e-4), dt=0.01)
    assert asked == [k / 1000.0 for k in range(1000)]
    asked.clear()
    fc.simulate(model, model.neutral(), 0.35, SampledController(controller, rate=30.0))
    assert asked == [k / 30.0 for k in range(11)]


def test_steps_on_the_grid_of_the_samples_are_not_cut_into_slivers():
    model = cart()
    run = fc.simulate(model, model.neutral(), 2.0, SampledController(pd, rate=1000.0, latency=2e-3), integrator="rkmk4")
    assert len(run) == 2001
    np.testing.assert_allclose(np.diff(run.times), 1e-3, rtol=1e-9)


def test_nothing_acts_before_the_first_answer_arrives():
    model = cart()
    run = fc.simulate(
        model, model.neutral(), 0.1, SampledController(lambda t, s: [1.0 + t], rate=100.0, latency=0.025), dt=5e-3
    )
    pull = run.port_forces["controller"][:, 0]
    expected = np.where(run.times < 0.025 - 1e-9, 0.0, 1.0 + np.floor((run.times - 0.025) * 100.0 + 1e-6) / 100.0)
    np.testing.assert_allclose(pull, expected, rtol=1e-12)
    assert (run.rates[run.times <= 0.025] == 0.0).all()


def test_latency_shifts_a_signal_exactly():
    model = cart()
    wave = lambda t, state: [np.sin(40.0 * t)]  # noqa: E731
    now, late = (
        fc.simulate(
            model, model.neutral(), 0.4 + d, SampledController(wave, rate=200.0, latency=d), integrator="rkmk4", dt=5e-3
        )
        for d in (0.0, 0.1)
    )
    np.testing.assert_allclose(late.joints[20:, 0], now.joints[:, 0], rtol=1e-12, atol=1e-16)
    assert np.ptp(now.joints) > 1e-4


@pytest.mark.parametrize(("integrator", "after"), [("semi_implicit", 1.0), ("implicit", 0.5)])
def test_methods_step_as_they_do_under_constant_forces(integrator, after):
    """They move with the velocity after a step, and with the mean of both, which is exact."""
    model, h = cart(), 2.5e-3
    run = fc.simulate(
        model,
        model.state(joints=[0.3]),
        0.2,
        SampledController(PD(), rate=100.0, latency=0.01),
        integrator=integrator,
        dt=h,
    )
    x, v, said = 0.3, 0.0, [0.0]
    for k in range(80):
        if k % 4 == 0:
            said.append(-KP * x - KD * v)
        before, v = v, v + h * said[-2] / MASS
        x = x + h * (after * v + (1.0 - after) * before)
    np.testing.assert_allclose([run.joints[-1, 0], run.rates[-1, 0]], [x, v], rtol=1e-12)


def test_free_flight_keeps_its_momentum_and_agrees_with_other_methods():
    cat = fc.robots.two_cylinder_cat()
    start = cat.state(joints=[0.4, 0.3], rates=[1.0, -0.5])
    sampled = SampledController(lambda t, s: -0.5 * s.joints - 0.05 * s.rates, rate=100.0, latency=5e-3)
    exact = fc.simulate(cat, start, 0.3, sampled, dt=2.5e-4)
    assert exact.integrator == "momentum"
    spin = exact.momenta("centroidal")
    np.testing.assert_allclose(spin[:, 3:], np.tile(spin[0, 3:], (len(spin), 1)), atol=1e-14)
    other = fc.simulate(cat, start, 0.3, sampled, dt=1e-3, integrator="rkmk4")
    np.testing.assert_allclose(exact.joints[-1], other.joints[-1], atol=1e-7)
    as_law = fc.simulate(
        cat, start, 0.3, SampledController([JointSpring(0.5), JointDamper(0.05)], rate=100.0, latency=5e-3), dt=2.5e-4
    )
    assert as_law.integrator == "momentum"
    np.testing.assert_allclose(exact.joints, as_law.joints, atol=1e-13)
    assert other.energy_residual < 1e-9


def dog_on_the_ground(kind):
    dog = fc.robots.quadruped()
    sit = np.array((0.0, 0.6, -1.2) * 4)
    pose = np.eye(4)
    pose[2, 3] = 0.335
    feet = tuple(frame.name for frame in dog.frames)
    if kind == "hard":
        return dog, dog.state(pose=pose, joints=sit), HardContacts(feet, friction=0.8), sit
    floor = CompliantFloor(feet, stiffness=(2e4, 2e4), damping=(200.0, 200.0), friction=0.8)
    return dog, dog.state(pose=pose, joints=sit), floor, sit


def test_a_robot_stands_under_a_sampled_controller_on_hard_ground():
    dog, start, ground, sit = dog_on_the_ground("hard")
    servo = SampledController(lambda t, s: 200.0 * (sit - s.joints) - 5.0 * s.rates, rate=500.0, latency=2e-3)
    run, fine = (fc.simulate(dog, start, 0.1, servo, ground, dt=dt) for dt in (2e-3, 1.25e-4))
    assert (run.code, run.integrator) == (fc.simulation.StatusCode.FINISHED, "moreau")
    off = abs(run.joints[-1] - fine.joints[-1]).max()  # of a landing, which the controller makes good
    # the estimate adds up errors of parts under recorded forces, without the controller that takes them away
    assert off < run.error_estimate.angle < 30.0 * off
    assert run.energy_residual < 1e-3
    fast = fc.simulate(dog, start, 0.1, lambda t, s: servo.controller(t, s), ground, dt=2e-3)
    assert 1e-6 < abs(run.joints[-1] - fast.joints[-1]).max() < 0.05


def test_energy_balances_beside_other_laws_and_limits_of_drives():
    model = cart(limits=fc.model.Limits(effort=4.0))
    laws = [JointDamper(0.3), SampledController(pd, rate=100.0, latency=0.01, name="servo")]
    run = fc.simulate(model, model.state(joints=[0.3]), 0.5, laws, integrator="rkmk4")
    assert run.ledger.ports == ("joint dampers", "drive limits", "servo")
    assert run.energy_residual < 1e-8
    assert abs(run.forces).max() == pytest.approx(4.0)
    assert abs(run.port_forces["servo"]).max() > 10.0
    assert run.joint_work()[-1] == pytest.approx(run.ledger.works[-1].sum())


@pytest.mark.parametrize("integrator", ["rkmk4", "semi_implicit", "implicit", Rosenbrock(None)])
@pytest.mark.parametrize("latency", [0.0, 0.005, 0.02])
def test_rollouts_are_the_runs(integrator, latency):
    cat = fc.robots.two_cylinder_cat()
    starts = [cat.state(joints=[0.1 * i, 0.3], rates=[1.0, -0.5]) for i in range(3)]
    laws = [JointDamper(0.01), SampledController([JointSpring(0.5)], rate=100.0, latency=latency)]
    many = fc.rollout(cat, starts, 0.1, laws, integrator=integrator, dt=2.5e-3, every=10)
    for i, start in enumerate(starts):
        one = fc.simulate(cat, start, 0.1, laws, integrator=integrator, dt=2.5e-3, every=10)
        np.testing.assert_allclose(many.joints[:, i], one.joints, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(many.works[:, i], one.ledger.works, rtol=1e-10, atol=1e-13)
    assert many.ports == one.ledger.ports


@dataclass(frozen=True)
class OnItsFeet(Law):
    """A spring in the joints while a foot touches."""

    name: str = "stance"

    def forces(self, model, t, state, touching):
        stiffness = 1.0 if "foot" in touching else 0.2
        return np.concatenate([np.zeros(model.m), -stiffness * (state.joints - 1.5) - 0.002 * state.rates])


@pytest.mark.parametrize("integrator", ["rkmk4", "implicit"])
def test_sampled_laws_see_what_touches(integrator):
    hopper = fc.robots.revolute_hopper()
    floor = CompliantFloor(("foot",), stiffness=(3e3, 3e3), damping=(8.0, 8.0))
    start = hopper.state(pose=hopper.base.element(np.array([0.0, 0.2574, -2.5243])), joints=[1.7802])
    sampled = SampledController(OnItsFeet(), rate=250.0, latency=4e-3)
    run = fc.simulate(hopper, start, 0.2, sampled, floor, integrator=integrator, dt=2e-4)
    assert {bool(points) for points in run.touching} == {True, False}
    many = fc.rollout(hopper, [start, start], 0.2, sampled, floor, integrator=integrator, dt=2e-4)
    exact = 1e-3 if integrator == "rkmk4" else 1e-9  # rollouts of rules switch at the ends of steps
    np.testing.assert_allclose(many.joints[-1], np.tile(run.joints[-1], (2, 1)), atol=exact)


@pytest.mark.parametrize("every", [1, 7])
def test_times_that_are_kept_add_no_steps(every, monkeypatch):
    """They were cut into steps of 2e-19 s, as instants differ by rounding: rollouts on hard ground ended early."""
    sizes, advance = [], fc.simulation.runner.run.Run._advance

    def recorded(run):
        start = run.t
        end = advance(run)
        sizes.append(run.t - start)
        return end

    monkeypatch.setattr(fc.simulation.runner.run.Run, "_advance", recorded)
    hopper = fc.robots.revolute_hopper()
    start = hopper.state(pose=hopper.base.element(np.array([0.0, 0.2574, -2.5243])), joints=[1.7802])
    about = SampledController([JointDamper(0.02)], rate=500.0, latency=1.3e-3), HardContacts(("foot",))
    one = fc.simulate(hopper, start, 0.2003, *about, integrator="rkmk4")
    alone = sizes.copy()
    sizes.clear()
    many = fc.rollout(hopper, [start], 0.2003, *about, integrator="rkmk4", every=every)
    assert one.events
    assert len(sizes) == len(alone)
    np.testing.assert_allclose(sizes, alone, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(many.joints[-1, 0], one.joints[-1], rtol=1e-12)


def test_a_default_step_of_rollouts_divides_period_and_latency():
    model = cart()
    start = model.state(joints=[0.3], rates=[-0.1])
    x, v = closed_form(30.0, 0.05, 0.5)
    for dt in (None, 1e-3):  # with 1 ms, samples are between steps
        many = fc.rollout(model, [start], 0.5, SampledController(PD(), rate=30.0, latency=0.05), dt=dt)
        np.testing.assert_allclose([many.joints[-1, 0, 0], many.rates[-1, 0, 0]], [x, v], rtol=1e-10)
    with pytest.raises(fc.ModelError, match="takes force laws"):
        fc.rollout(model, [start], 0.5, SampledController(pd, rate=30.0))


def test_what_goes_wrong_in_a_controller_names_the_time():
    model = cart()

    def breaks(t, state):
        return [1.0 / 0.0] if t > 0.0195 else [0.0]

    for controller in (breaks, SampledController(breaks, rate=100.0)):
        with pytest.raises(ZeroDivisionError) as caught:
            fc.simulate(model, model.neutral(), 0.1, controller, dt=0.01)
        assert caught.value.__notes__[0] == "in the controller, at t = 0.02 s"

    nan = lambda t, state: [np.nan if t > 0.0195 else 0.0]  # noqa: E731
    run = fc.simulate(model, model.neutral(), 0.1, SampledController(nan, rate=100.0, latency=0.05), dt=0.01)
    assert (
        run.status
        == "stopped after 0.02 s: t = 0.02 s: joint 'rail': the controller's force is not finite (value: nan)"
    )
    assert run.times[-1] == 0.02


def test_ctrl_c_keeps_what_was_simulated():
    model = cart()

    def pressed(t, state):
        if t > 0.0495:
            raise KeyboardInterrupt
        return [1.0]

    with pytest.raises(Interrupted) as caught:
        fc.simulate(model, model.neutral(), 10.0, SampledController(pressed, rate=100.0), integrator="rkmk4")
    so_far = caught.value.result
    assert so_far.status == "interrupted at t = 0.05 s"
    assert so_far.joints[-1, 0] == pytest.approx(0.5 * 0.05**2 / MASS)
    assert (so_far.port_forces["controller"] == 1.0).all()


def test_events_are_located_between_samples():
    model = cart()
    there = fc.Event("there", lambda t, s: s.joints[0] - 0.01, terminal=True)
    run = fc.simulate(
        model, model.neutral(), 1.0, SampledController(lambda t, s: [MASS], rate=100.0), events=[there], dt=0.01
    )
    assert run.times[-1] == pytest.approx(0.02**0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rate": 0.0}, r"rate must be finite and positive \(1/s\), got 0.0"),
        ({"rate": np.inf}, "rate must be finite"),
        ({"rate": "fast"}, "rate must be finite"),
        ({"rate": 10.0, "latency": -1.0}, "latency must be finite and not negative"),
        ({"rate": 10.0, "latency": None}, "latency must be finite"),
        ({"rate": 10.0, "name": 3}, "name of a sampled controller must be a text"),
        (
            {"rate": 10.0, "controller": 3.0},
            "controller of a SampledController must be a function of time and state, or commanded laws",
        ),
        ({"rate": 10.0, "controller": [pd]}, "controller of a SampledController must be a function"),
        ({"rate": 10.0, "controller": []}, "controller of a SampledController must be a function"),
    ],
)
def test_what_is_no_sampled_controller_is_refused(wrong, says):
    with pytest.raises(fc.ModelError, match=says):
        SampledController(**({"controller": pd} | wrong))


def test_two_of_them_and_names_that_clash_are_refused():
    model = cart()
    two = [SampledController(pd, rate=10.0, name="a"), SampledController(pd, rate=20.0, name="b")]
    with pytest.raises(fc.ModelError, match="one sampled controller, not 2"):
        fc.simulate(model, model.neutral(), 0.1, two)
    with pytest.raises(fc.ModelError, match="the same name"):
        fc.simulate(model, model.neutral(), 0.1, [replace(two[0], name="pd"), PD()])
    with pytest.raises(fc.ModelError, match=r"gives 1 joint forces, not shape \(2,\)"):
        fc.simulate(model, model.neutral(), 0.1, SampledController(lambda t, s: [0.0, 0.0], rate=10.0))


@pytest.mark.parametrize("wrapped", [lambda f: f, lambda f: fc.control.SampledController(f, 100.0)])
def test_a_controller_that_writes_into_the_state_is_told_what_to_do(wrapped):
    def controller(t, state):
        state.joints[0] = 1.0
        return np.zeros_like(state.rates)

    cat = fc.robots.cat()
    with pytest.raises(ValueError, match="read-only") as caught:
        fc.simulate(cat, cat.neutral(), 0.01, wrapped(controller))
    assert any("change a copy" in note for note in caught.value.__notes__)
