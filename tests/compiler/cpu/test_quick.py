"""Code of long programs that are repeated is made quickly at first: with the bits of code that is made well."""

from functools import partial

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler.cpu import machine_code, native
from fallingcat.compiler.kernel import compile_step

CAT = fc.robots.two_cylinder_cat()


def stepped(model, x):
    state = model.unflatten(x[: model.nq], x[model.nq :])
    q, v = model.flatten(state._replace(rates=state.rates + 0.01 * np.sin(state.joints)))
    return np.concatenate([model.integrate(q, 1e-3 * v), v])


def describe(made, name, make, text):
    made.append(name)
    return make(text)


@pytest.fixture(scope="module")
def start():
    q, v = CAT.flatten(CAT.random_state(np.random.default_rng(0)))
    return np.concatenate([q, v])


@pytest.mark.parametrize("count", [(), (11,)])
def test_quick_code_has_the_same_bits_and_gives_way(monkeypatch, start, count):
    """A few passes by quick code; after many the code that is made well, which is found again by the next kernel."""
    made = []
    for name in ("quick_code", "object_code"):
        monkeypatch.setattr(native, name, partial(describe, made, name, getattr(native, name)))
    monkeypatch.setattr(machine_code, "LARGE", 1)
    monkeypatch.setattr(machine_code, "OFTEN", 50)
    kernel = compile_step(CAT, stepped, {"x": len(start)})
    made.clear()  # a first kernel tries whether there is a compiler
    x = np.broadcast_to(start, (*count, len(start)))
    few = kernel.iterate(x, rows=5)
    assert set(made) <= {"quick_code"}  # another test may have made it before
    many = kernel.iterate(x, rows=60)
    assert np.array_equal(few, many[:5])
    assert np.array_equal(kernel.iterate(x, rows=5), few)


def test_quick_code_for_many_states_has_the_same_bits_and_gives_way(monkeypatch, start):
    """Of what is not called for single states; code for all others is made well at once."""
    made = []
    for name in ("quick_code", "object_code"):
        monkeypatch.setattr(native, name, partial(describe, made, name, getattr(native, name)))
    monkeypatch.setattr(machine_code, "OFTEN", 20)
    x = start * np.linspace(0.5, 1.5, 37)[:, None]
    kernel = compile_step(CAT, stepped, {"x": len(start)})
    made.clear()
    few = kernel(x)
    assert set(made) <= {"quick_code"}
    made.clear()
    for _ in range(20):
        assert np.array_equal(kernel(x), few)
    assert "quick_code" not in made
    well = fc.compile(CAT, stepped, inputs={"x": len(start)})
    assert np.array_equal(well(x), few)
    assert "quick_code" not in made
