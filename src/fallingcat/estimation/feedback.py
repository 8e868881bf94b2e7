"""Control on estimates: a simulated robot is seen by its controller through sensors and a filter."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays.arguments import as_number
from ..arrays.types import BoolArray, FloatArray, Vector
from ..contact import Contact
from ..dynamics.checks import check_model, check_state
from ..errors import ModelError, NumericsError, describe
from ..geometry.point_positions import point_coordinates
from ..lie import SE3
from ..model import Model, State
from ..records import short_text
from .belief import Belief, check_belief
from .contact_filter import ContactFilter
from .sensors import IMU, Encoders, check_sensors, checked_bias, checked_feet, deviations, mean_readings

SOFT_TRAVEL, HARD_TRAVEL = 1e-3, -1e-4
"""m: depth in compliant and in hard ground at which a foot switch closes: feet that hardly touch still slide"""
TIME_ROUNDING = 1e-9
"""s: rounding of sampling times"""

ContactMask = Callable[[float, State], Any]
"""``(t, state) -> mask`` of the feet on the ground"""


class FootSwitches:
    """Switches below the feet, read in a simulation: closed where a foot is in the ground.

    Args:
        model: Robot.
        feet: Links or frames.
        ground: Contact of the simulation, with a ground: a compliant floor or hard contacts.
        travel: Depth (m) at which a switch closes; None: 1 mm in compliant ground, 0.1 mm above hard ground.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [frame.name for frame in dog.frames]
        >>> ground = fc.contact.CompliantFloor(feet)
        >>> switches = FootSwitches(dog, feet, ground)
        >>> switches(0.0, dog.state(position=[0, 0, 0.4], joints=(0.0, 0.7, -1.4) * 4))
        array([False, False, False, False])
    """

    def __init__(self, model: Model, feet: Sequence[str], ground: Contact, travel: float | None = None) -> None:
        """See the class."""
        check_model(model)
        feet = checked_feet(model, feet)
        if travel is not None:
            as_number(travel, "travel (m)", real=True)
        points, radii = tuple(getattr(ground, "points", ())), getattr(ground, "radii", None)
        missing = [foot for foot in feet if foot not in points]
        if missing or not callable(getattr(ground, "ground", None)):
            rule = f"ground must be a floor or hard contacts with the points {', '.join(feet)}"
            raise ModelError(f"{rule}, got {'one with ' + ', '.join(points) if points else describe(ground)}")
        if travel is None:
            travel = SOFT_TRAVEL if hasattr(ground, "stiffness") else HARD_TRAVEL
        self.model, self.feet, self.travel = model, tuple(feet), float(travel)
        self._ground = ground.ground(model)
        self._radii = [0.0 if radii is None else float(radii[points.index(foot)]) for foot in feet]

    def __repr__(self) -> str:
        return f"<FootSwitches of {self.model.name!r}: {', '.join(self.feet)}>"

    def __call__(self, t: float, state: State) -> BoolArray:
        """Mask of the feet in the ground."""
        check_state(self.model, state)
        pose, joints = np.asarray(state.pose)[None], np.asarray(state.joints)[None]
        places = point_coordinates(self.model, pose, joints, self.feet, np.eye(3))[0]
        heights = [self._ground.site(p, r).height for p, r in zip(places, self._radii, strict=True)]
        return np.array(heights, dtype=float) < -self.travel


class _Sample(NamedTuple):
    """True state at a tick."""

    time: float
    rotation: FloatArray
    """orientation of the unit (3 x 3)"""
    velocity: FloatArray
    """velocity of the unit, world (m/s)"""
    gyro: FloatArray
    """angular velocity (3, rad/s) in the axes of the unit"""
    joints: FloatArray
    rates: FloatArray
    touching: BoolArray


class EstimatedFeedback:
    """Controller that does not see the true state: sensors read the simulated robot, a filter estimates its base.

    A controller of :func:`fallingcat.simulate`, sampled: at each tick the inertial measurement unit, the encoders and
    the foot switches are read, with noise, biases and delays; the filter makes one step; the given controller receives
    the estimated state.  Delays are counted in whole ticks.  The first tick, and one before the last, begins anew: the
    filter then starts at the true state with the deviations of :meth:`.ContactFilter.begin`, or at ``start``.

    Args:
        controller: ``(t, state) -> joint forces``, such as a :class:`fallingcat.locomotion.WalkingLoop`.
        filter: Filter of the base.
        touching: Feet on the ground, ``(t, state) -> mask``, such as :class:`FootSwitches`.
        imu: Simulated unit; None: as the filter assumes.
        encoders: Simulated encoders; None: as the filter assumes.
        contact_delay: Delay of the switches (s).
        bias: Biases of gyroscope (rad/s) and accelerometer (m/s^2) at the start, 6; they walk from there.
        seed: Seed of the noise; None: no noise.
        start: Belief at the first tick.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [frame.name for frame in dog.frames]
        >>> ground = fc.contact.CompliantFloor(feet, stiffness=(2e4, 2e4), damping=(300.0, 300.0), friction=0.8)
        >>> posture = (0.0, 0.7, -1.4) * 4
        >>> loop = fc.locomotion.QuadrupedWalk(dog, feet, posture).compile(fc.locomotion.VelocityCommand(0.3))
        >>> filter = ContactFilter(dog, feet)
        >>> feedback = EstimatedFeedback(loop, filter, FootSwitches(dog, feet, ground))
        >>> start = dog.standing(ground, posture)
        >>> run = fc.simulate(dog, start, 0.3, fc.control.SampledController(feedback, rate=500.0), ground, dt=1e-3)
        >>> times, states = feedback.history
        >>> bool(np.abs(states.pose[-1][:3, 3] - run.at(times[-1]).pose[:3, 3]).max() < 0.01)
        True
    """

    def __init__(
        self,
        controller: Callable[[float, State], Any],
        filter: ContactFilter,
        touching: ContactMask,
        *,
        imu: IMU | None = None,
        encoders: Encoders | None = None,
        contact_delay: float = 0.0,
        bias: Sequence[float] = (0.0,) * 6,
        seed: int | None = 0,
        start: Belief | None = None,
    ) -> None:
        """See the class."""
        functions: tuple[Any, ...] = (controller, touching)
        odd = [x for x in functions if not callable(x)]
        if odd:
            raise ModelError(f"controller and touching must be functions of time and state, got {describe(odd[0])}")
        if not isinstance(filter, ContactFilter):
            raise ModelError(f"filter must be a ContactFilter, got {describe(filter)}")
        if isinstance(contact_delay, bool) or not isinstance(contact_delay, (int, float)) or not contact_delay >= 0.0:
            raise ModelError(f"contact_delay must be a time that is not negative (s), got {describe(contact_delay)}")
        check_sensors(imu, encoders)
        as_number(contact_delay, "contact_delay", real=True)
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ModelError(f"seed must be a whole number, not negative, or None, got {describe(seed)}")
        if start is not None:
            check_belief(start, filter.group.vectors, filter.size)
        self.controller, self.filter, self.touching = controller, filter, touching
        self.imu, self.encoders, self.contact_delay = imu or filter.imu, encoders or filter.encoders, contact_delay
        self.bias, self.seed, self.start = checked_bias(bias), seed, start
        self._placement = self.imu.placement(filter.model)
        self._to_unit = np.asarray(SE3().Ad(np.linalg.inv(self._placement)))
        self._last_tick = np.inf
        self._kernel = filter.compile()

    def __repr__(self) -> str:
        return f"<EstimatedFeedback of {short_text(self.filter.model.name)}>"

    @property
    def history(self) -> tuple[FloatArray, State]:
        """Times (K; s) of the ticks since the start, and the estimated states at them, with a first axis."""
        states = State(*(np.array(part) for part in zip(*self._states, strict=True)))
        return np.array(self._times), states

    @property
    def belief(self) -> Belief:
        """Belief at the last tick."""
        return self._belief

    def __call__(self, t: float, state: State) -> Vector:
        """Forces of the controller at the estimated state.

        Args:
            t: Time (s).
            state: True state, which only the sensors see.

        Returns:
            What the controller returns.
        """
        if not t >= self._last_tick:
            self._restart(t, state)
        elif t > self._last_tick:
            self._advance(t, state)
        self._last_tick = t
        return self.controller(t, self._states[-1])

    def _restart(self, t: float, state: State) -> None:
        """Begin anew."""
        if not np.isfinite(t):
            raise NumericsError(f"the time of a tick must be finite (s), got {describe(t)}")
        self._rng = None if self.seed is None else np.random.default_rng(self.seed)
        self._drift, self._samples = self.bias.copy(), deque([self._exact_sample(t, state)])
        first = self._samples[0]
        self._belief = self.filter.begin(state) if self.start is None else self.start
        self._closed = first.touching
        pose, twist = self.filter.base(self._belief, first.gyro)
        self._times, self._states = [t], [State(pose, first.joints, twist, first.rates)]

    def _advance(self, t: float, state: State) -> None:
        """One step of the filter."""
        before, dt = self._delayed_sample(self._last_tick, self.imu.delay), t - self._last_tick
        self._samples.append(self._exact_sample(t, state))
        self._drop_old_samples(self._last_tick)
        now = self._delayed_sample(t, self.imu.delay)
        rotations, velocities = np.array([before.rotation, now.rotation]), np.array([before.velocity, now.velocity])
        ideal = mean_readings(rotations, velocities, np.asarray(self.filter.model.gravity), dt)[0]
        joints = self._delayed_sample(t, self.encoders.delay)
        closed = self._delayed_sample(t, self.contact_delay).touching
        angles, rates = joints.joints, joints.rates
        if self._rng is not None:
            walk, white = deviations(self.imu, dt)
            self._drift += walk * self._rng.standard_normal(6)
            ideal = ideal + white * self._rng.standard_normal(6)
            angles = angles + self.encoders.angles * self._rng.standard_normal(angles.shape)
            rates = rates + self.encoders.rates * self._rng.standard_normal(rates.shape)
        seen, stance = ideal + self._drift, (self._closed & closed).astype(float)
        self._closed = closed
        self._belief = self._kernel(*self._belief, seen, angles, stance, np.array(dt))
        if not np.isfinite(self._belief.covariance).all():
            raise NumericsError(f"the covariance of the filter is not finite at t = {t:g} s")
        pose, twist = self.filter.base(self._belief, seen[:3])
        self._times.append(t)
        self._states.append(State(pose, angles, twist, rates))

    def _exact_sample(self, t: float, state: State) -> _Sample:
        """Measurements of the sensors without noise."""
        model = self.filter.model
        check_state(model, state)
        rotation = (state.pose @ self._placement)[:3, :3]
        twist = self._to_unit @ state.twist
        closed = np.asarray(self.touching(t, state))
        if closed.shape != (len(self.filter.feet),) or not np.isin(closed, (0, 1)).all():
            count = len(self.filter.feet)
            raise ModelError(f"touching must return {count} truth values, got {describe(closed)}")
        return _Sample(t, rotation, rotation @ twist[:3], twist[3:], state.joints, state.rates, closed.astype(bool))

    def _delayed_sample(self, t: float, delay: float) -> _Sample:
        """Last sample that is at least as old as the delay, or the first one."""
        for sample in reversed(self._samples):
            if sample.time <= t - delay + TIME_ROUNDING:
                return sample
        return self._samples[0]

    def _drop_old_samples(self, t: float) -> None:
        """Drop samples that no sensor will see again."""
        oldest = t - max(self.imu.delay, self.encoders.delay, self.contact_delay)
        while len(self._samples) > 1 and self._samples[1].time < oldest - TIME_ROUNDING:
            self._samples.popleft()
