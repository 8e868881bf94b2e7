"""Random runs: robots, laws, controllers, contacts, events, integrators, steps.  What must hold of every one of them:

it ends; it raises nothing but errors of ours, before anything moves; its record is whole, finite and on the group; no
event is lost or misplaced; its status is true; its books balance, or the status says why not.

``python tests/support/simulation_fuzzer.py SECONDS [FIRST_SEED]`` goes through seeds for a given time and says what it
found.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from random_robots import BASES

import fallingcat as fc
from fallingcat.control import JointDamper, JointSpring
from fallingcat.errors import FallingCatError
from fallingcat.simulation import Rosenbrock, SciPy
from fallingcat.simulation.diagnostics.diagnostics import MAX_ENERGY_RESIDUAL

HANG = 120.0
"""Seconds of the processor's time that no case may take; the longest takes a few."""
ROBOTS = 24


class Hang(BaseException):
    """A case that does not end; nothing catches it on the way."""


class Case(NamedTuple):
    """Arguments of ``fc.simulate``, and what is in them in words."""

    model: fc.Model
    state: fc.State
    duration: float
    controller: Any
    contact: Any
    options: dict[str, Any]
    words: str

    def run(self) -> fc.Trajectory:
        return fc.simulate(self.model, self.state, self.duration, self.controller, self.contact, **self.options)


# making cases ---------------------------------------------------------------------------------------------------------


def case(seed: int, *, hard: bool = True) -> Case:
    rng = np.random.default_rng([seed, 77])
    model = _robot(int(rng.integers(ROBOTS)), rng)
    state = _state(model, rng)
    controller, pulls = _controller(model, rng)
    contact, touches = _contact(model, state, rng, hard)
    dt = [None, 1e-3, 2e-3, 1e-2, 10.0 ** rng.uniform(-3.5, -1.0)][rng.integers(5)]
    integrator, method = _integrator(rng)
    duration = [0.0, dt or 1e-3, rng.uniform(0.0, 0.1), 0.2][rng.integers(4)]
    events = [_event(model, k, duration, dt or 1e-3, rng) for k in range(rng.integers(4))]
    options = {"integrator": integrator, "dt": dt, "every": int(rng.choice([1, 1, 3, 1000])), "events": events}
    words = f"{model.base} + {model.n}, {pulls}, {touches}, {method}, dt={dt}, {duration:.4g} s, {len(events)} events"
    return Case(model, state, float(duration), controller, contact, options, words)


def _robot(number: int, rng: np.random.Generator) -> fc.Model:
    """One of a few (each is compiled); gravity and masses are numbers of the model, so they belong to it."""
    own = np.random.default_rng([number, 5])
    model = fc.robots.random_tree(own, int(own.integers(1, 3)), base=BASES[number % len(BASES)])
    gravity = [np.zeros(3), np.array([0.0, 0.0, -9.81]), own.normal(scale=6.0, size=3)][number % 3]
    return replace(model, gravity=gravity)


def _state(model: fc.Model, rng: np.random.Generator) -> fc.State:
    state, speed = model.random_state(rng), rng.choice([0.0, 1e-6, 1.0, 1.0, 20.0])
    return state._replace(twist=speed * state.twist, rates=speed * state.rates)


def _controller(model: fc.Model, rng: np.random.Generator) -> tuple[Any, str]:
    gain = 10.0 ** rng.uniform(-3.0, 2.0)
    late = rng.uniform(0.0, 0.1)
    kinds: dict[str, Any] = {
        "nothing": None,
        "springs and dampers": [JointSpring(gain), JointDamper(gain)],
        "dampers": JointDamper(gain),
        "a function": lambda t, s: -0.1 * s.rates,
        "a switching function": lambda t, s: gain * np.sign(np.sin(40.0 * t)) * np.ones(model.n),
        "a function on the base": lambda t, s: -0.1 * np.concatenate([s.twist, s.rates]),
        "a function that breaks": lambda t, s: np.full(model.n, np.nan if t > late else 0.0),
        "a function that changes its mind": lambda t, s: np.zeros(model.n + (t > late)),
    }
    name = list(kinds)[rng.choice(len(kinds), p=[0.25, 0.2, 0.15, 0.15, 0.1, 0.05, 0.05, 0.05])]
    return kinds[name], name


def _contact(model: fc.Model, state: fc.State, rng: np.random.Generator, hard: bool) -> tuple[Any, str]:
    chosen = rng.random()
    if chosen < 0.4:
        return None, "in the air"
    count = rng.integers(1, 1 + min(3, len(model.link_names)))
    names = tuple(map(str, rng.choice(model.link_names, size=count, replace=False)))
    lowest = min(float(fc.link_pose(model, state, name)[2, 3]) for name in names)
    height = lowest - rng.choice([0.0, 1e-3, 0.05, -0.02])
    friction = [None, 0.0, 0.5, 1.5][rng.integers(4)]
    up = (0.0, 0.0, 1.0)
    if chosen < 0.75 or not hard:
        K, D = 10.0 ** rng.uniform(2.0, 5.0), 10.0 ** rng.uniform(0.0, 3.0)
        return fc.contact.CompliantFloor(names, (K, K), (D, D), friction, up, height), f"a floor of {K:.0f} N/m"
    bounce = float(rng.choice([0.0, 0.5, 0.9]))
    return fc.contact.HardContacts(
        names, friction=friction, restitution=bounce, normal=up, height=height
    ), "hard ground"


