"""Kinds of study: one run of a hopper, a scan of starts, how far a gait can be pushed, and from where it is found."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import SupportsFloat, TypeVar

from ...model import Model
from ...simulation import Trajectory
from ..kind import Figures, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study
from . import energy_measures  # noqa: F401 (it adds to MEASURES)
from .attraction import SHARES, attraction
from .basin import EDGES, basin
from .hopper import robot, simulate_hopper, simulated_together, start
from .measures import MEASURES, STATE_BEFORE_APEX, Measure, before_apex, x_at
from .observed import Observed
from .parameters import AttractionParameters, BasinParameters, HopperParameters, ScanParameters, SearchParameters
from .scan import NUMBERS, about_scan, scan_leg_angles
from .search import NUMBERS as OF_SEARCH
from .search import about_search, search

P = TypeVar("P", bound=HopperParameters)


class _Hopper(SimulatedKind[P, Observed]):
    """One run, and what a study of several runs adds to it."""

    measures: Mapping[str, Measure] = MEASURES
    further_measures = (*SimulatedKind.further_measures, "x at TIME", "NAME TIME ms before the apex")

    def run(self, parameters: P, progress: Progress) -> Observed:
        model = robot(parameters)
        share = _throttle(lambda share: progress("running", share))
        run = simulate_hopper(model, start(model, parameters), parameters, progress=share)
        return self.add_observations(model, Observed(run, parameters), parameters, progress)

    @abstractmethod
    def add_observations(self, model: Model, seen: Observed, parameters: P, progress: Progress) -> Observed:
        """The run with what further runs say about it."""

    def measure(self, name: str) -> Callable[[Observed], SupportsFloat]:
        """Measure by name, also ``x at TIME``, the place of the base (m), and ``omega 0.5 ms before the apex``."""
        if found := re.fullmatch(r"x at (\d+(?:\.\d+)?)", name):
            return partial(x_at, float(found[1]))
        if found := re.fullmatch(rf"({'|'.join(STATE_BEFORE_APEX)}) (\d+(?:\.\d+)?) ms before the apex", name):
            return partial(before_apex, found[1], float(found[2]))
        return super().measure(name)

    def motion(self, seen: Observed) -> Trajectory:
        return seen.run

    def figures(self, study: Study, seen: Observed) -> Figures:
        from .panels import hopper_figures  # drawing waits until it is asked for

        return hopper_figures(study, seen)


@study_kind
class Hopper(_Hopper[HopperParameters]):
    """Study kind ``hopper``: one run."""

    name, parameters = "hopper", HopperParameters
    chunk_sizes: Mapping[str, int] = {"cpu": 16, "cuda": 256}

    def run_many(self, many: Sequence[HopperParameters], target: str = "cpu") -> list[Observed | Exception]:
        """Run all at once, to the tolerances of one run."""
        runs = zip(simulated_together(many, target), many, strict=True)
        return [run if isinstance(run, Exception) else Observed(run, p) for run, p in runs]

    def add_observations(
        self, model: Model, seen: Observed, parameters: HopperParameters, progress: Progress
    ) -> Observed:
        """The run alone."""
        return seen


def _numbers(names: Iterable[str]) -> ChainMap[str, Measure]:
    """Measures of further runs beside those of one run."""

    def number(name: str) -> Measure:
        return lambda seen: seen.numbers[name]

    return ChainMap({name: number(name) for name in names}, MEASURES)


@study_kind
class HopperScan(_Hopper[ScanParameters]):
    """Figure 4.7: many starts, of which one is the run."""

    name, parameters, measures = "hopper-scan", ScanParameters, _numbers(NUMBERS)
    resolution = frozenset({"q1_first", "q1_last", "points"})

    def add_observations(
        self, model: Model, seen: Observed, parameters: ScanParameters, progress: Progress
    ) -> Observed:
        """The run with the angular momenta of all starts."""
        angles, spins = scan_leg_angles(model, parameters, progress)
        numbers = about_scan(angles, spins, parameters.q1)
        return replace(seen, numbers=numbers, curves={"q1": angles, "spin": spins})


@study_kind
class HopperBasin(_Hopper[BasinParameters]):
    """A run that converges, and how far its gait can be pushed."""

    name, parameters, measures = "hopper-basin", BasinParameters, _numbers(EDGES)
    resolution = frozenset({"basin_hops", "basin_steps"})

    def add_observations(
        self, model: Model, seen: Observed, parameters: BasinParameters, progress: Progress
    ) -> Observed:
        """The run with the edges of the basin."""
        return replace(seen, numbers=basin(model, seen, parameters, progress))


@study_kind
class HopperSearch(_Hopper[SearchParameters]):
    """A gait, and the random parameters among which it was found."""

    name, parameters, measures = "hopper-search", SearchParameters, _numbers(OF_SEARCH)
    resolution = frozenset({"samples", "trial", "again", "longer"})

    def add_observations(
        self, model: Model, seen: Observed, parameters: SearchParameters, progress: Progress
    ) -> Observed:
        """The run with the results of the search."""
        found = search(model, parameters, progress)
        return replace(seen, numbers=about_search(found), curves=found.region)

    def figures(self, study: Study, seen: Observed) -> Figures:
        """Figures of the search."""
        from .panels import search_figures

        return search_figures(study, seen)


@study_kind
class HopperAttraction(_Hopper[AttractionParameters]):
    """A run that converges, and from which starts its gait is found."""

    name, parameters, measures = "hopper-attraction", AttractionParameters, _numbers(SHARES)
    resolution = frozenset({"leans", "heights", "joints", "speeds", "tolerance"})

    def add_observations(
        self, model: Model, seen: Observed, parameters: AttractionParameters, progress: Progress
    ) -> Observed:
        """The run with the outcomes from all starts."""
        numbers, curves = attraction(model, seen, parameters, progress)
        return replace(seen, numbers=numbers, curves=curves)

    def figures(self, study: Study, seen: Observed) -> Figures:
        """Slices through the grid of starts."""
        from .slices import attraction_figures

        return attraction_figures(seen)


def _throttle(progress: Callable[[float], None]) -> Callable[[float], None]:
    """Passes on every hundredth share only: a step takes microseconds."""
    last = -1.0

    def describe(share: float) -> None:
        nonlocal last
        if share - last >= 0.01:
            last = share
            progress(share)

    return describe
