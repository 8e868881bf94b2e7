"""Control loop of walking controllers: references and whole-body control, compiled, with a memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from .._deprecated import former_attribute
from ..arrays import concatenate
from ..arrays.types import Float_n, Float_N_n, FloatArray, Scalar, Vector, Vector_nq, Vector_nv
from ..compiler import Kernel
from ..control import WholeBodyLoop, WholeBodyResult
from ..control.tasks.task import Task
from ..errors import ModelError, NumericsError, describe
from ..model import Model, State
from ..records import short_text
from .commands import VelocityCommand

Command = VelocityCommand | Callable[[float], VelocityCommand]
"""Velocity command, or a function of time (s) that returns one."""


def task_numbers(model: Model, tasks: Sequence[Task], given: Sequence[Mapping[str, Any]]) -> Vector:
    """Numbers of whole-body tasks in their order; ``given`` replaces those of a task by name."""
    parts = []
    for task, own in zip(tasks, given, strict=True):
        for name, shape in task.number_shapes(model).items():
            value = own[name] if name in own else np.broadcast_to(getattr(task, name), shape)
            parts.append(np.reshape(value, -1) if np.ndim(value) != 1 else value)
    return concatenate(parts)


def check_command(command: Any) -> None:
    """Raise an error unless this is a velocity command or a function."""
    if not isinstance(command, VelocityCommand) and not callable(command):
        raise ModelError(f"command must be a VelocityCommand or a function of time, got {describe(command)}")


class WalkingLoop:
    """Compiled walking controller with its memory: ``tau = loop(q, v, t)``.

    Made by :meth:`.QuadrupedWalk.compile` and :meth:`.HumanoidWalk.compile`.  A tick is two compiled calls: references
    (schedule, footsteps, swing, center of mass) as numbers of tasks and a mask of contacts, and the whole-body problem.

    Args:
        model: Robot.
        references: Kernel ``(q, v, [t; command; memory]) -> [numbers; mask; memory]``.
        whole_body: Compiled whole-body controller with switched contacts.
        begin: Function ``(state, t, model=...) -> memory`` at the first tick.
        command: Velocity command, or a function of time that returns one.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [frame.name for frame in dog.frames]
        >>> walk = fc.locomotion.QuadrupedWalk(dog, feet, (0.0, 0.7, -1.4) * 4)
        >>> loop = walk.compile(fc.locomotion.VelocityCommand(0.5))
        >>> q, v = dog.flatten(dog.state(position=[0.0, 0.0, 0.306], joints=walk.posture))
        >>> loop(q, v, 0.0).shape
        (12,)
    """

    def __init__(
        self,
        model: Model,
        references: Kernel,
        whole_body: WholeBodyLoop,
        begin: Callable[..., FloatArray],
        command: Command,
    ) -> None:
        """See the class."""
        self.model, self.whole_body = model, whole_body
        self._references, self._begin = references, begin
        self._size, self._last_time = len(whole_body.numbers), np.inf
        self._arguments: FloatArray = np.zeros(0)
        """time, command and memory: one array, because each further argument of a kernel takes microseconds"""
        self._batch_arguments: FloatArray = np.zeros((0, 0))
        self.command = command

    def __repr__(self) -> str:
        return f"<WalkingLoop of {short_text(self.model.name)}>"

    @property
    def command(self) -> Command:
        """Velocity command, or a function of time that returns one; may change between ticks."""
        return self._command

    @command.setter
    def command(self, command: Command) -> None:
        check_command(command)
        self._command = command
        self._constant = command.array if isinstance(command, VelocityCommand) else None

    def __call__(self, q: Vector_nq, v: Vector_nv | State, t: Scalar = 0.0) -> Float_n:
        """Joint torques of one tick; the first tick, and one before the last, begins a walk anew.

        Given a time and a state instead, it is a controller of :func:`fallingcat.simulate`.

        Args:
            q: Measured coordinates (nq), flat (see :meth:`.Model.flatten`); or the time (s).
            v: Measured velocity (nv); or the state.
            t: Time (s).

        Returns:
            Joint torques (n; N m or N).
        """
        if isinstance(v, State):
            t, (q, v) = q, self.model.flatten(v)
        if not isinstance(t, (int, float, np.number)) or not isfinite(t):
            raise NumericsError(f"the time of a tick must be a finite number (s), got {describe(t)}")
        if not t >= self._last_time:
            self._arguments = np.append(np.zeros(4), self._begin(self.model.unflatten(q, v), t, model=self.model))
        given = self._arguments
        given[0], given[1:4] = t, self._command_at(t)
        out = self._references(q, v, given)
        self.whole_body.numbers[:] = out[: self._size]
        tau = self.whole_body(q, v)  # an error here, such as of a NaN, leaves the memory as it was
        self._last_time, given[4:] = float(t), out[self._size :]
        return tau

    def batch_forces(self, t: float, states: State) -> Float_N_n:
        """Joint torques of many robots at once, each with its own memory, under one command.

        :func:`fallingcat.rollout` calls a :class:`fallingcat.control.SampledController` loop in this way.

        Args:
            t: Time (s).
            states: States whose fields have a first axis over the robots.

        Returns:
            Joint torques (N x n).
        """
        q, v = self.whole_body.flattened(states)
        if not t >= self._last_time or len(self._batch_arguments) != len(q):
            begun = [self._begin(self.model.unflatten(*pair), t, model=self.model) for pair in zip(q, v, strict=True)]
            self._batch_arguments = np.hstack([np.zeros((len(q), 4)), np.array(begun)])
        self._last_time, given = t, self._batch_arguments
        given[:, 0], given[:, 1:4] = t, self._command_at(t)
        out = self._references(q, v, given)
        given[:, 4:] = out[:, self._size :]
        return self.whole_body.each(q, v, np.ascontiguousarray(out[:, : self._size]))

    together = former_attribute("together", "batch_forces")

    def _command_at(self, t: Scalar) -> FloatArray:
        if self._constant is not None:
            return self._constant
        command = self._command(t)  # type: ignore[operator]
        if not isinstance(command, VelocityCommand):
            raise NumericsError(f"command at t = {t:g} s must be a VelocityCommand, got {describe(command)}")
        return command.array

    def __copy__(self) -> WalkingLoop:
        """Loop with a memory of its own."""
        other = WalkingLoop(self.model, self._references, copy.copy(self.whole_body), self._begin, self._command)
        other._arguments, other._last_time = self._arguments.copy(), self._last_time
        return other

    @property
    def contacts(self) -> FloatArray:
        """Mask of the contacts of the whole-body problem at the last tick, 1 where one is closed."""
        return self.whole_body.numbers[self._size - len(self.whole_body.contacts) :].copy()

    @property
    def found(self) -> WholeBodyResult:
        """Whole-body result of the last tick."""
        return self.whole_body.found
