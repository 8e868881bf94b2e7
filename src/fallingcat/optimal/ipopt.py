"""Direct transcription of an optimal control problem for IPOPT, through CasADi."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays.types import FloatArray
from ..compiler import compile
from ..errors import ExtraMissingError, ModelError, NumericsError
from ..model import Model, State
from ..simulation.steps.step_derivatives import SolvedStep
from .evaluation import Evaluation, Nodes
from .phase_step import friction_cone, weight_of
from .phases import ContactPhases
from .problem import Problem
from .result import KKT, OptimalResult, Status
from .solver import Solver
from .terms import term_values

STATUSES = {
    "Solve_Succeeded": Status.CONVERGED,
    "Solved_To_Acceptable_Level": Status.STALLED,
    "Infeasible_Problem_Detected": Status.INFEASIBLE,
    "Maximum_Iterations_Exceeded": Status.MAX_ITERATIONS,
    "User_Requested_Stop": Status.INTERRUPTED,
    "NonIpopt_Exception_Thrown": Status.INTERRUPTED,  # CasADi's of Ctrl-C
}
"""Status of IPOPT: ours; all others are ``STALLED``."""
EXACT_HESSIANS = 20
"""Largest number of states and forces of a node for which IPOPT gets exact Hessians; beyond, a quasi-Newton one."""


class Transcription:
    """Problem as one nonlinear program: displacements of the nodes from a guess, velocities, forces, step lengths.

    Args:
        problem: Problem.
        guess: Nodes, from which configurations are displaced.
    """

    def __init__(self, problem: Problem, guess: Nodes) -> None:
        try:
            import casadi
        except ImportError:
            raise ExtraMissingError("casadi", purpose="method='ipopt'") from None
        if problem.stepping.sizes.kept:
            raise ModelError("method='ipopt' takes steps without memory: smooth ones, or ContactPhases; use 'ddp'")
        self.casadi, self.problem, self.guess = casadi, problem, guess
        self.model, self.steps = problem.model, problem.stepping.steps
        nv, n, N = self.model.nv, self.model.n, self.steps
        dynamics = problem.dynamics
        self.bounds = dynamics.step_bounds if isinstance(dynamics, ContactPhases) else ()
        self.x = casadi.MX.sym("x", 2 * nv * N + n * N + len(self.bounds))
        self.D = casadi.reshape(self.x[: nv * N], nv, N)
        self.V = casadi.reshape(self.x[nv * N : 2 * nv * N], nv, N)
        self.U = casadi.reshape(self.x[2 * nv * N : (2 * nv + n) * N], n, N)
        self.H = self.x[(2 * nv + n) * N :]

    # functions ------------------------------------------------------------------------------------------------

    def _compiled(self, function: Any, inputs: dict[str, int], **options: Any) -> Any:
        return compile(self.model, function, target="casadi", inputs=inputs, **options)

    def _step(self) -> Any:
        """``(q, v, forces, row) -> q, v, contact forces``."""
        dynamics = self.problem.dynamics
        if isinstance(dynamics, ContactPhases):
            return dynamics.step("casadi")
        posed, method, dt = dynamics._about[:3]
        function = SolvedStep(posed, method, dt, "casadi", "float64", ()).function
        return lambda q, v, u, row: (*function(q, v, u), None)

    def _terms(self, last: int) -> Any:
        model, problem = self.model, self.problem
        inputs = {"q": model.nq, "v": model.nv, "forces": model.n, "data": problem.node_data.shape[1]}
        return self._compiled(term_values, inputs, terms=problem.terms[last])

    # program --------------------------------------------------------------------------------------------------

    def program(self) -> tuple[dict[str, Any], FloatArray, FloatArray]:
        """Nonlinear program, and bounds of its constraints."""
        casadi, model, problem, N = self.casadi, self.model, self.problem, self.steps
        nq, nv = model.nq, model.nv
        place = self._compiled(_displaced, {"q": nq, "tangent": nv})
        between = self._compiled(_difference, {"q": nq, "p": nq})
        step, terms, final = self._step(), self._terms(0), self._terms(1)
        rows: list[Any] = []
        low: list[float] = []
        high: list[float] = []

        def hold(values: Any, equal: bool) -> None:
            if values is not None and values.numel():
                rows.append(casadi.vec(values))
                low.extend([0.0 if equal else -np.inf] * values.numel())
                high.extend([0.0] * values.numel())

        q: list[Any] = [casadi.DM(self.guess.q[0])]
        q += [place(casadi.DM(self.guess.q[i + 1]), self.D[:, i]) for i in range(N)]
        v: list[Any] = [casadi.DM(self.guess.v[0]), *(self.V[:, i] for i in range(N))]
        cost = self._time_cost()
        for i in range(N):
            u, data = self.U[:, i], casadi.DM(problem.node_data[i])
            after = step(q[i], v[i], u, self._row(i))
            hold(between(q[i + 1], after[0]), True)
            hold(v[i + 1] - after[1], True)
            residual, equal, unequal = terms(q[i], v[i], u, data)
            cost = cost + 0.5 * casadi.sumsqr(residual)
            if i:
                hold(equal, True)
                hold(unequal, False)
            hold(self._cones(after[2], i), False)
        data = casadi.DM(problem.node_data[-1])
        residual, equal, unequal = final(q[N], v[N], casadi.DM.zeros(model.n), data)
        hold(equal, True)
        hold(unequal, False)
        program = {"x": self.x, "f": cost + 0.5 * casadi.sumsqr(residual), "g": casadi.vertcat(*rows)}
        return program, np.array(low), np.array(high)

    def _time_cost(self) -> Any:
        phases = self.problem.dynamics.phases if self.bounds else ()  # type: ignore[union-attr]
        total = sum((phase.steps * self.H[k] for k, phase in enumerate(phases)), start=0.0)
        return self.problem.time_weight * total

    def _row(self, i: int) -> Any:
        """Numbers of a node, with the length of its step."""
        own = self.problem.stepping.rows[i]
        if not self.bounds:
            return None
        return self.casadi.vertcat(self.H[self._phase(i)], self.casadi.DM(own[1:]))

    def _phase(self, i: int) -> int:
        ends = np.cumsum([phase.steps for phase in self.problem.dynamics.phases])  # type: ignore[union-attr]
        return int(np.searchsorted(ends, i, side="right"))

    def _cones(self, contact: Any, i: int) -> Any:
        """Friction cones of the points that are held."""
        friction = getattr(self.problem.dynamics, "friction", None)
        if friction is None or contact is None:
            return None
        dynamics = self.problem.dynamics
        assert isinstance(dynamics, ContactPhases)
        held = np.flatnonzero(dynamics.rows[i, 1 : 1 + len(dynamics.points)])
        cone = self._compiled(_cone, {"force": 3}, friction=friction)
        out = [cone(contact[k, :].T / weight_of(self.model)) for k in held.tolist()]
        return self.casadi.vertcat(*out) if out else None

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest variables."""
        low, high = self.problem.limits
        wide, N = np.full(2 * self.model.nv * self.steps, np.inf), self.steps
        ends = np.array(self.bounds).reshape(-1, 2)
        return np.concatenate([-wide, np.tile(low, N), ends[:, 0]]), np.concatenate(
            [wide, np.tile(high, N), ends[:, 1]]
        )

    def start(self) -> FloatArray:
        """Variables of the guess."""
        guess = self.guess
        lengths = [0.5 * (a + b) for a, b in self.bounds]
        still = np.zeros(self.model.nv * self.steps)
        return np.concatenate([still, guess.v[1:].ravel(), guess.forces.ravel(), lengths])


