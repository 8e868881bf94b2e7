"""A humanoid under JAX: time to the first answer and for each call, kernels beside the functions that XLA compiles.

Processor time, nothing from a cache.  XLA is asked for what it compiles within a minute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import report
from rich.console import Console
from rich.table import Table

import fallingcat as fc
from fallingcat.compiler.cpu import native

RESULT = Path(__file__).parent / "results" / "jax_kernels.json"
BATCH, STEPS, DT = 4096, 1000, 1e-3
LEAST = 0.3
"""seconds of calls that are timed together"""
ALL = (0, 1, 2)


class Case(NamedTuple):
    """What is asked of a function of ``(model, q, v, u)``."""

    function: Callable[..., Any]
    asked: Callable[[Any], Any]
    arguments: tuple[Any, ...]
    states: int = 1
    xla: bool = False
    """whether XLA compiles it within a minute"""


def dynamics(model: fc.Model, q: Any, v: Any, u: Any) -> Any:
    return fc.forward_dynamics(model, model.unflatten(q, v), u)


def step(model: fc.Model, q: Any, v: Any, u: Any) -> tuple[Any, Any]:
    """The momentum-exact step of a flight: forward dynamics six times."""
    return advance(model)(q, v, u[model.m :])


@lru_cache
def advance(model: fc.Model) -> Any:
    return fc.simulation.step(model, dt=DT, passive=False, target="numpy")


def cases(model: fc.Model) -> dict[str, Case]:
    rng = np.random.default_rng(0)
    q, v = map(jnp.asarray, model.flatten(model.random_state(rng)))
    x = (q, v, jnp.asarray(rng.normal(size=model.nv)))
    many = tuple(jnp.tile(a, (BATCH, 1)) for a in x)

    def scanned(f: Any) -> Any:
        def height(u: Any) -> Any:
            return jax.lax.scan(lambda at, _: (f(*at, u), None), (q, v), None, length=STEPS)[0][0][2]

        return height

    def gradient(f: Any) -> Any:
        return jax.grad(lambda *x: jnp.sum(f(*x) ** 2), ALL)

    return {
        "forward dynamics": Case(dynamics, lambda f: f, x, xla=True),
        "a batch of it": Case(dynamics, jax.vmap, many, BATCH),
        "a gradient of it": Case(dynamics, gradient, x, xla=True),
        "a batch of gradients": Case(dynamics, lambda f: jax.vmap(gradient(f)), many, BATCH),
        "its Jacobian": Case(dynamics, lambda f: jax.jacrev(f, ALL), x),
        "a step": Case(step, lambda f: f, x),
        "a scan of steps": Case(step, scanned, x[2:], STEPS),
        "the gradient of a scan": Case(step, lambda f: jax.grad(scanned(f)), x[2:], STEPS),
        "the Jacobian of a step": Case(step, lambda f: jax.jacfwd(f, ALL), x),
    }


def row(case: Case, make: Callable[[Callable[..., Any]], Any]) -> dict[str, float]:
    jax.clear_caches()
    start = time.process_time()
    made = jax.jit(case.asked(make(case.function)))
    jax.block_until_ready(made(*case.arguments))
    first, count = time.process_time(), 0
    while time.process_time() - first < LEAST:
        jax.block_until_ready(made(*case.arguments))
        count += 1
    return {"first_s": first - start, "us": 1e6 * (time.process_time() - first) / (count * case.states)}


def measure(repeats: int) -> dict[str, Any]:
    os.environ["FALLINGCAT_CACHE"] = "off"
    jax.config.update("jax_enable_x64", True)
    model, hopper = fc.robots.humanoid(), fc.robots.revolute_hopper()

    def kernel(function: Callable[..., Any], model: fc.Model = model) -> Any:
        sizes = {"q": model.nq, "v": model.nv, "u": model.nv}
        return fc.compile(model, function, target="jax", inputs=sizes)

    kernel(dynamics, hopper)(np.zeros(hopper.nq), np.zeros(hopper.nv), np.zeros(hopper.nv))  # imports everything
    rows: dict[str, Any] = {}
    for name, case in cases(model).items():
        found = [row(case, kernel) for _ in range(repeats)]
        rows[name] = {"kernel": {key: float(np.median([r[key] for r in found])) for key in found[0]}}
        if case.xla:
            rows[name]["XLA"] = row(case, lambda function: partial(function, model))
    versions = {"jax": jax.__version__, "fallingcat": fc.__version__}
    return {"repeats": repeats, "processor": native.cpu().name, "versions": versions, "rows": rows}


def show(result: dict[str, Any]) -> None:
    table = Table("humanoid, 30 joints", "first answer (s)", "a state (us)", "XLA: first answer (s)", "a state (us)")
    for name, ways in result["rows"].items():
        cells = [ways.get(way, {}) for way in ("kernel", "XLA")]
        table.add_row(name, *(f"{c[key]:.2f}" if key in c else "-" for c in cells for key in ("first_s", "us")))
    Console().print(table)


if __name__ == "__main__":
    report.main(__doc__, RESULT, 3, measure, show)
