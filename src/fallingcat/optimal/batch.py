"""Batches of optimal control problems of one structure, solved together."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.types import FloatArray
from ..dynamics.checks import choice, positive
from ..errors import ModelError
from ..model import State
from ..records import concise, short_text
from .batch_runner import STATUSES, Batch, Runner
from .lanes import CpuLanes, CudaLanes
from .phases import ContactPhases
from .problem import Problem, check_count, check_problem
from .result import KKT, OptimalResult, Status


@concise
@dataclass(frozen=True, eq=False)
class BatchResult:
    """Optimal motions of a batch: fields of :class:`.OptimalResult` with an axis before the others.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
        >>> def hold(model, state, forces, data):
        ...     return fc.arrays.concatenate([state.joints, state.rates, 0.01 * forces])
        >>> problem = fc.optimal.Problem(step, arm.neutral(), 20, hold)
        >>> found = fc.optimal.solve_batch(problem, arm.state(joints=np.linspace(0.0, 0.3, 12).reshape(4, 3)))
        >>> found.forces.shape, found.at(2).status
        ((4, 20, 3), <Status.CONVERGED: 'converged'>)
    """

    problem: Problem
    states: State
    """``problems x (steps + 1)`` states"""
    forces: FloatArray
    """``problems x steps x n``: joint forces (N m or N)"""
    gains: FloatArray
    """``problems x steps x n x x``; none if they were not wanted"""
    memory: FloatArray
    cost: FloatArray
    """one for each problem"""
    statuses: tuple[Status, ...]
    iterations: Any
    """one for each problem"""
    kkt: KKT
    """residuals of the optimality conditions, one for each problem"""
    times: FloatArray
    """``steps + 1`` (s): times of the nodes"""
    contact_forces: FloatArray
    """``problems x steps x points x 3`` (N), on the robot, in the world; of :class:`.ContactPhases`, else none"""
    data: FloatArray
    """``problems x (steps + 1) x k``: numbers for the terms"""

    def __len__(self) -> int:
        return len(self.statuses)

    def __str__(self) -> str:
        counts = [(status, self.statuses.count(status)) for status in Status]
        return ", ".join(f"{count} {status.value}" for status, count in counts if count)

    @property
    def converged(self) -> Any:
        """Truth value of each problem."""
        return np.array([status is Status.CONVERGED for status in self.statuses])

    def at(self, i: int) -> OptimalResult:
        """Result of one problem, with its own start and data.

        Args:
            i: Number of the problem.

        Returns:
            Result, as :func:`.solve` gives it.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
            >>> def hold(model, state, forces, data):
            ...     return fc.arrays.concatenate([state.joints - data, state.rates, 0.01 * forces])
            >>> problem = fc.optimal.Problem(step, arm.neutral(), 20, hold, data=[0.0])
            >>> found = fc.optimal.solve_batch(problem, data=np.array([[0.0], [0.1]]))
            >>> all(check.passed for check in found.at(1).certify())
            True
        """
        start, kkt = self.states.at((i, 0)), KKT(*np.array(self.kkt)[:, i].tolist())
        return OptimalResult(
            problem=dataclasses.replace(self.problem, start=start, data=self.data[i]),
            states=self.states.at(i),
            forces=self.forces[i],
            gains=self.gains[i],
            memory=self.memory[i],
            cost=float(self.cost[i]),
            status=self.statuses[i],
            iterations=int(self.iterations[i]),
            kkt=kkt,
            times=self.times,
            contact_forces=self.contact_forces[i],
        )


def solve_batch(
    problem: Problem,
    starts: State | None = None,
    forces: Any = None,
    states: State | None = None,
    *,
    data: Any = None,
    iterations: int = 200,
    tolerance: float = 1e-7,
    constraint_tolerance: float = 1e-6,
    threads: int = 1,
    target: str = "cpu",
) -> BatchResult:
    """Solve many optimal control problems that differ in start, data and guess.

    Each is solved as :func:`.solve` does with ``method="ddp"``: on the CPU with the same bits.  Problems lie side by
    side in SIMD lanes, or on a GPU in threads; one that has converged makes room for the next.

    Args:
        problem: Problem whose robot, dynamics, terms and limits all share.
        starts: Start of each problem, a :class:`~fallingcat.State` with one batch axis; None: that of ``problem``.
        forces: Guess of the joint forces, ``n``, ``steps x n`` or ``problems x steps x n``; None: zero.
        states: Guess of the states, ``problems x (steps + 1)``; None: the motion under the guess of the forces.
        data: Numbers for the terms, ``problems x k`` or ``problems x (steps + 1) x k``; None: those of ``problem``.
        iterations: Largest number of iterations of a problem.
        tolerance: Largest derivative of the Lagrangian by a state or a free force, relative to ``1 + cost``.
        constraint_tolerance: Largest violation of a constraint.
        threads: Threads that share the problems on the CPU.
        target: ``"cpu"`` or ``"cuda"``, which needs the extra ``gpu``.

    Returns:
        Result; after Ctrl-C with the motions so far.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
        >>> def reach(model, state, forces, data):
        ...     return fc.arrays.concatenate([10.0 * (state.joints - data), state.rates, 0.1 * forces])
        >>> problem = fc.optimal.Problem(step, arm.neutral(), 20, reach, data=[0.0, 0.0, 0.0])
        >>> goals = np.random.default_rng(0).uniform(-0.5, 0.5, size=(10, 3))
        >>> str(fc.optimal.solve_batch(problem, data=goals))
        '10 converged'
    """
    solver = BatchSolver(
        problem,
        iterations=iterations,
        tolerance=tolerance,
        constraint_tolerance=constraint_tolerance,
        threads=threads,
        target=target,
    )
    return solver.solve(starts, forces, states, data)


class BatchSolver:
    """Solver of :func:`solve_batch` that keeps its memory and code from one batch to the next.

    Args:
        problem: Problem whose robot, dynamics, terms and limits all share.
        iterations: Largest number of iterations of a problem.
        tolerance: Largest derivative of the Lagrangian by a state or a free force, relative to ``1 + cost``.
        constraint_tolerance: Largest violation of a constraint.
        threads: Threads that share the problems on the CPU.
        target: ``"cpu"`` or ``"cuda"``, which needs the extra ``gpu``.
        gains: Whether results have gains: on a GPU most of the numbers that come back.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
        >>> def hold(model, state, forces, data):
        ...     return fc.arrays.concatenate([state.joints, state.rates, 0.01 * forces])
        >>> solver = fc.optimal.BatchSolver(fc.optimal.Problem(step, arm.neutral(), 20, hold))
        >>> found = solver.solve(arm.state(joints=np.linspace(0.0, 0.3, 12).reshape(4, 3)))
        >>> again = solver.solve(found.states.at((slice(None), 1)), forces=found.forces)
        >>> bool((again.iterations <= found.iterations).all())
        True
    """

    def __init__(
        self,
        problem: Problem,
        *,
        iterations: int = 200,
        tolerance: float = 1e-7,
        constraint_tolerance: float = 1e-6,
        threads: int = 1,
        target: str = "cpu",
        gains: bool = True,
    ) -> None:
        choice(target, ("cpu", "cuda"), "target")
        check_problem(problem)
        check_count(iterations, "iterations")
        check_count(threads, "threads")
        positive(tolerance, "tolerance")
        positive(constraint_tolerance, "constraint_tolerance")
        if isinstance(problem.dynamics, ContactPhases) and problem.dynamics.free_times:
            raise ModelError("free times of phases are found by solve(method='ipopt'); here each phase has one dt")
        self.problem, self.target, self.threads, self.gains = problem, target, threads, gains
        self._limits = (iterations, tolerance, constraint_tolerance)
        self._runners: list[Runner] = []

    def __repr__(self) -> str:
        return f"<BatchSolver of {short_text(self.problem.model.name)} for {self.target}>"

    def __getstate__(self) -> dict[str, Any]:
        """Without what is bound to the arrays of this solver."""
        return self.__dict__ | {"_runners": []}

    def _prepared(self, count: int) -> list[Runner]:
        """Runners for so many problems: those of the last batch, if it was of this size."""
        lanes, threads = count, 1
        if self.target == "cpu":
            lanes = min(self.problem._term_kernels()[0].lanes, -(-count // self.threads))
            threads = min(self.threads, -(-count // lanes))
        if len(self._runners) != threads or self._runners[0].lanes.count != lanes:
            self._runners = []  # whose memory may be needed
            kind = CpuLanes if self.target == "cpu" else CudaLanes
            self._runners = [Runner(self.problem, kind(lanes), *self._limits) for _ in range(threads)]
        return self._runners

    def solve(
        self, starts: State | None = None, forces: Any = None, states: State | None = None, data: Any = None
    ) -> BatchResult:
        """Solve a batch.

        Args:
            starts: Start of each problem, a :class:`~fallingcat.State` with one batch axis; None: that of the problem.
            forces: Guess of the joint forces, ``n``, ``steps x n`` or ``problems x steps x n``; None: zero.
            states: Guess of the states, ``problems x (steps + 1)``; None: the motion under the guess of the forces.
            data: Numbers for the terms, ``problems x k`` or ``problems x (steps + 1) x k``; None: those of the problem.

        Returns:
            Result; after Ctrl-C with the motions so far.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
            >>> def hold(model, state, forces, data):
            ...     return fc.arrays.concatenate([state.joints, state.rates, 0.01 * forces])
            >>> solver = fc.optimal.BatchSolver(fc.optimal.Problem(step, arm.neutral(), 20, hold))
            >>> str(solver.solve(arm.state(joints=np.linspace(0.0, 0.3, 12).reshape(4, 3))))
            '4 converged'
        """
        batch = Batch(self.problem, starts, forces, states, data, self.gains)
        runners = self._prepared(batch.count)
        if len(runners) == 1:
            runners[0].run(batch)
            return _result(batch)
        with ThreadPoolExecutor(len(runners)) as pool:
            running = [pool.submit(runner.run, batch) for runner in runners]
            try:
                for one in running:
                    one.result()
            except BaseException as error:
                batch.stopped.set()
                if not isinstance(error, KeyboardInterrupt):
                    raise
        return _result(batch)


def _result(batch: Batch) -> BatchResult:
    """All results."""
    problem, found = batch.problem, batch.found
    return BatchResult(
        problem=problem,
        states=problem.model.unflatten(found["q"], found["v"]),
        forces=found["forces"],
        gains=found["gains"],
        memory=found["memory"],
        cost=found["cost"],
        statuses=tuple(STATUSES[i] for i in batch.statuses),
        iterations=batch.iterations,
        kkt=KKT(*found["kkt"].T),
        times=problem.stepping.times,
        contact_forces=found["contact"].reshape(*found["contact"].shape[:2], -1, 3),
        data=np.array(batch.data),
    )
