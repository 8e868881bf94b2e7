"""Ctrl-C keeps what was simulated, and is never swallowed."""

import gc
import signal
from contextlib import contextmanager

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper, SampledController
from fallingcat.errors import FallingCatError, Interrupted

CAT = fc.robots.two_cylinder_cat()
START = CAT.state(joints=[0.4, 0.3], rates=[1.0, -0.5])


@pytest.fixture(autouse=True)
def heard():
    """Ctrl-C is heard, even where pytest was started with it ignored, as shells start what runs behind them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def ctrl_c_after(seconds):
    """The real signal, from the system's own clock; Python drops what is raised while it frees objects."""
    gc.disable()
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()


def test_what_was_simulated_is_kept():
    def pressed(t, s):
        if t > 0.05:
            signal.raise_signal(signal.SIGINT)
        return np.zeros(2)

    with pytest.raises(KeyboardInterrupt) as told:
        fc.simulate(CAT, START, 10.0, pressed, dt=0.01)
    assert isinstance(told.value, Interrupted)
    assert not isinstance(told.value, FallingCatError)  # a loop that goes on after errors of ours ends with it
    run = told.value.result
    assert run.status == str(told.value) == "interrupted at t = 0.05 s"
    assert run.times.tolist() == pytest.approx([0.0, 0.01, 0.02, 0.03, 0.04, 0.05])
    assert run.energy_residual < 1e-4


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file just opened, not yet in `with`
@pytest.mark.parametrize("every", [1, 7, 1000])
def test_wherever_it_comes_the_record_is_whole(every):
    """A bouncing ball with an event: steps, locating, jumps and records are all hit by some of the signals."""
    body = fc.robots.free_body()
    hard = fc.contact.HardContacts((body.link_names[0],), restitution=0.9)
    pose = np.eye(4)
    pose[2, 3] = 0.02
    top = fc.Event("top", lambda t, s: s.twist[2], -1)

    def simulated(duration):
        return fc.simulate(body, body.state(pose=pose), duration, contact=hard, events=[top], dt=2e-3, every=every)

    whole = simulated(1.0)
    names = [event.name for event in whole.events]
    rng, count = np.random.default_rng(every), 0
    for _ in range(12):
        try:
            with ctrl_c_after(rng.uniform(0.02, 0.1)):
                simulated(30.0)
        except Interrupted as stop:
            run, count = stop.result, count + 1
            shared = min(run.times[-1], whole.times[-1])
            assert [e.name for e in run.events if e.time <= shared] == names[
                : sum(e.time <= shared for e in run.events)
            ]
            assert len(run.times) == len(run.modes) == len(run.poses) == len(run.ledger.base)
            assert (np.diff(run.times) >= 0.0).all()
            i = int(np.searchsorted(run.times, shared, side="right")) - 1
            np.testing.assert_allclose(run.poses[i], whole.at(run.times[i]).pose, atol=1e-9)
            assert run.energy_residual < 1e-6
        except KeyboardInterrupt:
            continue  # before the first step there is nothing to keep
    assert count  # how many of the signals come before the first step depends on the machine


def test_a_rollout_keeps_whole_steps():
    states = [CAT.state(joints=[0.01 * i, 0.2], rates=[1.0, 0.0]) for i in range(64)]
    law = JointDamper(0.02)
    fc.rollout(CAT, states, 0.01, law, dt=5e-3)  # compiled
    for _ in range(3):
        with pytest.raises(Interrupted, match="interrupted at t = ") as told, ctrl_c_after(0.3):
            fc.rollout(CAT, states, 1e3, law, dt=5e-3, every=50)
        part = told.value.result
        t = float(part.times[-1])
        assert len(part.times) == len(part.poses) > 1
        assert part.status == str(told.value) == f"interrupted at t = {t:.6g} s"
        assert part.finite.all()
        whole = fc.rollout(CAT, states[:1], t, law, dt=5e-3)
        np.testing.assert_allclose(part.joints[-1, 0], whole.joints[-1, 0], atol=1e-9)


