"""Batch of robots that a caller steps, reads, controls and resets, on CPU or GPU."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays.types import Matrix, Matrix_N_n, Numbers, Vector
from ...contact import Contact
from ...contact.rigid.joint_stops import LAW
from ...control import Law
from ...control.laws.passive_joints import check_stops
from ...errors import ModelError, describe
from ...model import Model, State
from ...records import short_text
from ..build_problem import build_problem
from ..defaults import default_method, one_code, takes_fixed_steps
from ..devices import Cpu
from ..diagnostics.accuracy import ErrorEstimate, some_of, step_error
from ..integrators.base import FixedStepIntegrator, Integrator
from ..integrators.event_located import ATTEMPTS_PER_CALL, EventLocatorStepper
from ..problem.arguments import check_target, joint_forces, seconds, starts, whole
from ..problem.law_parameters import numbers_of, split_parameters
from ..problem.loop_closure import check_closed
from ..problem.problem import Problem, held
from ..step_size import DEFAULT_STEP
from .compiled_batch import CompiledBatch

TARGETS = ("cpu", "cuda")


class BatchSimulator(CompiledBatch):
    """``N`` simulations of one robot at once, in compiled steps on CPU or GPU.

    Steps are of ``dt`` (s), by default in the method that :func:`fallingcat.simulate` takes, among those of fixed steps
    (``guides/choosing_an_integrator``); by :class:`EventLocator` robots take steps of their own of at most ``dt``.

    Between steps you look at :attr:`state`, whose fields are arrays with a first axis over the robots, give joint
    ``forces`` (N x n; N m or N) that are held while steps are taken, and :meth:`reset` some.

    Args:
        model: Robot.
        states: ``N`` states from which they start, or one with a first axis over robots.
        laws: Force laws of all robots, or ``N`` lists of them, which differ in their numbers: gains of each robot.
            Their inputs, such as ``targets`` of :class:`~fallingcat.control.PositionServo`, may change at every
            :meth:`step`.
        contact: Ground or other contact; None: nothing is touched.
        dt: Step (s).
        driven: True if joint forces are given at each step.
        target: ``cpu`` (float64) or ``cuda``: there arrays are CuPy's and nothing leaves the GPU.
        dtype: ``float64``, or ``float32`` on a GPU.
        threads: Threads of the CPU.
        integrator: Integrator; None: the default.
        passive: Springs, damping, friction, stops and drive limits of the model act as in :func:`fallingcat.simulate`.
        ledger: False leaves out the works, which saves a quarter of the time.
        parameters: Other numbers of each robot, by name: ``"LINK.mass"`` (N, kg), ``"LINK.center"`` (N x 3, m),
            ``"LINK.inertia"`` (N x 3 x 3, kg m^2, about the center of mass), as in :class:`fallingcat.model.Body`, and
            ``"friction"`` (N) of the ground; a robot then moves as one whose model has these numbers.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> batch = BatchSimulator(cat, [cat.state(rates=[0.1 * i, 0.5]) for i in range(100)], driven=True)
        >>> batch.step(10, forces=-0.1 * batch.state.rates)
        >>> batch.state.joints.shape, round(float(batch.times[0]), 6)
        ((100, 2), 0.01)
    """

    def __init__(
        self,
        model: Model,
        states: Sequence[State] | State,
        laws: Law | Sequence[Law] | Sequence[Sequence[Law]] | None = None,
        contact: Contact | None = None,
        *,
        dt: float = DEFAULT_STEP,
        driven: bool = False,
        target: str = "cpu",
        dtype: str = "float64",
        threads: int = 1,
        integrator: Integrator | None = None,
        passive: bool = True,
        ledger: bool = True,
        parameters: Mapping[str, Numbers] | None = None,
    ) -> None:
        check_target(target)
        many, dt = starts(model, states), seconds(dt, "dt")
        each, laws = _laws_of_each(laws, len(many.pose), model)
        problem = build_problem(model, many, laws, contact, dt=dt, passive=passive, driven=driven)
        if problem.controller not in (None, held):
            raise ModelError(
                "a BatchSimulator takes force laws, and forces at each step instead of a function as a controller"
            )
        problem = replace(problem, ledger=ledger)
        method = integrator or _default(problem, many.at(0), dt, dtype, parameters is not None)
        self._begin(problem, many, method, dt, each, target, dtype, threads, parameters)

    @classmethod
    def of(
        cls,
        problem: Problem,
        states: State,
        integrator: FixedStepIntegrator,
        dt: float,
        *,
        target: str = "cpu",
        dtype: str = "float64",
        threads: int = 1,
        parameters: Mapping[str, Numbers] | None = None,
    ) -> BatchSimulator:
        """Robots of a problem; forces of a sampled controller are given at each step.

        Args:
            problem: Problem.
            states: States from which they start, with a first axis over robots.
            integrator: Integrator of one code for all modes.
            dt: Step (s).
            target: ``cpu`` or ``cuda``.
            dtype: ``float64``, or ``float32`` on a GPU.
            threads: Threads of the CPU.
            parameters: Other numbers of each robot, by name.

        Returns:
            The simulator.
        """
        simulator = cls.__new__(cls)
        if problem.controller is not None:
            problem = replace(problem, controller=held, external=True)
        simulator._begin(problem, states, integrator, dt, [], target, dtype, threads, parameters)
        return simulator

    def __copy__(self) -> BatchSimulator:
        """Simulator of the same robots that moves by itself."""
        return copy.deepcopy(self, {id(self.problem.model): self.problem.model})

    def __repr__(self) -> str:
        robots = f"{self.count} of {short_text(self.problem.model.name)}"
        return f"<BatchSimulator of {robots}: steps of {self.dt:g} s>"

    def step(self, steps: int = 1, forces: Matrix_N_n | None = None, **inputs: Vector | Matrix) -> None:
        """Take steps of ``dt`` with all robots, under joint forces that stay the same meanwhile.

        Args:
            steps: Number of steps.
            forces: Joint forces (N x n; N m or N), if the simulator was made with ``driven=True``.
            inputs: Inputs of laws, such as ``targets`` of servos: see :meth:`set`.
        """
        applied, steps = self._applied(forces), whole(steps, "steps")
        if inputs:
            self.set(**inputs)
        self.advance(steps, applied)

    def step_error(self, steps: int = 1, forces: Matrix_N_n | None = None) -> ErrorEstimate | None:
        """Estimated error of steps from here, caused by their size; no robot is moved.

        Up to eight robots take the same steps, and twice as many half as long, under the same forces.  What is stepped
        from outside has no other estimate: look at it now and then.

        Args:
            steps: Number of steps.
            forces: Joint forces (N x n; N m or N), if the simulator was made with ``driven=True``.

        Returns:
            Largest error of the configuration after these steps; None where no robot stays finite.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> batch = BatchSimulator(arm, [arm.state(rates=[3.0, -4.0, 5.0])] * 4, dt=4e-3)
            >>> 0.0 < batch.step_error(100).angle < 1e-3
            True
        """
        if isinstance(self.stepper, EventLocatorStepper):
            raise ModelError(
                "the integrator EventLocator() chooses its steps by their error: there is none of their size"
            )
        which = some_of(self.count)
        on, applied = self._on.part(which), self._on.kept(self._applied(forces), which)
        x, steps = self._on.kept(self._x, which), whole(steps, "steps")
        with np.errstate(all="ignore"):  # robots that are not finite are left out
            return step_error(self.stepper, on, self.layout, x, applied, self.dt, steps, self._order)

    def set(self, **inputs: Vector | Matrix) -> None:
        """Set numbers of laws from now on, without another compilation: ``batch.set(targets=..., kp=...)``.

        Args:
            inputs: By the names under which laws take them (:attr:`.Law.inputs`): an array for all robots, or with a
                first axis over robots; a mapping from names of laws where several take the same input.
        """
        given = self._inputs.values(inputs, self.count, self._on.array)
        self._inputs.check_gains(inputs, given, lambda: self._on.numbers)
        for place, value in given:
            self._on.tune(place, value, self.count)

    attempts = ATTEMPTS_PER_CALL
    """at steps, of every robot, in each :meth:`approach`"""

    def approach(self, until: Vector, forces: Matrix_N_n | None = None) -> Vector:
        """Attempt steps of robots that choose their own, none beyond its time in ``until``.

        Each call makes :attr:`attempts` of them, so that no robot waits for the slowest.

        Args:
            until: Times (N, s).
            forces: Joint forces (N x n; N m or N), if the simulator was made with ``driven=True``.

        Returns:
            ``N`` truth values: robots that have arrived.
        """
        if not isinstance(self.stepper, EventLocatorStepper):
            raise ModelError("robots approach times of their own by the integrator EventLocator()")
        if tuple(getattr(until, "shape", ())) != (self.count,):
            raise ModelError(f"until is a time (s) for each of {self.count} robots, not {describe(until)}")
        self._x = self.stepper.toward(self._on, self._x, until, self.dt, self._applied(forces))
        return self.times >= until

    def recorded(self, until: float, attempts: int) -> np.ndarray:
        """Attempt steps toward a time, and record the robots after each attempt; see :class:`.EventLocatorStepper`.

        An attempt that is taken back, or not needed, changes no time.

        Args:
            until: Time (s).
            attempts: Number of attempts.

        Returns:
            ``attempts x N x size`` numbers, in this computer's memory.
        """
        if not isinstance(self.stepper, EventLocatorStepper):
            raise ModelError("steps are recorded by the integrator EventLocator()")
        ahead = self._on.paired(self.times * 0.0 + until, self.dt)
        self._x, seen = self._on.recorded(self._x, ahead, self._applied(None), attempts)
        return seen

    def keep(self, which: Vector) -> None:
        """Keep some robots and drop the others.

        Args:
            which: Vector, or ``N`` truth values.
        """
        chosen = self._on.fetched(which)
        truths, places = chosen.dtype == bool, chosen.dtype.kind in "iu" or not chosen.size
        if chosen.shape != (self.count,) if truths else not places or (abs(chosen) >= self.count).any():
            raise ModelError(
                f"robots to keep are indices of {self.count}, or as many truth values, not {describe(which)}"
            )
        which = which if chosen.size else np.zeros(0, dtype=int)
        self._x, self._on = self._on.kept(self._x, which), self._on.part(which)

    def reset(self, which: Vector, states: Sequence[State] | State) -> None:
        """Start some robots anew.

        Args:
            which: Vector, or ``N`` truth values.
            states: New states, one for each.
        """
        many = starts(self.problem.model, states)
        check_closed(self.problem.model, *many)
        if LAW in (law.name for law in self.problem.laws):
            check_stops(self.problem.model, many.joints)
        which = self._on.fetched(which)
        places = np.flatnonzero(which) if which.dtype == bool and which.shape == (self.count,) else which
        if places.shape != (len(many.pose),) or places.dtype.kind not in "iu":
            raise ModelError(
                f"which of {self.count} robots to reset is {len(many.pose)} indices, not {describe(which)}"
            )
        if not ((-self.count <= places) & (places < self.count)).all():
            raise ModelError(f"robots to reset are 0 to {self.count - 1}, not {places.tolist()}")
        self._on.put(self._x, places, self._on.sent(self._fresh(many)))

    def _applied(self, forces: Any) -> Any:
        """Joint forces, and none on the base, as the device keeps them."""
        if (forces is not None) != (self.problem.controller is not None):
            if forces is None:
                raise ModelError("a BatchSimulator that is made with driven=True is given forces at each step")
            raise ModelError("forces are given to a BatchSimulator that is made with driven=True, and to no other")
        if forces is None:
            return self._on.sent(np.zeros((self.count, 0)))
        model = self.problem.model
        forces = joint_forces(forces, (self.count, model.n)) if isinstance(self._on, Cpu) else forces
        if tuple(getattr(forces, "shape", ())) != (self.count, model.n):
            raise ModelError(f"forces must have shape ({self.count}, {model.n}), got {describe(forces)}")
        if isinstance(self._on, Cpu) and not np.isfinite(forces).all():
            odd = np.flatnonzero(~np.isfinite(forces).all(axis=1))
            more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
            raise ModelError(f"forces on robot {odd[0]}{more} of {self.count} hold a number that is not finite")
        return self._on.padded(forces, model.m)


def _default(problem: Problem, first: State, dt: float, dtype: str, varied: bool) -> Integrator:
    """The default integrator, among those that step many robots in one code."""

    def runs(method: Integrator) -> bool:
        found = one_code(method, problem)
        exact = dtype == "float64" or method.name != "momentum"
        return takes_fixed_steps(method, problem) and exact and (not varied or found is None or found.varies)

    return default_method(problem, first, dt, runs)


def _laws_of_each(laws: Any, count: int, model: Model) -> tuple[list[list[float]], Any]:
    """Numbers of the laws of each robot, if they are given for each, and the laws of the first.

    Code is made for the first one.
    """
    if not isinstance(laws, (tuple, list)) or not laws or not isinstance(laws[0], (tuple, list)):
        return [], laws
    rows = [some if isinstance(some, (tuple, list)) else (some,) for some in laws]
    each = [tuple(law.sized(model) if isinstance(law, Law) else law for law in some) for some in rows]
    if len(each) != count:
        raise ModelError(f"laws of {count} robots are {count} lists of laws, not {len(each)}")
    blank, numbers = split_parameters(each[0], model)[0], list[list[float]]()
    for i, some in enumerate(each):
        own = numbers_of(some, blank)
        if own is None:
            raise ModelError(
                f"laws of robot {i} differ from those of the first in more than numbers that are arguments of a step"
            )
        numbers.append(own)
    return numbers, each[0]
