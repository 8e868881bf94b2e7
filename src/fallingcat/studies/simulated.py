"""Kinds of study that simulate a motion: measures and figures of any motion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import SupportsFloat, TypeVar

from ..simulation import Trajectory
from .kind import Figures, Parameters, StudyKind
from .tables import Study

P = TypeVar("P", bound=Parameters)
R = TypeVar("R")

WORK = "work of "


class SimulatedKind(StudyKind[P, R]):
    """Base class for kinds of study that simulate a motion.

    Beside its own measures every such kind has

    - ``ledger_balance``: change of mechanical energy minus all works, relative to the energy moved or passed on;
    - ``work of PORT``: the work (J) through one port of the ledger, a law or a part of the contact.

    Its page shows the motion, unless it has other :meth:`figures`.

    Example:
        >>> from fallingcat.studies import kind_of
        >>> isinstance(kind_of("hopper"), SimulatedKind)
        True
    """

    further_measures: tuple[str, ...] = ("ledger_balance", "work of PORT")

    @abstractmethod
    def motion(self, seen: R) -> Trajectory:
        """Motion of the run."""

    def measure(self, name: str) -> Callable[[R], SupportsFloat]:
        """Measure by name, those of any motion included."""
        if name == "ledger_balance":
            return lambda seen: self.motion(seen).energy_residual
        if name.startswith(WORK):
            return partial(self._work, name.removeprefix(WORK))
        return super().measure(name)

    def _work(self, port: str, seen: R) -> float:
        ledger = self.motion(seen).ledger
        if port not in ledger.ports:
            return 0.0
        k = ledger.ports.index(port)
        return float(ledger.base[-1, k] + ledger.joints[-1, k])

    def figures(self, study: Study, seen: R) -> Figures:
        """Animation and charts of the run."""
        return Figures(self.motion(seen).animate().blocks)
