"""Motions whose end no steps make certain are told apart from those that smaller steps would mend."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.model.robots.shapes import at, box_link
from fallingcat.simulation import Diagnostic, DiagnosticKind
from fallingcat.simulation.diagnostics.sensitivity import START_CHANGE, changed, end_distances

GROUND = fc.contact.HardContacts()
CAT = fc.robots.cat()


def falling() -> fc.State:
    """Limp cat, 25 cm above hard ground."""
    on_it, ground = GROUND.on_robot(CAT)
    state = ground.place(on_it, on_it.neutral())
    pose = state.pose.copy()
    pose[2, 3] += 0.25
    return CAT.state(pose=pose)


def end(run: fc.Trajectory) -> np.ndarray:
    return run.joints[-1]


@pytest.fixture(scope="module")
def fall() -> fc.Trajectory:
    return fc.simulate(CAT, falling(), 1.0, contact=GROUND)


def test_a_limp_cat_on_hard_ground_is_sensitive(fall: fc.Trajectory) -> None:
    """The estimated error of its steps is small: this run was finished without a remark."""
    (warning,) = fall.warnings
    assert warning.kind is DiagnosticKind.SENSITIVE
    assert warning.value > warning.limit > fall.error_estimate.relative
    assert "no steps make this end certain" in fall.status


def test_its_joints_end_elsewhere_in_other_steps_and_from_other_rates(fall: fc.Trajectory) -> None:
    """By calls with given steps, which no refinement changes."""
    ends = [end(fc.simulate(CAT, falling(), 1.0, contact=GROUND, dt=dt)) for dt in (6.25e-5, 1.25e-4, 3.125e-5)]
    assert min(np.abs(np.diff(ends, axis=0)).max(axis=1)) > 0.05  # rad
    faster = falling()._replace(rates=np.full(CAT.n, START_CHANGE))
    assert np.abs(end(fc.simulate(CAT, faster, 1.0, contact=GROUND, dt=6.25e-5)) - ends[0]).max() > 0.05


def test_rollouts_name_the_robots(fall: fc.Trajectory) -> None:
    rest = CAT.state(position=[0.0, 0.0, 10.0])  # above the ground all the time
    many = fc.rollout(CAT, [falling(), rest], 1.0, contact=GROUND)
    (warning,) = many.warnings
    assert warning.kind is DiagnosticKind.SENSITIVE
    assert warning.robots is not None
    assert warning.robots.tolist() == [0]


def test_what_stops_the_last_run_leaves_the_whole_one(fall: fc.Trajectory) -> None:
    """Ctrl-C while the run from another start goes on: what is kept is from the start that was given."""
    whole: list[float] = []

    def progress(share: float) -> None:
        whole.extend([share] * (share >= 1.0))
        if len(whole) == 3 and share < 1.0:  # the first run, two finer ones, and now that from another start
            raise KeyboardInterrupt

    with pytest.raises(fc.errors.Interrupted) as stopped:
        fc.simulate(CAT, falling(), 1.0, contact=GROUND, progress=progress)
    np.testing.assert_array_equal(stopped.value.result.joints, fall.joints)


# errors that do not grow -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain() -> fc.Model:
    """Two bricks with a hinge."""
    hinge = fc.Joint("hinge", fc.model.joints.Revolute((0.0, 1.0, 0.0)), "a", "b", at(0.22))
    return fc.Model("chain", fc.lie.SE3(), tuple(box_link(name, 0.5, (0.2, 0.1, 0.1)) for name in "ab"), (hinge,))


def tumble(chain: fc.Model, which: int, **how: float) -> tuple[Diagnostic, ...]:
    """Warnings of a throw."""
    rng = np.random.default_rng(0)
    for _ in range(which + 1):
        state = chain.state(position=[0, 0, 0.5], rpy=rng.normal(size=3), joints=rng.normal(size=1))
    return fc.simulate(chain, state, 1.5, contact=fc.contact.HardContacts(friction=0.8), **how).warnings


def test_errors_that_do_not_grow_are_errors_of_steps(chain: fc.Model) -> None:
    (warning,) = tumble(chain, 4)
    assert warning.kind is DiagnosticKind.STEP_ERROR


@pytest.mark.parametrize(("dt", "advice"), [(1e-3, "take far smaller steps"), (4e-3, "take 7e-05 s")])
def test_given_steps_stay_and_errors_beyond_the_motion_advise_no_number(
    chain: fc.Model, dt: float, advice: str
) -> None:
    (warning,) = tumble(chain, 3, dt=dt)
    assert (warning.kind, warning.advice) == (DiagnosticKind.STEP_ERROR, advice)


def test_a_change_of_the_start_in_free_flight_moves_the_end_by_itself() -> None:
    """``end_distances`` beside a closed form: the body flies on, faster by the change in all axes."""
    body = fc.robots.free_body()
    start = body.state(position=[0.0, 0.0, 1.0])
    runs = [fc.simulate(body, changed(body, start, change), 2.0) for change in (0.0, START_CHANGE)]
    (apart,) = end_distances(body, *runs).each
    assert apart.position == pytest.approx(2.0 * np.sqrt(3.0) * START_CHANGE, rel=1e-4)
    assert apart.angle == pytest.approx(2.0 * np.sqrt(3.0) * START_CHANGE, rel=1e-4)
