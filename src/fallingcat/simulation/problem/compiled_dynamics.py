"""Forward dynamics and contacts in native code, for problems whose controller is plain Python.

Only the rest of a step can be compiled there.  States are given by their fields: the pose of a quaternion would take
longer to find than the forces.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...arrays import argument_sizes, concatenate, scale
from ...compiler import compile, fields
from ...compiler.compilation import compile_step
from ...contact import Contact
from ...contact.base import Mode, Touch
from ...dynamics import forward_dynamics, kinetic_energy, potential_energy
from ...lie.rotations import homogeneous
from ...model import Model, State
from .fingerprint import Unrecognizable, fingerprint
from .robot_parameters import edited


class _KernelRequest(NamedTuple):
    key: Any
    make: Callable[[], Any]

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _KernelRequest) and self.key == other.key


@functools.lru_cache(maxsize=32)
def _cached(request: _KernelRequest) -> Any:
    return request.make()


def cached_kernel(about: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Kernel that ``make`` makes, once as long as what it is about stays the same and can be compared.

    To load one from the disk takes longer than a short run.
    """
    try:
        request = _KernelRequest(fingerprint(about), make)
        hash(request)
    except (Unrecognizable, TypeError):
        return make()
    return _cached(request)


def pose_of(rows: Any) -> Any:
    """The pose (4 x 4) with the rows ``[R p]`` given flat (12)."""
    rows = rows.reshape(3, 4)
    if rows.dtype == float:  # a third of the time
        pose = np.eye(4)
        pose[:3] = rows
        return pose
    return homogeneous(rows[:, :3], rows[:, 3])


@argument_sizes(x="nv")
def displaced_at(model: Model, state: State, x: Any) -> Any:
    """``[R p]``, joints and ``dx/dt`` where ``x`` leads from a state: see :class:`.VectorField`."""
    moved = model.configuration.displace(state, x)
    rate = model.configuration.logarithm_rate(state.velocity, x)
    return concatenate([moved.pose[:3].reshape(12), moved.joints, rate])


@argument_sizes(forces="nv")
def touch_at(model: Model, state: State, forces: Any, memory: Any, *, contact: Contact, mode: Mode) -> Any:
    """Forces of a contact by port, rate of its memory, guards: one after the other."""
    there = contact.touch(model, mode, state, memory, forces)
    parts = [there.forces.get(port, np.zeros(model.nv)) for port in contact.ports]
    return concatenate([*parts, there.memory_rate, there.guards])


def energies_at(model: Model, state: State) -> Any:
    """Kinetic and potential energy."""
    return concatenate([np.reshape(kinetic_energy(model, state), 1), np.reshape(potential_energy(model, state), 1)])


def lagged_energies(model: Model, state: State, lag: Any) -> Any:
    """Kinetic energy, and the potential energy ``lag`` (1, s) ago."""
    return energies_at(model, model.configuration.displace(state, scale(-lag[0], state.velocity)))


@functools.lru_cache(maxsize=8)
def energies(model: Model) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Function ``(poses, joints, twists, rates) -> kinetic, potential`` (N, J) of ``N`` states; one for each robot.

    With a further number, the potential energy so long (s) before.  The energy balance of a step along the velocity at
    its end holds for its middle: half a step before its end, kinetic and potential energy balance.
    """
    now = functools.lru_cache(1)(lambda: compile_step(model, energies_at, {}, State._fields))
    behind = functools.lru_cache(1)(lambda: compile_step(model, lagged_energies, {"lag": 1}, State._fields))

    def at(poses: Any, joints: Any, twists: Any, rates: Any, lag: float = 0.0) -> Any:
        fields = poses[:, :3], joints, twists, rates
        return (behind()(*fields, np.full((len(poses), 1), lag)) if lag else now()(*fields)).T

    return at


def energies_with(model: Model, state: State, numbers: Any, lag: Any, *, varied: tuple[str, ...]) -> Any:
    """:func:`lagged_energies` of a robot with parameters of its own."""
    return lagged_energies(edited(model, None, varied, numbers)[0], state, lag)


@functools.lru_cache(maxsize=8)
def energy(model: Model) -> Callable[..., list[float]]:
    """``(rows of the pose, joints, twist, rates) -> [kinetic, potential]`` (J) of one state."""
    kernel = compile(model, energies_at, state=State._fields)
    return lambda *fields: kernel(*fields).tolist()


@functools.lru_cache(maxsize=8)
def displaced(model: Model) -> Callable[[State, np.ndarray, np.ndarray], tuple[State, np.ndarray]]:
    """``(start, x, velocity) -> the state there, dx/dt``."""
    kernel = compile(model, displaced_at, state=State._fields)
    m, end = model.m, 12 + model.nq - model.base.nq

    def at(start: State, x: np.ndarray, v: np.ndarray) -> tuple[State, np.ndarray]:
        flat = kernel(start.pose[:3], start.joints, v[:m], v[m:], x)
        return State(pose_of(flat[:12]), flat[12:end], v[:m], v[m:]), flat[end:]

    return at


@functools.lru_cache(maxsize=8)
def acceleration(model: Model) -> Callable[[State, np.ndarray], np.ndarray]:
    """``(state, forces) -> d/dt [twist; rates]`` (nv)."""
    kernel = compile(model, forward_dynamics, state=State._fields)
    return lambda state, forces: kernel(*fields(state), forces)


@functools.lru_cache(maxsize=64)
def touch(model: Model, contact: Contact, mode: Mode, count: int) -> Callable[[State, np.ndarray, np.ndarray], Touch]:
    """``(state, memory, applied forces) -> Touch``, for a memory of ``count`` numbers."""
    inputs = {"memory": count}
    kernel = compile(model, touch_at, inputs=inputs, state=State._fields, contact=contact, mode=mode)
    nv, ports = model.nv, contact.ports

    def at(state: State, memory: np.ndarray, applied: np.ndarray) -> Touch:
        flat = kernel(*fields(state), applied, memory)
        end = len(ports) * nv
        forces = {port: flat[k * nv : (k + 1) * nv] for k, port in enumerate(ports)}
        return Touch(forces, flat[end : end + count], flat[end + count :])

    return at
