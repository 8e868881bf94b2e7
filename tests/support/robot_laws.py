"""What laws on random robots share: how they are run, and derivatives along a motion.

A law is a function of a robot and a state; `@law()` runs it on 25 random trees in CI and on 1,000 under
`pytest -m slow`: 1 to 60 joints of all kinds on every base group (`random_robots`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from random_robots import Robot, build, rng_of, robots

import fallingcat as fc

STEP = 1e-40
FRAMES = ("base", "world", "centroidal")
REPRESENTATIONS = ("body", "mixed", "inertial")
TREES, MANY_TREES = 25, 1000

Law = Callable[[Robot, fc.Model, fc.State, np.random.Generator], None]


def law(
    largest: int = 60, slow_largest: int = 60, examples: Iterable[Robot] = ()
) -> Callable[[Law], Callable[[int], None]]:
    """A test out of a law, on robots of up to `largest` joints, and on those that once broke it."""

    def decorate(check: Law) -> Callable[[int], None]:
        @pytest.mark.parametrize("trees", [TREES, pytest.param(MANY_TREES, marks=pytest.mark.slow)])
        def test(trees: int) -> None:
            often = trees > TREES

            @settings(max_examples=trees, derandomize=not often)
            @given(robots(slow_largest if often else largest))
            def holds(recipe: Robot) -> None:
                check(recipe, *build(recipe), rng_of(recipe))

            for recipe in examples:
                holds = example(recipe)(holds)
            holds()

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


def along(f, model, state, acceleration=None, direction=None):
    """The time derivative of `f(state)` along the state's own motion (or along a direction), by complex step."""
    d = state.velocity if direction is None else direction
    moved = fc.dynamics.displace(model, state, 1j * STEP * d)
    if acceleration is not None:
        moved = with_velocity(model, moved, state.velocity + 1j * STEP * acceleration)
    return np.imag(f(moved)) / STEP


def with_velocity(model, state, v):
    return state._replace(twist=v[: model.m], rates=v[model.m :])


@lru_cache(maxsize=256)
def solving(recipe):
    """The tolerance of what needs the inverse of the mass matrix: 45 roundings of its condition."""
    sizes = np.linalg.eigvalsh(fc.mass_matrix(*build(recipe)))
    return max(1e-12, 1e-14 * sizes[-1] / sizes[0]) if len(sizes) else 1e-12


def some_wrenches(model, rng):
    """Wrenches on up to three links."""
    names = rng.choice(model.link_names, size=min(3, len(model.links)), replace=False)
    return {str(name): 5.0 * rng.normal(size=6) for name in names}


def some_link(model, rng):
    return str(rng.choice(model.link_names))
