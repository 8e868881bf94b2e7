"""The robot's forward dynamics and contacts in native code, taken at a pose instead of a quaternion.

For systems whose controller is plain Python, so that only the rest of a step can be compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import concatenate, takes
from ..contact import Contact
from ..contact.contact import Mode, Touch
from ..dynamics import forward_dynamics, kinetic_energy, potential_energy
from ..kernels import compile
from ..lie.rotations import homogeneous
from ..model import Model, State


def pose_of(rows: Any) -> Any:
    """The pose (4 x 4) with the rows ``[R p]`` given flat (12)."""
    rows = rows.reshape(3, 4)
    return homogeneous(rows[:, :3], rows[:, 3])


def at_pose(state: State, pose: Any) -> State:
    """``state`` at the pose with the rows ``[R p]`` given flat (12)."""
    return state._replace(pose=pose_of(pose))


@takes(forces="nv")
def acceleration_at(model: Model, state: State, forces: Any, pose: Any) -> Any:
    """Forward dynamics at a pose."""
    return forward_dynamics(model, at_pose(state, pose), forces)


def displaced_at(model: Model, state: State, pose: Any, x: Any) -> Any:
    """``[R p]``, joints and ``dx/dt`` where ``x`` leads from a pose: see :class:`.Field`."""
    moved = model.configuration.displace(at_pose(state, pose), x)
    rate = model.configuration.seen_ahead(state.velocity, x)
    return concatenate([moved.pose[:3].reshape(12), moved.joints, rate])


@takes(forces="nv")
def touch_at(
    model: Model, state: State, forces: Any, pose: Any, memory: Any, *, contact: Contact, mode: Mode, count: int
) -> Any:
    """Forces of a contact by port, rate of its memory (``count`` numbers), guards: one after the other."""
    at, memory = at_pose(state, pose), memory[:count]
    there = contact.touch(model, mode, at, memory, forces)
    parts = [there.forces.get(port, np.zeros(model.nv)) for port in contact.ports]
    return concatenate([*parts, there.memory_rate, there.guards])


def energies_at(model: Model, state: State, pose: Any) -> Any:
    """Kinetic and potential energy at a pose."""
    at = at_pose(state, pose)
    return concatenate([np.reshape(kinetic_energy(model, at), 1), np.reshape(potential_energy(model, at), 1)])


@functools.lru_cache(maxsize=8)
def energies(model: Model) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """``(poses, joints, twists, rates) -> kinetic, potential`` (N, J) of ``N`` states; made once for each robot."""
    kernel = compile(model, energies_at, sizes={"pose": 12})
    neutral = model.flatten(model.neutral())[0][: model.base.nq]

    def at(poses: np.ndarray, joints: np.ndarray, twists: np.ndarray, rates: np.ndarray) -> Any:
        q = np.concatenate([np.tile(neutral, (len(joints), 1)), joints], axis=1)
        given = {"q": q, "v": np.concatenate([twists, rates], axis=1), "pose": poses[:, :3].reshape(-1, 12)}
        return np.asarray(kernel(*(given[argument.name] for argument in kernel.signature))).T

    return at


@functools.lru_cache(maxsize=8)
def displaced(model: Model) -> Callable[[State, np.ndarray, np.ndarray], tuple[State, np.ndarray]]:
    """``(start, x, velocity) -> the state there, dx/dt``."""
    kernel = compile(model, displaced_at, sizes={"pose": 12, "x": model.nv})
    neutral, joints = model.flatten(model.neutral())[0][: model.base.nq], model.nq - model.base.nq

    def at(start: State, x: np.ndarray, v: np.ndarray) -> tuple[State, np.ndarray]:
        q, pose = np.concatenate([neutral, start.joints]), np.ascontiguousarray(start.pose[:3]).reshape(12)
        given = {"q": q, "v": v, "pose": pose, "x": x}
        flat = kernel(*(given[argument.name] for argument in kernel.signature))
        moved = State(pose_of(flat[:12]), flat[12 : 12 + joints], v[: model.m], v[model.m :])
        return moved, flat[12 + joints :]

    return at


@functools.lru_cache(maxsize=8)
def acceleration(model: Model) -> Callable[[State, np.ndarray], np.ndarray]:
    """``(state, forces) -> d/dt [twist; rates]`` (nv)."""
    kernel, neutral = (
        compile(model, acceleration_at, sizes={"pose": 12}),
        model.flatten(model.neutral())[0][: model.base.nq],
    )

    def at(state: State, forces: np.ndarray) -> np.ndarray:
        pose = np.ascontiguousarray(state.pose[:3]).reshape(12)
        return kernel(np.concatenate([neutral, state.joints]), state.velocity, forces, pose)

    return at


@functools.lru_cache(maxsize=64)
def touch(model: Model, contact: Contact, mode: Mode, count: int) -> Callable[[State, np.ndarray, np.ndarray], Touch]:
    """``(state, memory, applied forces) -> Touch``."""
    sizes = {"pose": 12, "memory": max(1, count)}  # a kernel has no empty inputs
    kernel = compile(model, touch_at, sizes=sizes, contact=contact, mode=mode, count=count)
    neutral, nv, ports = model.flatten(model.neutral())[0][: model.base.nq], model.nv, contact.ports

    def at(state: State, memory: np.ndarray, applied: np.ndarray) -> Touch:
        given = {
            "q": np.concatenate([neutral, state.joints]),
            "v": state.velocity,
            "forces": applied,
            "pose": np.ascontiguousarray(state.pose[:3]).reshape(12),
            "memory": memory if count else np.zeros(1),
        }
        flat = kernel(*(given[argument.name] for argument in kernel.signature))
        end = len(ports) * nv
        forces = {port: flat[k * nv : (k + 1) * nv] for k, port in enumerate(ports)}
        return Touch(forces, flat[end : end + count], flat[end + count :])

    return at
