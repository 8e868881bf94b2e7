"""Contact-aided Kalman filter of a floating base: inertial measurement unit, encoders and feet on the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..arrays import block, concatenate, mirror, scale, skew, stack
from ..arrays.arguments import as_array
from ..arrays.types import Matrix, Pose, Poses, Scalar, Vector, Vector_6, Vector_n, Vectors_3
from ..caching import cached_property
from ..compiler import Kernel, compile
from ..dynamics.checks import check_model, check_state, positive, vector
from ..errors import ModelError, NumericsError, describe
from ..lie import SE3, SEk3, rotations
from ..model import Model, State
from ..model.states import check_pose
from ..records import concise
from .belief import Belief, Estimates, check_belief
from .error_coordinates import COORDINATES, ErrorCoordinates, on_diagonal, with_biases
from .kalman import kalman_update, process_noise
from .leg_kinematics import Legs, leg_positions
from .sensors import IMU, Encoders, Readings, check_deviations, check_readings, check_sensors, checked_feet


@concise
@dataclass(frozen=True)
class ContactFilter:
    """Extended Kalman filter on SE_k(3) of base pose, velocity, feet and biases, [Hartley] and [Traversaro] 6.

    The unit integrates; each foot on the ground is a landmark that the leg's kinematics see from the base,
    ``y_i = R' (d_i - p)``.  Feet in the air ride along with the base and become landmarks when they land, so one code
    of one size serves every set of contacts.  Heading and position cannot be seen by these sensors: their deviations
    do not shrink.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [frame.name for frame in dog.frames]
        >>> ground = fc.contact.CompliantFloor(feet, friction=0.8)
        >>> pose = [0.0, 0.6, -1.2] * 4
        >>> hold = [fc.control.JointSpring(200.0, tuple(pose)), fc.control.JointDamper(5.0)]
        >>> run = fc.simulate(dog, dog.standing(ground, pose), 0.4, hold, ground)
        >>> filter = fc.estimation.ContactFilter(dog, feet)
        >>> readings = fc.estimation.read(run, feet, rate=500, rng=np.random.default_rng(0))
        >>> tilted = run.state(0)._replace(pose=dog.state(rpy=[0.5, -0.5, 0.0], position=[0, 0, 0.4]).pose)
        >>> found = filter.run(readings, filter.begin(tilted, rotation=0.5, velocity=0.5))
        >>> up = run.poses[-1][2, :3]  # the world's z axis in the base
        >>> bool(np.abs(found.poses[-1][2, :3] - up).max() < 0.01)
        True
    """

    model: Model
    feet: Sequence[str]
    """contact points: frames or links"""
    imu: IMU = field(default_factory=IMU)
    encoders: Encoders = field(default_factory=Encoders)
    slip: float = 0.02
    """m/s/sqrt(Hz): white velocity noise of feet on the ground"""
    error: Literal["invariant", "additive"] = "invariant"
    """coordinates of the error; ``additive`` is the usual extended Kalman filter, for comparison"""

    def __post_init__(self) -> None:
        check_model(self.model)
        check_sensors(self.imu, self.encoders)
        if self.imu is None or self.encoders is None:
            raise ModelError("the filter needs an IMU and Encoders, got None")
        object.__setattr__(self, "feet", checked_feet(self.model, self.feet))
        if self.model.base != SE3():
            raise ModelError(f"the filter estimates a free base, SE(3), and {self.model.name!r} has {self.model.base}")
        if self.error not in COORDINATES:
            raise ModelError(f"error must be one of {', '.join(COORDINATES)}, got {describe(self.error)}")
        check_deviations(self.slip, name="slip")
        self.imu.placement(self.model)

    # sizes ----------------------------------------------------------------------------------------------------

    @cached_property
    def group(self) -> SEk3:
        """Group of the extended poses: position, velocity and feet."""
        return SEk3(2 + len(self.feet))

    @property
    def size(self) -> int:
        """Length of the error ``[position, velocity, feet, rotation, gyroscope bias, accelerometer bias]``."""
        return self.group.dim + 6

    @property
    def coordinates(self) -> ErrorCoordinates:
        """Coordinates of the error."""
        return COORDINATES[self.error]

    # start ----------------------------------------------------------------------------------------------------

    def begin(
        self,
        state: State,
        rotation: float = 0.1,
        velocity: float = 0.1,
        position: float = 0.0,
        gyro_bias: float = 0.01,
        accelerometer_bias: float = 0.1,
    ) -> Belief:
        """Belief at the start.

        Args:
            state: Guess of the state; joint angles are taken to be right.
            rotation: Standard deviation of the rotation about each axis (rad).
            velocity: Standard deviation of the velocity along each axis (m/s).
            position: Standard deviation of the position along each axis (m).
            gyro_bias: Standard deviation of the gyroscope's biases (rad/s).
            accelerometer_bias: Standard deviation of the accelerometer's biases (m/s^2).

        Returns:
            Belief with zero biases, and every foot in the air.
        """
        check_state(self.model, state)
        check_deviations(rotation, velocity, position, gyro_bias, accelerometer_bias)
        count, placement = len(self.feet), self.imu.placement(self.model)
        H = np.asarray(state.pose) @ placement
        v = _imu_twist(state.twist, placement)
        X = self.group.identity()
        X[:3, :3], X[:3, 3], X[:3, 4] = H[:3, :3], H[:3, 3], H[:3, :3] @ v[:3]
        floor = 1e-9  # a positive definite covariance, also of what is taken to be known
        deviations = [position, velocity, *[0.0] * count, rotation, gyro_bias, accelerometer_bias]
        P = np.diag(np.repeat(np.maximum(deviations, floor), 3) ** 2)
        # the guess is off by differences of position and velocity, whatever the filter's coordinates are
        T = self._to_filter(COORDINATES["additive"].change(self.group, X), X)
        belief = Belief(X, np.zeros(6), T @ P @ T.T)
        return self._with_feet_in_the_air(
            belief, *leg_positions(self, self.model, np.asarray(state.joints)), np.zeros(count)
        )[0]

    def _to_filter(self, T: Matrix, X: Matrix) -> Matrix:
        """Change from additive errors to those of the filter, with the biases."""
        return with_biases(self.coordinates.change_inverse(self.group, X) @ T)

    # one step -------------------------------------------------------------------------------------------------

    def step(self, belief: Belief, imu: Vector_6, joints: Vector_n, touching: Vector, dt: Scalar) -> Belief:
        """Belief after one period: integrate the unit, then see the feet.

        Args:
            belief: At the start of the period.
            imu: Mean angular velocity (rad/s) and specific force (m/s^2) over the period, 6.
            joints: Joint angles (n) at its end.
            touching: 1 for feet (N) that were on the ground all the time, 0 for others.
            dt: Period (s).

        Returns:
            Belief at the end of the period.
        """
        return self._step(self.model, *self._check_step(belief, imu, joints, touching, dt))

    def predict(
        self, belief: Belief, imu: Vector_6, joints: Vector_n, touching: Vector, dt: Scalar
    ) -> tuple[Belief, Matrix]:
        """Belief after one period before the feet on the ground are seen; arguments as for :meth:`step`.

        Args:
            belief: At the start of the period.
            imu: Mean angular velocity (rad/s) and specific force (m/s^2) over the period, 6.
            joints: Joint angles (n) at its end.
            touching: 1 for feet (N) that were on the ground all the time, 0 for others.
            dt: Period (s).

        Returns:
            Belief, and the transition matrix (k x k) of the error.
        """
        belief, imu, joints, touching, dt = self._check_step(belief, imu, joints, touching, dt)
        return self._predict(self.model, belief, imu, leg_positions(self, self.model, joints), touching, dt)

    def _check_step(self, belief: Belief, imu: Vector, joints: Vector, touching: Vector, dt: Scalar) -> tuple[Any, ...]:
        """Arguments of a step, of their shapes."""
        check_belief(belief, self.group.vectors, self.size)
        joints = vector(joints, self.model.nq - self.model.base.nq, "joints")
        touching = as_array(touching, (len(self.feet),), "touching")
        return belief, vector(imu, 6, "imu"), joints, touching, positive(dt, "dt")

    def _step(self, model: Model, belief: Belief, imu: Vector, joints: Vector, touching: Vector, dt: Scalar) -> Belief:
        legs = leg_positions(self, model, joints)
        predicted, _ = self._predict(model, belief, imu, legs, touching, dt)
        return self._with_feet_on_the_ground(predicted, *legs, touching)

    def _predict(
        self, model: Model, belief: Belief, imu: Vector, legs: Legs, touching: Vector, dt: Scalar
    ) -> tuple[Belief, Matrix]:
        """Belief before the feet on the ground are seen, and the transition matrix of the error."""
        moved, F = self._integrate_imu(model, belief, imu, dt)
        lifted, G = self._with_feet_in_the_air(moved, *legs, touching)
        return lifted, G @ F

    def _integrate_imu(self, model: Model, belief: Belief, imu: Vector, dt: Scalar) -> tuple[Belief, Matrix]:
        """Integrate the unit; the transition holds for errors of any size but those of the biases."""
        X, group, count = belief.element, self.group, len(self.feet)
        w, a = imu[:3] - belief.bias[:3], imu[3:] - belief.bias[3:]
        R, gravity = X[:3, :3], np.asarray(model.gravity)
        # exact for readings that are constant over the period: the mean of R exp(w t) is R J(w dt)
        dv = dt * (gravity + R @ (rotations.left_jacobian(dt * w) @ a))
        velocity = X[:3, 4] + dv
        position = X[:3, 3] + dt * (X[:3, 4] + 0.5 * dv)
        moved = concatenate([stack([position, velocity]).T, X[:3, 5:]], axis=1)
        after = concatenate([concatenate([R @ rotations.exp(dt * w), moved], axis=1), X[3:]])
        # right-invariant error, exact: xi_v += g x xi_R dt, xi_p += xi_v dt + g x xi_R dt^2 / 2
        zero, one, G = np.zeros((3, 3)), np.eye(3), skew(gravity)
        rest = [zero] * count
        rows = [[one, scale(dt, one), *rest, scale(0.5 * dt * dt, G)], [zero, one, *rest, scale(dt, G)]]
        feet = [[one if j == i + 2 else zero for j in range(group.vectors + 1)] for i in range(count)]
        Phi = block([*rows, *feet, [zero, zero, *rest, one]])
        # readings that are too large by a bias or by noise: a motion too far in the axes of the unit
        still = [[zero, zero]] * count
        wrong = block([[zero, scale(0.5 * dt * dt, one)], [zero, scale(dt, one)], *still, [scale(dt, one), zero]])
        B = group.Ad(after) @ wrong
        into, out = self.coordinates.change(group, X), self.coordinates.change_inverse(group, after)
        F = block([[out @ Phi @ into, -(out @ B)], [np.zeros((6, group.dim)), np.eye(6)]])
        P = F @ belief.covariance @ F.T + process_noise(self.imu, self.slip, out, B, dt)
        return Belief(after, belief.bias, mirror(P)), F

    def _with_feet_in_the_air(
        self, belief: Belief, positions: Matrix, noises: Sequence[Matrix], touching: Vector
    ) -> tuple[Belief, Matrix]:
        """Feet in the air are where the legs say, ``xi_d = xi_p + R n``, whatever was believed before."""
        X, group, count = belief.element, self.group, len(self.feet)
        if not count:
            return belief, np.eye(self.size)
        R, air = X[:3, :3], 1.0 - touching
        seen = X[:3, 3:4] + R @ positions.T
        feet = X[:3, 5:] + (seen - X[:3, 5:]) * air
        after = concatenate([concatenate([X[:3, :5], feet], axis=1), X[3:]])
        zero, one = np.zeros((3, 3)), np.eye(3)
        rows = [[one if j == i else zero for j in range(group.vectors + 1)] for i in range(group.vectors + 1)]
        for i in range(count):
            rows[2 + i][0], rows[2 + i][2 + i] = scale(air[i], one), scale(touching[i], one)
        into, out = self.coordinates.change(group, X), self.coordinates.change_inverse(group, after)
        F = with_biases(out @ block(rows) @ into)
        blocks = [scale(air[i], R @ noises[i] @ R.T) for i in range(count)]
        N = on_diagonal(blocks, 6, self.size)
        return Belief(after, belief.bias, mirror(F @ belief.covariance @ F.T + N)), F

    def _with_feet_on_the_ground(
        self, belief: Belief, positions: Matrix, noises: Sequence[Matrix], touching: Vector
    ) -> Belief:
        """See the feet on the ground: ``z = R^ y + p^ - d^ = xi_p - xi_d + R n``."""
        X, group, count = belief.element, self.group, len(self.feet)
        if not count:
            return belief
        R, zero, one = X[:3, :3], np.zeros((3, 3)), np.eye(3)
        rows, parts = [], []
        for i in range(count):
            feet = [scale(-touching[i], one) if j == i else zero for j in range(count)]
            rows.append([scale(touching[i], one), zero, *feet, zero])
            parts.append(touching[i] * (R @ positions[i] + X[:3, 3] - X[:3, 5 + i]))
        H = block([[block(rows) @ self.coordinates.change(group, X), np.zeros((3 * count, 6))]])
        noise = on_diagonal([R @ noise @ R.T for noise in noises], 0, 3 * count)
        return kalman_update(self.coordinates, group, belief, concatenate(parts), H, noise)

    # a pose from outside ---------------------------------------------------------------------------------------

    def correct_pose(self, belief: Belief, pose: Pose, rotation: float, position: float) -> Belief:
        """See the pose of the base, by motion capture or vision.

        Args:
            belief: One belief.
            pose: Measured ``H_wb`` (4 x 4).
            rotation: Standard deviation about each axis (rad).
            position: Standard deviation along each axis (m).

        Returns:
            Belief with it.
        """
        check_state(self.model, self.model.neutral()._replace(pose=pose))
        check_pose(self.model, pose)
        check_belief(belief, self.group.vectors, self.size)
        rotation, position = positive(rotation, "rotation"), positive(position, "position")
        X, group = belief.element, self.group
        seen = np.asarray(pose) @ self.imu.placement(self.model)
        error = np.concatenate([X[:3, 3] - seen[:3, 3], rotations.log(X[:3, :3] @ seen[:3, :3].T)])
        H = np.zeros((6, self.size))
        H[:3, :3] = H[3:, group.dim - 3 : group.dim] = np.eye(3)
        H[:3, group.dim - 3 : group.dim] = -skew(X[:3, 3])
        H[:, : group.dim] = H[:, : group.dim] @ self.coordinates.change(group, X)
        # 1e100: an infinite deviation means that this part was not measured, and its square has to stay finite
        noise = np.diag(np.repeat(np.minimum([position, rotation], 1e100) ** 2, 3))
        return kalman_update(self.coordinates, group, belief, error, H, noise)

    # runs -----------------------------------------------------------------------------------------------------

    def compile(self, target: str = "cpu", **options: Any) -> Kernel:
        """Step as a kernel of ``(element, bias, covariance, imu, joints, touching, dt)``, any leading batch shape.

        Args:
            target: ``cpu``, ``cuda``, ``jax``, ``casadi`` or ``c``.
            **options: Further options of :func:`fallingcat.compile`.

        Returns:
            Kernel whose result is a :class:`Belief`.
        """
        k, n = 3 + self.group.vectors, self.size
        inputs: dict[str, Any] = {"element": (k, k), "bias": 6, "covariance": (n, n), "imu": 6}
        inputs |= {"joints": self.model.nq - self.model.base.nq, "touching": len(self.feet), "dt": ()}
        return compile(self.model, _compiled_step, inputs=inputs, target=target, filter=self, **options)

    @cached_property
    def _kernel(self) -> Kernel:
        return self.compile()

    def run(self, readings: Readings, start: Belief) -> Estimates:
        """Beliefs along a run.

        Args:
            readings: Readings of one run; their arrays may have axes between times and values, for batches: then
                ``start`` may have the same axes.
            start: Belief at the first time.

        Returns:
            Beliefs at all times.
        """
        check_readings(readings)
        check_belief(start, self.group.vectors, self.size, one=False)
        times, touching = readings.times, np.asarray(readings.touching) > 0.5
        period = np.array(times[1] - times[0])
        # a foot that lands within the period has moved since its beginning: it counts from the next one on
        stance = (touching[:-1] & touching[1:]).astype(float)
        beliefs = [start]
        for k in range(len(times) - 1):
            beliefs.append(self._kernel(*beliefs[-1], readings.imu[k], readings.joints[k + 1], stance[k], period))
            if not np.isfinite(beliefs[-1].covariance).all():
                raise NumericsError(f"the covariance of the filter is not finite at t = {times[k + 1]:g} s")
        shape = beliefs[-1].bias.shape[:-1]
        beliefs[0] = Belief(*(np.broadcast_to(x, shape + x.shape[-d:]) for x, d in zip(start, (2, 1, 2), strict=True)))
        path = Belief(*(np.array(part) for part in zip(*beliefs, strict=True)))
        return self.estimates(readings, path)

    def estimates(self, readings: Readings, beliefs: Belief) -> Estimates:
        """Poses and twists of the base at the times of readings, from beliefs about the unit.

        Args:
            readings: Readings of a run.
            beliefs: Beliefs at its times.

        Returns:
            Both, with the times.
        """
        gyro = np.concatenate([readings.imu, readings.imu[-1:]])[..., :3]
        return Estimates(readings.times, beliefs, *self.base(beliefs, gyro))

    def base(self, belief: Belief, gyro: Vectors_3) -> tuple[Poses, Vector]:
        """Pose and twist of the base, from a belief about the unit; of many, with axes in front.

        Args:
            belief: One belief or many.
            gyro: Reading of the gyroscope (3, rad/s).

        Returns:
            ``H_wb`` (4 x 4) and ``[v; w]`` of the base, body-fixed (m/s, rad/s).
        """
        check_belief(belief, self.group.vectors, self.size, one=False)
        gyro = as_array(gyro, (*belief.bias.shape[:-1], 3), "gyro")
        placement = self.imu.placement(self.model)
        poses = np.zeros((*belief.bias.shape[:-1], 4, 4))
        poses[..., :3, :4], poses[..., 3, 3] = belief.element[..., :3, :4], 1.0
        linear = np.einsum("...ji,...j->...i", belief.rotation, belief.velocity)
        twists = np.concatenate([linear, gyro - belief.bias[..., :3]], axis=-1)
        return poses @ np.linalg.inv(placement), twists @ np.asarray(SE3().Ad(placement)).T


def _compiled_step(
    model: Model,
    element: Matrix,
    bias: Vector,
    covariance: Matrix,
    imu: Vector,
    joints: Vector,
    touching: Vector,
    dt: Scalar,
    *,
    filter: ContactFilter,
) -> Belief:
    return filter._step(model, Belief(element, bias, covariance), imu, joints, touching, dt)


def _imu_twist(twist: Vector, placement: Pose) -> Vector:
    """Twist of the unit, in its own axes."""
    return SE3().Ad(np.linalg.inv(placement)) @ np.asarray(twist)
