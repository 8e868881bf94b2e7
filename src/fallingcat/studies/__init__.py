"""Published experiments, run again: parameters as data, numbers beside the published ones, figures as a page.

``run("revolute-6")`` runs one; ``names()`` lists them; :func:`load` reads one's own.
"""

from .kind import Found, Seen, StudyKind, Table, study_kind
from .measures import MEASURES, measure
from .observed import Flight, Observed
from .study import Row, StudyResult, run, run_study
from .tables import Parameters, Study, load, names, parse

__all__ = [
    "MEASURES",
    "Flight",
    "Found",
    "Observed",
    "Parameters",
    "Row",
    "Seen",
    "Study",
    "StudyKind",
    "StudyResult",
    "Table",
    "load",
    "measure",
    "names",
    "parse",
    "run",
    "run_study",
    "study_kind",
]
