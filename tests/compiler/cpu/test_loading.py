"""Loading machine code where memory is crowded."""

import mmap

import numpy as np

import fallingcat as fc
from fallingcat.compiler import compile


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