def _integrator(rng: np.random.Generator) -> tuple[Any, str]:
    kinds = [None, "momentum", "rkmk4", "semi_implicit", "rosenbrock", Rosenbrock(None), "scipy", SciPy("LSODA")]
    chosen = kinds[rng.choice(len(kinds), p=[0.35, 0.1, 0.15, 0.1, 0.1, 0.05, 0.1, 0.05])]
    return chosen, str(chosen)


def _event(model: fc.Model, k: int, duration: float, dt: float, rng: np.random.Generator) -> fc.Event:
    link = str(rng.choice(model.link_names))
    moment = [0.0, dt * rng.integers(1, 5), duration, rng.uniform(0.0, duration + 1e-9)][rng.integers(4)]
    level = rng.normal()
    kinds = [
        lambda t, s: t - moment,
        lambda t, s: abs(t - moment),
        lambda t, s: float(fc.link_pose(model, s, link)[2, 3]) - level,
        lambda t, s: float(s.rates.sum()),
        lambda t, s: min(t - moment, 0.0),
        lambda t, s: 0.0,
        lambda t, s: np.nan if t > moment else 1.0,
        lambda t, s: float(np.sin(1e4 * t + level)),  # several in a step
    ]
    function = kinds[rng.choice(len(kinds), p=[0.27, 0.1, 0.25, 0.2, 0.08, 0.04, 0.03, 0.03])]
    return fc.Event(f"event {k}", function, int(rng.integers(-1, 2)), bool(rng.random() < 0.2))


# what must hold -------------------------------------------------------------------------------------------------------


def check(one: Case) -> str:
    """A word for how the case ended; an ``AssertionError`` where something does not hold."""
    try:
        with limited(HANG):
            run = one.run()
    except FallingCatError as error:
        return f"refused: {error}"[:70]
    check_record(run, one)
    check_events(run, one)
    if run.status == "finished":
        assert run.energy_residual <= max(MAX_ENERGY_RESIDUAL, 0.06), run.energy_residual
    return run.status.split(":")[0].split(" after")[0].split(" by")[0]


def check_record(run: fc.Trajectory, one: Case) -> None:
    for name in ("times", "poses", "joints", "twists", "rates", "memory"):
        assert np.isfinite(getattr(run, name)).all(), name
        assert len(getattr(run, name)) == len(run.modes) == len(run.ledger.base) == len(run), name
    assert run.times[0] == 0.0
    assert (np.diff(run.times) >= 0.0).all()
    R = run.poses[:, :3, :3]
    assert np.abs(np.einsum("kji,kjl->kil", R, R) - np.eye(3)).max() < 1e-9
    assert run.times[-1] <= one.duration + 1e-9
    assert run.status.startswith(("finished", "stopped by the event ", "stopped after "))
    if run.status.startswith("finished"):
        assert abs(run.times[-1] - one.duration) < 1e-9


def check_events(run: fc.Trajectory, one: Case) -> None:
    events = {event.name: event for event in one.options["events"]}
    own = [happened for happened in run.events if happened.name in events]
    assert (np.diff([happened.time for happened in run.events]) >= 0.0).all()
    stops = [happened for happened in own if events[happened.name].terminal]
    assert {happened.time for happened in stops} <= {run.times[-1]}
    assert bool(stops) == run.status.startswith("stopped by the event")
    for name, event in events.items():
        told = np.array([happened.time for happened in own if happened.name == name])
        values = [event.function(t, state) for t, state in zip(run.times, run.states, strict=True)]
        for i in range(len(values) - 1):
            if event.happens(values[i], values[i + 1]):
                here = (told >= run.times[i]) & (told <= run.times[i + 1])
                assert here.any(), f"{name} between {run.times[i]} and {run.times[i + 1]}"
        assert len(told) <= len(run)  # none is told for ever


@contextmanager
def limited(seconds: float) -> Any:
    def late(*_: Any) -> None:
        raise Hang(f"no end after {seconds:g} s of the processor's time")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def fuzz(seconds: float, first: int = 0, *, tell: Any = None) -> Counter[str]:
    """Seeds from ``first`` on for a given time; how the cases ended.  What does not hold names its seed."""
    ends: Counter[str] = Counter()
    began, seed = time.monotonic(), first
    while time.monotonic() - began < seconds:
        started, one = time.monotonic(), case(seed)
        try:
            ends[check(one)] += 1
        except BaseException as error:
            error.add_note(f"simulation_fuzzer seed {seed}: {one.words}")
            if tell is None or isinstance(error, KeyboardInterrupt):
                raise
            ends["WRONG"] += 1
            tell(f"seed {seed}: {one.words}\n    {type(error).__name__}: {error}")
        if tell is not None and time.monotonic() - started > 20.0:
            tell(f"seed {seed} took {time.monotonic() - started:.0f} s: {one.words}")
        seed += 1
    return ends


if __name__ == "__main__":
    for end, count in fuzz(float(sys.argv[1]), int((sys.argv[2:] or ["0"])[0]), tell=print).most_common():
        print(f"{count:6} {end}")  # noqa: T201
