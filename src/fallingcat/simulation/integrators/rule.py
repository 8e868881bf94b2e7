"""Integrators that are rules for vectors: compiled for a robot, its laws and a mode of its contacts."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import concatenate, less, sqrt, where
from ...arrays.types import Scalar, Vector
from ...compiler import compile
from ...compiler.compilation import compile_step
from ...contact import Contact
from ...contact.base import Mode
from ...control import Law
from ...model import Model
from ..problem.compiled_dynamics import cached_kernel
from ..problem.law_parameters import split_parameters, tuned
from ..problem.problem import Problem, given_size, with_given
from ..problem.vector_field import Slope, VectorField, layout_of
from .base import Integrator, Step

MAX_DIFFERENTIATED_NV = 8
"""Degrees of freedom; a step that differentiates is compiled as a whole up to here."""


class Rule(Integrator):
    """Base class for rules for vectors, written for every kind of number.

    In exponential coordinates they move on the group.

    Example:
        >>> import fallingcat as fc
        >>> [isinstance(method, fc.simulation.Rule) for method in (fc.simulation.RKMK4(), fc.simulation.SciPy())]
        [True, False]
    """

    @abstractmethod
    def step(self, field: VectorField, t: Scalar, y: Vector, dt: Scalar) -> tuple[Vector, Scalar]:
        """Step of the vector ``y`` of exponential coordinates, velocity, memory and works; see :class:`VectorField`.

        Args:
            field: Vector field ``dy/dt``.
            t: Time (s).
            y: Vector (size) at ``t``.
            dt: Step (s).

        Returns:
            ``y`` at ``t + dt``, and its error in units of the tolerance (0 where none is estimated).
        """

    differentiates: bool = False
    """True if a step asks for the Jacobian of the field"""
    combines: bool = False
    """True if a step is a linear combination of ``y`` and slopes, and nothing else: then it has derivatives"""

    def stepper(self, problem: Problem, mode: Mode, memory: int) -> Step:
        """Machine code if all forces are laws, else plain Python around compiled dynamics.

        The Jacobian of a large robot would make too much code: there only the field is compiled, and differenced.
        """
        if not problem.compilable:
            return functools.partial(advance, problem, mode, memory, rule=self)
        if self.differentiates and problem.model.nv > MAX_DIFFERENTIATED_NV:
            slope = compiled_slope(problem, mode, memory)
            return functools.partial(advance, problem, mode, memory, rule=self, slope=slope)
        return self.kernel(problem, mode, memory)

    def kernel(self, problem: Problem, mode: Mode, memory: int) -> Step:
        """Whole step as machine code, for any leading batch shape.

        Args:
            problem: Problem.
            mode: Mode of the contact.
            memory: Size of the memory of contact and laws.

        Returns:
            Compiled step.
        """
        return compiled(advance, problem, mode, memory, rule=self)


# functions of packed states -------------------------------------------------------------------------------------------


def advance(
    problem: Problem, mode: Mode, memory: int, packed: Any, clock: Any, rule: Rule, slope: Slope | None = None
) -> Any:
    """``[packed after; guards; error]``: one step of a problem from ``clock = [t, dt]``."""
    layout = layout_of(problem, memory)
    field = VectorField(problem, mode, *layout.unpack(packed), slope)
    y, error = rule.step(field, clock[0], field.origin, clock[1])
    after, full_memory, works = field.end(y)
    there = problem.touched(mode, clock[0] + clock[1], after, full_memory)
    error = where(less(error, there.strain), there.strain, error)
    return concatenate([layout.pack(after, full_memory, works), there.guards, np.reshape(error, 1)])


def measure(problem: Problem, mode: Mode, memory: int, packed: Any, clock: Any) -> Any:
    """Guards of a mode at a packed state."""
    state, full_memory, _ = layout_of(problem, memory).unpack(packed)
    return problem.touched(mode, clock[0], state, full_memory).guards


def by_port(problem: Problem, mode: Mode, memory: int, packed: Any, clock: Any) -> Any:
    """The forces of all ports, one after the other."""
    state, full_memory, _ = layout_of(problem, memory).unpack(packed)
    forces, zero = problem.forces(mode, clock[0], state, full_memory), np.zeros(problem.model.nv)
    return concatenate([np.zeros(0), *(forces.get(port, zero) for port in problem.ports)])


def at_points(problem: Problem, mode: Mode, memory: int, packed: Any, clock: Any) -> Any:
    """Forces and motion of each point that may touch, one after the other.

    For each its force (3, world), height over the ground, the speed along it, which is zero in the air, and the part of
    the force out of the ground.
    """
    model, contact = problem.model, problem.contact
    assert contact is not None
    state, full_memory, _ = layout_of(problem, memory).unpack(packed)
    problem, full_memory = problem.with_memory(full_memory)
    applied = problem.total(problem.applied(mode, clock[0], state))
    forces = contact.point_forces(model, mode, state, full_memory, applied)
    touching, parts = contact.touching(mode), [np.zeros(0)]
    for force, place, (height, axes, J) in zip(forces, contact.points, contact.sites(model, state), strict=True):
        along = J[1:] @ state.velocity
        slip = sqrt(along @ along) if place in touching else 0.0
        parts += [force, *(np.reshape(x, 1) for x in (height, slip, axes[0] @ force))]
    return concatenate(parts)


def slope_at(problem: Problem, mode: Mode, memory: int, packed: Any, clock: Any) -> Any:
    """``dy/dt`` of the :class:`VectorField` around a packed start, at ``[packed start; y]``."""
    layout = layout_of(problem, memory)
    field = VectorField(problem, mode, *layout.unpack(packed[: layout.size]))
    return field(clock[0], packed[layout.size :])


def commanded(problem: Problem, mode: Mode, memory: int, packed: Any, clock: Any) -> Any:
    """Sum (nv) of the forces of all laws."""
    return problem.total(problem.applied(mode, clock[0], layout_of(problem, memory).unpack(packed)[0]))


def guards(problem: Problem, mode: Mode, memory: int, make: Callable[..., Any] = compile) -> Step:
    """The guards of a mode alone, as :data:`Step` takes its arguments; ``make`` as :func:`compiled` takes it."""
    if not problem.compilable:
        return functools.partial(measure, problem, mode, memory)
    if problem.contact is None or problem.contact.needs_applied_forces:
        return compiled(measure, problem, mode, memory, make)
    bare = Problem(problem.model, (), problem.contact)  # the same code, whatever the laws
    memory -= sum(problem.sizes)
    size, kernel = layout_of(bare, memory).size, compiled(measure, bare, mode, memory, make)
    return lambda packed, clock: kernel(packed[..., :size], clock)


def compiled_slope(problem: Problem, mode: Mode, memory: int) -> Slope:
    """The vector field as machine code, with any leading batch shape."""
    layout = layout_of(problem, memory)
    kernel = compiled(slope_at, problem, mode, memory, further=2 * layout.nv + memory + layout.works)

    def slope(packed: np.ndarray, y: np.ndarray, clock: np.ndarray) -> np.ndarray:
        return kernel(np.concatenate([packed, y], axis=-1), np.concatenate([clock, clock], axis=-1))

    return slope


def port_forces(problem: Problem, mode: Mode, memory: int, packed: np.ndarray, times: np.ndarray) -> np.ndarray:
    """``K x ports x nv``: generalised forces of every port at ``K`` packed states of one mode."""
    return _along(by_port, problem, mode, memory, packed, times).reshape(len(times), -1, problem.model.nv)


def points_at(problem: Problem, mode: Mode, memory: int, packed: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Results of :func:`at_points` at ``K`` packed states of one mode: ``K x points x 6``."""
    return _along(at_points, problem, mode, memory, packed, times).reshape(len(times), -1, 6)


