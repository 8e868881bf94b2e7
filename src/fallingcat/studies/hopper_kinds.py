"""The studies of hoppers: one run, a scan of starts, a run and how far its gait can be pushed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from . import hopper
from .basin import basin
from .kind import Found, Progress, StudyKind, study_kind
from .observed import Observed
from .scan import about_scan, scanned
from .tables import BasinParameters, Parameters, ScanParameters

if TYPE_CHECKING:
    from ..views import Page
    from .study import StudyResult


@study_kind
class HopperRun(StudyKind):
    """One run of a hopper."""

    name = "run"
    parameters: ClassVar[type[Parameters]] = Parameters
    robots = ("prismatic_hopper", "revolute_hopper")

    @property
    def of_the_experiment(self) -> frozenset[str]:
        return frozenset(Parameters.model_fields)

    def run(self, robot: str, parameters: Parameters, tell: Progress) -> Found:
        return Found(observed(robot, parameters, tell))

    def page(self, result: StudyResult) -> Page:
        """The panels of the study's figures, the animation and the table."""
        from .page import study_page

        return study_page(result)


@study_kind
class HopperScan(HopperRun):
    """A run, and the spin that the first lift-off leaves over the joint angle of the start."""

    name = "scan"
    parameters = ScanParameters

    def run(self, robot: str, parameters: ScanParameters, tell: Progress) -> Found:  # type: ignore[override]
        seen = observed(robot, parameters, tell)
        angles, spins = scanned(hopper.robot(robot, parameters), parameters, tell)
        return Found(seen, about_scan(angles, spins, parameters.q1), {"q1": angles, "spin": spins})


@study_kind
class HopperBasin(HopperRun):
    """A run, and how far its gait can be pushed."""

    name = "basin"
    parameters = BasinParameters

    def run(self, robot: str, parameters: BasinParameters, tell: Progress) -> Found:  # type: ignore[override]
        seen = observed(robot, parameters, tell)
        return Found(seen, basin(hopper.robot(robot, parameters), seen, parameters, tell))


def observed(robot: str, p: Parameters, tell: Progress) -> Observed:
    """The run of the parameters."""
    model = hopper.robot(robot, p)
    told = _seldom(lambda share: tell("running", share))
    return Observed(hopper.simulated(model, hopper.start(model, p), p, progress=told), p)


def _seldom(tell: Callable[[float], None]) -> Callable[[float], None]:
    """Passes on every hundredth share only: a step takes microseconds."""
    last = -1.0

    def told(share: float) -> None:
        nonlocal last
        if share - last >= 0.01:
            last = share
            tell(share)

    return told
