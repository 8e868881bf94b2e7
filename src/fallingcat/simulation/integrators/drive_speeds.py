"""Speed limits of drives at the end of a step, where all forces decide which of the drives lose theirs.

Beside its speed limit a drive has a share of its force, which falls from 1 to 0 over the last part of the speed.  That
is linear in three ranges; a sweep takes each drive to be in that in which the sweep before has ended.  A joint that
stands, whatever its drive exerts, is not braked.  Steps without sweeps foresee their end by the reactions in the step
before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import less, maximum, minimum, scale, where
from ...control.laws.carried_inertia import carried_inertia
from ...control.laws.drive_limits import SPEED_FADE, limited_rates, limits_of_rates, limits_speeds
from ...control.laws.springs import on_rates
from ...model import Model, State
from ..problem.problem import Problem
from .linearized_forces import LinearizedForce


def speed_limit_law(problem: Problem) -> str | None:
    """Name of the law of a problem that limits the speeds of drives, if there is one."""
    return next((law.name for law in problem.laws if limits_speeds(law, problem.model)), None)


UNBOUNDED_MARGIN = 1e9
"""Speed that is left, relative to the range over which forces fade: no bound."""
MIN_CHANGE = 1e-6
"""Change of the speed that is left, relative to that range, over which a secant is not taken."""


class DriveSpeeds(NamedTuple):
    """Drives with speed limits in a sweep of a step; ``k`` joint rates.

    Their speed that is left is relative to the range over which forces fade: these are whole from 1 on, and zero below
    0.
    """

    model: Model
    name: str
    """name of the law"""
    rates: np.ndarray
    """places of the rates"""
    before: Any
    """``k``: speed that is left at the rates before the step"""
    fall: Any
    """``k``: by which it falls with the rates (s/rad or s/m)"""
    force: Any
    """``k``: forces of drives whose speed is not limited, but for what falls with the change of rates (N m or N)"""
    at: Any
    """``k``: speed that is left where the sweep is linearized"""

    @classmethod
    def begun(cls, problem: Problem, state: State, linear_forces: dict[str, LinearizedForce]) -> DriveSpeeds | None:
        """Drives before the first sweep, given the linearized forces without speed limits."""
        model, name = problem.model, speed_limit_law(problem)
        if name is None:
            return None
        rates, zero = np.flatnonzero(limited_rates(model, "velocity")), np.zeros(model.n)
        drives = [linear_forces[each] for each in dict.fromkeys((*problem.driven_ports, name)) if each in linear_forces]
        force = sum((one.at_end(state.rates, zero)[model.m :] for one in drives), start=zero)[rates]
        top, v, none = limits_of_rates(model, "velocity")[rates], state.rates[rates], 0.0 * force
        per_rate, back = 1.0 / (SPEED_FADE * top), less(force, 0.0)
        left, fall = (top - where(back, -v, v)) * per_rate, where(back, none - per_rate, none + per_rate)
        return cls(model, name, rates, left, fall, force, left)

    def taken(self) -> LinearizedForce:
        """Linearized force of the speed limits alone."""
        none = 0.0 * self.force
        force = self._in_range(-self.force, self.force * (self.before - 1.0), none)
        gain = self._in_range(none, self.force * self.fall, none)
        return self._force(force, gain)

    def _force(self, force: Any, gain: Any) -> LinearizedForce:
        """Linearized force of these drives, with ``k`` forces and gains."""
        zero, gains = np.zeros(self.model.n), on_rates(self.model, self.rates, gain)[self.model.m :]
        return LinearizedForce(on_rates(self.model, self.rates, force), zero, gains)

    def foreseen(self, load: Any, dt: Any) -> LinearizedForce:
        """Linearized force of the speed limits in a step of ``dt`` (s) that is solved once.

        A drive alone moves at least the inertia that its joint carries, so with the share ``s`` of its force that is
        left at the end, ``left = free - heavy s`` there.  What resists it, as the ground does a leg that stands, is
        the ``load`` (k, N m or N) by reactions in the step before; no more than the drive pushes is counted.  The force
        is right at that end, if it comes, and in between never more than the whole.
        """
        pushed = scale(dt, self.fall) / carried_inertia(self.model)[self.rates]
        heavy, none = pushed * self.force, 0.0 * self.force
        free = self.before + minimum(maximum(-pushed * load, none), heavy)
        begins, ends = self.share, self._replace(at=free / (1.0 + heavy)).share
        way = free - heavy * ends - self.before
        moves = less(MIN_CHANGE**2, way * way)
        secant = (ends - begins) / where(moves, way, none + 1.0)
        slope = where(moves, secant, self._in_range(none, none + 1.0, none))
        return self._force(self.force * (begins - 1.0), self.force * self.fall * slope)

    def limited(
        self, linear_forces: dict[str, LinearizedForce], taken: LinearizedForce | None = None
    ) -> dict[str, LinearizedForce]:
        """Linearized forces of all laws with the speed limits, which are :meth:`taken` if they are not given."""
        cut, taken = linear_forces[self.name], taken or self.taken()
        return linear_forces | {self.name: LinearizedForce(cut.forces + taken.forces, cut.drift, cut.gain + taken.gain)}

    def moved(self, change: Any) -> DriveSpeeds:
        """Drives linearized where the rates (n) of joints change by this in the step."""
        return self._replace(at=self.before - self.fall * change[self.rates])

    def next(self, change: Any) -> tuple[DriveSpeeds, Any]:
        """Drives for another sweep, after one with this change of rates (n), and how far they left their range (k).

        None passes from its whole force to no force at once: sweeps could go to and fro between these.
        """
        left, none = self.moved(change).at, 0.0 * self.at
        least, most = (
            self._in_range(none - UNBOUNDED_MARGIN, none, none + 1.0),
            self._in_range(none, none + 1.0, none + UNBOUNDED_MARGIN),
        )
        within = minimum(maximum(left, least), most)
        # half a range further at most: Newton's method on a function with kinks may jump from one to the other for ever
        beyond = minimum(maximum(left - within, none - 0.5), none + 0.5)
        return self._replace(at=within + beyond), beyond

    @property
    def share(self) -> Any:
        """``k``: share of their force that drives have where the sweep is linearized."""
        none = 0.0 * self.at
        return minimum(maximum(self.at, none), none + 1.0)

    def _in_range(self, empty: Any, fading: Any, whole: Any) -> Any:
        """``k``: numbers for drives without force, with part of it, and with all of it."""
        return where(less(self.at, 0.0), empty, where(less(self.at, 1.0), fading, whole))
