"""Report of a check: one residual for each law, and an error that names the broken one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.checks import choice
from ..errors import BrokenLawError, ModelError, describe
from ..formulations import Check, UnprovedError
from ..model import Model, State
from ..records import concise
from ..simulation import StatusCode, Trajectory


@concise
class Report(NamedTuple):
    """Laws that were checked on a part; ``str()`` is a table.

    Example:
        >>> import fallingcat as fc
        >>> report = fc.testing.check_task(fc.control.PositionTask("end_effector"), fc.robots.planar_arm())
        >>> report.passed, report["goal"].holds
        (True, True)
    """

    subject: str
    checks: tuple[Check, ...]

    @property
    def failures(self) -> tuple[Check, ...]:
        """Laws that do not hold, and those that could not be checked."""
        return tuple(check for check in self.checks if check.claimed and not check.holds)

    @property
    def passed(self) -> bool:
        """True if every law was checked and holds; unproved laws have not passed."""
        return not self.failures and any(check.claimed for check in self.checks)

    def __getitem__(self, name: Any) -> Any:
        """Check by the name of its law; by an index, an entry of the tuple."""
        if isinstance(name, str):
            named = {check.name: check for check in self.checks}
            return named[choice(name, tuple(named), "law")]
        return tuple.__getitem__(self, name)

    def __str__(self) -> str:
        """Table of the laws, one row each."""
        return "\n".join([f"{self.subject}: {'passed' if self.passed else 'FAILED'}", *map(_row, self.checks)])

    @classmethod
    def of(cls, subject: str, checks: Iterator[Check]) -> Report:
        """Settled report of checks; an error of a later law does not hide an earlier failure.

        Args:
            subject: Name of the part.
            checks: Checks, evaluated one after the other.

        Returns:
            Report that has passed.

        Raises:
            BrokenLawError: A law does not hold.
        """
        found: list[Check] = []
        try:
            for check in checks:
                found.append(check)  # noqa: PERF402 - what was found before an error counts
        except BrokenLawError:
            if not cls(subject, tuple(found)).failures:
                raise
        return cls(subject, tuple(found)).settled()

    def settled(self) -> Report:
        """This report if it has passed, else an error that names its first failure.

        Returns:
            The report.

        Raises:
            BrokenLawError: A law does not hold.
        """
        if self.passed:
            return self
        if not self.failures:
            raise BrokenLawError(f"{self.subject}: no law could be checked", self)
        first, *others = self.failures
        more = f"; also {', '.join(repr(check.name) for check in others)}" if others else ""
        raise BrokenLawError(f"{self.subject}: {_sentence(first)}{more}", self)


def _row(check: Check) -> str:
    residual = "        -" if check.reason else f"{check.residual:9.2e}"
    verdict = check.verdict.upper() if not check.holds else check.verdict
    row = f"  {check.name:<16} {residual}  {verdict if check.claimed else 'not claimed':<12} {check.meaning}"
    return f"{row} ({check.reason})" if check.reason else row


def _sentence(check: Check) -> str:
    if check.reason:
        return f"the law {check.name!r} ({check.meaning}) is unproved: {check.reason}"
    size = f"residual {check.residual:.3g}, allowed {check.tolerance:.3g}"
    return f"the law {check.name!r} ({check.meaning}) is broken: {size}"


class Requirement(NamedTuple):
    """Law: its name, meaning, tolerance, and a function that returns its relative residual."""

    name: str
    meaning: str
    tolerance: float
    residual: Callable[..., float]

    def check_cases(self, subject: str, cases: Iterable[tuple[Any, ...]]) -> Check:
        """Check of the worst residual over ``cases``, each the arguments of :attr:`residual`."""
        worst, count = 0.0, 0
        try:
            with self.name_errors(subject):
                for case in cases:
                    count += 1
                    worst = largest(worst, self.residual(*case))
        except UnprovedError as why:
            return self.unproved_check(str(why))
        return self.unproved_check("there are no cases to check") if not count else self.check_residual(worst)

    @contextmanager
    def name_errors(self, subject: str) -> Iterator[None]:
        """Context in which errors of user code name the law that is checked."""
        try:
            yield
        except UnprovedError:
            raise
        except Exception as error:
            what = f"the law {self.name!r} ({self.meaning}) cannot be checked"
            raise BrokenLawError(f"{subject}: {what}: {type(error).__name__}: {error}", None) from error

    def check_residual(self, residual: float) -> Check:
        """Check of a known residual."""
        return Check(self.name, float(residual), self.tolerance, True, self.meaning)

    def unproved_check(self, reason: str, claimed: bool = True) -> Check:
        """Check of a law that could not be evaluated, or that is not claimed."""
        return Check(self.name, float("nan"), self.tolerance, claimed, self.meaning, reason)


def of_type(x: Any, wanted: type, what: str) -> None:
    """Raise an error unless ``x`` is of a type."""
    if not isinstance(x, wanted):
        raise ModelError(f"{what}, got {describe(x)}")


def count(x: Any, what: str) -> None:
    """Raise an error unless this is a positive integer."""
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < 1:
        raise ModelError(f"{what} must be a positive integer, got {describe(x)}")


def generator(seed: Any) -> np.random.Generator:
    """Random generator of a seed."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ModelError(f"seed must be an integer that is not negative, got {describe(seed)}")
    return np.random.default_rng(seed)


def states_of(model: Model, states: Iterable[State] | None, rng: np.random.Generator, count: int) -> list[State]:
    """States at which something is checked: those given, or ``count`` random ones."""
    if states is None:
        return [model.random_state(rng) for _ in range(count)]
    if isinstance(states, State) or not isinstance(states, Iterable):
        raise ModelError(f"states must be a list of states, got {describe(states)}")
    return list(states)


def relative_difference(a: Any, b: Any) -> float:
    """Largest ``|a - b|``, relative to the largest entry of either, and to 1 where they are small; NaN if one is."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return float("inf")
    size = max(1.0, float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        return float(np.abs(a - b).max(initial=0.0)) / size


def largest(*residuals: float) -> float:
    """Largest residual, or NaN if one is: the builtin ``max`` would ignore it."""
    return float(np.max(residuals))


def require_complete(run: Trajectory) -> Trajectory:
    """Run that reached its end; others are unproved."""
    if run.code is not StatusCode.FINISHED:
        raise UnprovedError(f"the run ended early: {run.status}")
    return run
