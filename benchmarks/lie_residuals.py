"""How exactly the groups obey their laws: the worst residual of each law over many random cases, for every group."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from rich.console import Console
from rich.table import Table

from fallingcat.lie import Group
from fallingcat.single_body import body_coriolis_matrix, coriolis_from_series

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "lie_residuals.json"
sys.path.insert(0, str(ROOT / "tests" / "support"))

from laws import GROUPS, algebra, name  # noqa: E402  (the groups and random points of the tests)

Law = Callable[[Group, np.random.Generator], tuple[Any, Any]]


def log_of_exp(angle: float | None) -> Law:
    def law(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
        x = algebra(G, rng, angle)
        return G.log(G.exp(x)), x

    return law


def at_pi(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    g = G.exp(algebra(G, rng, np.pi))  # x and -x are the same rotation: compare elements
    return G.exp(G.log(g)), g


def associative(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    f, g, h = (G.random(rng) for _ in range(3))
    return G.compose(f, G.compose(g, h)), G.compose(G.compose(f, g), h)


def inverse(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    g = G.random(rng)
    return G.compose(g, G.inverse(g)), G.identity()


def exp_is_expm(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x = algebra(G, rng)
    return G.exp(x), scipy.linalg.expm(G.hat(x))


def bracket(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x, y = algebra(G, rng), algebra(G, rng)
    return G.hat(G.ad(x) @ y), G.hat(x) @ G.hat(y) - G.hat(y) @ G.hat(x)


def jacobi(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x, y, z = (algebra(G, rng) for _ in range(3))
    return G.ad(G.ad(x) @ y) @ z, G.ad(x) @ (G.ad(y) @ z) - G.ad(y) @ (G.ad(x) @ z)


def ad_of_exp(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x = algebra(G, rng)
    return G.Ad(G.exp(x)), scipy.linalg.expm(G.ad(x))


def adt(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x, h = algebra(G, rng), rng.normal(size=G.dim)
    return G.ad(x).T @ h, G.adt(h) @ x


def dexp_is_the_series(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x = algebra(G, rng, 10.0 ** rng.uniform(-12.0, np.log10(np.pi)))
    total, power = np.zeros((G.dim, G.dim)), np.eye(G.dim)
    for k in range(1, 40):
        total += power
        power = power @ G.ad(x) / (k + 1)
    return G.dexp_left(x), total


def dexp_left_and_right(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x = algebra(G, rng)
    return G.dexp_left(x), G.Ad(G.exp(x)) @ G.dexp_right(x)


def dexp_inverse(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x = algebra(G, rng)
    return G.dexp_right(x) @ G.dexp_right_inverse(x), np.eye(G.dim)


def dexp_is_the_derivative(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    x, dx = algebra(G, rng), rng.normal(size=G.dim)
    return G.inverse(G.exp(x)) @ np.imag(G.exp(x + 1e-30j * dx)) / 1e-30, G.hat(G.dexp_right(x) @ dx)


def coordinates(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    g = G.random(rng)
    return G.element(G.coordinates(g)), g


def coriolis(G: Group, rng: np.random.Generator) -> tuple[Any, Any]:
    v, root = algebra(G, rng), rng.normal(size=(G.dim, G.dim))
    M = root @ root.T
    C = body_coriolis_matrix(G, M, v)
    return np.concatenate([C, (C @ v)[:, None]], axis=1), np.concatenate(
        [coriolis_from_series(G, M @ v), -(G.ad(v).T @ M @ v)[:, None]], axis=1
    )


LAWS: dict[str, Law] = {
    "f (g h) = (f g) h": associative,
    "g g^-1 = 1": inverse,
    "exp = expm(hat)": exp_is_expm,
    "log(exp(x)) = x, any angle": log_of_exp(None),
    "log(exp(x)) = x, 1e-8 rad": log_of_exp(1e-8),
    "log(exp(x)) = x, pi - 1e-3": log_of_exp(np.pi - 1e-3),
    "log(exp(x)) = x, pi - 1e-6": log_of_exp(np.pi - 1e-6),
    "log(exp(x)) = x, pi - 1e-9": log_of_exp(np.pi - 1e-9),
    "exp(log(g)) = g, pi": at_pi,
    "hat(ad(x) y) = commutator": bracket,
    "Jacobi identity": jacobi,
    "Ad(exp) = expm(ad)": ad_of_exp,
    "ad(x)' h = adt(h) x": adt,
    "dexp = series, 1e-12 to pi": dexp_is_the_series,
    "dexp_left = Ad dexp_right": dexp_left_and_right,
    "dexp dexp^-1 = 1": dexp_inverse,
    "dexp = complex step of exp": dexp_is_the_derivative,
    "element(coordinates(g)) = g": coordinates,
    "C = -adt(M v), From (57)": coriolis,
}


def residual(law: Law, G: Group, cases: int, rng: np.random.Generator) -> float:
    """The largest entry of left minus right, over the size of the right side where that is above 1."""
    worst = 0.0
    for _ in range(cases):
        left, right = law(G, rng)
        size = max(1.0, np.abs(right).max(initial=0.0))
        worst = max(worst, float(np.abs(left - right).max(initial=0.0) / size))
    return worst


def measure(cases: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    groups = {name(G): {text: residual(law, G, cases, rng) for text, law in LAWS.items()} for G in GROUPS}
    return {
        "laws": len(LAWS),
        "cases_per_law_and_group": cases,
        "seed": seed,
        "worst_of_group": {group: max(found.values()) for group, found in groups.items()},
        "worst_of_law": {text: max(found[text] for found in groups.values()) for text in LAWS},
        "residuals": groups,
        "versions": {p: importlib.metadata.version(p) for p in ("fallingcat", "numpy", "scipy")},
        "machine": {"python": platform.python_version(), "system": platform.platform()},
    }


def show(result: dict[str, Any]) -> None:
    console = Console()
    title = f"worst relative residual, {result['cases_per_law_and_group']} random cases per law and group"
    table = Table("group", "laws", "worst", "of the law", title=title)
    for group, found in result["residuals"].items():
        law = max(found, key=found.__getitem__)
        table.add_row(group, str(len(found)), f"{found[law]:.1e}", law if found[law] > 0.0 else "")
    console.print(table)
    table = Table("law", "worst of all groups")
    for text, worst in result["worst_of_law"].items():
        table.add_row(text, f"{worst:.1e}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    result = measure(options.cases, options.seed)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    show(result)


if __name__ == "__main__":
    main()
