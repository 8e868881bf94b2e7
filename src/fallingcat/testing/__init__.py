"""Checks of user-defined parts: the laws that the library's own parts are tested with.

``check_joint(Saddle)`` returns a :class:`Report`, a table of residuals, or raises
:class:`~fallingcat.errors.BrokenLawError`, an ``AssertionError`` that names the law and its residual: a call is a test.
Nothing but the library itself is needed to run them.
"""

from .._deprecated import former_names
from .changes import check_change
from .contacts import check_contact
from .drivers import check_drivers_agree
from .friction import check_friction
from .integrators import check_integrator
from .joints import check_joint
from .laws import check_law
from .loops import check_loop
from .report import Report
from .step_derivatives import HardStep, check_step_derivatives, hard_steps
from .tasks import check_task
from .terrains import check_terrain

__all__ = [
    "HardStep",
    "Report",
    "check_change",
    "check_contact",
    "check_drivers_agree",
    "check_friction",
    "check_integrator",
    "check_joint",
    "check_law",
    "check_loop",
    "check_step_derivatives",
    "check_task",
    "check_terrain",
    "hard_steps",
]

__getattr__ = former_names(__name__)
