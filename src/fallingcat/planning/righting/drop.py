"""Drop of a cat: plan the righting manoeuvre, track it in a simulated fall, and record momentum and energy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...arrays.types import FloatArray
from ...dynamics import center_of_mass, momentum_matrix
from ...dynamics.kinematics import world_poses
from ...errors import ModelError, NumericsError
from ...lie import SE3
from ...lie.rotations import log
from ...model import Model, State, robots
from ...records import concise
from ...simulation import Trajectory, simulate
from .bending import Bending, bendings
from .plan import Manoeuvre, fastest_bending, tilt_angle
from .tracking import tracker

FALL_STEPS = 1024
"""Number of steps of a fall, unless a step size is given."""
LANDING_SHARE = 0.04
"""Share of the fall after the manoeuvre, to land with a straight back."""


@concise
class Drop(NamedTuple):
    """Result of :func:`drop`: a fall, with its turn, momentum and energy.

    Example:
        >>> Drop._fields[:4]
        ('model', 'bending', 'manoeuvre', 'duration')
    """

    model: Model
    """robot that falls: joints that the manoeuvre does not need are locked"""
    bending: Bending
    manoeuvre: Manoeuvre
    duration: float
    """s: duration of the manoeuvre"""
    trajectory: Trajectory
    turned: float
    """rad: angle between the attitudes of the base at the start and at touchdown"""
    landing_tilt: float
    """rad: angle between the base's up and the world's at touchdown"""
    angular_momentum: FloatArray
    """``N``: norm about the center of mass, relative to that of the joints alone (:func:`momentum_scale`)"""
    energy: FloatArray
    """``N`` (J): kinetic and potential, from the start"""
    work: FloatArray
    """``N`` (J): of the joints, from the start"""
    peak_force: float
    """N m: the largest joint force"""
    planning: float
    """s: time of planning"""

    @property
    def energy_residual(self) -> float:
        """Largest difference between energy and work, relative: :attr:`.Trajectory.energy_residual`."""
        return self.trajectory.energy_residual

    @property
    def start_tilt(self) -> float:
        """Angle (rad) between the base's up and the world's at the start."""
        return tilt_angle(self.trajectory.poses[0], -self.model.gravity / np.linalg.norm(self.model.gravity))

    @property
    def fallen(self) -> float:
        """Distance (m) that the center of mass falls."""
        path = self.trajectory
        ends = [model_center(self.model, path.poses[i], path.joints[i]) for i in (0, -1)]
        return float(np.linalg.norm(ends[1] - ends[0]))


def drop(
    height: float = 1.5,
    tilt: float = np.pi,
    model: Model | None = None,
    joints: Sequence[str] | None = None,
    *,
    seed: int | None = None,
    dt: float | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Drop:
    """Simulate the fall of a robot that rights itself.

    It starts at rest, rolled about the axis that its manoeuvre turns about, so that it lands upright.  The joints are
    driven by inverse dynamics of the shape; no wrench but gravity acts on the base.

    Args:
        height: Height (m) of the center of mass above the floor.
        tilt: Angle (rad) by which it is rolled over.
        model: Robot with a free base; None: the sample cat.
        joints: Two joints or more that carry the bend; None: those that the curvature suggests
            (:func:`~fallingcat.planning.bendings`).
        seed: Seed of a random heading and a sideways drift; None: neither.
        dt: Step size (s); None: the fall in 1024 steps.
        progress: Function of a phase and its share, called on the way.

    Returns:
        Trajectory and manoeuvre, with turn, momentum and energy.

    Raises:
        ModelError: The height is too low (the message gives the needed one), or the joints turn the robot about the
            vertical only, which is not turning over.

    Example:
        >>> import fallingcat as fc
        >>> drop(0.1, model=fc.robots.planar_arm())
        Traceback (most recent call last):
        fallingcat.errors.ModelError: the base of 'planar_arm' is not free (1): it does not fall
    """
    tell = progress or (lambda what, share: None)
    began = time.perf_counter()
    tell("planning", 0.0)
    found = bendings(robots.cat() if model is None else model, joints)
    robot = found[0].model
    g = float(np.linalg.norm(robot.gravity))
    if g == 0.0:
        raise ModelError(f"{robot.name!r} has no gravity: it does not fall")
    up = -robot.gravity / g
    bending, manoeuvre = fastest_bending(found, tilt, up)
    robot = bending.model
    standing = _clearance(robot, robot.neutral(), up)
    duration = _duration(height, standing, g, manoeuvre)
    start = _start(robot, manoeuvre, height, up, seed)
    if _clearance(robot, start, up, absolute=True) <= 0.0:
        raise ModelError(f"a height of {height:g} m is too low: the robot starts below the floor")
    planning = time.perf_counter() - began
    fall = float(np.sqrt(2.0 * (height - standing) / g))
    trajectory = simulate(
        robot,
        start,
        fall,
        tracker(robot, manoeuvre.gait(duration)),
        integrator="momentum",
        dt=fall / FALL_STEPS if dt is None else dt,
        progress=lambda share: tell("falling", share),
    )
    if trajectory.status != "finished":
        raise NumericsError(f"the fall was not simulated as it should be: {trajectory.status}")
    return _result(bending, manoeuvre, duration, trajectory, up, planning)


def _duration(height: float, standing: float, g: float, manoeuvre: Manoeuvre) -> float:
    """Longest duration (s) of the manoeuvre, or an error that gives the height that it needs."""
    if not isinstance(height, (int, float)) or not np.isfinite(height):
        raise ModelError(f"the height is a number of meters, not {height!r}")
    least = standing + 0.5 * g * (manoeuvre.shortest / (1.0 - LANDING_SHARE)) ** 2
    if height <= max(least, standing + 1e-3):
        needed = np.ceil(100.0 * max(least, standing + 0.01)) / 100.0
        raise ModelError(
            f"a height of {height:g} m is too low: turning takes {manoeuvre.shortest:.2f} s with these joints, so the "
            f"drop must be {needed - height:.2f} m higher, from {needed:.2f} m"
        )
    return (1.0 - LANDING_SHARE) * float(np.sqrt(2.0 * (height - standing) / g))


def _start(model: Model, manoeuvre: Manoeuvre, height: float, up: np.ndarray, seed: int | None) -> State:
    """State at rest, turned back by the turn of the manoeuvre, with the center of mass at the height."""
    pose = np.eye(4)
    pose[:3, :3] = manoeuvre.pose[:3, :3].T
    drift = np.zeros(3)
    if seed is not None:
        rng = np.random.default_rng(seed)
        heading, way = rng.uniform(0.0, 2.0 * np.pi, size=2)
        pose[:3, :3] = SE3().exp(np.concatenate([np.zeros(3), heading * up]))[:3, :3] @ pose[:3, :3]
        level = np.linalg.svd(up[None])[2][1:]  # two horizontal directions
        drift = 0.3 * np.array([np.cos(way), np.sin(way)]) @ level
    center = np.asarray(center_of_mass(model, model.state(pose=pose)))
    pose[:3, 3] = height * up - center
    return model.state(pose=pose, twist=np.concatenate([pose[:3, :3].T @ drift, np.zeros(3)]))


def _clearance(model: Model, state: State, up: np.ndarray, absolute: bool = False) -> float:
    """Height of the center of mass (or of the floor) above (below) the lowest frame, joint or center of a link."""
    poses = dict(zip(model.link_names, world_poses(model, state), strict=True))
    points = [H[:3, 3] for H in poses.values()]
    points += [poses[x.name][:3, :3] @ x.body.center + poses[x.name][:3, 3] for x in model.links]
    points += [(poses[f.link] @ f.placement)[:3, 3] for f in model.frames]
    lowest = min(float(up @ point) for point in points)
    return lowest if absolute else float(up @ center_of_mass(model, state)) - lowest


def _result(
    bending: Bending, manoeuvre: Manoeuvre, duration: float, trajectory: Trajectory, up: np.ndarray, planning: float
) -> Drop:
    model = bending.model
    spin = np.linalg.norm(trajectory.momenta("centroidal")[:, 3:], axis=1)
    kinetic, potential = trajectory.energies()
    energy = kinetic + potential
    first, last = trajectory.poses[0, :3, :3], trajectory.poses[-1, :3, :3]
    return Drop(
        model,
        bending,
        manoeuvre,
        duration,
        trajectory,
        float(np.linalg.norm(log(first.T @ last))),
        tilt_angle(trajectory.poses[-1], up),
        spin / momentum_scale(trajectory),
        energy - energy[0],
        trajectory.joint_work(),
        float(np.abs(trajectory.forces[:, model.m :]).max()),
        planning,
    )


def momentum_scale(trajectory: Trajectory) -> float:
    """Largest angular momentum (N m s) that the joint rates alone carry, which must cancel in a turn."""
    columns = trajectory.measure(momentum_matrix, frame="centroidal")[:, 3:, trajectory.model.m :]
    return float(np.linalg.norm(np.einsum("kij,kj->ki", columns, trajectory.rates), axis=1).max())


def model_center(model: Model, pose: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Center of mass (3, m) in the world."""
    still = State(pose, joints, np.zeros(model.m), np.zeros(model.n))
    return np.asarray(center_of_mass(model, still))
