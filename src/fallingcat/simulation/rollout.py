"""Many simulations at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._deprecated import former_arguments
from ..arrays.types import Numbers
from ..contact import Contact
from ..control import Law, SampledController
from ..errors import ModelError
from ..model import Model, State
from ..progress import report_progress
from .batch.batch_simulator import BatchSimulator
from .build_problem import build_problem
from .defaults import chosen_method, default_method, one_code
from .diagnostics.sensitivity import changed
from .events import TIME_TOLERANCE
from .integrators.base import Integrator
from .problem.arguments import check_concrete, check_target, countable, seconds, starts, whole
from .problem.problem import Problem
from .runner.one_by_one import OneByOne
from .runner.rollout_runner import Batch, Rollout
from .runner.runner import refined
from .step_size import DEFAULT_STEP, MIN_DEFAULT_STEP, default_steps


@former_arguments(controller="laws")
def rollout(
    model: Model,
    states: Sequence[State] | State,
    duration: float,
    laws: Law | SampledController | Sequence[Law | SampledController] | None = None,
    contact: Contact | None = None,
    *,
    integrator: str | Integrator | None = None,
    dt: float | None = None,
    every: int | None = None,
    threads: int = 1,
    target: str = "cpu",
    dtype: str = "float64",
    passive: bool = True,
    parameters: Mapping[str, Numbers] | None = None,
) -> Rollout:
    """Simulate from many states at once, with SIMD across the simulations.

    The default integrator is that of :func:`fallingcat.simulate`, and so is each motion; where it has no code that many
    robots share, because it locates the events of its contacts, they are simulated one by one.  Default steps are those
    of :func:`fallingcat.simulate` from the first state, halved where the estimated error of one of up to eight
    simulations is more than 2 % of its motion; the last step ends with the duration.  Passive joint forces act as in
    :func:`fallingcat.simulate`.

    ``parameters`` and ``target="cuda"`` need methods of one code: ``momentum``, ``implicit``, ``moreau``, ``located``,
    without contact rules such as ``rkmk4``; the default is the first of these that suits; see :class:`BatchSimulator`
    to step, steer and reset as you go.  Ctrl-C raises :class:`~fallingcat.errors.Interrupted`, a ``KeyboardInterrupt``
    whose ``result`` is the rollout so far; errors of a controller are raised with such a ``result``.

    Args:
        model: Robot.
        states: List of initial states, or one state whose fields are arrays with a first axis over the simulations.
        duration: Duration (s).
        laws: Force laws (not plain functions), sampled or not, or a sampled loop of
            :class:`~fallingcat.control.WholeBody`, which is called for all robots at once; None: none.
        contact: Contact of the robots; None: none.
        integrator: Name or integrator; None: the default.
        dt: Step size (s); None: the default.
        every: Keep every ``every``-th step; None: first and last only.
        threads: Number of threads.
        target: ``"cpu"`` or ``"cuda"``.
        dtype: ``"float64"``, or on a GPU, but for ``located``, ``"float32"``.
        passive: Add the passive joint forces of the model.
        parameters: Numbers of each robot, such as masses and friction, as in :class:`BatchSimulator`; the default step
            is that of the model itself.

    Returns:
        Kept samples of all simulations, with codes and warnings.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> many = [cat.state(rates=[0.1 * i, 0.5]) for i in range(100)]
        >>> fc.rollout(cat, many, 0.05, dt=5e-3).joints.shape
        (2, 100, 2)
    """
    check_target(target)
    check_concrete(states, duration, laws, dt)
    duration = seconds(duration, "duration")
    dt = None if dt is None else seconds(dt, "dt")
    countable(duration, MIN_DEFAULT_STEP if dt is None else dt)
    every = None if every is None else whole(every, "every")
    many = starts(model, states)
    first = many.at(0)
    problem = build_problem(model, many, laws, contact, dt=dt, passive=passive)
    _check_controller(problem)
    how: dict[str, Any] = {"target": target, "dtype": dtype, "threads": threads, "parameters": parameters}
    one = how | {"threads": 1} != {"target": "cpu", "dtype": "float64", "threads": 1, "parameters": None}
    method = _method(problem, integrator, first, dt, one, dtype)
    problem = method.resolved(problem, dt)
    compiled = one_code(method, problem)
    with report_progress(f"{len(many.pose)} simulations of {model.name!r}") as tell:
        if compiled is None:
            if one:
                which = "'implicit', 'moreau' or 'located'"
                raise ModelError(
                    f"on contacts, other targets than the CPU and parameters of each robot take {which}, "
                    f"not {method.name!r}"
                )
            return _one_by_one(problem, method, many, duration, every, dt, tell)
        _check_sampled(problem, target, parameters)
        problem = compiled.suited(problem)
        largest, start = _steps(problem, compiled, first, dt)

        def run(finer: int, change: float) -> Rollout:
            simulator = BatchSimulator.of(problem, changed(model, many, change), compiled, largest / 2**finer, **how)
            kept = None if every is None else every * 2**finer
            return Batch(simulator, problem, compiled, duration, kept, tell, start / 2**finer, finer).result()

        return refined(model, run, dt is None and problem.sampling is None)


def _one_by_one(
    problem: Problem, method: Integrator, many: State, duration: float, every: int | None, dt: float | None, tell: Any
) -> Rollout:
    """Runs of a method that has no code which many robots share."""
    step = _steps(problem, method, many.at(0), dt)[0]
    kept = np.arange(0.0, duration - TIME_TOLERANCE, step * every if every else duration)
    longest = dt if method.tolerance is not None else step
    return OneByOne(problem, method, many, np.append(kept, duration), longest, tell).result()


def _steps(problem: Problem, method: Integrator, first: State, dt: float | None) -> tuple[float, float]:
    """Size (s) of steps, and of the first one."""
    if dt is not None or method.tolerance is not None:
        return (DEFAULT_STEP if dt is None else dt,) * 2
    return default_steps(method.suited(problem), method, first)


def _method(
    problem: Problem, wanted: str | Integrator | None, first: State, dt: float | None, one: bool, dtype: str
) -> Integrator:
    """The wanted integrator, or the default; among those of ``one`` code for many robots where that is needed."""
    if wanted is not None:
        return chosen_method(problem, first, wanted, dt)

    def runs(method: Integrator) -> bool:
        exact = dtype == "float64" or method.name not in ("momentum", "rosenbrock")
        return not one or (exact and one_code(method, problem) is not None)

    return default_method(problem, first, dt, runs)


def _check_controller(problem: Problem) -> None:
    """Refuse plain functions, which would be evaluated robot by robot."""
    sampled = None if problem.sampling is None else problem.sampling.sampled
    if problem.controller is not None and not (sampled is not None and (sampled.laws or sampled.batch_forces)):
        raise ModelError(
            "a rollout takes force laws, or a SampledController of many robots, such as a loop of WholeBody; "
            "simulate takes functions"
        )


def _check_sampled(problem: Problem, target: str, parameters: Mapping[str, Numbers] | None) -> None:
    """Refuse sampled controllers where they cannot act."""
    if problem.sampling is None:
        return
    if target != "cpu":
        raise ModelError(
            f"sampled laws run on the CPU, not on {target!r}: step a BatchSimulator there, and give it forces"
        )
    if problem.sampling.sampled.laws and parameters is not None:
        raise ModelError("sampled laws know one robot: parameters of each take laws that are not sampled")
