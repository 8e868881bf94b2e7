"""Step of a simulation as a function, for every target.

``step(q, v, forces) -> q, v`` is the step that :func:`.simulate`, :class:`.Simulator` and :class:`.BatchSimulator`
take, written for every kind of number: a robot in free flight keeps its momentum, one on the ground feels the same
contact law.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._deprecated import former_arguments
from ...arrays import Graph, array, concatenate
from ...caching import cached_property
from ...compiler import compile, fields
from ...compiler.targets import TARGETS
from ...contact import Contact
from ...control import Law
from ...dynamics.checks import check_model, choice
from ...errors import ModelError, describe
from ...model import Model, State
from ..build_problem import build_problem
from ..defaults import chosen_method, default_method, one_code, takes_fixed_steps
from ..integrators.base import FixedStepIntegrator, Integrator
from ..problem.arguments import seconds, start
from ..problem.contact_branches import by_contact_branches
from ..problem.problem import Problem, held
from ..step_size import DEFAULT_STEP
from .step_code import simulation_step, simulation_step_of_state
from .step_inputs import input_places, with_parameters


@former_arguments(method="integrator")
class Step:
    """Step of a simulation, made by :func:`step`: ``(q, v, forces) -> (q, v)``.

    Further arguments come only where a problem has them: ``(q, v, memory, forces, inputs..., t)``; see
    :attr:`arguments`.

    Args:
        problem: Problem.
        integrator: Integrator of one code for all modes.
        dt: Step (s).
        target: ``"numpy"``, ``"cpu"``, ``"c"``, ``"casadi"``, ``"jax"`` or ``"cuda"``.
        dtype: ``"float64"`` or ``"float32"``.
        inputs: Inputs of laws that are arguments of the step.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> step = fc.simulation.step(cat, dt=0.01, target="numpy")
        >>> step.arguments, step.begin(cat.neutral()).shape
        (('q', 'v', 'forces'), (0,))
    """

    def __init__(
        self,
        problem: Problem,
        integrator: FixedStepIntegrator,
        dt: float,
        target: str,
        dtype: str,
        inputs: tuple[str, ...],
    ):
        contact, model = problem.contact, problem.model
        memory = (0 if contact is None else contact.memory_size or 0) + sum(problem.sizes)
        self.model, self.integrator, self.dt, self.target = model, integrator, dt, target
        self._stepper = stepper = integrator.compiled_stepper(problem, memory)
        places = {name: input_places(problem, integrator, dt, name) for name in inputs}
        self._inputs = {name: len(place) for name, place in places.items()}
        self._carried = carried = stepper.problem.carried
        held_ = memory + carried
        shapes = {"q": model.nq, "v": model.nv, "memory": held_, "forces": model.n if problem.controller else 0}
        shapes["inputs"] = sum(self._inputs.values())
        self._shapes: dict[str, Any] = {name: n for name, n in shapes.items() if n or name in ("q", "v")}
        if depends_on_time(problem):
            self._shapes["t"] = ()
        about = {name: x for name, x in stepper._options.items() if name != "memory"}
        self._options = about | {"code": stepper.code, "head": stepper.head_at, "dt": dt}
        self._options |= {"size": memory, "carried": carried}
        self._options |= {"numbers": tuple(stepper.numbers.tolist()), "places": sum(places.values(), start=())}
        self._how: dict[str, Any] = {"target": target, "dtype": dtype}

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments, in their order; a :class:`State` may stand for ``q, v``."""
        first = [name for name in self._shapes if name not in ("inputs", "t")]
        return (*first, *self._inputs, *(("t",) if "t" in self._shapes else ()))

    @cached_property
    def function(self) -> Any:
        """Compiled step for the target: a kernel, C text, a ``casadi.Function``, a function of JAX.

        It is the result of :func:`fallingcat.compile`.  Inputs of laws are one argument ``inputs`` of it, one after the
        other.
        """
        if self.target == "numpy":
            return lambda *given: simulation_step(
                self.model, **dict(zip(self._shapes, given, strict=True)), **self._options
            )
        example = {"example": self._example()} if self.target == "c" else {}
        made = self._compiled(simulation_step, inputs=self._shapes, **example)
        return self._differentiable(made) if self.target == "jax" and "t" not in self._shapes else made

    def _differentiable(self, made: Callable[..., Any]) -> Callable[..., Any]:
        """The step under JAX, whose derivatives go through the solution of its equations."""
        from .flat_derivatives import flat_jacobian, under_jax

        sizes = tuple(self._shapes[name] for name in ("q", "v", "memory") if name in self._shapes)
        way = self._stepper.jacobian if self._stepper.iterates else None  # else it is as exact, and backward faster
        return (
            made
            if way is None
            else under_jax(made, sizes, lambda: self._compiled(flat_jacobian, inputs=self._shapes, jacobian=way))
        )

    @cached_property
    def _of_states(self) -> Callable[..., Any]:
        """The same of a :class:`State`."""
        inputs = {name: shape for name, shape in self._shapes.items() if name not in ("q", "v")}
        if self.target == "numpy":
            return lambda state, *given: simulation_step_of_state(
                self.model, state, **dict(zip(inputs, given, strict=True)), **self._options
            )
        if self.target == "cpu" and "t" not in inputs:
            return lambda state, *given: self._as_in_runs(state, **dict(zip(inputs, given, strict=True)))
        kernel = self._compiled(simulation_step_of_state, inputs=inputs, state=State._fields)
        return lambda state, *given: kernel(*fields(state), *given)

    def _as_in_runs(self, state: State, memory: Any = None, forces: Any = None, inputs: Any = None) -> Any:
        """The compiled step of :class:`.Simulator` itself, to the last bit."""
        model, stepper, lead = self.model, self._stepper, np.shape(state.joints)[:-1]
        many = model.state(*(np.asarray(x, dtype=float) for x in state))
        count, layout, numbers = math.prod(lead), stepper._layout, stepper.numbers
        many = State(*(x.reshape(count, *x.shape[len(lead) :]) for x in many))
        held_ = np.zeros((count, 0)) if memory is None else self._rows("memory", memory, lead)
        if inputs is not None:
            numbers = np.tile(numbers, (count, 1))
            numbers[:, self._options["places"]] = self._rows("inputs", inputs, lead)
        given = np.zeros((count, 0))
        if forces is not None:
            given = np.hstack([np.zeros((count, model.m)), self._rows("forces", forces, lead)])
        packed = layout.table(tuple(many), held_[:, : layout.memory])
        packed[:, layout.size - self._carried :] = held_[:, layout.memory :]
        x = stepper.start_vector(many, packed)
        about: list[Any] = [x, np.full(stepper.clock, self.dt), numbers, given]
        if not lead:
            about = [part[0] if part.ndim == 2 else part for part in about]
        found = stepper.kernel.iterate(*about, rows=1)[0][..., stepper.head :].reshape(*lead, layout.size)
        out = layout.series(found)
        after = State(*out.states)
        return after if memory is None else (after, np.concatenate([out.memory, layout.carried_of(found)], axis=-1))

    def _rows(self, name: str, x: Any, lead: tuple[int, ...]) -> np.ndarray:
        """``count x size``: an argument of states with a leading batch shape."""
        x, size = np.asarray(x, dtype=float), self._shapes[name]
        if x.shape not in ((size,), (*lead, size)):
            raise ModelError(f"{name} must have shape {(*lead, size)}, got {describe(x)}")
        return np.broadcast_to(x, (*lead, size)).reshape(-1, size)

    def _compiled(self, function: Callable[..., Any], **about: Any) -> Any:
        return compile(self.model, function, **about, **self._how, **self._options)

    def _example(self) -> tuple[tuple[str, Any], ...]:
        """Arguments for the test of the C text: not every number is a configuration."""
        q, _ = self.model.flatten(self.model.neutral())
        return ("q", tuple(q.tolist())), ("memory", (0.0,) * self._shapes.get("memory", 0))

    def begin(self, state: State) -> np.ndarray:
        """Memory of contact and laws at a state from which a run starts: nothing has slipped or pushed yet.

        For a compliant floor, two numbers for each point: where along the ground it is anchored (m).  For hard
        contacts, the forces of the last step (N) and how far it was from the contact law.  Then what the method
        carries from step to step: the last acceleration of ``implicit`` (nv), and counts of steps.

        Args:
            state: Start of the run.

        Returns:
            ``memory`` numbers; none where a step has no such argument.
        """
        many = State(*(x[None] for x in start(self.model, state)))
        return np.append(self._stepper.initial_memory(many)[0], np.zeros(self._carried))

    def __call__(self, *given: Any, **named: Any) -> Any:
        """State of the robot ``dt`` later.

        Args:
            given: Arrays in the order of :attr:`arguments`; the first may be a :class:`State` in the place of ``q, v``.
            named: The same by their names.

        Returns:
            ``q, v``, or ``q, v, memory``; of a :class:`State`, a state, or a state and ``memory``.
        """
        of_state = bool(given) and isinstance(given[0], State)
        names = ("state", *self.arguments[2:]) if of_state else self.arguments
        values = dict(zip(names, given, strict=False)) | named
        if len(given) > len(names) or len(values) < len(given) + len(named) or values.keys() != {*names}:
            raise ModelError(f"a step of {self.model.name!r} takes {', '.join(names)}, each once")
        if self._inputs:
            values["inputs"] = self._joined([values.pop(name) for name in self._inputs])
        ordered = [self._array(name, values[name]) for name in self._shapes if name in values]
        if not of_state:
            return tuple(self.function(*ordered))  # a plain one, which jax.lax.scan takes as what it carries
        if self.target in ("c", "casadi"):
            raise ModelError(f"a step for {self.target!r} takes q, v and no State: q, v = model.flatten(state)")
        return self._of_states(given[0], *ordered)

    def _array(self, name: str, x: Any) -> Any:
        """An argument; of NumPy checked here, as kernels do elsewhere."""
        if self.target != "numpy":
            return x
        x, shape = array(list(x)) if isinstance(x, (list, tuple)) else x, self._shapes[name]
        if np.shape(x) != (shape if isinstance(shape, tuple) else (shape,)):
            raise ModelError(f"{name} must have shape {shape if shape == () else (shape,)}, got {describe(x)}")
        return x

    def _joined(self, parts: list[Any]) -> Any:
        parts = [np.reshape(x, 1) if isinstance(x, (int, float)) else x for x in parts]
        if len(parts) == 1:
            return parts[0]
        if self.target == "casadi":
            import casadi

            return casadi.vertcat(*parts)
        return concatenate([array(list(x)) if isinstance(x, (list, tuple)) else x for x in parts], axis=-1)

    def __repr__(self) -> str:
        arguments = ", ".join(self.arguments)
        return f"<Step({arguments}) of {self.model.name!r}: {self.integrator.name}, {self.dt:g} s, {self.target}>"


