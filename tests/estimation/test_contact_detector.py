"""Contact detection from the momentum observer: its delay in closed form, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.errors import ModelError
from fallingcat.estimation import ContactDetector, ContactState, MomentumObserver, ObserverState

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
BENT = (0.0, 0.7, -1.4) * 4


def standing():
    state = DOG.state(joints=BENT)
    held = fc.control.torques(DOG, state, [[fc.control.BaseTask(state.pose)]], contacts=FEET)
    return state, np.append(np.zeros(6), held.torques), held.forces


@pytest.mark.parametrize("gain", [50.0, 400.0])
def test_the_delay_is_that_of_the_observer(gain):
    """A step of force f is seen as f (1 - (1 + gain dt)^-k) after k periods."""
    state, tau, forces = standing()
    detector, dt = ContactDetector(MomentumObserver(DOG, gain), FEET, threshold=20.0), 1e-3
    expected = np.ceil(-np.log(1.0 - 20.0 / forces[:, 2]) / np.log(1.0 + gain * dt))
    seen, first = detector.begin(state), np.zeros(4)
    for k in range(1, 60):
        seen = detector.step(seen, state, tau, dt)
        first = np.where((first == 0.0) & (seen.touching == 1.0), k, first)
    assert_allclose(first, expected)
    assert_allclose(seen.forces, forces * (1.0 - (1.0 + gain * dt) ** -59.0), atol=1e-6)


def test_a_foot_is_released_below_the_lower_threshold():
    state, tau, _ = standing()
    detector = ContactDetector(MomentumObserver(DOG, 200.0), FEET, threshold=20.0, release=5.0)
    seen = detector.begin(state)
    for _ in range(40):
        seen = detector.step(seen, state, tau, 1e-3)
    falling = fc.gravity_forces(DOG, state)  # these forces alone keep it up: nothing else touches it
    kept = []
    for _ in range(30):
        seen = detector.step(seen, state, falling, 1e-3)
        kept.append(seen.touching.copy())
        assert ((seen.touching == 1.0) == (seen.forces[:, 2] > 5.0)).all()
    assert_allclose(kept[0], 1.0)
    assert_allclose(kept[-1], 0.0)


def test_it_compiles():
    state, tau, _ = standing()
    detector = ContactDetector(MomentumObserver(DOG, 200.0), FEET, threshold=20.0)

    def step(model, state, momentum, drift, residual, touching, forces):
        before = ContactState(ObserverState(momentum, drift, residual), np.zeros((4, 3)), touching)
        after = detector.step(before, state, forces, 1e-3)
        return concatenate([after.observer.residual, after.forces.reshape(-1), after.touching])

    sizes = {"momentum": 18, "drift": 18, "residual": 18, "touching": 4, "forces": 18}
    kernel, seen = fc.compile(DOG, step, inputs=sizes), detector.begin(state)
    moved = DOG.random_state(np.random.default_rng(0))
    after = detector.step(seen, moved, tau, 1e-3)
    found = kernel(*DOG.flatten(moved), *seen.observer, seen.touching, tau)
    expected = np.concatenate([after.observer.residual, after.forces.ravel(), after.touching])
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((DOG, FEET, 10.0), "observer must be a MomentumObserver, got"),
        ((MomentumObserver(DOG), ["paw"], 10.0), "'paw'"),
        ((MomentumObserver(DOG), [], 10.0), "feet must be a list of names"),
        ((MomentumObserver(DOG), FEET, np.nan), r"threshold of a ContactDetector must be positive \(N\), got"),
        ((MomentumObserver(DOG), FEET, 5.0, 9.0), r"release must be at most the threshold \(5 N\), got 9 N"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ModelError, match=message):
        ContactDetector(*arguments)
