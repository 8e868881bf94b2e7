"""Processor time from a model to its kernel and to the first batch, for chains of up to 500 joints: linear."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.compiler.cpu import native
from fallingcat.lie import SE3
from fallingcat.model import Joint, Link, Model, Revolute

JOINTS = (31, 62, 125, 250, 500)
FUNCTIONS = (fc.inverse_dynamics, fc.forward_dynamics)
RESULT = Path(__file__).parent / "results" / "compile_times.json"


def chain(joints: int) -> Model:
    """Hinges about x, y, z in turn on a free base, bodies and places all different."""
    rng = np.random.default_rng(0)

    def link(i: int) -> Link:
        return Link(f"link{i}", fc.Body(1.0, 0.1 * rng.normal(size=3), np.diag([0.1, 0.2, 0.25])))

    def joint(i: int) -> Joint:
        place = np.eye(4)
        place[:3, 3] = 0.2 * rng.normal(size=3)
        return Joint(f"joint{i}", Revolute(tuple(np.eye(3)[i % 3])), f"link{i}", f"link{i + 1}", place)

    return Model("chain", SE3(), tuple(map(link, range(joints + 1))), tuple(map(joint, range(joints))))


def row(joints: int, function: Callable[..., Any]) -> dict[str, Any]:
    model = chain(joints)
    start = time.process_time()
    kernel = fc.compile(model, function)
    made = time.process_time()
    kernel(*(np.zeros((2, argument.size)) for argument in kernel.signature))
    operations = sum(kernel.operations.values())
    compile_s, batch_s = made - start, time.process_time() - made
    return {
        "function": function.__name__,
        "joints": joints,
        "operations": operations,
        "compile_s": compile_s,
        "first_batch_s": batch_s,
        "us_per_operation": 1e6 * (compile_s + batch_s) / operations,
    }


def measure(repeats: int) -> dict[str, Any]:
    os.environ["FALLINGCAT_CACHE"] = "off"
    fc.compile(chain(2), fc.mass_matrix)  # imports LLVM
    rows = []
    for function in FUNCTIONS:
        for joints in JOINTS:
            found = [row(joints, function) for _ in range(repeats)]
            rows.append(min(found, key=lambda r: r["compile_s"] + r["first_batch_s"]))
    return {"repeats": repeats, "processor": native.cpu().name, "rows": rows}


def show(result: dict[str, Any]) -> None:
    table = Table("function", "joints", "operations", "compile (s)", "first batch (s)", "us for each operation")
    for r in result["rows"]:
        times = (f"{r[name]:.2f}" for name in ("compile_s", "first_batch_s", "us_per_operation"))
        table.add_row(r["function"], str(r["joints"]), f"{r['operations']:,}", *times)
    Console().print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 1, measure, show)
