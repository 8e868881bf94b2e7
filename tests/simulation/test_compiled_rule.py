"""Runs that touch nothing, in whole: what they are is what their steps are, one by one."""

import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import concatenate, less, sin, where
from fallingcat.control import JointDamper, JointSpring, Law, SampledController
from fallingcat.errors import Interrupted
from fallingcat.simulation import RKMK4, BatchSimulator, EventLocator, SemiImplicitEuler
from fallingcat.simulation.integrators.compiled_rule import RuleStepper

CAT = fc.robots.two_cylinder_cat()
START = CAT.state(joints=[0.4, 0.3], rates=[1.0, -0.5])
LAWS = [JointSpring(0.3), JointDamper(0.01)]


@dataclass(frozen=True)
class Wag(Law):
    """A law of time."""

    torque: float
    name: str = "wag"

    def forces(self, model, t, state, touching):
        return concatenate([np.zeros(model.m), self.torque * sin(9.0 * t) * np.ones(model.n)])


def never(t, state):
    return 1.0


@pytest.mark.parametrize("method", [RKMK4(), SemiImplicitEuler()])
@pytest.mark.parametrize("every", [1, 7])
def test_a_whole_run_is_its_steps_one_by_one(method, every):
    """An event that never happens makes a run go step by step."""
    about = {"integrator": method, "dt": 1e-3, "every": every}
    whole = fc.simulate(CAT, START, 0.0505, [*LAWS, Wag(0.05)], **about)
    single = fc.simulate(CAT, START, 0.0505, [*LAWS, Wag(0.05)], **about, events=[fc.Event("never", never)])
    np.testing.assert_array_equal(whole.times, single.times)
    for field in ("poses", "joints", "twists", "rates"):
        np.testing.assert_allclose(getattr(whole, field), getattr(single, field), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(whole.ledger.joints, single.ledger.joints, rtol=1e-12, atol=1e-15)
    assert whole.integrator == single.integrator == method.name
    assert whole.status == single.status


@pytest.mark.parametrize("seed", range(2))
def test_many_move_as_single_ones_whatever_differs(seed):
    """Gains and masses of each robot, on random robots."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 1)
    starts = [model.random_state(rng) for _ in range(2)]
    link = model.link_names[-1]
    masses = next(one.body.mass for one in model.links if one.name == link) * np.array([0.5, 2.0])
    laws = [[JointDamper(d)] for d in (0.1, 0.4)]
    simulator = BatchSimulator(model, starts, laws, dt=1e-3, integrator=RKMK4(), parameters={f"{link}.mass": masses})
    simulator.step(20)
    for i, (start, mass) in enumerate(zip(starts, masses, strict=True)):
        links = [replace(one, body=replace(one.body, mass=mass)) if one.name == link else one for one in model.links]
        alone = fc.simulate(replace(model, links=tuple(links)), start, 0.02, laws[i], dt=1e-3, integrator="rkmk4")
        np.testing.assert_allclose(simulator.state.rates[i], alone.rates[-1], rtol=1e-10, atol=1e-12)


def test_rollouts_in_flight_are_the_same_by_located_steps():
    starts = [START._replace(rates=np.array([0.1 * i, 0.5])) for i in range(5)]
    ours, others = (
        fc.rollout(CAT, starts, 0.05, [*LAWS, SampledController(Wag(0.1), rate=100.0)], dt=1e-3, integrator=method)
        for method in (RKMK4(), EventLocator(RKMK4()))
    )
    np.testing.assert_allclose(ours.joints, others.joints, rtol=1e-12)


def test_on_a_gpu_they_take_the_same_way(monkeypatch):
    """CuPy's arrays are NumPy's here, and the text for a GPU is made."""
    cupy = SimpleNamespace(**{name: getattr(np, name) for name in dir(np)}, asnumpy=np.asarray)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    made = []

    def on(stepper, target, dtype):
        made.extend(SmoothMarch_on(stepper, target, dtype))

        def iterate(*given, every):
            return stepper.kernel.iterate(*(np.ascontiguousarray(x.T) for x in given), rows=1, every=every)[0].T.copy()

        return [SimpleNamespace(dtype=np.dtype(dtype), iterate=iterate)]

    SmoothMarch_on = RuleStepper.on
    monkeypatch.setattr(RuleStepper, "on", on)
    here, there = (fc.rollout(CAT, [START] * 3, 0.02, LAWS, target=target) for target in ("cpu", "cuda"))
    np.testing.assert_array_equal(here.joints, there.joints)
    assert "double" in made[0].source


def test_what_a_law_refuses_is_an_error_and_not_the_end_of_a_run():
    """Whatever the integrator, single steps or whole runs."""

    @dataclass(frozen=True)
    class Choosy(Law):
        name: str = "choosy"

        def forces(self, model, t, state, touching):
            raise fc.ModelError("not for cats")

    for integrator in ("rkmk4", "implicit"):
        with pytest.raises(fc.ModelError, match="not for cats"):
            fc.simulate(CAT, START, 0.1, Choosy(), integrator=integrator)


def test_a_whole_run_stops_where_its_numbers_end_and_keeps_what_there_is():
    @dataclass(frozen=True)
    class Bursting(Law):
        name: str = "bursting"

        def forces(self, model, t, state, touching):
            return concatenate([np.zeros(model.m), where(less(t, 0.03), 0.0, np.inf) * np.ones(model.n)])

    run = fc.simulate(CAT, START, 0.1, Bursting(), integrator="rkmk4", dt=1e-3)
    assert run.status.startswith("stopped after 0.029 s")
    assert "no longer finite" in run.status
    assert len(run) == 30  # a step asks for forces at its end
    assert np.isfinite(run.joints).all()


def test_interrupted_between_its_parts():
    def tell(share):
        if share > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stop:
        fc.simulate(CAT, START, 10.0, LAWS, integrator="rkmk4", dt=1e-3, progress=tell)
    assert stop.value.result.times[-1] == pytest.approx(4.0)


@pytest.mark.parametrize(("rate", "latency"), [(100.0, 0.0), (250.0, 0.003), (130.0, 0.0)])
def test_a_sampled_controller_beside_whole_steps(rate, latency):
    """It looks at the ends of steps, or within them (130 Hz), every third step is kept: as step by step."""
    asked = SampledController(lambda t, s: -0.3 * s.joints - 0.05 * s.rates + 0.01 * t, rate, latency)
    about = {"integrator": "rkmk4", "dt": 1e-3, "every": 3}
    whole = fc.simulate(CAT, START, 0.1, [JointDamper(0.01), asked], **about)
    single = fc.simulate(CAT, START, 0.1, [JointDamper(0.01), asked], **about, events=[fc.Event("never", never)])
    np.testing.assert_array_equal(whole.times, single.times)
    np.testing.assert_allclose(whole.joints, single.joints, rtol=1e-12)
    np.testing.assert_array_equal(whole.port_forces["controller"].shape, single.port_forces["controller"].shape)
    np.testing.assert_allclose(whole.port_forces["controller"], single.port_forces["controller"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole.ledger.joints[-1], single.ledger.joints[-1], rtol=1e-10)


@pytest.mark.parametrize("method", ["implicit", "momentum"])
def test_the_energy_of_a_fall_balances(method):
    """Steps along the velocity at their end have their books for the middle: 1 ms of 50 ms are not missing."""
    run = fc.simulate(CAT, CAT.state(), 0.05, JointDamper(0.01), integrator=method, dt=1e-3)
    assert run.energy_residual < 1e-12
    many = fc.rollout(CAT, [CAT.state()] * 2, 0.05, JointDamper(0.01), integrator="implicit", dt=1e-3)
    assert many.residual.max() < 1e-12
    masses = {f"{CAT.link_names[0]}.mass": np.array([1.0, 2.0])}
    some = fc.rollout(CAT, [CAT.state()] * 2, 0.05, JointDamper(0.01), integrator="implicit", parameters=masses)
    assert some.residual.max() < 1e-12


@pytest.mark.parametrize("method", ["rkmk4", "implicit", "momentum"])
@pytest.mark.parametrize("switch", [0.1, 0.3])
def test_a_law_that_switches_at_the_end_of_a_step_does(method, switch):
    """It acts from after 0.1 s on.  Times are counted: a hundred times 0.001 is 0.1, their sum is more."""

    @dataclass(frozen=True)
    class Switched(Law):
        at: float
        name: str = "switched"

        def forces(self, model, t, state, touching):
            return concatenate([np.zeros(model.m), where(less(self.at, t), 1.0, 0.0) * np.ones(model.n)])

    law, about = Switched(switch), {"integrator": method, "dt": 1e-3}
    whole = fc.simulate(CAT, CAT.state(), switch + 0.002, law, **about)
    single = fc.simulate(CAT, CAT.state(), switch + 0.002, law, **about, events=[fc.Event("never", never)])
    assert np.abs(single.rates[-1]).max() > 0.01
    np.testing.assert_allclose(whole.rates, single.rates, rtol=0.0, atol=1e-9)
    simulator = BatchSimulator(CAT, [CAT.state()], law, integrator=fc.simulation.INTEGRATORS[method], dt=1e-3)
    simulator.step(round(switch / 1e-3) + 2)
    np.testing.assert_allclose(simulator.state.rates[0], single.rates[-1], rtol=0.0, atol=1e-9)
    assert simulator.times[0] == pytest.approx(single.times[-1], rel=1e-15)
