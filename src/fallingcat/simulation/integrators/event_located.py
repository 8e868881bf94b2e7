"""One code for all modes of a floor, whose switches are located: many robots at once, each in steps of its own.

A robot carries its own time, the step that its last error advises, how often it tried of late, and for each point
whether it touches.  An attempt
takes one step of a rule in that mode and keeps it if it meets the tolerance and no point has left its side of the
ground.  Where one has, the step is taken back, and the next one aims a hair behind the place where the cubic through
heights and rates at both ends crosses: there the point switches.  So a switch costs two or three attempts and a step
without one costs no more than the rule itself: nothing branches, and robots need not agree on anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...arrays import concatenate, less, maximum, minimum, sqrt, where
from ...arrays.differentiate import derivative
from ...compiler import compile
from ...contact import Contact
from ...contact.base import Mode, Touch
from ...contact.capabilities import LinearizedForces, check_offers
from ...errors import ModelError, describe
from ...geometry.contact_points import checked_points
from ...model import Model, State
from ..events import TIME_TOLERANCE
from ..problem.problem import Problem
from ..problem.vector_field import VectorField, layout_of
from .base import FixedStepIntegrator, Step
from .implicit.contact_start import anchors_at
from .implicit.integrator import CompiledStepper
from .rosenbrock import Rosenbrock
from .rule import Rule
from .step_arguments import StepArguments, of_arguments

MAX_POINTS = 2
"""Points at most: their modes are all in one code."""
SWITCH_DEPTH = 1e-12
"""m: how far behind the ground, at most, a point switches"""
FIRST_STEP, MIN_STEP = 1e-4, 1e-12
"""s"""
NO_AIM_TIME = 1e9
"""s: the aim of a step that aims at nothing"""
MAX_EXCESS, ATTEMPT_RATE = 300_000.0, 1e6
"""Attempts, and attempts a second, at most: a robot that needs so many more than that ends as no number."""
HEAD_SIZE = 4
"""Numbers of a robot before those that say what touches: time, advised step, aim, attempts beyond the rate."""
ATTEMPTS_PER_CALL = 16
"""Attempted steps between two checks of which robots have arrived."""
ROBOTS_PER_STRAGGLER = 8
"""Those who have not go on alone when they are no more than one in so many."""


@dataclass(frozen=True)
class EventLocator(FixedStepIntegrator):
    """Steps of a rule for many robots at once on a compliant floor under one or two points, or on none.

    ``rule`` is one with a tolerance, such as :class:`Rosenbrock`, from whose error every robot takes steps of its own;
    or one of fixed steps, such as :class:`RKMK4`, for floors that these resolve.  In a single run, which locates
    switches by itself, it is its rule.

    >>> EventLocator().rule.name, EventLocator().tolerance
    ('rosenbrock', 1e-07)
    """

    rule: Rule = Rosenbrock()  # noqa: RUF009 (frozen)
    name = "located"
    order = 4
    stable = True
    varies = True

    def __post_init__(self) -> None:
        if not isinstance(self.rule, Rule):
            raise ModelError(f"the rule of {self.name!r} is one for vectors, such as Rosenbrock(), not {self.rule!r}")
        for own in ("tolerance", "order", "implicit"):
            object.__setattr__(self, own, getattr(self.rule, own))
        object.__setattr__(self, "stable", self.rule.tolerance is not None)

    def at(self, problem: Problem, dt: float) -> EventLocator:
        """The same."""
        return self

    def stepper(self, problem: Problem, mode: Mode, memory: int) -> Step:
        """Step of the rule."""
        return self.rule.stepper(problem, mode, memory)

    def compiled_stepper(self, problem: Problem, memory: int) -> EventLocatorStepper:
        """Machine code for all modes."""
        if problem.contact is not None:
            check_offers(problem.contact, LinearizedForces, self.name)
            if len(problem.contact.points) > MAX_POINTS:
                what = f"compliant contacts of at most {MAX_POINTS} points"
                raise ModelError(f"the integrator {self.name!r} takes {what}, not {describe(problem.contact)}")
            for part in problem.contact.parts:
                checked_points(problem.model, () if part.pairs else part.points)
        return EventLocatorStepper(problem, memory, self.rule)


class EventLocatorStepper(CompiledStepper):
    """Attempts at steps as machine code.

    ``x = [time, advised step, aim, attempts; what touches; packed]`` of each, ``clock = [until, largest step]``.
    """

    clock = 2
    counted = ()

    def __init__(self, problem: Problem, memory: int, rule: Rule) -> None:
        self._points = _points(problem.contact)
        self.head = HEAD_SIZE + self._points
        super().__init__(problem, memory, rule=rule, ledger=problem.ledger)

    def on(self, target: str, dtype: str) -> list[Any]:
        """The same for another machine."""
        if dtype != "float64":
            raise ModelError(f"switches are located in float64, not in {describe(dtype)}")
        return [compile(self._model, self.code, target=target, dtype=dtype, inputs=self._inputs, **self._options)]

    def start_vector(self, many: State, packed: np.ndarray) -> np.ndarray:
        """``N x size``: robots at rest in time, whose points touch where they are below the ground."""
        first = np.tile([0.0, FIRST_STEP, NO_AIM_TIME, 0.0], (len(packed), 1))
        if not self._points:
            return np.hstack([first, packed])
        heights_at = compile(self._model, heights, state=["pose", "joints"], contact=self.problem.contact)
        return np.hstack([first, heights_at(many.pose[:, :3], many.joints) < 0.0, packed])

    def times(self, on: Any, x: Any, dt: float) -> Any:
        """``N`` (s): of robots on a machine."""
        return on.times(x)

    def stalled(self, on: Any, x: Any) -> np.ndarray:
        """``N`` truth values: who ended for having tried too often."""
        return np.asarray(on.fetched(on.rows(x)[:, HEAD_SIZE - 1] > MAX_EXCESS))

    def taken(self, on: Any, x: Any, dt: float, steps: int, forces: Any) -> Any:
        """``x`` when all have come ``steps`` of ``dt`` farther, on the machine ``on`` which it is."""
        return self._advanced_to(on, x, on.times(x) + steps * dt, dt, forces)

    def rows(self, on: Any, x: Any, dt: float, rows: int, every: int, forces: Any) -> tuple[Any, np.ndarray]:
        """``x`` after ``rows * every`` times ``dt``, and ``rows x N x size``: after every ``every`` times it."""
        found = []
        for _ in range(rows):
            x = self.taken(on, x, dt, every, forces)
            found.append(np.array(on.fetched(x), dtype=float))
        return x, np.array(found)

    def restarted(self, x: np.ndarray, times: float) -> np.ndarray:
        """``x`` itself, whose time is not counted in steps."""
        return x.copy()

    def timed(self, x: np.ndarray, t: float, dt: float) -> np.ndarray:
        """``x`` itself, for the same reason."""
        return x

    def _advanced_to(self, on: Any, x: Any, until: Any, dt: float, forces: Any) -> Any:
        """``x`` when each is at its time in ``until`` (N), to which a few go on alone; :data:`MAX_EXCESS` ends it."""
        while True:
            away = np.flatnonzero(on.fetched(on.times(x) < until))
            if not len(away):
                return x
            if len(away) * ROBOTS_PER_STRAGGLER <= len(until):
                rest, theirs = on.part(away), (on.kept(x, away), until[away], dt, on.kept(forces, away))
                on.put(x, away, self._advanced_to(rest, *theirs))
                return x
            x = self.toward(on, x, until, dt, forces)

    def toward(self, on: Any, x: Any, until: Any, dt: float, forces: Any) -> Any:
        """``x`` some attempts later: no robot beyond its time in ``until`` (N), steps of at most ``dt`` (s)."""
        return on.iterated(x, on.paired(until, dt), forces, ATTEMPTS_PER_CALL)


# one attempt ----------------------------------------------------------------------------------------------------------


class Ends(NamedTuple):
    """Heights of points at both ends of a step, and their rates, in units of its length.

    They are above the ground, or below it for points that touch: not negative while the mode lasts.
    """

    start: Any
    end: Any
    rate: Any
    end_rate: Any

    def crosses(self, value: float) -> Any:
        """Place (share of the step) at which the cubic reaches ``value``, for a point that ends below it.

        It is found by Newton's method from the end, and by bisection where that leaves the interval around the place.
        """
        a = 2.0 * (self.start - self.end) + self.rate + self.end_rate
        b = 3.0 * (self.end - self.start) - 2.0 * self.rate - self.end_rate
        low, high, s = 0.0, 1.0, 1.0
        for _ in range(6):
            above = ((a * s + b) * s + self.rate) * s + self.start - value
            slope = (3.0 * a * s + 2.0 * b) * s + self.rate
            low, high = where(less(0.0, above), s, low), where(less(0.0, above), high, s)
            falls, middle = less(slope, 0.0), 0.5 * (low + high)
            s = where(falls, s - above / where(falls, slope, -1.0), middle)
            s = where(less(s, low), middle, where(less(high, s), middle, s))
        return s

    def lowest(self) -> tuple[Any, Any]:
        """Intersection of the tangents at both ends (share of the step, height), for a point that comes and goes."""
        both = less(self.rate, 0.0), less(0.0, self.end_rate)
        bend = where(both[0], where(both[1], self.end_rate - self.rate, 1.0), 1.0)
        s = where(both[0], where(both[1], (self.start - self.end + self.end_rate) / bend, 0.0), 0.0)
        return s, self.start + s * self.rate


@of_arguments
def attempted(source: StepArguments, *, rule: Rule, ledger: bool) -> Any:
    """``x`` an attempt at a step later, under held ``forces`` if there are any."""
    (known, _), x, clock = source.problem(), source.x, source.clock
    problem = AnyMode(known.model, known.laws, known.contact, known.controller, True, ledger, source.forces)
    model, contact, points = problem.model, problem.contact, _points(problem.contact)
    (t, advised, aim, tries), bits, packed = x[:HEAD_SIZE], x[HEAD_SIZE : HEAD_SIZE + points], x[HEAD_SIZE + points :]
    dt, awake = _length(t, advised, aim, clock)
    touches = tuple(less(0.5, bit) for bit in bits)
    layout = layout_of(problem, source.memory)
    field = VectorField(problem, touches, *layout.unpack(packed))
    y, error = rule.step(field, t, field.origin, dt)
    after, held_at, works = field.end(y)
    behind, toward = _switches(contact, model, touches, field.start, after, dt)
    allowed = where(less(dt, 2.0 * TIME_TOLERANCE), NO_AIM_TIME, SWITCH_DEPTH)
    fits = where(less(error, 1.0), where(less(behind, allowed), 1.0, 0.0), 0.0)
    kept = less(0.5, fits)
    bits, held_at = _switched_contacts(contact, model, touches, after, held_at)
    arrives = less(clock[0] - t, dt * (1.0 + 1e-12))
    factor = _factor(error)
    longer = minimum(maximum(dt * factor, where(less(dt, advised), advised, 0.0)), clock[1])
    again = where(less(error, 1.0), advised, dt * minimum(factor, 0.9))
    rested = maximum(tries + 1.0 - ATTEMPT_RATE * dt, 0.0)
    head = [where(arrives, clock[0], t + dt), longer, NO_AIM_TIME, rested]
    now = concatenate([*(np.reshape(n, 1) for n in (*head, *bits)), layout.pack(after, held_at, works)])
    # a step that is taken back
    then = [t, again, where(less(error, 1.0), toward, NO_AIM_TIME), tries + 1.0]
    back = concatenate([*(np.reshape(n, 1) for n in (*then, *x[HEAD_SIZE : HEAD_SIZE + points])), packed])
    # what no length makes fit, or what takes too many, ends as no number
    stalled = less(MAX_EXCESS, tries)
    fails = where(stalled, 1.0, where(kept, 0.0, where(less(again, MIN_STEP), 1.0, 0.0)))
    ends = [clock[0], advised, NO_AIM_TIME, tries, *x[HEAD_SIZE : HEAD_SIZE + points], *[np.nan] * len(packed)]
    gone = concatenate([np.reshape(n, 1) for n in ends])
    return where(awake, where(less(0.5, fails), gone, where(kept, now, back)), x)


def _length(t: Any, advised: Any, aim: Any, clock: Any) -> tuple[Any, Any]:
    """The length of the step to try (s), and whether there is any way to go."""
    left, largest = clock[0] - t, clock[1]
    awake = less(0.0, left)
    dt = minimum(advised, largest)
    dt = where(less(0.9 * left, dt), left, dt)
    return where(awake, minimum(dt, aim), largest), awake


def _factor(error: Any) -> Any:
    """Factor by which a step may grow, or has to shrink, for an error of order 4."""
    known = less(error, 1e30)  # NaN is not
    size = where(known, error, 1.0)
    # bounds: one estimate is no reason for more
    return where(known, minimum(maximum(0.9 / sqrt(sqrt(maximum(size, 1e-12))), 0.1), 6.0), 0.1)


def _switches(
    contact: Contact | None, model: Model, touches: tuple[Any, ...], start: State, end: State, dt: Any
) -> tuple[Any, Any]:
    """Largest distance (m) of points on the wrong side, and the step (s) that would end a hair behind."""
    if contact is None:
        return 0.0, NO_AIM_TIME
    worst, first = 0.0, NO_AIM_TIME
    places = zip(touches, *_heights(model, contact, start), *_heights(model, contact, end), strict=True)
    for touching, h, rate, h_end, rate_end in places:
        side = where(touching, -1.0, 1.0)
        ends = Ends(side * h, side * h_end, side * dt * rate, side * dt * rate_end)
        crossed = less(ends.end, 0.0)
        when, lowest = ends.lowest()
        depth = where(crossed, -ends.end, -lowest)
        share = where(crossed, ends.crosses(-0.5 * SWITCH_DEPTH), when)
        first = minimum(first, where(less(SWITCH_DEPTH, depth), maximum(share * dt, TIME_TOLERANCE), NO_AIM_TIME))
        worst = maximum(worst, depth)
    return worst, first


def _switched_contacts(
    contact: Contact | None, model: Model, touches: tuple[Any, ...], state: State, held_at: Any
) -> tuple[list[Any], Any]:
    """Points that touch at the end of a step (0 or 1), and where they are held: where they touched down."""
    if contact is None:
        return [], held_at
    here, bits, places = anchors_at(model, state, floor=contact), [], []
    each = len(here) // len(contact.points)
    for i, (touching, height) in enumerate(zip(touches, heights(model, state, contact=contact), strict=True)):
        own = slice(i * each, (i + 1) * each)
        below = less(height, 0.0)
        bits.append(where(below, 1.0, 0.0))
        places.append(where(touching, held_at[own], where(below, here[own], held_at[own])))
    return bits, concatenate([np.zeros(0), *places, held_at[len(here) :]])


def heights(model: Model, state: State, *, contact: Any) -> Any:
    """Heights of the points over the ground (m)."""
    air = (False,) * len(contact.points)
    return contact.guards(model, air, state, np.zeros(contact.memory_size or 0), np.zeros(model.nv))


def _heights(model: Model, contact: Contact, state: State) -> tuple[Any, Any]:
    """:func:`heights`, and their rates (m/s)."""

    def later(t: Any) -> Any:
        return heights(model, model.configuration.displace(state, state.velocity * t), contact=contact)

    return heights(model, state, contact=contact), derivative(later, like=list(state))


def _points(contact: Contact | None) -> int:
    return 0 if contact is None else len(contact.points)


# any mode -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AnyMode(Problem):
    """A problem whose mode says of each point whether it touches as a condition on numbers, under ``given`` forces."""

    def applied(self, mode: Mode, t: Any, state: State, given: Any = None) -> dict[str, Any]:
        """Forces of laws and controller in the mode that holds."""
        own = None if self.controller is None else self.given
        found = [Problem.applied(self, known, t, state, own) for known in _modes(mode)]
        return {port: _value_of_mode(mode, [forces[port] for forces in found]) for port in found[0]}

    def touch(self, mode: Mode, state: State, memory: Any, applied: Any) -> Touch:
        """Forces and memory rate of the contact in the mode that holds; there are no guards."""
        if self.contact is None:
            return Problem.touch(self, mode, state, memory, applied)
        found = [self.contact.touch(self.model, known, state, memory, applied) for known in _modes(mode)]
        forces = {port: _value_of_mode(mode, [there.forces[port] for there in found]) for port in found[0].forces}
        return Touch(forces, _value_of_mode(mode, [there.memory_rate for there in found]), np.zeros(0))


def _modes(mode: Mode) -> list[Mode]:
    return list(product((False, True), repeat=len(mode)))


def _value_of_mode(mode: Mode, values: list[Any]) -> Any:
    """The value of the mode that holds, of those in all modes."""
    if not mode:
        return values[0]
    half = len(values) // 2
    return where(mode[0], _value_of_mode(mode[1:], values[half:]), _value_of_mode(mode[1:], values[:half]))


EventLocatorStepper.code = staticmethod(attempted)
