"""Numbers of the laws, from positions and velocities alone: the same code judges every engine.

Poses and twists of bodies come from MuJoCo's forward kinematics in float64; sums over bodies are written here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import mujoco
import numpy as np

if TYPE_CHECKING:
    from scenes import Run


class Motion(NamedTuple):
    """What an engine returned: times (s), ``qpos`` and ``qvel``, a row an instant, the start included."""

    times: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray


class Bodies(NamedTuple):
    """Masses, inertias and, at one instant, centers, rotations, velocities of the bodies."""

    mass: np.ndarray
    inertia: np.ndarray  # principal
    center: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray  # of the centers, world axes
    spin: np.ndarray  # world axes
    gravity: np.ndarray

    @property
    def linear(self) -> np.ndarray:
        return self.mass[:, None] * self.velocity

    @property
    def angular(self) -> np.ndarray:
        """About the world's origin, of each body."""
        own = np.einsum("bij,bj,bkj,bk->bi", self.rotation, self.inertia, self.rotation, self.spin)
        return np.cross(self.center, self.linear) + own

    @property
    def kinetic(self) -> float:
        own = np.einsum("bij,bi->bj", self.rotation, self.spin)
        return 0.5 * float(np.sum(self.linear * self.velocity) + np.sum(self.inertia * own**2))

    @property
    def potential(self) -> float:
        return -float(self.mass @ (self.center @ self.gravity))


def bodies(run: Run, qpos: np.ndarray, qvel: np.ndarray) -> Bodies:
    """Bodies at one instant."""
    model = mujoco.MjModel.from_xml_string(run.mjcf) if isinstance(run.mjcf, str) else run.mjcf
    return _bodies(model, mujoco.MjData(model), qpos, qvel)


def _bodies(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray, qvel: np.ndarray) -> Bodies:
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_forward(model, data)
    twist, spins, velocities = np.zeros(6), [], []
    for i in range(1, model.nbody):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, i, twist, 0)  # of the center, world axes
        spins.append(twist[:3].copy())
        velocities.append(twist[3:].copy())
    rotation = data.ximat[1:].reshape(-1, 3, 3).copy()
    return Bodies(
        model.body_mass[1:].copy(), model.body_inertia[1:].copy(), data.xipos[1:].copy(), rotation,
        np.array(velocities), np.array(spins), model.opt.gravity.copy(),
    )  # fmt: skip


def over(run: Run, motion: Motion, most: int = 500) -> list[Bodies]:
    """Bodies at instants spread over a motion, its ends among them."""
    model = mujoco.MjModel.from_xml_string(run.mjcf)
    data = mujoco.MjData(model)
    picked = np.unique(np.linspace(0, len(motion.times) - 1, most).astype(int))
    return [_bodies(model, data, motion.qpos[i], motion.qvel[i]) for i in picked]


def linear_momentum_drift(run: Run, motion: Motion) -> float:
    seen = over(run, motion)
    start = seen[0].linear.sum(0)
    return max(float(np.linalg.norm(each.linear.sum(0) - start)) for each in seen) / _scale(seen[0].linear)


def angular_momentum_drift(run: Run, motion: Motion) -> float:
    seen = over(run, motion)
    start = seen[0].angular.sum(0)
    return max(float(np.linalg.norm(each.angular.sum(0) - start)) for each in seen) / _scale(seen[0].angular)


def _scale(momenta: np.ndarray) -> float:
    return float(np.linalg.norm(momenta, axis=1).sum())


def energy_drift(run: Run, motion: Motion) -> float:
    seen = over(run, motion)
    energies = np.array([each.kinetic + each.potential for each in seen])
    return float(np.abs(energies - energies[0]).max()) / max(each.kinetic for each in seen)


def energy_without_work(run: Run, motion: Motion) -> float:
    seen = over(run, motion, len(motion.times))
    energies = np.array([each.kinetic + each.potential for each in seen])
    work = (motion.qpos - motion.qpos[0]) @ np.array(run.forces)
    return float(np.abs(energies - energies[0] - work).max() / np.abs(work).max())


def off_parabola(run: Run, motion: Motion) -> float:
    first, last = over(run, motion, 2)
    center, total = first.mass @ first.center / first.mass.sum(), first.mass.sum()
    t = motion.times[-1]
    expected = center + t * first.linear.sum(0) / total + 0.5 * t**2 * first.gravity
    return float(np.linalg.norm(last.mass @ last.center / total - expected))


def distance_of_tails(run: Run, again: Run, motion: Motion, other: Motion) -> float:
    """The tail is the last body of one description and of the other."""
    return float(np.linalg.norm(over(run, motion, 2)[-1].center[-1] - over(again, other, 2)[-1].center[-1]))


def seen_from(run: Run, name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Position, quaternion, velocity and body-fixed spin of a link's frame at the start of a run."""
    model = mujoco.MjModel.from_xml_string(run.mjcf)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = run.qpos, run.qvel
    mujoco.mj_forward(model, data)
    i, twist = model.body(name).id, np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, i, twist, 0)
    spin = data.xmat[i].reshape(3, 3).T @ twist[:3]
    return (*map(float, data.xpos[i]), *map(float, data.xquat[i])), (*map(float, twist[3:]), *map(float, spin))


def _path(motion: Motion) -> np.ndarray:
    return motion.qpos[-1, :2] - motion.qpos[0, :2]


def braking_error(run: Run, motion: Motion) -> float:
    from scenes import FRICTION, GRAVITY, SPEED

    expected = SPEED**2 / (2.0 * FRICTION * GRAVITY)
    return abs(float(np.linalg.norm(_path(motion))) / expected - 1.0)


def anisotropy(run: Run, again: Run, motion: Motion, other: Motion) -> float:
    straight, oblique = np.linalg.norm(_path(motion)), np.linalg.norm(_path(other))
    return abs(float(oblique / straight) - 1.0)


def turned_apart(run: Run, again: Run, motion: Motion, other: Motion) -> float:
    from scenes import TURN

    turn = np.array([[np.cos(TURN), -np.sin(TURN)], [np.sin(TURN), np.cos(TURN)]])
    return float(np.linalg.norm(turn @ _path(motion) - _path(other)))


def units_apart(run: Run, again: Run, motion: Motion, other: Motion) -> float:
    return float(np.linalg.norm(_path(motion) - _path(other) / 1000.0))


def displacement(run: Run, motion: Motion) -> float:
    return float(np.linalg.norm(_path(motion)))


def slope_error(run: Run, motion: Motion) -> float:
    from scenes import FRICTION, GRAVITY

    angle = np.radians(35.0)
    acceleration = GRAVITY * (np.sin(angle) - FRICTION * np.cos(angle))
    return abs(float(_path(motion)[0]) / (0.5 * acceleration * motion.times[-1] ** 2) - 1.0)


def beyond_limit(run: Run, motion: Motion) -> float:
    from scenes import LIMIT

    return max(float(motion.qpos[:, 0].max()) - LIMIT, 0.0)


def beyond_limit_at_rest(run: Run, motion: Motion) -> float:
    from scenes import LIMIT

    return abs(float(motion.qpos[-1, 0]) - LIMIT)
