"""One robot, stepped from a loop of the user's own."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays.types import Scalar, Vector, Vector_n
from ..contact import Contact
from ..control import Law
from ..errors import ModelError, NumericsError
from ..model import Model, State
from ..records import short_text
from .batch.batch_simulator import BatchSimulator
from .diagnostics.accuracy import ErrorEstimate
from .integrators.base import Integrator
from .integrators.event_located import EventLocatorStepper
from .problem.arguments import joint_forces, whole
from .step_size import DEFAULT_STEP


class Simulator:
    """A robot that is stepped by calls: ``sim.step(torques)``, then ``sim.state``.

    Steps are compiled once; joint forces, and inputs of laws such as ``sim.step(targets=...)`` of
    :class:`~fallingcat.control.PositionServo`, may change at every call.  Integrator, passive joint forces and limits
    are those of :class:`.BatchSimulator` with one robot, and so is the motion.

    Args:
        model: Robot.
        contact: Ground or other contact; None: nothing is touched.
        laws: Force laws that act inside the step beside the given forces, such as servos, springs and dampers.
        dt: Step (s).
        state: Where it starts; None: :meth:`.Model.neutral`.
        integrator: One of :class:`.Implicit`, :class:`.Moreau`, or a method for flights; None: the default.
        passive: Whether springs, damping, friction, stops and drive limits of the model act.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> sim = fc.Simulator(cat, dt=1e-3)
        >>> for _ in range(100):
        ...     sim.step(0.1 - sim.state.rates)
        >>> round(sim.time, 6), sim.state.joints.shape
        (0.1, (2,))
    """

    def __init__(
        self,
        model: Model,
        contact: Contact | None = None,
        laws: Law | Sequence[Law] | None = None,
        *,
        dt: float = DEFAULT_STEP,
        state: State | None = None,
        integrator: Integrator | None = None,
        passive: bool = True,
    ) -> None:
        start = model.neutral() if state is None else state
        about = {"dt": dt, "driven": True, "integrator": integrator, "passive": passive}
        self._batch = BatchSimulator(model, [start], laws, contact, **about)  # type: ignore[arg-type]
        if isinstance(self._batch.stepper, EventLocatorStepper):
            raise ModelError(
                "a simulator takes fixed steps: Implicit(), Moreau() or a method for flights, not EventLocator()"
            )
        self._bind()
        self._begin()

    def _bind(self) -> None:
        """Memory of the compiled step, and views of it."""
        self.model, self.dt = self._batch.problem.model, self._batch.dt
        on: Any = self._batch._on
        _, self._out, self._x, clock, self._numbers, self._forces = on.single
        self._go, clock[:] = self._batch.stepper.stepping(on), self.dt
        self._inputs, self._finite = self._batch._inputs, self._numbers.copy()
        free = {name: laws[0] for name, laws in self._inputs.unchecked.items() if len(laws) == 1}
        self._views = {name: self._numbers[each.place].reshape(each.shape) for name, each in free.items()}
        self._layout, self._head = self._batch.layout, self._batch.stepper.head
        self._packed = self._x[self._head :]
        pose = np.eye(4)
        self._rows = pose[:3].reshape(12)
        ends = np.cumsum([12, self._layout.joints, self.model.m, self.model.n])
        self._state = State(pose, *(self._packed[a:b] for a, b in pairwise(ends.tolist())))

    def __getstate__(self) -> tuple[BatchSimulator, np.ndarray]:
        """The compiled step is bound to its memory: a copy binds one of its own."""
        return self._batch, self._x.copy()

    def __setstate__(self, state: tuple[BatchSimulator, np.ndarray]) -> None:
        self._batch, x = state
        self._bind()
        self._x[:] = x
        self._rows[:] = self._packed[:12]

    def __copy__(self) -> Simulator:
        """Simulator of the same robot that moves by itself."""
        return copy.deepcopy(self, {id(self.model): self.model})

    # looking --------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Simulator of {short_text(self.model.name)}: t = {self.time:g} s, steps of {self.dt:g} s>"

    @property
    def time(self) -> float:
        """s: since the start, or the last reset."""
        return float(self._x[0]) * self.dt

    @property
    def state(self) -> State:
        """Current state: views that the next step overwrites; copy them to keep them."""
        return self._state

    # moving ---------------------------------------------------------------------------------------------------

    def step(self, forces: Vector_n | None = None, steps: int = 1, **inputs: Scalar | Vector) -> None:
        """Take ``steps`` under joint forces that stay the same meanwhile.

        Args:
            forces: ``n`` joint forces (N m or N); None: none.
            steps: How many.
            inputs: Inputs of laws from now on, such as ``targets`` of servos: see :meth:`set`.
        """
        self._apply(forces)
        for name, value in inputs.items():
            view = self._views.get(name)
            if view is not None and type(value) is np.ndarray and value.shape == view.shape:
                view[...] = value  # a fifth of the time; the step says so if it is not finite
            else:
                self.set(**{name: value})
        for _ in range(whole(steps, "steps")):
            self._go()
            if not np.isfinite(self._out.sum()):
                self._refuse()
            self._x[:] = self._out
        self._rows[:] = self._packed[:12]
        if inputs:
            self._finite[:] = self._numbers

    def step_error(self, forces: Vector_n | None = None, steps: int = 1) -> ErrorEstimate | None:
        """Estimated error of steps from here, as that of :meth:`.BatchSimulator.step_error`; the robot is not moved.

        Args:
            forces: ``n`` joint forces (N m or N); None: none.
            steps: How many.

        Returns:
            Error of the configuration after these steps; None where they do not stay finite.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> sim = fc.Simulator(arm, dt=4e-3, state=arm.state(rates=[3.0, -4.0, 5.0]))
            >>> 0.0 < sim.step_error(steps=100).angle < 1e-3
            True
        """
        given = np.zeros(self.model.n) if forces is None else self._checked(forces)
        self._batch._x = self._x[None].copy()
        return self._batch.step_error(steps, given[None])

    def set(self, **inputs: Scalar | Vector) -> None:
        """Give laws other inputs from the next step on, without another compilation.

        Args:
            inputs: Arrays by the names under which laws take them (:attr:`.Law.inputs`), such as ``targets``, ``kp``
                and ``kd`` of :class:`~fallingcat.control.PositionServo` or ``controls`` of
                :class:`~fallingcat.control.Actuators`; a mapping from names of laws where several take the same.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> sim = fc.Simulator(arm, laws=fc.control.PositionServo(kp=400.0, kd=40.0))
            >>> for k in range(100):
            ...     sim.step(targets=[0.003 * k, 0.0, 0.0], steps=10)
            >>> sim.set(kp=800.0 * np.ones(3))
        """
        given = self._inputs.values(inputs, 1, self._batch._on.array)
        self._inputs.check_gains(inputs, given, lambda: self._numbers)
        for place, value in given:
            self._numbers[place] = self._finite[place] = value

    def reset(self, state: State | None = None) -> None:
        """Restart at time zero.

        Args:
            state: Initial state; None: the neutral one.
        """
        self._batch.reset([0], [self.model.neutral() if state is None else state])
        self._begin()

    def _apply(self, forces: Any) -> None:
        """Write the forces where the compiled step reads them."""
        if forces is None:
            self._forces[:] = 0.0
            return
        self._forces[self.model.m :] = self._checked(forces)

    def _checked(self, forces: Any) -> np.ndarray:
        """Joint forces as an array of ``n`` numbers."""
        return joint_forces(forces, (self.model.n,))

    def _begin(self) -> None:
        """Take over the state that the batch of one robot was given."""
        self._x[:] = np.asarray(self._batch._x)[0]
        self._rows[:] = self._packed[:12]

    def _refuse(self) -> None:
        """The robot stays where it was before the step, with the inputs of laws that it had."""
        given = {"forces": self._forces} | self._views
        what = next((name for name, x in given.items() if not np.isfinite(x).all()), "the motion")
        self._numbers[:] = self._finite
        raise NumericsError(f"{what} of {self.model.name!r} not finite: the step was not taken", time=self.time)
