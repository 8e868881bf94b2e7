"""[Mishra] Table I: what Gamma of Lemma 2 costs beside D_q and D_mu of Theorem 1 and the Christoffel matrix.

Operations are those of the compiled kernels, times those of one state in a batch of 4,096.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc

RESULT = Path(__file__).parent / "results" / "coriolis_forms.json"
ROBOTS = ("two_cylinder_cat", "orbital_arm", "cat", "quadruped", "humanoid", "random tree of 30")
BATCH = 4096


def gamma(model: fc.Model, state: fc.State) -> Any:
    """Lemma 2, (8): the matrix of Lemma 1, changed to the locked velocity."""
    return fc.equations(model, state, "newton_euler").change(fc.changes.locked(model, state)).C


def d_q(model: fc.Model, state: fc.State) -> Any:
    """Theorem 1, the part of the joint rates."""
    return fc.reduced_equations(model, state).D_q


def d_mu(model: fc.Model, state: fc.State) -> Any:
    """Theorem 1, the part of the locked velocity."""
    return fc.reduced_equations(model, state).D_mu


def both(model: fc.Model, state: fc.State) -> Any:
    """Theorem 1, D_q - D_mu: all of it."""
    found = fc.reduced_equations(model, state)
    return found.D_q - found.D_mu


def christoffel(model: fc.Model, state: fc.State) -> Any:
    """The Levi-Civita matrix, in body velocities."""
    return fc.coriolis_matrix(model, state)


FORMS: dict[str, Callable[[fc.Model, fc.State], Any]] = {
    "Gamma": gamma, "D_q": d_q, "D_mu": d_mu, "D_q - D_mu": both, "christoffel": christoffel,
}  # fmt: skip


def robot(name: str) -> fc.Model:
    if name.startswith("random"):
        return fc.robots.random_tree(np.random.default_rng(0), 30, kinds=["revolute"])
    return getattr(fc.robots, name)()


def timed(kernel: Any, q: np.ndarray, v: np.ndarray, repeats: int) -> dict[str, float | None]:
    """Median time of one state (us); none for no repeats."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        kernel(q, v)
        seconds.append(time.perf_counter() - began)
    return {"us": 1e6 * float(np.median(seconds)) / len(q) if seconds else None}


def measure(repeats: int) -> report.Result:
    rows = []
    for name in ROBOTS:
        model, rng = robot(name), np.random.default_rng(0)
        flat = [model.flatten(model.random_state(rng)) for _ in range(64)]
        q, v = (np.tile(np.array(x), (BATCH // 64, 1)) for x in zip(*flat, strict=True))
        for form, function in FORMS.items():
            kernel = fc.compile(model, function)
            count = sum(kernel.operations.values())
            rows.append(
                {"robot": name, "joints": model.n, "form": form, "operations": count} | timed(kernel, q, v, repeats)
            )
    return {"batch": BATCH, "rows": rows}


def show(result: report.Result) -> None:
    table = Table("robot", "joints", *FORMS)
    for name in dict.fromkeys(row["robot"] for row in result["rows"]):
        own = {row["form"]: row for row in result["rows"] if row["robot"] == name}
        cells = [f"{own[f]['operations']:,}" + (f" ({own[f]['us']:.2f} us)" if own[f]["us"] else "") for f in FORMS]
        table.add_row(name, str(next(iter(own.values()))["joints"]), *cells)
    Console(width=160).print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 9, measure, show)
