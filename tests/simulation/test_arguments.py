"""What a run is given: controllers that break, states of other robots, times that are none."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import Law
from fallingcat.errors import ModelError, NumericsError
from fallingcat.simulation import SciPy

CAT = fc.robots.two_cylinder_cat()
FLOOR = fc.contact.CompliantFloor(("foot",), stiffness=(1e4, 1e4), damping=(1e3, 1e3))
INTEGRATORS = ["momentum", "rkmk4", "semi_implicit", "implicit", "rosenbrock", "scipy", SciPy("Radau"), SciPy("LSODA")]


@dataclass(frozen=True)
class Broken(Law):
    """Not a number, from the start or from some time on."""

    since: float
    name: str = "broken"

    def forces(self, model, t, state, touching):
        from fallingcat.arrays import concatenate, less, sqrt, where

        pull = where(less(t, self.since), 0.1 + 0.0 * t, sqrt(-1.0 - t))
        return concatenate([np.zeros(model.m), np.reshape(pull, 1), np.zeros(model.n - 1)])


# controllers


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=str)
def test_a_force_that_is_not_a_number_stops_a_robot_at_rest(integrator):
    pull = lambda t, s: [0.1, np.nan if t > 0.03 else 0.0]  # noqa: E731
    run = fc.simulate(CAT, CAT.neutral(), 0.1, pull, integrator=integrator, dt=0.01)
    assert run.status.startswith("stopped after 0.0")
    assert f"joint {CAT.joint_names[1]!r}: the controller's force is not finite" in run.status
    assert 0.015 < run.times[-1] < 0.045
    assert run.rates[-1, 0] > 0.0  # the finite one was felt until then


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=str)
@pytest.mark.parametrize("since", [0.0, 0.05])
def test_a_law_that_is_not_a_number_stops_the_run(integrator, since):
    run = fc.simulate(CAT, CAT.neutral(), 0.1, Broken(since), integrator=integrator, dt=0.01)
    assert run.status.startswith("stopped after 0")
    assert "finite" in run.status
    assert np.isfinite(run.rates).all()
    assert since - 0.015 < run.times[-1] < since + 0.015


def test_a_force_that_is_not_a_number_at_the_start_is_refused():
    with pytest.raises(NumericsError, match=f"t = 0 s: joint '{CAT.joint_names[1]}': the controller's force is not"):
        fc.simulate(CAT, CAT.neutral(), 0.1, lambda t, s: [0.0, np.inf])
    with pytest.raises(NumericsError, match="t = 0 s: the controller's force on the base is not finite"):
        fc.simulate(CAT, CAT.neutral(), 0.1, lambda t, s: [np.nan, *np.zeros(7)])


def test_the_shape_of_what_a_controller_gives_is_checked_every_time():
    run = fc.simulate(CAT, CAT.neutral(), 0.1, lambda t, s: np.zeros(2 if t < 0.05 else 8), dt=0.01)
    assert "the controller gives 2 numbers, not shape (8,)" in run.status
    run = fc.simulate(CAT, CAT.neutral(), 0.1, lambda t, s: np.zeros(2) if t < 0.05 else "off", dt=0.01)
    assert "the controller gives 2 numbers, not 'off'" in run.status
    for nonsense in ("off", 3.0, {"spine": 1.0}):
        with pytest.raises(ModelError, match="a controller is"):
            fc.simulate(CAT, CAT.neutral(), 0.1, nonsense)


@pytest.mark.parametrize("integrator", ["momentum", "rkmk4", "scipy"])
def test_controllers_and_events_cannot_write_into_the_run(integrator):
    state, seen = CAT.state(joints=[0.1, 0.2]), []

    def nosy(t, s):
        for name, x in zip(s._fields, s, strict=True):
            with pytest.raises(ValueError, match="read-only"):
                x[...] = 7.0
            seen.append(name)
        return np.zeros(2)

    fc.simulate(CAT, state, 0.02, nosy, integrator=integrator, dt=0.01)
    fc.simulate(CAT, state, 0.02, dt=0.01, events=[fc.Event("nosy", lambda t, s: 1.0 + nosy(t, s)[0])])
    assert set(seen) == set(state._fields)
    np.testing.assert_array_equal(state.joints, [0.1, 0.2])
    state.joints[0] = 0.3  # the caller's own is still his to change


def test_a_controller_may_reuse_its_array():
    """Each answer is taken as it was given, not as it is when the next one is asked."""
    kept = np.zeros(2)

    def reused(t, s):
        kept[:] = -0.05 * s.rates + 0.01 * np.cos(20.0 * t)
        return kept

    start = CAT.state(rates=[1.0, -0.5])
    for integrator in ("momentum", "rkmk4"):
        one, other = (
            fc.simulate(CAT, start, 0.1, pull, integrator=integrator, dt=0.01)
            for pull in (reused, lambda t, s: reused(t, s).copy())
        )
        np.testing.assert_array_equal(one.rates, other.rates)


# states, times and counts


def test_poses_that_are_no_rotations_are_refused():
    for pose in (2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0]), np.diag([1.0, 1.0, 1.0, 2.0]), np.zeros((4, 4))):
        for run in (
            lambda pose=pose: fc.simulate(CAT, CAT.neutral()._replace(pose=pose), 0.1),
            lambda pose=pose: fc.rollout(CAT, [CAT.neutral(), CAT.neutral()._replace(pose=pose)], 0.1),
        ):
            with pytest.raises(ModelError, match="pose is no element"):
                run()
    hopper = fc.robots.revolute_hopper()
    rolled = CAT.base.exp(np.array([0.0, 0.0, 0.0, 0.3, 0.0, 0.0]))
    with pytest.raises(ModelError, match=r"pose is no element of the base group SE\(2\)"):
        fc.simulate(hopper, hopper.neutral()._replace(pose=rolled), 0.1)


def test_states_of_other_robots_are_refused():
    other = fc.robots.quadruped().neutral()
    with pytest.raises(ModelError, match="joints must have shape"):
        fc.simulate(CAT, other, 0.1)
    with pytest.raises(ModelError, match="state 1 is none of"):
        fc.rollout(CAT, [CAT.neutral(), other], 0.1)
    for nonsense in (None, "neutral", np.zeros(10), tuple(CAT.neutral())):
        with pytest.raises(ModelError, match="starts from a state"):
            fc.simulate(CAT, nonsense, 0.1)
    with pytest.raises(ModelError, match="rates holds a number that is not finite"):
        fc.simulate(CAT, CAT.neutral()._replace(rates=np.array([np.nan, 0.0])), 0.1)
    with pytest.raises(ModelError, match="plain real numbers"):
        fc.simulate(CAT, CAT.neutral()._replace(rates=np.array([1j, 0.0])), 0.1)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, "1", None, [1.0, 2.0]])
def test_times_are_named(wrong):
    for run in (fc.simulate, lambda model, state, *args, **how: fc.rollout(model, [state], *args, **how)):
        with pytest.raises(ModelError, match="duration is a finite number of seconds"):
            run(CAT, CAT.neutral(), wrong)
        if wrong is not None:
            with pytest.raises(ModelError, match="dt is a finite number of seconds above zero"):
                run(CAT, CAT.neutral(), 0.1, dt=wrong)
    with pytest.raises(ModelError, match="dt is a finite number of seconds above zero"):
        fc.simulate(CAT, CAT.neutral(), 0.1, dt=0.0)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2", np.nan])
def test_every_is_a_whole_number(wrong):
    with pytest.raises(ModelError, match="every is a whole number above zero"):
        fc.simulate(CAT, CAT.neutral(), 0.1, every=wrong)
    with pytest.raises(ModelError, match="every is a whole number above zero"):
        fc.rollout(CAT, [CAT.neutral()], 0.1, every=wrong)


def test_a_run_of_no_time_is_its_start():
    run = fc.simulate(CAT, CAT.neutral(), 0.0)
    assert (run.status, len(run)) == ("finished", 1)


def test_a_start_of_other_numbers_is_taken_as_floats():
    whole = replace(CAT, gravity=np.zeros(3)).state(joints=np.array([0, 1]), rates=np.array([1, 0]))
    assert fc.simulate(CAT, whole, 0.01).joints.dtype == float


def test_runs_that_no_memory_could_keep_are_refused_before_they_begin():
    """They were run until the system ended the process."""
    with pytest.raises(ModelError, match=r"1e\+12 samples are .* GB: keep fewer, every=100000 steps, say"):
        fc.simulate(CAT, CAT.neutral(), 1e9)
    fallen = fc.Event("deep", lambda t, s: s.pose[2, 3] + 1e-3, terminal=True)
    assert "deep" in fc.simulate(CAT, CAT.neutral(), 1e9, events=[fallen]).status


# what a stranger gives


ARM = fc.robots.planar_arm()


def test_an_event_of_true_and_false_is_refused():
    """It never happened, and the run said 'finished'."""
    late = fc.Event("late", lambda t, state: t > 0.05, terminal=True)
    with pytest.raises(ModelError, match=r"'late' gives a number that passes zero.*not True or False"):
        fc.simulate(CAT, CAT.neutral(), 0.1, events=[late])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: fc.simulate(ARM, ARM.neutral(), 0.1, lambda t, s: None), r"gives 3 joint forces, not None$"),
        (lambda: fc.simulate(CAT, CAT.neutral(), 0.1, lambda t, s: 1.0), r"2 joint forces, or 8 with .* not 1\.0$"),
        (lambda: fc.simulate(ARM, 1.0, ARM.neutral()), r"seconds and not negative, not a State$"),
        (lambda: fc.simulate(ARM, np.zeros(3), 0.1), r"model\.state\(\.\.\.\), not an array of shape \(3,\)$"),
        (lambda: fc.rollout(ARM, ARM.neutral(), 0.1), r"start from a list of states, \[state\] for one"),
        (lambda: fc.simulate(ARM, ARM.neutral(), 0.1, integrator="momentum"), "not one that is fixed: .*take 'rkmk4'"),
        (lambda: fc.control.JointSpring([1.0, 2.0, 3.0]), r"one number for all.*Impedance\(goal"),
        (lambda: fc.control.JointDamper(np.ones(3)), r"got an array of shape \(3,\): Impedance\(goal"),
        (
            lambda: fc.rollout(CAT, [CAT.neutral()] * 3, 0.1, parameters={f"{CAT.link_names[0]}.mass": [1, np.nan, 2]}),
            "of robot 1 is finite, not nan",
        ),
        (
            lambda: fc.rollout(CAT, [CAT.neutral()] * 3, 0.1, parameters={f"{CAT.link_names[0]}.mass": [1.0, 2.0]}),
            r"not an array of shape \(2,\)",
        ),
        (
            lambda: fc.simulation.BatchSimulator(ARM, [ARM.neutral()], driven=True).step(),
            "is given forces at each step",
        ),
    ],
)
def test_messages_say_what_was_given(call, says):
    """They said 'not shape ()', '3 joint forces or 3 forces', pages of arrays, 'finite numbers, not an array'."""
    with pytest.raises(ModelError, match=says):
        call()


def test_the_longest_step_of_a_method_that_chooses_its_own_changes_no_stop():
    """Stops were as soft as steps of that size resolve: a joint ended 1.2 rad away, far beyond its stop."""
    limits = [replace(joint, limits=fc.model.Limits(-0.1, 0.1)) for joint in ARM.joints]
    arm = replace(ARM, joints=tuple(limits))
    swings = arm.state(rates=[3.0, -2.0, 1.0])
    fine, coarse = (fc.simulate(arm, swings, 0.5, integrator="rosenbrock", dt=dt) for dt in (None, 0.05))
    assert np.abs(coarse.joints[-1] - fine.joints[-1]).max() < 1e-5
    assert np.abs(coarse.joints).max() == pytest.approx(np.abs(fine.joints).max(), abs=1e-3)


def test_targets_of_steps_are_named_where_simulations_do_not_run():
    with pytest.raises(ModelError, match=r"fc\.simulation\.step\(\.\.\., target='c'\) gives one step"):
        fc.rollout(CAT, [CAT.neutral()], 0.01, target="c")