def recorder(casadi: Any, variables: int, constraints: int) -> Any:
    """Callback of IPOPT that keeps the variables of the last iteration: CasADi forgets them when it is interrupted."""
    sizes = {"x": variables, "lam_x": variables, "f": 1, "g": constraints, "lam_g": constraints}

    class Recorder(casadi.Callback):  # type: ignore[misc]
        """Last variables."""

        last: FloatArray | None = None
        count = -1
        """iterations: the first variables are those of the guess"""

        def get_n_in(self) -> int:
            return int(casadi.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return str(casadi.nlpsol_out(i))

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(sizes.get(casadi.nlpsol_out(i), 0))

        def eval(self, given: Any) -> list[int]:
            self.last, self.count = np.asarray(given[0]).ravel(), self.count + 1
            return [0]

    made = Recorder()
    made.construct("recorder", {})
    return made


def solve_by_ipopt(
    problem: Problem, forces: Any, states: State | None, iterations: int, tolerance: float, constraint_tolerance: float
) -> OptimalResult:
    """See :func:`.solve`."""
    motion = Evaluation(problem)
    made = Transcription(problem, motion.guess(forces, states))
    casadi, (program, low, high) = made.casadi, made.program()
    wide = 2 * problem.model.nv + problem.model.n
    ipopt: dict[str, Any] = {
        "max_iter": int(iterations),
        "tol": tolerance,
        "constr_viol_tol": constraint_tolerance,
        "print_level": 0,
    }
    ipopt |= {} if wide <= EXACT_HESSIANS else {"hessian_approximation": "limited-memory"}
    seen = recorder(casadi, len(made.start()), len(low))
    options = {"ipopt": ipopt | {"sb": "yes"}, "print_time": False, "iteration_callback": seen}
    solver = casadi.nlpsol("optimal", "ipopt", program, options)
    least, most = made.limits()
    try:
        found = solver(x0=made.start(), lbx=least, ubx=most, lbg=low, ubg=high)
    except RuntimeError as error:
        raise NumericsError(f"IPOPT could not evaluate the problem: {str(error).splitlines()[0]}") from None
    x, stats = np.asarray(found["x"]).ravel(), solver.stats()
    if STATUSES.get(stats["return_status"]) is Status.INTERRUPTED and seen.last is not None:
        x, stats = seen.last, stats | {"iter_count": seen.count}
    return _result(made, x, stats)


def _result(made: Transcription, x: FloatArray, stats: dict[str, Any]) -> OptimalResult:
    """Result of the variables, with gains and residuals of our own expansion about them."""
    problem, model, N = made.problem, made.model, made.steps
    nv, n = model.nv, model.n
    D, V, U = (x[a:b].reshape(N, -1) for a, b in ((0, nv * N), (nv * N, 2 * nv * N), (2 * nv * N, (2 * nv + n) * N)))
    dynamics = problem.dynamics
    if isinstance(dynamics, ContactPhases):
        lengths = x[(2 * nv + n) * N :]
        phases = [phase._replace(dt=float(h)) for phase, h in zip(dynamics.phases, lengths, strict=True)]
        problem = replace(problem, dynamics=replace(dynamics, phases=phases))
    q = np.array([made.guess.q[0], *(model.integrate(made.guess.q[i + 1], D[i]) for i in range(N))])
    solver = Solver(problem, 1e-6, 1e-6)
    motion = solver.motion
    v = np.vstack([made.guess.v[:1], V])
    contact = motion.stepping.advanced((q[:-1], v[:-1], made.guess.memory[:-1]), U)[1]
    nodes = Nodes(q, v, made.guess.memory, np.clip(U, *problem.limits), contact)
    penalties = motion.penalties(1.0)
    about = motion.expanded(nodes, penalties)
    policy = solver.policy(nodes, 1e-9)
    violation, where = solver.violation(about)
    residual = float(stats["iterations"]["inf_du"][-1]) if stats.get("iterations") else np.inf
    time = problem.time_weight * float(problem.stepping.times[-1]) if made.bounds else 0.0
    return OptimalResult(
        problem=problem,
        states=model.unflatten(q, v),
        forces=nodes.forces,
        gains=np.zeros_like(motion.recursion.K) if policy is None else policy.K.copy(),
        memory=nodes.memory,
        cost=about.plain + time,
        status=STATUSES.get(stats["return_status"], Status.STALLED),
        iterations=int(stats["iter_count"]),
        kkt=KKT(residual, about.gap, violation, 0.0),
        violated=where,
        contact_forces=contact.reshape(N, -1, 3),
        times=problem.stepping.times,
    )


def _cone(model: Model, force: Any, *, friction: float) -> Any:
    return friction_cone(force, friction)


def _displaced(model: Model, q: Any, tangent: Any) -> Any:
    return model.integrate(q, tangent)


def _difference(model: Model, q: Any, p: Any) -> Any:
    return model.difference(q, p)
