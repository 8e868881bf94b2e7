"""Outcomes of runs: a code, a reason where they stopped early, and warnings as records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ..records import concise


class StatusCode(Enum):
    """End of a run.

    Example:
        >>> StatusCode("finished") is StatusCode.FINISHED
        True
    """

    FINISHED = "finished"
    """it reached its end; warnings may say that it should not be trusted"""
    EVENT = "event"
    """a terminal event of the caller stopped it"""
    STALLED = "stalled"
    """contacts switch, or steps shrink, without end"""
    FAILED = "failed"
    """numbers are not finite, a step has no solution, or a function of the caller raised an exception"""
    INTERRUPTED = "interrupted"
    """Ctrl-C"""


class DiagnosticKind(Enum):
    """Subject of a warning.

    Example:
        >>> DiagnosticKind("energy balance") is DiagnosticKind.ENERGY_BALANCE
        True
    """

    NOT_FINITE = "not finite"
    """numbers of some robots of a batch are not finite"""
    STALLED = "stalled"
    """some robots of a batch stopped: contacts or steps without end"""
    LOOP_OPEN = "loop open"
    """a loop of the model opened; m or rad"""
    CONTACT_ENERGY = "contact energy"
    """a passive contact gave energy; J"""
    LAW_ENERGY = "law energy"
    """a passive law gave more energy than it held; J"""
    CONTACT_LAW = "contact law"
    """velocities at contacts missed the contact law; m/s"""
    UNRESOLVED_RATE = "unresolved rate"
    """a law acts faster than steps resolve; rad/s"""
    REBOUND = "rebound"
    """steps are too long for the rebound from a floor; s"""
    LATE_SWITCH = "late switch"
    """laws that ask what touches switched within steps; rad/s"""
    ENERGY_BALANCE = "energy balance"
    """work and energy differ; relative to the energy that moved"""
    STEP_ERROR = "step error"
    """the estimated error of steps is large; relative to the motion"""
    SENSITIVE = "sensitive"
    """a tiny change of the start moves the end far, so that no steps make it certain; relative to the motion"""
    JOINT_LIMIT = "joint limit"
    """a joint passed its stop; rad or m"""
    BELOW_GROUND = "below ground"
    """collision shapes of a link without contact points went through the ground; m"""
    OSCILLATION = "oscillation"
    """a joint changes direction with the steps, or with the samples of its controller"""
    UNCONVERGED = "unconverged"
    """contact forces of steps did not converge to those of the contact law; share of the steps"""
    COARSE_STEP = "coarse step"
    """a joint or the base turns too far in a step, however finely it is divided; share of the steps"""
    NOMINAL_STIFFNESS = "nominal stiffness"
    """a law made for the inertias of the model acted on robots with inertias of their own"""


@concise
@dataclass(frozen=True, eq=False)
class Diagnostic:
    """A warning about a run, or about some runs of a batch.

    >>> kind = DiagnosticKind.LOOP_OPEN
    >>> print(Diagnostic(kind, "loops opened by 2e-05", value=2e-5, limit=1e-6, advice="take smaller steps"))
    loops opened by 2e-05; take smaller steps
    """

    kind: DiagnosticKind
    message: str
    """message of one sentence"""
    value: float = np.nan
    """the quantity of :class:`DiagnosticKind`, the largest one of a batch"""
    limit: float = np.nan
    """above which it is reported, in the same unit"""
    advice: str = ""
    """advice"""
    name: str | None = None
    """name of the joint, law or contact point"""
    time: float | None = None
    """s"""
    robots: np.ndarray | None = None
    """indices of the robots of a batch that are concerned; None: the run itself"""

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}" if self.advice else self.message


def status_text(code: StatusCode, reason: str, warnings: Iterable[Diagnostic]) -> str:
    """``status`` of a run: how it ended, and all its warnings.

    >>> status_text(StatusCode.EVENT, "stopped by the event 'apex'", [])
    "stopped by the event 'apex'"
    """
    remarks = "; ".join(map(str, warnings))
    ended = reason or code.value
    return f"{ended}, but {remarks}" if remarks else ended


def as_data(warnings: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """Warnings as plain data, for files and ``--json``."""
    return [_plain(found) for found in warnings]


def _plain(found: Diagnostic) -> dict[str, Any]:
    """Without what is not known, which JSON has no number for."""
    robots = None if found.robots is None else found.robots.tolist()
    record = vars(found) | {"kind": found.kind.value, "robots": robots}
    return {name: x for name, x in record.items() if x is not None and x != "" and x == x}  # NaN differs from itself


def from_data(records: Sequence[dict[str, Any]]) -> tuple[Diagnostic, ...]:
    """The inverse of :func:`as_data`; a ``ValueError`` or ``TypeError`` where they are none."""
    known = set(Diagnostic.__dataclass_fields__)
    if any(not isinstance(record, dict) or not set(record) <= known for record in records):
        raise ValueError("warnings are no records of a run")
    return tuple(_record(**record) for record in records)


def _record(kind: str, message: str, robots: Sequence[int] | None = None, **known: Any) -> Diagnostic:
    which = None if robots is None else np.array(robots, dtype=int)
    return Diagnostic(DiagnosticKind(kind), message, robots=which, **known)
