"""Kernels of a humanoid under JAX: time to the first answer and for each call, machine code beside XLA's own.

Processor time, nothing from a cache.  XLA compiles the program itself only where that ends within a minute.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.kernels.cpu import native
from fallingcat.kernels.xla import function

RESULT = Path(__file__).parent / "results" / "jax_kernels.json"
BATCH, STEPS, DT = 4096, 1000, 1e-3
LEAST = 0.3
"""seconds of calls that are timed together"""
ALL = (0, 1, 2)


class Case(NamedTuple):
    """What is asked of a compiled function."""

    compiled: Callable[[], Any]
    asked: Callable[[Any], Any]
    arguments: tuple[Any, ...]
    states: int = 1
    xla: bool = False
    """whether XLA compiles it within a minute"""


def step(model: fc.Model, q: Any, v: Any, u: Any) -> tuple[Any, Any]:
    v = v + DT * fc.forward_dynamics(model, model.unflatten(q, v), u)
    return model.integrate(q, DT * v), v


def cases(model: fc.Model) -> dict[str, Case]:
    rng = np.random.default_rng(0)
    q, v = map(jnp.asarray, model.flatten(model.random_state(rng)))
    x = (q, v, jnp.asarray(rng.normal(size=model.nv)))
    many = tuple(jnp.tile(a, (BATCH, 1)) for a in x)
    sizes = {"q": model.nq, "v": model.nv, "u": model.nv}

    def dynamics() -> Any:
        return fc.compile(model, fc.forward_dynamics, target="jax")

    def one_step() -> Any:
        return fc.compile(model, step, target="jax", inputs=sizes)

    def scanned(f: Any) -> Any:
        def height(u: Any) -> Any:
            return jax.lax.scan(lambda at, _: (f(*at, u), None), (q, v), None, length=STEPS)[0][0][2]

        return height

    def square(f: Any) -> Any:
        return lambda *x: jnp.sum(f(*x) ** 2)

    return {
        "forward dynamics": Case(dynamics, lambda f: f, x, xla=True),
        "a batch of it": Case(dynamics, jax.vmap, many, BATCH, xla=True),
        "a gradient of it": Case(dynamics, lambda f: jax.grad(square(f), ALL), x),
        "a batch of gradients": Case(dynamics, lambda f: jax.vmap(jax.grad(square(f), ALL)), many, BATCH),
        "its Jacobian": Case(dynamics, lambda f: jax.jacrev(f, ALL), x),
        "a step": Case(one_step, lambda f: f, x, xla=True),
        "a scan of steps": Case(one_step, scanned, x[2:], STEPS),
        "the gradient of a scan": Case(one_step, lambda f: jax.grad(scanned(f)), x[2:], STEPS),
        "the Jacobian of a step": Case(one_step, lambda f: jax.jacfwd(f, ALL), x),
    }


def row(case: Case) -> dict[str, float]:
    jax.clear_caches()
    start = time.process_time()
    made = jax.jit(case.asked(case.compiled()))
    jax.block_until_ready(made(*case.arguments))
    first, count = time.process_time(), 0
    while time.process_time() - first < LEAST:
        jax.block_until_ready(made(*case.arguments))
        count += 1
    each = (time.process_time() - first) / (count * case.states)
    return {"first_s": first - start, "us": 1e6 * each}


def measure(repeats: int) -> dict[str, Any]:
    os.environ["FALLINGCAT_CACHE"] = "off"
    jax.config.update("jax_enable_x64", True)
    fc.compile(fc.robots.revolute_hopper(), fc.mass_matrix, target="jax")(np.zeros(4))  # imports everything
    rows: dict[str, Any] = {}
    machine, xla = function._reason, lambda: "benchmark"
    warnings.simplefilter("ignore")  # XLA's own way is asked for
    for name, case in cases(fc.robots.humanoid()).items():
        for way, reason in (("machine code", machine), ("XLA", xla)):
            function._reason = reason
            if reason is machine or case.xla:
                found = [row(case) for _ in range(repeats if reason is machine else 1)]
                rows.setdefault(name, {})[way] = {key: float(np.median([r[key] for r in found])) for key in found[0]}
    versions = {"jax": jax.__version__, "fallingcat": fc.__version__}
    return {"repeats": repeats, "processor": native.cpu().name, "versions": versions, "rows": rows}


def show(result: dict[str, Any]) -> None:
    table = Table("humanoid, 30 joints", "first answer (s)", "a state (us)", "XLA: first answer (s)", "a state (us)")
    for name, ways in result["rows"].items():
        cells = [ways.get(way, {}) for way in ("machine code", "XLA")]
        table.add_row(name, *(f"{c[key]:.2f}" if key in c else "-" for c in cells for key in ("first_s", "us")))
    Console().print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 3, measure, show)
