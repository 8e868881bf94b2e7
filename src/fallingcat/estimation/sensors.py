"""Sensors of a robot, as models through which any run can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._deprecated import former_arguments
from ..arrays.arguments import LARGEST_FLOAT, shape_of
from ..arrays.types import BoolArray, Float_N_6, FloatArray, Matrix_4_4
from ..dynamics import link_pose, link_twist
from ..errors import ModelError, describe
from ..lie import rotations
from ..model import Model
from ..records import concise
from ..simulation import Trajectory

MAX_READINGS = 10_000_000
"""Largest number of readings of a run"""
PERIOD_ROUNDING = 1e-9
"""s: largest difference of the periods of readings, by rounding"""


def _check(sensor: object) -> None:
    """All numbers of a sensor must be finite and not negative."""
    for name, x in vars(sensor).items():
        if isinstance(x, str):
            continue
        if isinstance(x, bool) or not isinstance(x, (int, float)) or not 0.0 <= x <= LARGEST_FLOAT:
            kind = type(sensor).__name__
            raise ModelError(f"{name} of {kind} must be a finite number that is not negative, got {describe(x)}")


@former_arguments(frame="link")
@dataclass(frozen=True)
class IMU:
    """Gyroscope and accelerometer, fixed to the base link.

    A reading is the mean over its period, as units deliver that integrate faster inside: angular velocity
    ``log(R_k' R_k+1) / dt`` and specific force ``a`` with ``v_k+1 = v_k + g dt + R_k J(w dt) a dt``, so that
    integration with these readings gives the true rotation and velocity when there is no noise.

    Example:
        >>> IMU(gyro=1e-3).gyro
        0.001
    """

    link: str = ""
    """frame of the base link at which it sits; empty: the base itself"""
    gyro: float = 1e-4
    """rad/s/sqrt(Hz): density of white noise"""
    accelerometer: float = 2e-3
    """m/s^2/sqrt(Hz)"""
    gyro_walk: float = 1e-5
    """rad/s^2/sqrt(Hz): random walk of the bias"""
    accelerometer_walk: float = 1e-4
    """m/s^3/sqrt(Hz)"""
    delay: float = 0.0
    """s: age of a reading when it is known"""

    def __post_init__(self) -> None:
        _check(self)

    def placement(self, model: Model) -> Matrix_4_4:
        """Pose (4 x 4) of the unit in the base link.

        Args:
            model: Robot.

        Returns:
            Pose (4 x 4) ``H_base_imu``.
        """
        if not self.link:
            return np.eye(4)
        frame = model.frame(self.link)
        if model.link_index(frame.link) != 0:
            raise ModelError(f"the inertial measurement unit must be fixed to the base link, and {self.link!r} is not")
        return np.asarray(frame.placement)


@dataclass(frozen=True)
class Encoders:
    """Joint angles and rates with white noise.

    Example:
        >>> Encoders().angles
        0.0001
    """

    angles: float = 1e-4
    """rad or m: standard deviation of a reading"""
    rates: float = 1e-2
    """rad/s or m/s"""
    delay: float = 0.0
    """s"""

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class ContactSensor:
    """Switches below the feet: closed where the ground pushes with more than a threshold.

    Example:
        >>> ContactSensor(threshold=5.0)
        ContactSensor(threshold=5.0, delay=0.0)
    """

    threshold: float = 1.0
    """N: normal force"""
    delay: float = 0.0
    """s"""

    def __post_init__(self) -> None:
        _check(self)


@concise
class Readings(NamedTuple):
    """Readings of a run at ``K + 1`` times; those of the inertial measurement unit are means over the ``K`` periods.

    Example:
        >>> Readings._fields
        ('times', 'imu', 'joints', 'rates', 'touching', 'biases')
    """

    times: FloatArray
    """``K + 1`` (s), equally spaced"""
    imu: Float_N_6
    """``K x 6``: angular velocity (rad/s) and specific force (m/s^2) in the axes of the unit"""
    joints: FloatArray
    """``(K + 1) x n``: angles (rad, m)"""
    rates: FloatArray
    """``(K + 1) x n`` (rad/s, m/s)"""
    touching: BoolArray
    """``(K + 1) x N``: feet on the ground"""
    biases: Float_N_6
    """``K x 6``: true biases in ``imu``, which no filter is given"""


def read(
    run: Trajectory,
    feet: Sequence[str],
    rate: float,
    imu: IMU | None = None,
    encoders: Encoders | None = None,
    contacts: ContactSensor | None = None,
    *,
    bias: Sequence[float] = (0.0,) * 6,
    rng: np.random.Generator | None = None,
) -> Readings:
    """Read a run through sensors.

    Args:
        run: Motion of a robot with a free base.
        feet: Contact points with switches, in order; points of the run's contact.
        rate: Readings per second.
        imu: Gyroscope and accelerometer.
        encoders: Joint encoders.
        contacts: Foot switches.
        bias: Biases of gyroscope (rad/s) and accelerometer (m/s^2) at the start, 6.
        rng: Source of noise; None: readings without noise, with constant biases.

    Returns:
        Readings from the start to the end of the run.

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> run = fc.simulate(body, body.state(twist=[1, 0, 0, 0, 0, 2.0]), 0.1)
        >>> readings = fc.estimation.read(run, [], rate=100)
        >>> np.abs(readings.imu[0]).round(9)  # falling: no specific force
        array([0., 0., 2., 0., 0., 0.])
    """
    check_sensors(imu, encoders, contacts)
    imu, encoders, contacts = imu or IMU(), encoders or Encoders(), contacts or ContactSensor()
    if not isinstance(run, Trajectory):
        raise ModelError(f"run must be a Trajectory of fc.simulate, got {describe(run)}")
    feet, rng = checked_feet(run.model, feet, ()), checked_generator(rng)
    start_bias = checked_bias(bias)
    times = _times(run, rate)
    dt = times[1] - times[0]
    motion = _imu_motion(run, imu, times - imu.delay)
    ideal = mean_readings(*motion, np.asarray(run.model.gravity), dt)
    biases = np.tile(start_bias, (len(ideal), 1))
    late = [run.at(_time_within_run(run, t - encoders.delay)) for t in times]
    joints, rates = np.array([s.joints for s in late]), np.array([s.rates for s in late])
    touching = _switches(run, feet, contacts, times - contacts.delay)
    readings = Readings(times, ideal + biases, joints, rates, touching, biases)
    return readings if rng is None else add_noise(readings, imu, encoders, rng)


def add_noise(readings: Readings, imu: IMU, encoders: Encoders, rng: np.random.Generator) -> Readings:
    """Add the noise of sensors to readings without noise, and let the biases walk.

    Args:
        readings: Readings, as :func:`read` gives them without ``rng``.
        imu: Gyroscope and accelerometer.
        encoders: Joint encoders.
        rng: Source of noise.

    Returns:
        Readings with noise.

    Example:
        >>> joints, still = np.zeros((3, 1)), np.zeros((2, 6))
        >>> clean = Readings(np.arange(3.0), still, joints, joints, np.zeros((3, 0), bool), still)
        >>> noisy = add_noise(clean, IMU(gyro=0.1), Encoders(), np.random.default_rng(0))
        >>> bool(np.abs(noisy.imu[:, :3]).max() > 0.01)
        True
    """
    check_readings(readings)
    check_sensors(imu, encoders)
    if imu is None or encoders is None or not isinstance(rng, np.random.Generator):
        raise ModelError(f"noise needs an IMU, Encoders and a NumPy generator, got {describe(rng)}")
    dt = readings.times[1] - readings.times[0]
    walk, white = deviations(imu, dt)
    walked = np.cumsum(walk * rng.standard_normal(readings.imu.shape), axis=0)
    return readings._replace(
        imu=readings.imu + walked + white * rng.standard_normal(readings.imu.shape),
        joints=readings.joints + encoders.angles * rng.standard_normal(readings.joints.shape),
        rates=readings.rates + encoders.rates * rng.standard_normal(readings.rates.shape),
        biases=readings.biases + walked,
    )


def deviations(imu: IMU, dt: float) -> tuple[FloatArray, FloatArray]:
    """Standard deviations (6 each) of the change of the biases in a period (s) and of the noise of its readings."""
    walk = np.repeat([imu.gyro_walk, imu.accelerometer_walk], 3) * np.sqrt(dt)
    return walk, np.repeat([imu.gyro, imu.accelerometer], 3) / np.sqrt(dt)


def _times(run: Trajectory, rate: float) -> FloatArray:
    duration = float(run.times[-1] - run.times[0])
    if isinstance(rate, bool) or not isinstance(rate, (int, float, np.number)) or not 0.0 < rate <= LARGEST_FLOAT:
        raise ModelError(f"rate must be a positive number of readings per second, got {describe(rate)}")
    # a run of whole periods whose product rounds down has its last reading all the same
    count = int(min(duration * rate, 2.0 * MAX_READINGS) + 1e-9)
    if count > MAX_READINGS:
        raise ModelError(f"{rate:g} readings per second for {duration:g} s are more than {MAX_READINGS:,}")
    if count < 1:
        raise ModelError(f"a run of {duration:g} s has no whole period at {rate:g} readings per second")
    return run.times[0] + np.arange(count + 1) / rate


def _time_within_run(run: Trajectory, t: float) -> float:
    """Time within the run: before its start the robot is taken to have been as at its start."""
    return float(np.clip(t, run.times[0], run.times[-1]))


def _imu_motion(run: Trajectory, imu: IMU, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rotations (K + 1, 3, 3) and world velocities (K + 1, 3) of the unit."""
    model = run.model
    place = model.frame(imu.link or model.link_names[0])
    imu.placement(model)
    states = [run.at(_time_within_run(run, t)) for t in times]
    rotation = np.array([link_pose(model, s, place)[:3, :3] for s in states])
    velocity = np.array([link_twist(model, s, place, "mixed")[:3] for s in states])
    return rotation, velocity


def mean_readings(R: FloatArray, v: FloatArray, gravity: FloatArray, dt: float) -> FloatArray:
    """Mean readings (K, 6) that integrate to the given rotations and velocities."""
    turn = np.array([rotations.log(a.T @ b) for a, b in pairwise(R)])
    push = np.einsum("kij,ki->kj", R[:-1], np.diff(v, axis=0) / dt - gravity)
    force = [rotations.left_jacobian_inverse(w) @ f for w, f in zip(turn, push, strict=True)]
    return np.concatenate([turn / dt, np.array(force)], axis=1)


def _switches(run: Trajectory, feet: Sequence[str], contacts: ContactSensor, times: FloatArray) -> BoolArray:
    points = run.contact_points if feet else ()
    unknown = [foot for foot in feet if foot not in points]
    if unknown:
        raise ModelError(f"{unknown[0]!r} is no contact point of the run: it has {', '.join(points) or 'none'}")
    if not feet:
        return np.zeros((len(times), 0), dtype=bool)
    closed = run.contact_pushes[:, [points.index(foot) for foot in feet]] > contacts.threshold
    # the last sample that is not later; times that equal a sample but for rounding take that sample
    last = np.searchsorted(run.times, np.clip(times, run.times[0], run.times[-1]) + 1e-12, side="right") - 1
    return closed[last]


def check_sensors(imu: Any, encoders: Any, contacts: Any = None) -> None:
    """Raise an error unless these are models of sensors."""
    for x, kind in ((imu, IMU), (encoders, Encoders), (contacts, ContactSensor)):
        if x is not None and not isinstance(x, kind):
            raise ModelError(f"a sensor must be of kind {kind.__name__}, got {describe(x)}")


def check_deviations(*given: Any, name: str = "a standard deviation") -> None:
    """Raise an error where one is no standard deviation."""
    for x in given:
        if isinstance(x, bool) or not isinstance(x, (int, float, np.number)) or not 0.0 <= x <= LARGEST_FLOAT:
            raise ModelError(f"{name} must be a finite number that is not negative, got {describe(x)}")


def checked_feet(model: Model, feet: Any, known: Any = None) -> tuple[str, ...]:
    """Names of feet, each once; of links and frames of the model unless ``known`` is given."""
    if not isinstance(feet, (list, tuple)) or not all(isinstance(foot, str) for foot in feet):
        raise ModelError(f"feet must be a list of names of links and frames, got {describe(feet)}")
    if len(set(feet)) < len(feet):
        raise ModelError(f"a foot is named twice: {', '.join(feet)}")
    for foot in feet if known is None else ():
        model.frame(foot)
    return tuple(feet)


def checked_generator(rng: Any) -> np.random.Generator | None:
    """Source of noise; of an integer, its generator."""
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(rng)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise ModelError(f"rng must be a NumPy generator, a seed or None, got {describe(rng)}")
    return rng


def checked_bias(bias: Any) -> FloatArray:
    """Biases of gyroscope and accelerometer, 6 finite numbers."""
    try:
        found = np.array(bias if shape_of(bias) == (6,) else None, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != (6,) or not np.isfinite(found).all():
        raise ModelError(f"bias must be 6 finite numbers (rad/s, m/s^2), got {describe(bias)}")
    return found


def check_readings(readings: Any) -> None:
    """Refuse readings whose sizes do not fit, or that are no numbers, with their time."""
    if not isinstance(readings, Readings):
        raise ModelError(f"readings must be Readings, such as of fc.estimation.read, got {describe(readings)}")
    times, count = readings.times, len(readings.times)
    if np.ndim(times) != 1 or count < 2 or not (np.diff(times) > 0.0).all() or np.ptp(np.diff(times)) > PERIOD_ROUNDING:
        raise ModelError("times of the readings must grow evenly, a filter has one period: resample them")
    for name, length in (("imu", count - 1), ("joints", count), ("touching", count)):
        if len(getattr(readings, name)) != length:
            found = len(getattr(readings, name))
            raise ModelError(f"{name} of readings at {count} times must have {length} rows, got {found}")
    for name in ("imu", "joints", "touching"):
        bad = np.argwhere(~np.isfinite(getattr(readings, name)))
        if len(bad):
            raise ModelError(f"{name} of the readings is not finite at t = {times[bad[0][0]]:g} s")
