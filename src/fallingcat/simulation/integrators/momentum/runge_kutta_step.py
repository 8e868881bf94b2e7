"""Step of the momentum-exact Runge-Kutta method of order 5, on every kind of number.

The method is described in :mod:`fallingcat.simulation.integrators.momentum.integrator`.
In the frame that falls with the center of mass, the state of a flight is ``y = [turn; v; q; works]``: exponential
coordinates of the attitude around the start of the step, the velocity ``[twist; rates]``, joint coordinates, and the
work through every port.  The slope of the first two is forward dynamics without gravity.  At the end of the step the
twist of the base follows from the conserved momentum, ``M_b twist + M_bq rates = [0; R' k]``, and its position from the
parabola of the center of mass: neither can drift, whatever the joints did.

Stages are rounds of one loop, so that the code holds forward dynamics once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....arrays import concatenate, less, maximum, solve_tree, where, while_loop
from ....caching import cached_property
from ....control import Law
from ....control.laws.carried_inertia import carried_inertia
from ....dynamics import inverse_dynamics, locked_inertia
from ....dynamics.forward import response
from ....lie import SO3
from ....lie.rotations import exp
from ....model import Model, State
from ...problem.problem import Problem, held
from ...problem.vector_field import Layout, layout_of
from ..implicit.step import dry_friction_law
from ..step_arguments import StepArguments, of_arguments
from .joint_friction import Friction, Modes
from .midpoint_step import CARRIED_SIZE, Parabola, angular_velocity, carried_at, still_at

_ROTATIONS = SO3()

NODES = (0.0, 1 / 5, 3 / 10, 3 / 5, 1.0, 7 / 8)
WEIGHTS = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (3 / 10, -9 / 10, 6 / 5),
    (-11 / 54, 5 / 2, -70 / 27, 35 / 27),
    (1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096),
    (37 / 378, 0.0, 250 / 621, 125 / 594, 0.0, 512 / 1771),
)
"""The method of order 5 of Cash and Karp: row ``i`` leads from the slopes of stages 0 to ``i`` to the next stage, or to
the end.  Weights of the end are not negative, and others small: where forces have kinks, as at joint stops, others of
this order err more."""
STAGES = len(WEIGHTS)
UNROLLED_ROUNDS = 9 * STAGES
"""Rounds beside those of whole parts where they are written one after the other (C, CasADi, derivatives): one joint
that comes to rest in a step takes about 36"""
_ROWS = np.array([row + (0.0,) * (STAGES - len(row)) for row in WEIGHTS])
_TWICE = _ROWS @ np.vstack([np.zeros(STAGES), _ROWS[:-1]])
"""The same for what is the integral of an integral: joint coordinates, of joint accelerations."""


@of_arguments
def flown(source: StepArguments, *, divisions: int = 1) -> Any:
    """``x = [count; carried; packed]`` a step of ``clock[0]`` (s) later, under held ``forces`` (nv) if there are."""
    (problem, _), x, dt = source.problem(), source.x, source.clock[0]
    carried, packed = x[1 : 1 + CARRIED_SIZE], x[1 + CARRIED_SIZE :]
    if source.varied:  # of a robot with numbers of its own, what is carried is measured where it starts
        start = layout_of(problem, source.memory).unpack(packed)[0]
        carried = where(less(x[0], 0.5), concatenate([np.zeros(1), carried_at(problem.model, start)]), carried)
    step = _Step(problem, x[0] * dt, dt, carried, packed, source.forces[source.model.m :], divisions)
    unrolled = UNROLLED_ROUNDS + divisions * STAGES
    after = step.end(while_loop(step.around, step.initial_iterate, step.rounds, unrolled))
    return concatenate([np.reshape(x[0] + 1.0, 1), carried, after])


def one_round(
    model: Model,
    packed: Any,
    carried: Any,
    clock: Any,
    x: Any,
    given: Any,
    *,
    laws: tuple[Law, ...],
    divisions: int = 1,
) -> Any:
    """Result ``[x; done; time; packed point; packed end]`` of one round from ``x``.

    It is for a controller that has ``given`` its joint forces (n) there; ``clock = [t, dt, first]``, with 1 for the
    first round of a step, which takes no ``x``.
    """
    step = _Step(Problem(model, laws, None, held), clock[0], clock[1], carried, packed, given, divisions)
    x, done = step.around(where(less(0.5, clock[2]), step.initial_iterate, x))
    t = step.time(x)
    return concatenate([x, np.reshape(done, 1), np.reshape(t, 1), step.seen(t, x), step.end(x)])


def round_size(problem: Problem) -> int:
    """Size of the vector that rounds change."""
    packed, carried = np.zeros(layout_of(problem, 0).size), np.zeros(CARRIED_SIZE)
    return len(_Step(problem, 0.0, 1.0, carried, packed, np.zeros(problem.model.n)).initial_iterate)


@dataclass(frozen=True, eq=False)
class _Step:
    """A step of ``dt`` (s) from the time ``t`` (s) and a packed state."""

    problem: Problem
    t: Any
    dt: Any
    carried: Any
    packed: Any
    given: Any
    """``n``: joint forces of a controller, if there is one"""
    divisions: int = 1
    """least number of parts of a step with dry friction"""

    @cached_property
    def light(self) -> Model:
        return replace(self.problem.model, gravity=np.zeros(3))

    @cached_property
    def flight(self) -> Parabola:
        return Parabola(self.problem.model, self.carried)

    @cached_property
    def start(self) -> tuple[State, Any, Any]:
        return self.layout.unpack(self.packed)

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.problem, sum(self.problem.sizes))

    @cached_property
    def friction(self) -> Friction | None:
        law = dry_friction_law(self.problem)
        found = None if law is None else Friction.of(law, self.problem.model, self.dt, self.divisions)
        return found if found is not None and len(found.places) else None

    @cached_property
    def bare(self) -> Problem:
        """The problem without its dry friction."""
        laws = tuple(law for law in self.problem.laws if self.friction is None or law.name != self.friction.name)
        return replace(self.problem, laws=laws)

    @property
    def _first(self) -> Any:
        """``y`` at the start of the step."""
        state, memory, works = self.start
        v = state.velocity - self.flight.seen(self.t, state.pose[:3, :3])
        return concatenate([np.zeros(3), v, state.joints, works[1::2], memory])

    def _parts(self, y: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Attitude, velocity, joint coordinates, works, and what laws remember."""
        moving = 3 + self.problem.model.nv
        shape = moving + self.problem.model.n
        works = shape + len(self.problem.ports)
        return self.start[0].pose[:3, :3] @ exp(y[:3]), y[3:moving], y[moving:shape], y[shape:works], y[works:]

    def slope(self, t: Any, y: Any, h: Any, way: Any) -> tuple[Any, Any, Any]:
        """Rate of ``[turn; v; memory]``, powers of the ports, and accelerations (n) of joints, at a stage of ``h`` (s).

        The accelerations are those before joints that dry friction holds are set to zero.
        """
        R, v, q, _, memory = self._parts(y)
        m = self.problem.model.m
        rates, nowhere = v[m:], np.zeros(m)
        state = self.flight.state(t, R, q, v)
        bare = self.bare.with_memory(memory)[0]
        forces = bare.applied((), t, state, self.given)
        brakes = self._brakes(state, forces, h)
        if self.friction is not None:
            forces[self.friction.name] = concatenate([nowhere, self.friction.forces(way)])
        tau = concatenate([nowhere, self.problem.total(forces)[m:]])
        locks = [] if self.friction is None else [self.friction.armature(way)]
        more = [*locks, *brakes.values()]
        armature = sum(more[1:], start=more[0]) if more else None
        found = response(self.light, State(np.eye(4), q, v[:m], rates), tau, armature=armature).acceleration
        for name, brake in brakes.items():
            forces[name] = forces[name] - concatenate([nowhere, brake * found[m:]])
        moves = found if self.friction is None else self.friction.held_still(found, way)
        zero = np.zeros(self.problem.model.nv)
        powers = [np.reshape(forces.get(port, zero)[m:] @ rates, 1) for port in self.problem.ports]
        turning = _ROTATIONS.logarithm_rate(angular_velocity(self.problem.model, v), y[:3])
        memory_rates = [law.memory_rate(self.problem.model, t, state) for law in bare.laws] if len(memory) else []
        return concatenate([turning, moves, *memory_rates]), concatenate([np.zeros(0), *powers]), found[m:]

    def _brakes(self, state: State, forces: Mapping[str, Any], h: Any) -> dict[str, Any]:
        """Armature (n) by port with which stages foresee that forces of drives fall at the ends of their speed.

        There is none where a step resolves this, and else so much that no step is too long.
        """
        model, laws = self.problem.model, [law for law in self.bare.laws if law.saturates]
        drives = [port for port in self.bare.driven_ports if port in forces and port not in {law.name for law in laws}]
        asked = self.bare.total({port: forces[port] for port in drives})
        found = {
            law.name: 0.5 * h * law.implicit_damping(model, state, asked, h) - carried_inertia(model) for law in laws
        }
        return {name: maximum(x, 0.0 * x) for name, x in found.items()}

    def _next(self, start: Any, h: Any, stage: Any, point: Any, slopes: Any, powers: Any) -> Any:
        """Point of the next stage, or the end, ``h`` (s) being from ``start`` to there.

        ``slopes`` are those of this stage and of those before it, the last one first.
        """
        moving, n = 3 + self.problem.model.nv, self.problem.model.n
        width, end = self._width, moving + n + len(powers)
        rows = [slopes[k : k + width] for k in range(0, len(slopes), width)]
        motion = start[:moving] + h * _mixed(stage, _ROWS, [row[:moving] for row in rows])
        q, rates = start[moving : moving + n], start[moving - n : moving]
        twice = _mixed(stage, _TWICE, [row[moving - n : moving] for row in rows])
        q = q + h * (chosen(stage, (*NODES[1:], 1.0)) * rates + h * twice)
        works = point[moving + n : end] + h * chosen(stage, WEIGHTS[-1]) * powers
        memory = start[end:]
        if len(memory):
            memory = memory + h * _mixed(stage, _ROWS, [row[moving:] for row in rows])
        return concatenate([motion, q, works, memory])

    @property
    def _width(self) -> int:
        """Numbers of a slope."""
        return 3 + self.problem.model.nv + sum(self.problem.sizes)

    def end(self, x: Any) -> Any:
        """Packed state at the end of the step, after all rounds; infinite if they were too few."""
        if self.friction is not None:
            x = where(less(0.0, self._modes(x).left), np.inf, x)
        R, v, q, works, memory = self._parts(self.point(x))
        t, spin, rates = self.t + self.dt, self.carried[7:], v[self.problem.model.m :]
        v = concatenate([conserved_twist(self.light, q, rates, R.T @ spin), rates])
        pairs = concatenate([np.zeros(0), *(concatenate([np.zeros(1), np.reshape(work, 1)]) for work in works)])
        return self.layout.pack(self.flight.state(t, R, q, v), memory, pairs)

    def seen(self, t: Any, x: Any) -> Any:
        """Packed state at the stage that comes, at a time (s); no works."""
        R, v, q, _, memory = self._parts(self.point(x))
        return self.layout.pack(self.flight.state(t, R, q, v), memory, np.zeros(self.layout.works))

    # rounds: one for each stage -------------------------------------------------------------------------------

    @property
    def _history(self) -> int:
        """Numbers of the slopes of stages before the last."""
        return (STAGES - 1) * self._width

    @property
    def initial_iterate(self) -> Any:
        """``x = [stage; point; slopes of stages before, the last one first; modes]`` before the first round."""
        y = self._first
        modes = np.zeros(0) if self.friction is None else Modes.first(self.friction, y, self.dt)
        return concatenate([np.zeros(1), y, np.zeros(self._history), modes])

    def point(self, x: Any) -> Any:
        """``y`` at the stage that comes, or at the end."""
        return x[1 : 1 + self._size]

    @property
    def _size(self) -> int:
        return self._width + self.problem.model.n + len(self.problem.ports)

    def _modes(self, x: Any) -> Modes:
        assert self.friction is not None
        return Modes.of(self.friction, x[1 + self._size + self._history :])

    def time(self, x: Any) -> Any:
        """s: of the stage that comes."""
        share = chosen(x[0], NODES)
        if self.friction is None:
            return self.t + share * self.dt
        modes = self._modes(x)
        return self.t + self.dt - modes.left + share * modes.size

    def around(self, x: Any) -> tuple[Any, Any]:
        """``x`` after a round, and a number that is positive if it was the last."""
        stage, point, begin = x[0], self.point(x), 1 + self._size
        modes = None if self.friction is None else self._modes(x)
        h, way = (self.dt, None) if modes is None else (modes.size, modes.way)
        slope, powers, pulled = self.slope(self.time(x), point, h, way)
        slopes = concatenate([slope, x[begin : begin + self._history]])
        if modes is None:
            point = self._next(self._first, self.dt, stage, point, slopes, powers)
            after, left, done = stage + 1.0, np.zeros(0), stage - (STAGES - 1.5)
        else:
            point = self._next(modes.start, modes.size, stage, point, slopes, powers)
            after, point, modes = modes.after(stage, point, slopes[self._history :], pulled)
            left, done = modes.flat, where(less(0.0, modes.left), -1.0, 1.0)
        return concatenate([np.reshape(after, 1), point, slopes[: self._history], left]), done

    @property
    def rounds(self) -> int:
        """At most."""
        return STAGES if self.friction is None else self.friction.rounds


def chosen(stage: Any, values: Sequence[float]) -> Any:
    """The value of a stage."""
    found: Any = values[-1]
    for k in reversed(range(len(values) - 1)):
        found = where(less(stage, k + 0.5), values[k], found)
    return found


def _mixed(stage: Any, weights: np.ndarray, rows: Sequence[Any]) -> Any:
    """The sum of slopes, the last one first, with the weights of a stage."""
    total: Any = 0.0
    for age, row in enumerate(rows):
        of_stages = [weights[i, i - age] if age <= i else 0.0 for i in range(STAGES)]
        if any(of_stages):
            total = total + chosen(stage, of_stages) * row
    return total


def conserved_twist(light: Model, q: Any, rates: Any, spin: Any) -> Any:
    """The twist (m) of the base, seen from the center of mass, with body-fixed angular momentum ``spin`` about it."""
    m, S, still = light.m, light.base.selection, still_at(light, q)
    joints = inverse_dynamics(light, still, concatenate([np.zeros(m), rates]))[:m]
    return solve_tree(S.T @ locked_inertia(light, still) @ S, S[3:].T @ spin - joints, range(-1, m - 1))
