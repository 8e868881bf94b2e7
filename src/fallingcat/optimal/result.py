"""Results of optimal control: motion, inputs, gains, and what was checked of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from ..arrays.types import FloatArray
from ..model import State
from ..records import concise

if TYPE_CHECKING:
    from .feedback import Feedback
    from .problem import Problem


class Status(Enum):
    """Outcome of a solver.

    Example:
        >>> Status.CONVERGED.value
        'converged'
    """

    CONVERGED = "converged"
    """gradient of the Lagrangian, gaps and constraint violations are below their tolerances"""
    MAX_ITERATIONS = "iterations used up"
    STALLED = "no step lowers the cost"
    INFEASIBLE = "constraints are violated and further penalties do not help"
    INTERRUPTED = "interrupted"
    NOT_FINITE = "cost or motion is not finite"
    """only of batches: :func:`.solve` raises an error"""


class MotionCheck(NamedTuple):
    """One check of a result.

    Example:
        >>> MotionCheck("defect", 1e-12, 1e-9).passed
        True
    """

    name: str
    value: float
    limit: float

    @property
    def passed(self) -> bool:
        """True if the value is within its limit."""
        return bool(self.value <= self.limit)


@concise
class KKT(NamedTuple):
    """Residuals of the conditions of Karush, Kuhn and Tucker.

    Example:
        >>> KKT(1e-9, 0.0, 1e-8, 0.0).gap
        0.0
    """

    gradient: float
    """largest derivative of the Lagrangian by a state, or by a force that is not at its limit"""
    gap: float
    """largest difference between a node and the step before it (m, rad, m/s, rad/s)"""
    violation: float
    """largest violation of a constraint"""
    complementarity: float
    """largest product of an inequality and its multiplier"""


@concise
@dataclass(frozen=True, eq=False)
class OptimalResult:
    """Optimal motion, and how good it is.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
        >>> def hold(model, state, forces, data):
        ...     return fc.arrays.concatenate([state.joints, state.rates, 0.01 * forces])
        >>> found = fc.optimal.solve(fc.optimal.Problem(step, arm.state(joints=[0.2, 0, 0]), 20, hold))
        >>> [(check.name, check.passed) for check in found.certify()]
        [('defect', True), ('force limits', True), ('gradient', True)]
    """

    problem: Problem
    states: State
    """``steps + 1`` states"""
    forces: FloatArray
    """``steps x n``: joint forces (N m or N)"""
    gains: FloatArray
    """``steps x n x x``: feedback ``forces + gains @ dx``, with ``dx = [configuration; velocity; memory]``"""
    memory: FloatArray
    """``(steps + 1) x k``: of contact and laws"""
    cost: float
    status: Status
    iterations: int
    kkt: KKT
    """residuals of the optimality conditions"""
    times: FloatArray
    """``steps + 1`` (s): times of the nodes"""
    contact_forces: FloatArray
    """``steps x points x 3`` (N), on the robot, in the world; of :class:`.ContactPhases`, else none"""
    violated: str = ""
    """constraint and node of the largest violation"""

    def __str__(self) -> str:
        worst = f", worst: {self.violated}" if self.violated and not self.converged else ""
        ends = f"cost {self.cost:.6g}, largest violation {self.violation:.2g}{worst}"
        return f"{self.status.value} after {self.iterations} iterations: {ends}"

    @property
    def gradient(self) -> float:
        """Largest derivative of the cost by a force that is not at its limit."""
        return self.kkt.gradient

    @property
    def gap(self) -> float:
        """Largest difference between a node and the step before it."""
        return self.kkt.gap

    @property
    def violation(self) -> float:
        """Largest violation of a constraint."""
        return self.kkt.violation

    @property
    def converged(self) -> bool:
        """True if the solver reached its tolerances."""
        return self.status is Status.CONVERGED

    def controller(self) -> Feedback:
        """Forces of the motion with its feedback, as a controller for :func:`fallingcat.simulate`.

        Returns:
            ``controller(t, state) -> joint forces (n)``, within the limits of the problem.

        Example:
            >>> import fallingcat as fc
            >>> arm = fc.robots.planar_arm()
            >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
            >>> def hold(model, state, forces, data):
            ...     return fc.arrays.concatenate([state.joints, state.rates, 0.01 * forces])
            >>> found = fc.optimal.solve(fc.optimal.Problem(step, arm.state(joints=[0.2, 0, 0]), 20, hold))
            >>> found.controller()(0.1, found.states.at(5)).shape
            (3,)
        """
        from .feedback import Feedback

        return Feedback(self)

    def certify(self) -> tuple[MotionCheck, ...]:
        """Recompute by other ways what the solver says.

        - ``defect``: the motion taken again by steps of plain NumPy code, not the compiled ones.
        - ``force limits``: how far forces are beyond theirs.
        - ``center of mass``, ``momentum balance`` (of floating robots in flight, and with given contacts): acceleration
          of the center of mass times the mass less all forces, and rate of the angular momentum less their moments,
          through momentum matrices, relative to the weight.
        - ``gradient``: derivative of the cost by the free forces through the adjoint of the run, not by the Riccati
          recursion (where there are no constraints).  No gains act there: of a motion that is unstable for long it is
          rounding, and the check fails.

        Returns:
            Checks with values and limits.
        """
        from .certificate import checks

        return checks(self)
