"""Odd arguments of sensors, filters, observers and detectors: an error of ours, or numbers."""

import functools

import numpy as np
import pytest
from odd_arguments import changes, tried

import fallingcat as fc
from fallingcat import estimation as est
from tests.support.walking_robots import BENT, DOG, FEET, GROUND


@functools.cache
def odd_calls():
    state = DOG.standing(GROUND, BENT)
    run = fc.simulate(DOG, state, 0.02, None, GROUND, dt=1e-3)
    filter, observer = est.ContactFilter(DOG, FEET), est.MomentumObserver(DOG)
    belief, readings = filter.begin(state), est.read(run, FEET, 500.0)
    detector, switches = est.ContactDetector(observer, FEET, 20.0), est.FootSwitches(DOG, FEET, GROUND)
    torques = np.zeros(DOG.nv)
    tick = {"imu": np.array([0, 0, 0, 0, 0, 9.81]), "joints": state.joints, "touching": np.ones(4), "dt": 0.002}
    begin = {"rotation": 0.1, "velocity": 0.1, "position": 0.0, "gyro_bias": 0.01, "accelerometer_bias": 0.1}
    feedback = {"filter": filter, "touching": switches, "contact_delay": 0.0, "bias": (0.0,) * 6, "seed": 0}
    return {
        "imu": (est.IMU, vars(est.IMU())),
        "encoders": (est.Encoders, vars(est.Encoders())),
        "switches of sensors": (est.ContactSensor, vars(est.ContactSensor())),
        "read": (est.read, {"run": run, "feet": FEET, "rate": 500.0, "imu": None, "bias": (0.0,) * 6, "rng": None}),
        "noise": (
            est.add_noise,
            {"readings": readings, "imu": est.IMU(), "encoders": est.Encoders(), "rng": np.random.default_rng(0)},
        ),
        "observer": (est.MomentumObserver, {"model": DOG, "gain": 100.0}),
        "observer begins": (observer.begin, {"state": state}),
        "observer steps": (
            observer.step,
            {"before": observer.begin(state), "state": state, "forces": torques, "dt": 1e-3},
        ),
        "forces at feet": (observer.contact_forces, {"state": state, "residual": torques, "feet": FEET}),
        "detector": (est.ContactDetector, {"observer": observer, "feet": FEET, "threshold": 20.0, "release": None}),
        "detector steps": (
            detector.step,
            {"before": detector.begin(state), "state": state, "forces": torques, "dt": 1e-3},
        ),
        "filter": (est.ContactFilter, {"model": DOG, "feet": FEET, "imu": est.IMU(), "slip": 0.02}),
        "filter begins": (filter.begin, {"state": state} | begin),
        "filter steps": (filter.step, {"belief": belief} | tick),
        "filter predicts": (filter.predict, {"belief": belief} | tick),
        "pose": (filter.correct_pose, {"belief": belief, "pose": state.pose, "rotation": 0.1, "position": 0.1}),
        "filter runs": (filter.run, {"readings": readings, "start": belief}),
        "base": (filter.base, {"belief": belief, "gyro": np.zeros(3)}),
        "smooth": (est.smooth, {"filter": filter, "readings": readings, "start": belief, "lag": None}),
        "switches": (est.FootSwitches, {"model": DOG, "feet": FEET, "ground": GROUND, "travel": None}),
        "switches close": (switches, {"t": 0.0, "state": state}),
        "feedback": (lambda **given: est.EstimatedFeedback(lambda t, state: torques, **given), feedback),
    }


NAMES = [
    "imu",
    "encoders",
    "switches of sensors",
    "read",
    "noise",
    "observer",
    "observer begins",
    "observer steps",
    "forces at feet",
    "detector",
    "detector steps",
    "filter",
    "filter begins",
    "filter steps",
    "filter predicts",
    "pose",
    "filter runs",
    "base",
    "smooth",
    "switches",
    "switches close",
    "feedback",
]


@pytest.mark.parametrize("name", NAMES)
def test_odd_arguments(name):
    assert [*odd_calls()] == NAMES
    call = odd_calls()[name]
    for changed, odd in changes(call):
        tried(call, changed, odd)