@former_arguments(method="integrator")
def step(
    problem: Model | Problem,
    laws: Law | Sequence[Law] | None = None,
    contact: Contact | None = None,
    *,
    integrator: str | Integrator | None = None,
    dt: float = DEFAULT_STEP,
    target: str = "cpu",
    dtype: str = "float64",
    driven: bool = True,
    inputs: Sequence[str] = (),
    passive: bool = True,
    state: State | None = None,
) -> Step:
    """The step that :func:`.simulate` and :class:`.Simulator` take, as a pure function for every target.

    ``step(q, v, forces)`` gives ``q`` and ``v`` one ``dt`` later, in flat vectors ``q = [position, quaternion xyzw,
    joints]`` and ``v = [twist; rates]``.  In free flight the center of mass stays on its parabola and the momentum is
    kept to rounding, whatever the forces; on the ground, contact forces are those of a simulation.  With
    ``target="jax"`` it goes through ``jit``, ``vmap``, ``grad`` and ``lax.scan``; with ``target="casadi"``,
    ``step.function`` is a ``casadi.Function``; with ``target="c"``, ``step.function.write(folder)`` writes C99.

    What a step repeats until it has converged is a loop on CPU and GPU and in JAX.  In C, CasADi and derivatives of JAX
    a fixed number of rounds is written out: 16 passes of the midpoint rule and 60 stages (more in divided steps) of a
    flight with dry friction, whose result is infinite if that was not enough, 8 rounds of ``moreau``, whose ``memory``
    says what they left.

    A contact with a state of its own (where points are held) adds the argument and result ``memory``, which
    :meth:`Step.begin` starts; laws that depend on time add ``t`` (s) at the end.

    Args:
        problem: Robot; or a :class:`.Problem`, which has its own laws and contact.
        laws: Force laws that act within the step, such as servos, springs and dampers.
        contact: Ground or other contact; None: nothing is touched.
        integrator: Integrator of fixed steps, or its name; None: the default of :class:`.Simulator`.
        dt: Step (s).
        target: ``"numpy"``, ``"cpu"``, ``"c"``, ``"casadi"``, ``"jax"`` or ``"cuda"``; NumPy runs the same code on
            plain numbers.
        dtype: ``"float64"`` or ``"float32"``.
        driven: Whether joint ``forces`` (n; N m or N) are an argument.
        inputs: Inputs of laws (:attr:`.Law.inputs`) that are arguments of the step, such as ``("targets",)`` of
            servos, and parameters: fields of laws (``"joint springs.stiffness"``), of bodies (``"trunk.mass"``) and of
            the floor (``"friction"``, ``"stiffness"``, ``"damping"``).  The others keep their values.
        passive: Whether springs, damping, friction, stops and drive limits of the model act.
        state: State near which default methods are chosen; None: the neutral one.

    Returns:
        The step, as a function of arrays.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> step = fc.simulation.step(cat, dt=0.01)
        >>> step
        <Step(q, v, forces) of 'two_cylinder_cat': momentum, 0.01 s, cpu>
        >>> q, v = cat.flatten(cat.state(rates=[1.0, -0.5]))
        >>> for _ in range(100):
        ...     q, v = step(q, v, [0.02, -0.01])
        >>> spin = fc.momentum(cat, cat.unflatten(q, v), "centroidal")[3:]
        >>> bool(abs(spin - fc.momentum(cat, cat.state(rates=[1.0, -0.5]), "centroidal")[3:]).max() < 1e-14)
        True
    """
    return Step(
        *step_problem(problem, laws, contact, integrator, dt, target, driven, inputs, passive, state),
        target,
        dtype,
        tuple(inputs),
    )


