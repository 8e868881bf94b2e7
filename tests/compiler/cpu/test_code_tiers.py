"""Code of long programs that are repeated is made quickly at first: with the bits of code that is made well."""

import gc
import threading
import types
import weakref
from functools import partial

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler.compilation import compile_step
from fallingcat.compiler.cpu import machine_code, native, single_calls

CAT = fc.robots.two_cylinder_cat()


def stepped(model, x):
    state = model.unflatten(x[: model.nq], x[model.nq :])
    q, v = model.flatten(state._replace(rates=state.rates + 0.01 * np.sin(state.joints)))
    return np.concatenate([model.integrate(q, 1e-3 * v), v])


def describe(made, name, make, text):
    made.append(name)
    return make(text)


def new_number():
    """A factor of code that no test has made, below 1: states that are multiplied by it again and again stay finite."""
    return np.random.default_rng().uniform(0.9, 1.0)


def join_compilers():
    """Wait for code that other threads make, of this test or of an earlier one."""
    for thread in threading.enumerate():
        if thread.name == "fallingcat compiler":
            thread.join()


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
    monkeypatch.setattr(machine_code, "QUICK_CODE_OPERATIONS", 1)
    monkeypatch.setattr(machine_code, "QUICK_CODE_PASSES", 50)
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
    monkeypatch.setattr(machine_code, "QUICK_CODE_PASSES", 20)
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


@pytest.mark.parametrize("count", [(), (11,)])
def test_steps_of_long_code_give_way_in_another_thread(monkeypatch, start, count):
    """Nobody waits for well-made code; it has the same bits, and the next kernel finds it."""
    join_compilers()
    made = []
    for name in ("quick_code", "object_code"):
        monkeypatch.setattr(native, name, partial(describe, made, name, getattr(native, name)))
    monkeypatch.setattr(machine_code, "BACKGROUND_OPERATIONS", 1)
    monkeypatch.setattr(machine_code, "BACKGROUND_CALLS", 50)
    number = new_number()
    own = lambda model, x: number * stepped(model, x)  # noqa: E731
    kernel, x = compile_step(CAT, own, {"x": len(start)}), np.broadcast_to(start, (*count, len(start)))
    made.clear()
    few = kernel.iterate(x, rows=5)
    assert made == ["quick_code"]
    many = kernel.iterate(x, rows=60)
    join_compilers()
    assert made == ["quick_code", "object_code"]
    assert np.isfinite(many).all()
    assert np.array_equal(few, many[:5])
    assert np.array_equal(kernel.iterate(x, rows=60), many)
    assert kernel._runner._better[not count] is not None
    assert made == ["quick_code", "object_code"]


def test_single_calls_of_long_code_give_way_in_another_thread(monkeypatch, start):
    """Quick code at first; well-made code with the same bits takes its place, and is found by the next process."""
    join_compilers()
    made = []
    for name in ("quick_code", "object_code"):
        monkeypatch.setattr(native, name, partial(describe, made, name, getattr(native, name)))
    monkeypatch.setattr(machine_code, "BACKGROUND_OPERATIONS", 1)
    monkeypatch.setattr(machine_code, "BACKGROUND_CALLS", 5)
    number = new_number()

    def own(model, state):
        return number * fc.mass_matrix(model, state)

    kernel = fc.compile(CAT, own)
    q, _ = CAT.flatten(CAT.random_state(np.random.default_rng(1)))
    first = [kernel(q) for _ in range(4)]
    assert made.count("quick_code") == 1
    assert "object_code" not in made[made.index("quick_code") :]
    kernel(q)
    join_compilers()
    assert made[-1] == "object_code"
    assert isinstance(type(kernel).__call__, types.BuiltinFunctionType)
    assert all(np.array_equal(kernel(q), x) for x in first)
    assert np.array_equal(fc.compile(CAT, own)(q), first[0])
    soon = fc.compile(CAT, lambda model, state: 2.0 * own(model, state))
    assert isinstance(type(soon.optimized()).__call__, types.BuiltinFunctionType)
    assert np.array_equal(soon(q), 2.0 * first[0])


def test_code_that_was_quick_ends_after_its_class_knows_the_better_one(monkeypatch):
    """Python clears its cache of a class after an assignment: a process crashed in a call of what ended within one."""

    class Kind(type):
        def __setattr__(cls, name, value):
            super().__setattr__(name, value)
            alive.append(quick() is not None)

    def kernel_type():
        def call(self):
            return "quick"

        return Kind(
            "Kernel", (), {"__call__": call, "_runner": types.SimpleNamespace(better_single=lambda: None)}
        ), call

    alive: list[bool] = []
    made, call = kernel_type()
    quick = weakref.ref(call)
    del call
    monkeypatch.setattr(single_calls, "_entry", lambda kernel, library: lambda: "better")
    single_calls.improve(made())
    gc.collect()
    assert alive == [True]
    assert quick() is None
