"""Loading machine code where memory is crowded."""

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler import compile
from fallingcat.compiler.cpu import native


def test_code_and_constants_stay_within_reach():
    """Many kernels among many mappings: the parts of each must reach each other by 32-bit offsets.

    The older loader aborted once, in a test worker with thousands of mappings; this crowd alone did not provoke it.
    """
    cat = fc.robots.two_cylinder_cat()
    state = cat.random_state(np.random.default_rng(0))
    q, v = cat.flatten(state)
    crowd, kernels = [], []
    for i in range(40):
        crowd.append(
            mmap.mmap(-1, 1 << 31, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000))
        )
        kernels.append(compile(cat, lambda model, state, i=i: (1.0 + i) * fc.bias_forces(model, state)))
        if i % 3 == 0:
            crowd.pop(i // 3).close()
    expected = fc.bias_forces(cat, state)
    for i, kernel in enumerate(kernels):
        np.testing.assert_allclose(kernel(q, v), (1.0 + i) * expected, rtol=1e-12, atol=1e-15)


def test_a_builtin_keeps_its_definition_while_its_library_is_taken_apart():
    """The collector clears the members of a cycle in any order; a builtin reads its definition until its end."""
    kernel = fc.compile(fc.robots.revolute_hopper(), fc.mass_matrix)
    call = type(kernel).__dict__["__call__"]
    vars(kernel._runner.single).clear()  # what the collector does to the library before the builtin goes
    churn = [bytes([k % 256]) * size for k in range(20_000) for size in (16, 24, 32)]
    assert call.__name__ == "mass_matrix"
    assert len(churn) == 60_000


def mappings():
    return len(Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())


def linked(kernel, count):
    """The machine code of one state, linked so often."""
    code, libraries = native.object_code(kernel.source), []
    for _ in range(count):
        libraries.append(native.Library(code, ("single", "table")))
        libraries[-1].python_function(print, print, "another", np.dtype(float))
    return libraries


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts as Linux does")
def test_libraries_share_mappings(monkeypatch):
    """Each took three; Linux gives a process 65,530."""
    monkeypatch.setattr(native, "FEW", 0)
    cat = fc.robots.two_cylinder_cat()
    state = cat.random_state(np.random.default_rng(0))
    kernel, truth = fc.compile(cat, fc.mass_matrix), fc.mass_matrix(cat, state)
    first, before = linked(kernel, 50), mappings()
    second = linked(kernel, 100)
    assert mappings() - before < 50  # 300 otherwise
    del first, second[20:40]  # holes among them
    second[0].python_function(print, print, "again", np.dtype(float))  # written where it could not be
    np.testing.assert_allclose(kernel(state), truth, rtol=1e-13)
    np.testing.assert_allclose(fc.compile(cat, fc.mass_matrix)(state), truth, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts as Linux does")
def test_libraries_beyond_what_mappings_of_their_own_allow():
    """22,000 took all that Linux gives a process; some 40 s and 1.8 GB."""
    cat = fc.robots.two_cylinder_cat()
    kernel = fc.compile(cat, fc.mass_matrix)
    libraries = linked(kernel, 30_000)
    assert mappings() < 5_000
    np.testing.assert_allclose(kernel(cat.neutral()), fc.mass_matrix(cat, cat.neutral()), rtol=1e-13)
    assert len(libraries) == 30_000