def test_a_search_for_a_gait_stops_after_the_iteration():
    pytest.importorskip("casadi")
    cat = fc.robots.cat()
    question = {"harmonics": 3, "starts": 3, "tolerance": 1e-13, "weight": 1e-4}
    with pytest.raises(KeyboardInterrupt) as told, ctrl_c_in_ipopt(iteration=5):
        fc.planning.optimize(cat, "turn", cat.joint_names[:3], **question)
    assert isinstance(told.value, Interrupted)
    best = told.value.result
    assert (best.status, best.optimal) == ("interrupted", False)
    assert best.iterations == 5  # the one in which it came was the last
    assert best.message.startswith("interrupted after 0 of 3 starts")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@contextmanager
def ctrl_c_in_ipopt(iteration):
    """The signal comes while the compiled solver works, in a given iteration."""
    from fallingcat.planning.gaits import ipopt as solver

    usual, count = solver.interrupt_callback, [-1]  # it looks before the first one, too

    def watch(casadi, problem, pressed):
        class Pressed:
            def is_set(self):
                count[0] += 1
                if count[0] == iteration:
                    signal.raise_signal(signal.SIGINT)
                return pressed.is_set()

        return usual(casadi, problem, Pressed())

    solver.interrupt_callback = watch
    try:
        yield
    finally:
        solver.interrupt_callback = usual


class Unbearable(Exception):
    """Of a user."""


@pytest.mark.parametrize("what", ["controller", "sampled", "event", "progress"])
def test_what_functions_of_the_user_raise_carries_the_run_so_far(what):
    def raising(t, s):
        if t > 0.045:
            raise Unbearable("enough")
        return np.zeros(2) if what in ("controller", "sampled") else 1.0

    given = {
        "controller": {"laws": raising},
        "sampled": {"laws": SampledController(raising, 100.0)},
        "event": {"events": [fc.Event("never", raising)]},
        "progress": {"progress": lambda share: raising(share, None), "events": [fc.Event("never", lambda t, s: 1.0)]},
    }[what]
    duration = 1.0 if what == "progress" else 10.0
    with pytest.raises(Unbearable, match="enough") as told:
        fc.simulate(CAT, START, duration, dt=0.01, integrator="rkmk4", every=3, **given)
    run = told.value.result
    t = run.times[-1]
    assert t in (pytest.approx(0.04), pytest.approx(0.05))
    assert run.status == f"stopped after {t:.6g} s: Unbearable('enough')"
    assert told.value.__notes__[-1] == f"the run up to t = {t:.6g} s is the `result` of this exception"
    assert told.traceback[-1].name == "raising"
    whole = fc.simulate(CAT, START, 0.06, dt=0.01, integrator="rkmk4")
    np.testing.assert_allclose(run.state(-1).joints, whole.at(t).joints, rtol=1e-12)


def test_an_exception_keeps_a_result_of_its_own():
    error = Unbearable("enough")
    error.result = "mine"

    def raising(t, s):
        if t > 0.0:
            raise error
        return np.zeros(2)

    with pytest.raises(Unbearable) as told:
        fc.simulate(CAT, START, 1.0, raising, dt=0.01)
    assert told.value is error
    assert error.result == "mine"


def test_what_a_loop_raises_carries_the_rollout_so_far():
    class Loop:
        def __call__(self, t, state):
            return np.zeros(2)

        def batch_forces(self, t, states):
            if t > 0.045:
                raise Unbearable("enough")
            return np.zeros((len(states.joints), 2))

    states = [CAT.state(joints=[0.1 * i, 0.2], rates=[1.0, 0.0]) for i in range(3)]
    with pytest.raises(Unbearable, match="enough") as told:
        fc.rollout(CAT, states, 1.0, SampledController(Loop(), 100.0), dt=5e-3)
    part = told.value.result
    assert part.times.tolist() == pytest.approx([0.0, 0.05])
    assert part.status == "stopped after 0.05 s: Unbearable('enough')"
    whole = fc.rollout(CAT, states, 0.05, dt=5e-3)
    np.testing.assert_allclose(part.joints[-1], whole.joints[-1], rtol=1e-12)
