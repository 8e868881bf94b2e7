"""Published experiments, run again: parameters as data, numbers beside the published ones, figures as a page.

``run("revolute-6")`` runs one; ``names()`` lists them; :func:`load` reads one's own.  What can be studied is a
:class:`StudyKind`: hoppers (:mod:`.hoppers`), gaits (:mod:`.orbital`, :mod:`.least_time`), control
(:mod:`.kinematics`, :mod:`.circling`, :mod:`.dynamics`, :mod:`.tumbling`, :mod:`.turning`), whole-body control
(:mod:`.pushed`, :mod:`.reaching_low`, :mod:`.righting`, :mod:`.stepping`), equations (:mod:`.identities`), and one's
own.
"""

from . import (
    circling,
    dynamics,
    hoppers,
    identities,
    kinematics,
    least_time,
    orbital,
    pushed,
    reaching_low,
    righting,
    stepping,
    tumbling,
    turning,
)
from .kind import Figures, Parameters, Progress, StudyKind, kind_of, kinds, study_kind
from .reproduction import Reproduced, Reproduction, reproduce
from .robot_report import RobotReport, report
from .simulated import SimulatedKind
from .study import Row, StudyResult, run, run_study
from .sweeps import Sweep, sweep
from .tables import Study, load, names, parse

__all__ = [
    "Figures",
    "Parameters",
    "Progress",
    "Reproduced",
    "Reproduction",
    "RobotReport",
    "Row",
    "SimulatedKind",
    "Study",
    "StudyKind",
    "StudyResult",
    "Sweep",
    "circling",
    "dynamics",
    "hoppers",
    "identities",
    "kind_of",
    "kinds",
    "kinematics",
    "least_time",
    "load",
    "names",
    "orbital",
    "parse",
    "pushed",
    "reaching_low",
    "report",
    "reproduce",
    "righting",
    "run",
    "run_study",
    "stepping",
    "study_kind",
    "sweep",
    "tumbling",
    "turning",
]

_MOVED = ("MEASURES", "Flight", "Observed", "measure")
"""To :mod:`.hoppers`."""


def __getattr__(name: str) -> None:
    """An error that says where a name of hoppers is."""
    where = f": it is {__name__}.hoppers.{name}" if name in _MOVED else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{where}")
