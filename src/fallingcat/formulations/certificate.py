"""Certificates: what a set of equations claims, checked against quantities that it was not made from.

Each claim holds, is broken, or is unproved; what is unproved has not passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..arrays import is_numeric
from ..dynamics.checks import choice, positive
from ..errors import ModelError
from ..model.literals import FACTORIZATIONS
from ..records import concise, html_table
from .claims import OF_ALL, Claim, named_claims
from .equations import EquationsOfMotion
from .evidence import Evidence, UnprovedError
from .links import Links


class Check(NamedTuple):
    """Check of one property: its relative residual, and whether the equations claim it.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> fc.equations(cat, cat.neutral()).certify()["symmetry"].verdict
        'holds'
    """

    name: str
    """property"""
    residual: float
    """NaN where it could not be had"""
    tolerance: float
    """largest residual with which it holds"""
    claimed: bool
    """True if the equations claim the property"""
    meaning: str
    """property in words or as an equation"""
    reason: str = ""
    """reason why there is no residual"""

    @property
    def verdict(self) -> str:
        """Verdict ``holds``, ``broken`` or ``unproved``; of a residual that is not a number, ``broken``."""
        if self.reason:
            return "unproved"
        return "holds" if self.residual <= self.tolerance else "broken"

    @property
    def holds(self) -> bool:
        """True if the residual is within the tolerance."""
        return self.verdict == "holds"


@concise
class Certificate(NamedTuple):
    """Checks of one set of equations; ``str()`` is a table.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> certificate = fc.equations(cat, cat.neutral()).certify()
        >>> certificate.passed, certificate["passivity"].holds
        (True, True)
    """

    formulation: str
    """name of the change of velocity"""
    factorization: str
    """that of the Coriolis matrix"""
    checks: tuple[Check, ...]
    """checks of all properties, claimed or not"""

    @property
    def claims(self) -> tuple[Check, ...]:
        """Checks of what is claimed."""
        return tuple(check for check in self.checks if check.claimed)

    @property
    def verdict(self) -> str:
        """Verdict ``broken`` if one claim is, else ``unproved`` if one claim is (or there is none), else ``holds``."""
        verdicts = {check.verdict for check in self.claims} or {"unproved"}
        return next(verdict for verdict in ("broken", "unproved", "holds") if verdict in verdicts)

    @property
    def passed(self) -> bool:
        """True if everything that is claimed is proved."""
        return self.verdict == "holds"

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, str):
            named = {check.name: check for check in self.checks}
            return named[choice(name, tuple(named), "check")]
        return tuple.__getitem__(self, name)

    def __str__(self) -> str:
        return "\n".join([self._title, *map(_row, self.checks)])

    def _repr_html_(self) -> str:
        rows = [(check.name, _residual(check), _verdict(check), check.meaning, check.reason) for check in self.checks]
        return html_table(self._title, rows, ("check", "residual", "verdict", "meaning", "reason"))

    @property
    def _title(self) -> str:
        word = {"holds": "passed", "broken": "FAILED", "unproved": "UNPROVED"}[self.verdict]
        return f"{self.formulation} equations, {self.factorization} matrix: {word}"


def _row(check: Check) -> str:
    row = f"  {check.name:<18} {_residual(check):>9}  {_verdict(check):<12} {check.meaning}"
    return f"{row} ({check.reason})" if check.reason and check.claimed else row


def _residual(check: Check) -> str:
    return "-" if check.reason else f"{check.residual:.2e}"


def _verdict(check: Check) -> str:
    word = {"holds": "holds", "broken": "BROKEN", "unproved": "UNPROVED"}[check.verdict]
    return word if check.claimed else "not claimed"


def certify(eom: EquationsOfMotion, tolerance: float = 1e-9, seen: Evidence | None = None) -> Certificate:
    """Check a set of equations; see :meth:`EquationsOfMotion.certify`.

    ``seen`` is the evidence for its robot, state and change, for certificates that share it.
    """
    positive(tolerance, "tolerance")
    choice(eom.factorization, FACTORIZATIONS, "factorization")
    change = eom.changes
    if not all(map(is_numeric, (eom.M, eom.C, eom.g, eom.Mdot, eom.v, change.T, change.T_dot, change.inverse))):
        raise ModelError("certificates are of plain numbers: certify the equations at a state of floats")
    against = Evidence(Links(eom.model, eom.state), change) if seen is None else seen

    def check(claim: Claim) -> Check:
        claimed = eom.factorization in claim.factorizations
        return check_residual(claim.name, claim.meaning, lambda: claim.residual(eom, against), tolerance, claimed)

    claims: Sequence[Claim] = (*OF_ALL, *named_claims(change.claims))
    return Certificate(eom.name, eom.factorization, tuple(map(check, claims)))


def check_residual(
    name: str, meaning: str, residual: Callable[[], float], tolerance: float, claimed: bool = True
) -> Check:
    """Check of a residual, which may be unproved."""
    try:
        return Check(name, float(residual()), tolerance, claimed, meaning)
    except UnprovedError as why:
        return Check(name, float("nan"), tolerance, claimed, meaning, str(why) or "no reason is given")
