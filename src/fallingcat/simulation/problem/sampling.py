"""Sampled-data controllers in runs: times of their samples, and outputs that are held in between."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import concatenate, is_numeric, less
from ...caching import cached_property
from ...compiler import compile
from ...contact import Contact
from ...control import Law, SampledController
from ...control.laws.base import acts_on_base
from ...control.laws.sampled import WHOLE_PERIOD_TOLERANCE
from ...errors import ModelError, describe
from ...model import Model, State
from .arguments import answered, controller_forces, controller_size, read_only
from .compiled_dynamics import cached_kernel
from .contact_branches import asks, by_contact_branches
from .law_parameters import split_parameters, tuned

Touching = Callable[[], Sequence[frozenset[str]]]
"""Points that touch of each of ``N`` robots, found where a law asks for them"""


class SampledLaws:
    """Sampled laws of ``N`` robots in one code, with the memory of those that have one, and the noise of sensors."""

    def __init__(self, model: Model, sampled: SampledController, starts: State, contact: Contact | None) -> None:
        self.model, self.period = model, 1.0 / sampled.rate
        self.laws, self._numbers = split_parameters(sampled.laws, model)
        self._noises = sum(law.noise_size(model) for law in sampled.laws)
        self._rng = np.random.default_rng(sampled.seed)
        states = [starts.at(i) for i in range(len(starts.pose))]
        with_memory = [law for law in sampled.laws if law.memory_size(model)]
        self.memory = np.array(
            [np.concatenate([np.zeros(0), *(law.begin(model, state) for law in with_memory)]) for state in states]
        )
        """``N x k``: before the next sample"""
        points = tuple(getattr(contact, "points", ()))
        at_start = (law.with_memory(law.begin(model, states[0])).forces for law in sampled.laws)
        by_contact = any(asks(functools.partial(forces, model, 0.0, states[0]), points) for forces in at_start)
        self.points = points if by_contact else ()
        """those on which forces depend"""

    def __call__(self, t: float, states: State, touching: Touching) -> np.ndarray:
        """``N x nv``: the forces of robots in these states, with these points that touch."""
        poses, *rest = states
        clock, noise = np.array([t, self.period]), self._rng.standard_normal((len(poses), self._noises))
        touches = np.zeros((len(poses), 0))
        if self.points:
            touches = np.array([[float(point in known) for point in self.points] for known in touching()])
        out = np.asarray(self._kernel(poses[:, :3], *rest, self.memory, clock, self._numbers, noise, touches))
        self.memory = out[:, self.model.nv :].copy()
        return out[:, : self.model.nv]

    @cached_property
    def _kernel(self) -> Any:
        sizes = (self.memory.shape[1], 2, len(self._numbers), self._noises, len(self.points))
        inputs = dict(zip(("memory", "clock", "numbers", "noise", "touches"), sizes, strict=True))
        about: dict[str, Any] = {"laws": self.laws, "points": self.points}
        make = functools.partial(compile, self.model, look, inputs=inputs, state=State._fields, **about)
        return cached_kernel((look, self.model, *inputs.values(), *about.values()), make)


def look(
    model: Model,
    state: State,
    memory: Any,
    clock: Any,
    numbers: Any,
    noise: Any,
    touches: Any,
    *,
    laws: tuple[Law, ...],
    points: tuple[str, ...],
) -> Any:
    """``[forces; memory after]`` of laws that look at ``clock = [t, period]``, where ``points`` touch or not (1, 0)."""
    touching = {point: less(0.5, touch) for point, touch in zip(points, touches, strict=True)}
    forces, kept = np.zeros(model.nv), [np.zeros(0)]
    for law in tuned(laws, numbers):
        size, heard = law.memory_size(model), law.noise_size(model)
        law, seen = law.with_memory(memory[:size]), law.sensed(model, state, noise[:heard])
        memory, noise = memory[size:], noise[heard:]
        forces = forces + by_contact_branches(functools.partial(law.forces, model, clock[0], seen), touching)
        kept.append(law.after(model, clock[0], seen, clock[1]))
    return concatenate([forces, *kept])


class Sampling:
    """Forces that a :class:`~fallingcat.control.SampledController` holds, as a function of time.

    It is the controller of a run, of one robot or of ``N`` in a batch, and samples by :meth:`advance` only; that of one
    robot has done so at the start.  ``times`` and ``values`` are the record of one robot: forces (1 x size, n or nv)
    that act from each time on; of a batch it is the last of them.  ``looked`` and ``memories`` are that of laws with a
    state of their own: memory at each sample.
    """

    def __init__(
        self, model: Model, sampled: SampledController, starts: State, contact: Contact | None, size: int | None = None
    ) -> None:
        self.model, self.sampled, self.name, self.contact = model, sampled, sampled.name, contact
        self.single = size is None
        joints_only = contact is None and not any(acts_on_base(model, law) for law in sampled.laws)
        self.size = size if size is not None else model.n if joints_only else model.nv  # a function's: its first output
        own = any(law.memory_size(model) or law.noise_size(model) for law in sampled.laws)
        compiled = own if self.single else bool(sampled.laws)
        self._laws = SampledLaws(model, sampled, starts, contact) if compiled else None
        self.looked, self.memories = [], []  # type: list[float], list[np.ndarray]
        self._waiting: deque[tuple[float, np.ndarray]] = deque()
        self._samples, self.times, self.values = 0, [0.0], [np.zeros((len(starts.pose), self.size))]
        if self.single:
            self.advance(0.0, starts, lambda: [self._touching(starts.at(0))])

    def of_batch(self, starts: State) -> Sampling:
        """The same controller of ``N`` robots, which has not sampled yet."""
        return Sampling(self.model, self.sampled, starts, self.contact, self.size)

    def of_robot(self, state: State, robot: int) -> Sampling:
        """The same controller of another robot, with noise of its own."""
        sampled = replace(self.sampled, seed=self.sampled.seed + robot)
        return Sampling(self.model, sampled, State(*(x[None] for x in state)), self.contact)

    @property
    def next(self) -> float:
        """The next instant (s) at which the controller samples or an output of it begins to act."""
        samples = self.sampled.sample_time(self._samples)
        return min(samples, self._waiting[0][0]) if self._waiting else samples

    @property
    def memory(self) -> np.ndarray:
        """``N x k``: memory of laws with a state of their own before their next sample."""
        return np.zeros((len(self.values[0]), 0)) if self._laws is None else self._laws.memory.copy()

    @property
    def forces(self) -> np.ndarray:
        """``N x size``: what acts now."""
        return self.values[-1]

    def advance(self, t: float, states: State, touching: Touching) -> bool:
        """Sample ``N`` states if it is time to, and let outputs that are due act from ``t`` on; True if it sampled."""
        samples = self.sampled.sample_time(self._samples) <= t
        if samples:
            self._waiting.append((self.sampled.acts(self._samples), self._output(t, states, touching)))
            self._samples += 1
        while self._waiting and self._waiting[0][0] <= t:
            if not self.single:
                self.times, self.values = [], []
            self.times.append(t)
            self.values.append(self._waiting.popleft()[1])
        return samples

    def __call__(self, t: float, state: State | None = None) -> np.ndarray:
        """``size``: what acts on one robot at ``t`` (s); zero before the first output arrives."""
        return self.values[bisect_right(self.times, t) - 1][0]

    def at(self, times: Any) -> np.ndarray:
        """``... x size``: the same at many times."""
        if np.ndim(times) == 0:
            return self(float(times))
        return np.array([self(t) for t in np.ravel(times).tolist()]).reshape(*np.shape(times), self.size)

    def _touching(self, start: State) -> frozenset[str]:
        """Points that touch where a run starts."""
        contact = self.contact
        return frozenset() if contact is None else contact.touching(contact.begin(self.model, start)[0])

    def _output(self, t: float, states: State, touching: Touching) -> np.ndarray:
        """``N x size``: forces of laws, or of a function of one state or of all."""
        model, laws, one = self.model, self.sampled.laws, read_only(states.at(0))
        if self._laws is not None:
            self.looked.append(t)
            self.memories.append(self._laws.memory[0].copy())
            return self._checked(t, self._laws(t, states, touching)[:, model.nv - self.size :])
        if laws:
            points = touching()[0]
            total = sum((law.forces(model, t, one, points) for law in laws), start=np.zeros(model.nv))
            return self._checked(t, total[None, model.nv - self.size :])
        if not self.single:
            return self._checked(t, answered(self.sampled.batch_forces, t, states))
        given = answered(self.sampled.controller, t, one)
        if not self._samples:
            self.size = controller_size(model, given)
            self.values = [np.zeros((1, self.size))]
        return controller_forces(model, given, self.size, t)[None]

    def _checked(self, t: float, given: Any) -> np.ndarray:
        """Forces of a batch, in which robots may fail one by one, or of one robot."""
        shape = self.values[-1].shape
        if not is_numeric(given) or np.shape(given) != shape:
            raise ModelError(f"a controller of {shape[0]} robots gives forces of shape {shape}, not {describe(given)}")
        forces = np.array(given, dtype=float)
        return controller_forces(self.model, forces[0], self.size, t)[None] if self.single else forces


def common_step(sampled: SampledController, largest: float) -> float:
    """The longest step (s) up to ``largest`` of which period and latency of a controller are whole numbers."""
    period, fewest = 1.0 / sampled.rate, max(1, int(np.ceil(1.0 / sampled.rate / largest - WHOLE_PERIOD_TOLERANCE)))
    for count in range(fewest, 100 * fewest + 1):
        delay = sampled.latency / period * count
        if abs(delay - round(delay)) <= WHOLE_PERIOD_TOLERANCE * count:
            return period / count
    return largest  # steps that end at its instants are shorter
