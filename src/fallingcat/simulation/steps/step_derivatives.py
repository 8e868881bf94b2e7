"""Derivatives of the step of a simulation, as a function, for every target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...caching import cached_property
from ...contact import Contact
from ...control import Law
from ...errors import ModelError
from ...model import Model, State
from ...records import concise
from ..integrators.base import Integrator
from ..problem.problem import Problem
from ..step_size import DEFAULT_STEP
from .step_code import packed_arguments, state_of
from .step_function import Step, step_problem


@concise
class Derivatives(NamedTuple):
    """Derivatives of a step, with ``x = [configuration; velocity]``, and memory where it is wanted."""

    A: Any
    """``dx+/dx``"""
    B: Any
    """``dx+/du`` by joint forces (n)"""


@concise
class ParameterDerivatives(NamedTuple):
    """Derivatives of a step by parameters too."""

    A: Any
    B: Any
    P: Any
    """``dx+/dp`` by the inputs of the step, one after the other"""


def differentiated_step(
    model: Model,
    q: Any,
    v: Any,
    memory: Any = None,
    forces: Any = None,
    inputs: Any = None,
    t: Any = 0.0,
    *,
    jacobian: Callable[..., Any],
    places: tuple[int, ...],
    whole: bool,
    example: Any = None,
    **options: Any,
) -> Derivatives | ParameterDerivatives:
    """Derivatives of :func:`.simulation_step` at the same arguments."""
    _, about, how = packed_arguments(model, state_of(model, q, v), memory, forces, inputs, t, places=places, **options)
    found = jacobian(model, *about, wanted=places, whole=whole, **how)
    return ParameterDerivatives(*found) if places else Derivatives(*found[:2])


class SolvedStep(Step):
    """Step whose equations are solved to rounding.

    Args:
        about: Arguments of :class:`.Step`.
    """

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._options |= self._stepper.solved

    @cached_property
    def _of_states(self) -> Callable[..., Any]:
        """The same of a :class:`State`."""

        def run(state: State, *given: Any) -> Any:
            q, v, *memory = self.function(*self.model.flatten(state), *given)
            after = self.model.unflatten(q, v)
            return (after, *memory) if memory else after

        return run


class StepDerivatives(Step):
    """Derivatives of a step, made by :func:`step_derivatives`: ``(q, v, forces) -> (A, B)``, or ``(A, B, P)``.

    Its arguments are those of the :attr:`step`; see :attr:`arguments`.

    Args:
        memory: True if ``x`` includes the memory of the step.
        about: Arguments of :class:`.Step`.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> derivatives = fc.simulation.step_derivatives(cat, dt=0.01)
        >>> derivatives.arguments, derivatives.rows
        (('q', 'v', 'forces'), {'configuration': slice(0, 8, None), 'velocity': slice(8, 16, None)})
    """

    def __init__(self, memory: bool, *about: Any) -> None:
        super().__init__(*about)
        self._whole, self._about = memory and "memory" in self._shapes, about
        if self._stepper.jacobian is None:
            raise ModelError(f"steps of {self.integrator!r} have no derivatives: take 'implicit', 'moreau' or 'rkmk4'")

    @cached_property
    def step(self) -> Step:
        """The step itself, its equations solved as far as for the derivatives.

        :func:`fallingcat.simulation.step` ends where contact forces are right to 0.1 %, and its own slope may differ
        by as much.
        """
        return SolvedStep(*self._about)

    @property
    def rows(self) -> dict[str, slice]:
        """Places of configuration (tangent, nv), velocity (nv) and memory in ``x``: the rows of all matrices."""
        nv, kept = self.model.nv, self._shapes.get("memory", 0)
        found = {"configuration": slice(0, nv), "velocity": slice(nv, 2 * nv)}
        return found | ({"memory": slice(2 * nv, 2 * nv + kept)} if self._whole else {})

    @cached_property
    def function(self) -> Any:
        """Compiled derivatives for the target: a kernel, C text, a ``casadi.Function``, a function of JAX."""
        options = {name: x for name, x in self._options.items() if name != "code"}
        options |= {"jacobian": self._stepper.jacobian, "whole": self._whole}
        if self.target == "numpy":
            return lambda *given: tuple(
                np.array(np.asarray(x).tolist()).reshape(np.shape(x))  # no objects
                for x in differentiated_step(self.model, **dict(zip(self._shapes, given, strict=True)), **options)
            )
        example = {"example": self._example()} if self.target == "c" else {}
        return self._compiled(differentiated_step, inputs=self._shapes, **example, **options)

    def _compiled(self, function: Callable[..., Any], **about: Any) -> Any:
        from ...compiler import compile

        return compile(self.model, function, **about, **self._how)

    @cached_property
    def _of_states(self) -> Callable[..., Any]:
        """The same of a :class:`State`."""
        return lambda state, *given: tuple(self.function(*self.model.flatten(state), *given))

    def __repr__(self) -> str:
        return super().__repr__().replace("<Step(", "<StepDerivatives(")


def step_derivatives(
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
    memory: bool = True,
) -> StepDerivatives:
    """Derivatives of the :func:`.step` with the same arguments, as a pure function for every target.

    ``A, B = derivatives(q, v, forces)`` with ``A = dx+/dx`` and ``B = dx+/du``: ``x = [configuration; velocity]``, then
    memory, and ``u`` the joint forces.  With ``inputs`` it is ``A, B, P``, where ``P = dx+/dp`` by the inputs one after
    the other.

    A configuration changes in its tangent space by ``d`` (nv) as :func:`fallingcat.dynamics.displace` moves it, body-
    fixed: the base to ``pose exp(d_b)``, joints to ``g exp(d_j)``.  So ``A`` and ``B`` have ``2 nv`` rows, also where
    ``q`` has a quaternion, and ``difference(step(displace(q, d)), step(q)) = A d`` to first order.

    Steps of ``implicit`` and ``moreau`` are differentiated through the solution of their equations, by the implicit
    function theorem on the points that stick, slide and touch there; iterations do not matter.  Where a point begins to
    touch, stick or slide a step has a kink, and the derivatives are those of the side on which it is computed.

    Args:
        problem: Robot; or a :class:`.Problem`, which has its own laws and contact.
        laws: Force laws that act within the step.
        contact: Ground; None: nothing is touched.
        integrator: ``"implicit"``, ``"moreau"``, ``"momentum"`` or ``"rkmk4"``; None: that of :class:`.Simulator`.
        dt: Step (s).
        target: ``"numpy"``, ``"cpu"``, ``"c"``, ``"casadi"``, ``"jax"`` or ``"cuda"``.
        dtype: ``"float64"`` or ``"float32"``.
        driven: Whether joint ``forces`` (n; N m or N) are an argument; without them ``B`` has no columns.
        inputs: Inputs of laws, and parameters of laws, bodies and floor, that are arguments: see :func:`.step`.
        passive: Whether springs, damping, friction, stops and drive limits of the model act.
        state: State near which default methods are chosen; None: the neutral one.
        memory: Whether ``x`` includes the memory of the step, as derivatives of many steps need it; without it, memory
            is constant.

    Returns:
        Derivatives, as a function of arrays.

    Example:
        >>> import fallingcat as fc
        >>> import numpy as np
        >>> cat = fc.robots.two_cylinder_cat()
        >>> derivatives = fc.simulation.step_derivatives(cat, dt=0.01)
        >>> q, v = cat.flatten(cat.state(rates=[1.0, -0.5]))
        >>> A, B = derivatives(q, v, [0.02, -0.01])
        >>> A.shape, B.shape
        ((16, 16), (16, 2))
        >>> change = derivatives.step(q, v, [0.0201, -0.01])[1] - derivatives.step(q, v, [0.02, -0.01])[1]
        >>> bool(np.allclose(change, 1e-4 * B[8:, 0], rtol=1e-3, atol=1e-10))
        True
    """
    about = step_problem(problem, laws, contact, integrator, dt, target, driven, inputs, passive, state)
    return StepDerivatives(memory, *about, target, dtype, tuple(inputs))
