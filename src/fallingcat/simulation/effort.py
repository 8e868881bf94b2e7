"""Effort of a run, estimated before it begins."""

from __future__ import annotations

from ..model import Model, State
from ..progress import check_memory, warn_of_time
from .integrators.base import Integrator
from .problem import Problem
from .step_size import fastest, swinging

MATRICES_IN_MEMORY = 6
"""nv x nv, in memory at once"""
COMPILE_SECONDS_PER_NV = 0.03
"""Of machine code for each degree of freedom; measured with 100 to 400"""
FACTORIZATION_SECONDS_PER_NV3 = 1e-9
"""Of dense factorizations, for each degree of freedom cubed"""
SECONDS_PER_RADIAN = 1e-4
"""Of steps that follow an oscillation; measured with 2 to 16 degrees of freedom: 3e-5 to 1e-3"""
RADIANS_WORTH_A_WARNING = 3e5
"""rad of an oscillation that are not worth a look: half a minute"""


def check_effort(model: Model) -> None:
    """An error where a run would take more memory than machines have, a warning where its code takes long to make."""
    what = f"a run of {model.name!r} with {model.nv:,} degrees of freedom"
    check_memory(what, MATRICES_IN_MEMORY * 8.0 * model.nv**2, "lock joints (model.lock), or take a part of it")
    first = f"the first run of {model.name!r} with {model.nv:,} degrees of freedom"
    warn_of_time(
        first,
        COMPILE_SECONDS_PER_NV * model.nv + FACTORIZATION_SECONDS_PER_NV3 * model.nv**3,
        "machine code is made, and kept",
    )


def warn_of_oscillations(problem: Problem, method: Integrator, state: State, duration: float) -> None:
    """Warn where a method that keeps its error small would follow oscillations of stiff springs for long."""
    if method.tolerance is None or fastest(problem, state) * duration <= RADIANS_WORTH_A_WARNING:
        return
    rate = swinging(problem, state)
    if rate * duration > RADIANS_WORTH_A_WARNING:
        what = f"a run of {problem.model.name!r} by {method.name!r}, which follows springs at {rate:.2g} rad/s,"
        advice = "if nothing damps them: add dampers, or give dt and integrator='implicit', which does not follow them"
        warn_of_time(what, SECONDS_PER_RADIAN * rate * duration, advice)