def _along(
    what: Callable[..., Any], problem: Problem, mode: Mode, memory: int, packed: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """One of the functions above at ``K`` packed states of one mode."""
    clocks = np.stack([times, np.zeros(len(times))], axis=1)
    if problem.compilable:
        return np.asarray(compiled(what, problem, mode, memory, compile_step)(packed, clocks))
    return np.array([what(problem, mode, memory, p, clock) for p, clock in zip(packed, clocks, strict=True)])


def compiled(
    what: Callable[..., Any],
    problem: Problem,
    mode: Mode,
    memory: int,
    make: Callable[..., Any] = compile,
    further: int = 0,
    **options: Any,
) -> Step:
    """Compile one of the functions above to machine code, which takes the laws' numbers as an argument.

    ``make`` compiles it for single calls, or with :func:`.compile_step` for many states; ``further`` numbers follow on
    a packed state.  It belongs to this library
    and its options are plain data, so that the kernels' cache knows it again.
    """
    laws, numbers = split_parameters(problem.laws, problem.model)
    size, given = layout_of(problem, memory).size + further, given_size(problem)
    inputs = {"packed": size, "clock": 2, "numbers": len(numbers), "given": given}
    about: dict[str, Any] = {"laws": laws, "contact": problem.contact, "mode": mode, "memory": memory}
    key = (what, make, problem.model, *inputs.values(), *about.values(), *options.items())
    asked = functools.partial(make, problem.model, on_packed, inputs=inputs, what=what, options=options, **about)
    kernel = cached_kernel(key, asked)
    if problem.sampling is None:
        nothing = np.zeros(0)
        return lambda packed, clock, **how: kernel(packed, clock, numbers, nothing, **how)
    held = problem.sampling.at

    def run(packed: np.ndarray, clock: np.ndarray, given: np.ndarray | None = None, **how: Any) -> np.ndarray:
        return np.asarray(kernel(packed, clock, numbers, held(clock[..., 0]) if given is None else given, **how))

    return run


def on_packed(
    model: Model,
    packed: Any,
    clock: Any,
    numbers: Any,
    given: Any,
    *,
    what: Callable[..., Any],
    laws: tuple[Law, ...],
    contact: Contact | None,
    mode: Mode,
    memory: int,
    options: dict[str, Any],
) -> Any:
    """``what`` of the problem whose laws have these numbers, under the forces that a controller has ``given``."""
    return what(with_given(model, tuned(laws, numbers), contact, given), mode, memory, packed, clock, **options)
