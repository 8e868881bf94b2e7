"""Points of a sweep: every point of a grid, or a Latin hypercube in its box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ...caching import cached_property
from ...errors import FallingCatError, ModelError, describe
from ..tables import Study

Value = float | int | str | bool
MAX_RUNS = 2_000_000_000
"""Points of a grid: see the cost model in docs/explanation/sweep_design.md."""
MAX_ALONG = 10_000_000
"""Values along one axis: more are a mistake in a count."""


@dataclass(frozen=True)
class Grid:
    """Every combination of values, the last parameter the fastest.

    >>> grid = Grid({"q1": (1.0, 2.0), "K_p": (6.0, 7.0, 8.0)})
    >>> grid.shape, grid.parameters_of(4)
    ((2, 3), {'q1': 2.0, 'K_p': 7.0})
    """

    axes: Mapping[str, tuple[Value, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Values along each axis."""
        return tuple(map(len, self.axes.values()))

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes: the parameters."""
        return tuple(self.axes)

    @property
    def coordinates(self) -> dict[str, tuple[str, np.ndarray]]:
        """Parameter: along which axis, and its values there."""
        return {name: (name, np.array(values)) for name, values in self.axes.items()}

    def parameters_of(self, run: int) -> dict[str, Value]:
        """The parameters of a run."""
        places = np.unravel_index(run, self.shape)
        return {name: values[k] for (name, values), k in zip(self.axes.items(), places, strict=True)}

    def data(self) -> dict[str, Any]:
        """All that it is, for JSON."""
        return {"grid": {name: list(values) for name, values in self.axes.items()}}


@dataclass(frozen=True)
class Sample:
    """A Latin hypercube: ``count`` points, each parameter once in each of ``count`` equal parts of its range.

    >>> sample = Sample({"x": (0.0, 4.0)}, 4, seed=0)
    >>> sorted(int(sample.parameters_of(k)["x"]) for k in range(4))
    [0, 1, 2, 3]
    """

    ranges: Mapping[str, tuple[float, float]]
    count: int
    seed: int = 0
    dims = ("sample",)

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis."""
        return (self.count,)

    @property
    def coordinates(self) -> dict[str, tuple[str, np.ndarray]]:
        """Parameter: its values along the sample."""
        return {name: ("sample", values) for name, values in self._values.items()}

    @cached_property
    def _values(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(self.seed)
        shares = {name: (rng.permutation(self.count) + rng.random(self.count)) / self.count for name in self.ranges}
        return {name: low + (high - low) * shares[name] for name, (low, high) in self.ranges.items()}

    def parameters_of(self, run: int) -> dict[str, Value]:
        """The parameters of a run."""
        return {name: float(values[run]) for name, values in self._values.items()}

    def data(self) -> dict[str, Any]:
        """All that it is, for JSON."""
        ranges = {name: list(ends) for name, ends in self.ranges.items()}
        return {"sample": {"count": self.count, "seed": self.seed, "ranges": ranges}}


Points = Grid | Sample


def points_of(study: Study, axes: Mapping[str, Iterable[Value]], sample: int | None, seed: int) -> Points:
    """The points of a sweep over parameters of a study; of a sample, values give the range."""
    if not isinstance(axes, Mapping) or not axes:
        raise ModelError(f"grid is a mapping from parameters to values, at least one, not {describe(axes)}")
    values, runs = {}, 1
    for name, given in axes.items():
        values[name] = _axis_values(study, name, given)
        runs *= len(values[name])
        if sample is None and runs > MAX_RUNS:
            raise ModelError(f"a grid has at most {MAX_RUNS:,} points; with {name!r} it has {runs:,}")
    if sample is None:
        return Grid(values)
    if isinstance(sample, bool) or not isinstance(sample, int) or not 1 <= sample <= MAX_ALONG:
        raise ModelError(f"sample is a whole number from 1 to {MAX_ALONG:,}, not {describe(sample)}")
    for name, along in values.items():
        if not all(type(x) is float for x in along):
            raise ModelError(f"a sample takes parameters that are real numbers, not {name!r} with {along[0]!r}")
    ends = {name: np.array(along, dtype=float) for name, along in values.items()}
    return Sample({name: (float(x.min()), float(x.max())) for name, x in ends.items()}, sample, seed)


def _axis_values(study: Study, name: str, given: Iterable[Value]) -> tuple[Value, ...]:
    """Values along one axis, as the parameter takes them: whole numbers where it takes nothing else."""
    if name not in study.kind.parameters.model_fields:
        study.with_parameters({name: 0.0})  # raises, and says which there are
    values = tuple(x.item() if isinstance(x, np.generic) else x for x in value_list(name, given))
    if not all(isinstance(x, (float, int, str)) for x in values) or not all(map(_finite, values)):
        raise ModelError(f"the values of {name!r} are finite numbers or words")
    if len(set(values)) < len(values):
        raise ModelError(f"the values of {name!r} differ from each other")
    whole = all(isinstance(x, (int, float)) and float(x).is_integer() for x in values)
    if whole and not _accepts(study, name, float(values[0])) and _accepts(study, name, int(values[0])):
        return tuple(map(int, values))
    return tuple(float(x) for x in values) if all(type(x) in (int, float) for x in values) else values


def value_list(name: str, given: Any) -> list[Any]:
    """Values of a parameter, at least one; of what may have no end no more are read than a grid may have."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ModelError(f"the values of {name!r} are a list of them, not {describe(given)}")
    values = list(islice(given, MAX_ALONG + 1))
    if not values:
        raise ModelError(f"grid has no values of {name!r}: give at least one")
    if len(values) > MAX_ALONG:
        raise ModelError(f"there are 1 to {MAX_ALONG:,} values of {name!r}, not more")
    return values


def _finite(value: Value) -> bool:
    return isinstance(value, str) or bool(np.isfinite(value))


def _accepts(study: Study, name: str, value: Value) -> bool:
    try:
        study.with_parameters({name: value})
    except FallingCatError:
        return False
    return True


def linear(text: str) -> list[Value]:
    """The values in ``start:stop:count``, or ``start:stop``, its ends.

    >>> linear("-40:40:5"), linear("0.2:0.5")
    ([-40.0, -20.0, 0.0, 20.0, 40.0], [0.2, 0.5])
    """
    parts: Sequence[str] = text.split(":")
    rule = f"is start:stop:count, numbers and a whole number, not {text!r}"
    try:
        ends = [float(part) for part in parts[:2]]
        count = int(parts[2]) if len(parts) == 3 else 2
    except ValueError:
        raise FallingCatError(rule) from None
    if len(parts) not in (2, 3) or not np.isfinite(ends).all() or not 1 <= count <= MAX_ALONG:
        raise FallingCatError(rule)
    return [float(x) for x in np.linspace(ends[0], ends[1], count)]