def step_problem(
    problem: Any,
    laws: Any,
    contact: Any,
    integrator: Any,
    dt: float,
    target: str,
    driven: bool,
    inputs: Sequence[str],
    passive: bool,
    state: State | None,
) -> tuple[Problem, FixedStepIntegrator, float]:
    """Problem, method and step (s) of a :class:`Step`, from the arguments of :func:`step`."""
    choice(target, ("numpy", "cpu", *TARGETS), "target")
    dt = seconds(dt, "dt")
    posed, near = _posed(problem, laws, contact, dt, driven, passive, state)
    chosen = _fixed(posed, near, integrator, dt)
    posed = chosen.suited(with_parameters(chosen.resolved(posed, dt), inputs))
    if posed.varied and not chosen.varies:
        raise ModelError(f"steps of {chosen!r} take no parameters of robot or floor as inputs: take 'rkmk4'")
    suited = chosen.at(posed, dt)
    assert isinstance(suited, FixedStepIntegrator)
    return posed, suited, dt


def _posed(
    given: Any, laws: Any, contact: Any, dt: float, driven: bool, passive: bool, state: State | None
) -> tuple[Problem, State]:
    """Problem of a model, or a given one, and a state near which it moves."""
    if isinstance(given, Problem):
        if laws is not None or contact is not None:
            raise ModelError("a Problem has laws and a contact: give them there")
        problem, model = given, given.model
        near = model.neutral() if state is None else start(model, state)
    else:
        check_model(given)
        model = given
        near = model.neutral() if state is None else start(model, state)
        one = State(*(x[None] for x in near))
        problem = build_problem(model, one, laws, contact, dt=dt, passive=passive, driven=driven)
    if problem.controller not in (None, held):
        raise ModelError("a step takes force laws, and forces as an argument instead of a function as a controller")
    driven = bool(driven and model.n)
    return replace(problem, controller=held if driven else None, external=driven), near


