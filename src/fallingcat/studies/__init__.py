"""Published experiments, run again: parameters as data, numbers beside the published ones, figures as a page.

``run("revolute-6")`` runs one; ``names()`` lists them; :func:`load` reads one's own.
"""

from .measures import MEASURES, measure
from .observed import Flight, Observed
from .study import Row, StudyResult, run, run_study
from .tables import Parameters, Study, load, names, parse

__all__ = [
    "MEASURES",
    "Flight",
    "Observed",
    "Parameters",
    "Row",
    "Study",
    "StudyResult",
    "load",
    "measure",
    "names",
    "parse",
    "run",
    "run_study",
]
