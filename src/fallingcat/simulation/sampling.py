"""A sampled controller in a run: when it looks, what it said, and from when on that acts."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import concatenate, less
from ..caching import cached_property
from ..compiler import compile
from ..contact import Contact
from ..control import Law, Sampled
from ..control.laws.base import acts_on_base
from ..control.laws.sampled import WHOLE
from ..errors import ModelError
from ..model import Model, State
from .arguments import answered, controller_forces, controller_size, read_only
from .compiled_dynamics import remembered
from .integrators.contact_branches import asks, by_cases
from .law_parameters import apart, tuned


class Looking:
    """Sampled laws of ``N`` robots: what those with a state of their own remember, and the noise of their sensors."""

    def __init__(self, model: Model, sampled: Sampled, states: list[State], contact: Contact | None) -> None:
        self.model, self.period = model, 1.0 / sampled.rate
        self.laws, self._numbers = apart(sampled.laws, model)
        self._noises = sum(law.noises(model) for law in sampled.laws)
        self._rng = np.random.default_rng(sampled.seed)
        remembers = [law for law in sampled.laws if law.memory_size(model)]
        begun = [np.concatenate([np.zeros(0), *(law.begin(model, state) for law in remembers)]) for state in states]
        self.memory = np.array(begun)
        """``N x k``: before the next look"""
        points = tuple(getattr(contact, "points", ()))
        at_start = (law.remembering(law.begin(model, states[0])).forces for law in sampled.laws)
        asked = any(asks(functools.partial(forces, model, 0.0, states[0]), points) for forces in at_start)
        self.points = points if asked else ()
        """those that laws ask about"""

    @staticmethod
    def wanted(model: Model, laws: tuple[Law, ...]) -> bool:
        """True if laws have a state or sensors of their own."""
        return any(law.memory_size(model) or law.noises(model) for law in laws)

    def __call__(
        self, t: float, fields: tuple[np.ndarray, ...], touching: Callable[[], Sequence[frozenset[str]]]
    ) -> np.ndarray:
        """``N x nv``: the forces of robots in these states, on what touches if asked; they remember what they saw."""
        poses, *rest = fields
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
        return remembered((look, self.model, *inputs.values(), *about.values()), make)


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
        size, heard = law.memory_size(model), law.noises(model)
        law, seen = law.remembering(memory[:size]), law.sensed(model, state, noise[:heard])
        memory, noise = memory[size:], noise[heard:]
        forces = forces + by_cases(functools.partial(law.forces, model, clock[0], seen), touching)
        kept.append(law.after(model, clock[0], seen, clock[1]))
    return concatenate([forces, *kept])


class Sampling:
    """Forces that a :class:`~fallingcat.control.Sampled` controller holds, as a function of time.

    It is the controller of a run, which has looked once, at the start, and looks again by :meth:`advance` only.
    ``times`` and ``values`` are the record: forces (``size``: n or nv) that act from each time on.  ``looked`` and
    ``memories`` are that of laws with a state of their own: what they remember at each look.
    """

    def __init__(self, model: Model, sampled: Sampled, state: State, contact: Contact | None) -> None:
        self.model, self.sampled, self.name = model, sampled, sampled.name
        self._looking = Looking(model, sampled, [state], contact) if Looking.wanted(model, sampled.laws) else None
        self.looked, self.memories = [], []  # type: list[float], list[np.ndarray]
        touching = contact.touching(contact.begin(model, state)[0]) if contact and sampled.laws else frozenset()
        first = self._answer(0.0, read_only(state), touching)
        joints_only = contact is None and not any(acts_on_base(model, law) for law in sampled.laws)
        self.size = model.n if sampled.laws and joints_only else controller_size(model, first)
        self.times, self.values = [0.0], [np.zeros(self.size)]
        self._waiting = deque([(sampled.acts(0), self._checked(0.0, first))])
        self._looked = 1
        self._arrive(0.0)

    @property
    def next(self) -> float:
        """The next instant (s) at which the controller looks or an answer of it arrives."""
        looks = self.sampled.sample_time(self._looked)
        return min(looks, self._waiting[0][0]) if self._waiting else looks

    @property
    def memory(self) -> np.ndarray:
        """``k``: what laws with a state of their own remember before their next look."""
        return np.zeros(0) if self._looking is None else self._looking.memory[0].copy()

    def advance(self, t: float, state: State, touching: frozenset[str]) -> None:
        """Look if it is time to look, and let what has arrived act from ``t`` on."""
        if self.sampled.sample_time(self._looked) <= t:
            answer = self._checked(t, self._answer(t, read_only(state), touching))
            self._waiting.append((self.sampled.acts(self._looked), answer))
            self._looked += 1
        self._arrive(t)

    def __call__(self, t: float, state: State | None = None) -> np.ndarray:
        """``size``: what acts at ``t`` (s); zero before the first answer arrives."""
        return self.values[bisect_right(self.times, t) - 1]

    def at(self, times: Any) -> np.ndarray:
        """``... x size``: the same at many times."""
        if np.ndim(times) == 0:
            return self(float(times))
        return np.array([self(t) for t in np.ravel(times).tolist()]).reshape(*np.shape(times), self.size)

    def _arrive(self, t: float) -> None:
        while self._waiting and self._waiting[0][0] <= t:
            self.times.append(t)
            self.values.append(self._waiting.popleft()[1])

    def _answer(self, t: float, state: State, touching: frozenset[str]) -> Any:
        model, laws = self.model, self.sampled.laws
        if not laws:
            return answered(self.sampled.controller, t, state)
        if self._looking is not None:
            self.looked.append(t)
            self.memories.append(self._looking.memory[0].copy())
            return self._looking(t, tuple(x[None] for x in state), lambda: [touching])[0]
        return sum((law.forces(model, t, state, touching) for law in laws), start=np.zeros(model.nv))

    def _checked(self, t: float, given: Any) -> np.ndarray:
        given = given[len(given) - self.size :] if self.sampled.laws else given
        return controller_forces(self.model, given, self.size, t)


class SampledTogether:
    """A sampled law in many runs of common steps, ``period`` steps from look to look and ``delay`` until it acts."""

    def __init__(self, sampled: Sampled, forces: np.ndarray, dt: float) -> None:
        self.period, self.delay = _steps(1.0 / sampled.rate, dt, "period"), _steps(sampled.latency, dt, "latency")
        self.forces = forces
        """``N x size``: what acts"""
        self._waiting: deque[tuple[int, np.ndarray]] = deque()

    def before(self, step: int, ask: Callable[[], np.ndarray]) -> int:
        """Look and let act what is due before ``step``; the next step before which there is something to do."""
        if step % self.period == 0:
            self._waiting.append((step + self.delay, ask()))
        while self._waiting and self._waiting[0][0] <= step:
            self.forces = self._waiting.popleft()[1]
        looks = step - step % self.period + self.period
        return min(looks, self._waiting[0][0]) if self._waiting else looks


def common_step(sampled: Sampled, largest: float) -> float:
    """The longest step (s) up to ``largest`` of which period and latency of a controller are whole numbers."""
    period, fewest = 1.0 / sampled.rate, max(1, int(np.ceil(1.0 / sampled.rate / largest - WHOLE)))
    for count in range(fewest, 100 * fewest + 1):
        if abs(sampled.latency / period * count - round(sampled.latency / period * count)) <= WHOLE * count:
            return period / count
    return largest  # which is then refused by name


def _steps(time: float, dt: float, what: str) -> int:
    steps = round(time / dt)
    if abs(time / dt - steps) > 1e-6 * max(1, steps):
        raise ModelError(
            f"the {what} of a sampled law, {time:g} s, is no whole number of the rollout's steps of {dt:g} s: "
            "give dt and duration so that it is, or use fallingcat.simulate"
        )
    return steps
