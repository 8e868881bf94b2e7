"""Published experiments, run again: parameters as data, numbers beside the published ones, figures as a page.

``run("revolute-6")`` runs one; ``names()`` lists them; :func:`load` reads a file.  A :class:`StudyKind` says what can
be varied, run, measured and drawn: ``hoppers``, ``tumbling``, ``identities`` and those of ``experiments`` are the
library's; others may be added.
"""

from typing import Any

from .._deprecated import former_names
from . import hoppers, identities, tumbling
from .experiments import (
    astronaut,
    circling,
    dynamics,
    kinematics,
    leaps,
    least_time,
    orbital,
    pushed,
    pushed_trot,
    reaching_low,
    righting,
    righting_robot,
    standing_up,
    stepping,
    swing_up,
    turn_bound,
    turning,
    walking,
)
from .kind import Figures, Parameters, Progress, StudyKind, kind_of, kinds, study_kind
from .reproduction import Reproduction, ReproductionResult, reproduce
from .righting_atlas import Atlas, righting_atlas
from .robot_report.report import RobotReport, report
from .simulated import SimulatedKind
from .study import Row, StudyResult, run, run_study
from .sweeps import Sweep, sweep
from .tables import Study, load, names, parse

__all__ = [
    "Atlas",
    "Figures",
    "Parameters",
    "Progress",
    "Reproduction",
    "ReproductionResult",
    "RobotReport",
    "Row",
    "SimulatedKind",
    "Study",
    "StudyKind",
    "StudyResult",
    "Sweep",
    "astronaut",
    "circling",
    "dynamics",
    "hoppers",
    "identities",
    "kind_of",
    "kinds",
    "kinematics",
    "leaps",
    "least_time",
    "load",
    "names",
    "orbital",
    "parse",
    "pushed",
    "pushed_trot",
    "reaching_low",
    "report",
    "reproduce",
    "righting",
    "righting_atlas",
    "righting_robot",
    "run",
    "run_study",
    "standing_up",
    "stepping",
    "study_kind",
    "sweep",
    "swing_up",
    "tumbling",
    "turn_bound",
    "turning",
    "walking",
]

_MOVED = ("MEASURES", "Flight", "Observed", "measure")
"""To :mod:`fallingcat.studies.hoppers`."""


def __getattr__(name: str) -> Any:
    """Former names, and an error that says where a name of hoppers is."""
    if name in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: it is {__name__}.hoppers.{name}")
    return former_names(__name__, depth=5)(name)
