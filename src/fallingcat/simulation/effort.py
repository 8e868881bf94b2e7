"""Effort of a run, estimated before it begins."""

from __future__ import annotations

from ..model import Model, State
from ..progress import check_memory, warn_of_time
from .integrators.base import Integrator
from .problem.problem import Problem
from .step_size import fastest, swinging

MAX_UNWARNED_PHASE = 3e5
"""rad of an oscillation that are not worth a look: half a minute"""


def check_effort(model: Model) -> None:
    """An error where a run would take more memory than machines have, a warning where its code takes long to make."""
    what = f"a run of {model.name!r} with {model.nv:,} degrees of freedom"
    size = 6 * 8.0 * model.nv**2  # bytes: matrices nv x nv that are in memory at once
    check_memory(what, size, "lock joints (model.lock), or take a part of it")
    first = f"the first run of {model.name!r} with {model.nv:,} degrees of freedom"
    seconds = 0.03 * model.nv + 1e-9 * model.nv**3  # of machine code (measured with 100 to 400) and factorizations
    warn_of_time(first, seconds, "machine code is made, and kept")


def warn_of_oscillations(problem: Problem, method: Integrator, state: State, duration: float) -> None:
    """Warn where a method that keeps its error small would follow oscillations of stiff springs for long."""
    if method.tolerance is None or fastest(problem, state) * duration <= MAX_UNWARNED_PHASE:
        return
    rate = swinging(problem, state)
    if rate * duration > MAX_UNWARNED_PHASE:
        what = f"a run of {problem.model.name!r} by {method.name!r}, which follows springs at {rate:.2g} rad/s,"
        advice = "if nothing damps them: add dampers, or give dt and integrator='implicit', which does not follow them"
        seconds = 1e-4 * rate * duration  # per radian, measured with 2 to 16 degrees of freedom: 3e-5 to 1e-3
        warn_of_time(what, seconds, advice)