def _fixed(problem: Problem, near: State, wanted: Any, dt: float) -> FixedStepIntegrator:
    """The wanted method, or the default one, of fixed steps that are one code."""
    method = chosen_method(problem, near, wanted, dt)
    if wanted is None:
        method = default_method(problem, near, dt, lambda method: takes_fixed_steps(method, problem))
    found = one_code(method, problem)
    if found is None or not takes_fixed_steps(method, problem):
        rule = "'implicit', 'moreau', or without contact 'momentum', 'rkmk4' or 'semi_implicit'"
        raise ModelError(f"the integrator of a step is {rule}, not {describe(wanted)}")
    return found


def depends_on_time(problem: Problem) -> bool:
    """True if the forces of any law change with time at a given state.

    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> waves = fc.control.Impedance(lambda t: [0.1 * t, 0.0, 0.0], 20.0, 1.0)
    >>> [depends_on_time(Problem(arm, (law,))) for law in (waves, fc.control.JointDamper(1.0))]
    [True, False]
    """
    model, graph, points = problem.model, Graph(), problem.contact.points if problem.contact else ()
    t, state = graph.input("t"), model.unflatten(graph.inputs("q", model.nq), graph.inputs("v", model.nv))
    touching, asked = dict(zip(points, graph.inputs("touches", len(points)), strict=True)), graph.inputs("a", model.nv)
    outputs: list[Any] = []
    for law, size in zip(problem.laws, problem.sizes, strict=True):
        held_ = law.with_memory(graph.inputs("memory", size))
        forces = functools.partial(held_.saturated_forces, asked=asked) if law.saturates else held_.forces
        outputs += [*by_contact_branches(lambda known, forces=forces: forces(model, t, state, known), touching)]  # type: ignore[misc]
        outputs += [*held_.memory_rate(model, t, state)]
    return t in {*graph.needed(outputs)}
