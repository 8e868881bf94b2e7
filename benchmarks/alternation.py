"""[Feurstein] EXP II and III: in the thesis the angular momentum alternates from hop to hop; what ours depends on.

Parameters are those of the study; integrators run the robot written by hand with the tolerances and fixed steps that
such programs use, and look for the floor once a step, as a program without event location does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import report
from rich.console import Console
from rich.table import Table
from scipy.integrate import BDF, RK23, RK45

import fallingcat as fc
from fallingcat.studies.hoppers.measures import _flight_turns, _spins, large_swings_alternate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracles.plain_hopper import MASSES, TOTAL, L, PlainHopper  # the robot by hand, which the tests compare with

RESULT = Path(__file__).parent / "results" / "alternation.json"
STUDY = fc.studies.load("revolute-2").with_parameters({"E_des": 0.0})  # a number; K_E is 0
FALLEN = 90.0
"""Lean (degrees) from which on a run is one of a leg that fell."""
VARIANTS: list[dict[str, Any]] = [
    {},
    *({"g": g} for g in (9.6, 9.7, 9.75, 9.8, 9.9, 10.0)),
    *({"K_p": K} for K in (4.0, 5.0, 7.0, 8.0)),
    *({"K_r": K} for K in (2000.0, 2100.0, 2300.0, 2400.0)),
    *({"K_floor_x": K, "K_floor_y": K} for K in (5e3, 2e4)),
    *({"D_floor_x": D, "D_floor_y": D} for D in (500.0, 2000.0)),
    {"K_floor_x": 0.0},
    *({"theta": -2.5174 + d} for d in (-0.01, 5e-5, 0.01)),
    {"r_des": 0.1411},
]
OF_EXP_III: list[dict[str, Any]] = [
    {"E_des": "initial"},
    *({"K_E": K} for K in (5.0, 8.0, 9.0, 11.0, 12.0, 15.0, 20.0)),
]


def signs(spins: Any) -> str:
    """
    >>> signs([2.0, -1.0])
    '+-'
    """
    return "".join("+" if x > 0.0 else "-" for x in spins)


def about(what: str, pattern: str, fell: bool) -> report.Result:
    changes = [a != b for a, b in pairwise(pattern)]
    first = changes.index(False) + 1 if False in changes else len(pattern)
    share = 100.0 * float(np.mean(changes)) if changes else None
    return {"what": what, "signs": pattern, "alternate_at_first": first, "share_percent": share, "fell": fell}


def parameters(study: str, variants: list[dict[str, Any]]) -> Iterator[report.Result]:
    """A study with one thing changed."""
    for changes in variants:
        found = fc.studies.run(study, **changes)
        fell = found.observed["alpha"].max() > np.radians(FALLEN) or found.observed["alpha"].min() < -np.radians(FALLEN)
        text = ", ".join(f"{key} = {value}" for key, value in changes.items()) or "as in the study"
        turns = {"turns_degrees": [round(x, 1) for x in _flight_turns(found.observed)]}
        large = float(large_swings_alternate(found.observed))
        swings = {"large_swings_alternate_percent": None if np.isnan(large) else large}
        yield {"study": study} | about(text, signs(_spins(found.observed)), bool(fell)) | turns | swings


class ByStep:
    """The hand-written robot by steps of a program that looks for the floor after each of them."""

    def __init__(self) -> None:
        self.plain, self.spins, self.lift = PlainHopper(STUDY.parameters), [], None
        self.y = self.plain.y

    def slope(self, t: float, y: np.ndarray) -> np.ndarray:
        self.plain.touching = bool(self.plain.point(y, L, L)[0][1] < 0.0)
        return self.plain.slope(t, y)

    def seen(self, t: float, before: np.ndarray, y: np.ndarray) -> None:
        was, foot = self.plain.point(before, L, L)[0][1] < 0.0, self.plain.point(y, L, L)[0]
        if foot[1] < 0.0 and not was:
            self.plain.anchor = float(foot[0])
            if self.lift is not None and t - self.lift >= STUDY.parameters.shortest_flight:
                self.spins.append(spin(self.plain, before))
        elif was and foot[1] >= 0.0:
            self.lift = t


def spin(plain: PlainHopper, y: np.ndarray) -> float:
    """Angular momentum about the center of mass (N m s)."""
    parts = [(m, at, J @ y[4:8]) for m, s, u in MASSES for at, J, _ in [plain.point(y, s, u)]]
    center, drift = (sum(part[0] * part[k] for part in parts) / TOTAL for k in (1, 2))
    return float(sum(m * np.linalg.det([at - center, v - drift]) for m, at, v in parts))


def adaptive(solver: type, tolerance: float) -> str:
    run = ByStep()
    steps = solver(run.slope, 0.0, run.y, STUDY.parameters.duration, rtol=tolerance, atol=1e-6)
    while steps.status == "running":
        before = steps.y.copy()
        try:
            steps.step()
        except ValueError:  # thrown off: no numbers are left
            return ""
        run.seen(steps.t, before, steps.y)
    return signs(run.spins)


def fixed(order: int, h: float) -> str:
    """Explicit Euler or the classical Runge-Kutta method."""
    run = ByStep()
    y = run.y
    for k in range(round(STUDY.parameters.duration / h)):
        before, t = y, k * h
        if order == 1:
            y = y + h * run.slope(t, y)
        else:
            a = run.slope(t, y)
            b = run.slope(t, y + 0.5 * h * a)
            c = run.slope(t, y + 0.5 * h * b)
            y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + run.slope(t, y + h * c))
        if not np.abs(y[:2]).max() < 10.0:
            return ""  # thrown off by the first touchdown
        run.seen(t + h, before, y)
    return signs(run.spins)


def integrators() -> Iterator[report.Result]:
    """Tolerances that programs have by default; atol = 1e-6."""
    for name, solver in (("ode45's method", RK45), ("ode23's method", RK23), ("BDF", BDF)):
        for tolerance in (1e-3, 1e-4, 1e-6):
            yield about(f"{name}, rtol = {tolerance:g}", adaptive(solver, tolerance), False)
    for name, order in (("Euler", 1), ("Runge-Kutta 4", 4)):
        for h in (1e-3, 1e-4, 5e-5, 2e-5):
            found = fixed(order, h)
            yield about(f"{name}, fixed step of {h:g} s", found, not found)


def measure(repeats: int) -> report.Result:
    exp_ii, exp_iii = parameters("revolute-2", VARIANTS), parameters("revolute-3", [*VARIANTS, *OF_EXP_III])
    return {"study": STUDY.name, "rows": [*exp_ii, *exp_iii, *integrators()]}


def show(result: report.Result) -> None:
    table = Table("tried", "signs in flight", "alternate at first", "share (%)", "fell")
    for row in result["rows"]:
        share = "-" if row["share_percent"] is None else f"{row['share_percent']:.0f}"
        table.add_row(row["what"], row["signs"], str(row["alternate_at_first"]), share, "fell" if row["fell"] else "")
    Console().print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 1, measure, show)
