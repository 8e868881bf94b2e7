"""Without LLVM the same numbers come, slower, and the reason is told once."""

import subprocess
import sys

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler.cpu import numpy_backend as plain


@pytest.fixture
def no_llvm(monkeypatch):
    monkeypatch.setattr(plain, "reason", lambda: "llvmlite is not installed (pip install llvmlite)")
    plain.tell.cache_clear()
    yield
    plain.tell.cache_clear()


def arrays(result):
    return [x for x in (result if isinstance(result, tuple) else [result]) if isinstance(x, np.ndarray)]


@pytest.mark.parametrize("function", [fc.inverse_dynamics, fc.forward_dynamics, fc.reduced_equations])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_same_numbers(no_llvm, function, dtype):
    model = fc.robots.revolute_hopper()
    with pytest.warns(RuntimeWarning, match="plain NumPy, slower: llvmlite is not installed"):
        slow = fc.compile(model, function, dtype=dtype)
    again = fc.compile(model, function, dtype=dtype)  # told once: a second warning would be an error here
    rng = np.random.default_rng(0)
    q, v = model.flatten(model.random_state(rng))
    one = [x.astype(dtype) for x in [q, v, rng.normal(size=model.nv)][: len(slow.signature)]]
    result = slow(*one)
    expected = function(model, model.unflatten(q, v), *(x.astype(float) for x in one[2:]))
    for got, wanted in zip(arrays(result), arrays(expected), strict=True):
        tolerance = (1e-11 if dtype == "float64" else 1e-3) * max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(got, wanted, atol=tolerance)
        assert got.dtype == dtype
    many = [np.stack([x] * 1100) for x in one]
    for got, wanted in zip(arrays(again(*many)), arrays(result), strict=True):
        np.testing.assert_array_equal(got[1099], wanted)
    assert slow.source == ""
    assert slow.lanes == 1
    assert slow.operations == again.operations
    assert slow.program.instructions


def test_blocks_and_bad_input(no_llvm):
    model = fc.robots.revolute_hopper()
    with pytest.warns(RuntimeWarning):
        kernel = fc.compile(model, fc.mass_matrix)
    q, _ = model.flatten(model.random_state(np.random.default_rng(0)))
    block = fc.compiler.aligned((2, model.nq, 1))
    block[:] = q[:, None]
    np.testing.assert_array_equal(kernel.blocks(block)[1, :, 0], kernel(q).ravel())
    with pytest.raises(fc.ModelError, match="q must have shape"):
        kernel(q[1:])
    bad = q.copy()
    bad[-1] = np.nan
    assert np.isnan(kernel(bad)).any()


def test_a_machine_that_llvm_does_not_know(monkeypatch):
    from fallingcat.compiler.cpu import native

    def unknown():
        raise RuntimeError("failed to retrieve target\nand more")

    monkeypatch.setattr(native, "cpu", unknown)
    plain.reason.cache_clear()
    text = plain.reason()
    plain.reason.cache_clear()
    assert text == "LLVM cannot make code for this machine (RuntimeError: failed to retrieve target)"


def test_an_interpreter_without_llvmlite():
    script = """
import sys, warnings
sys.modules["llvmlite"] = None
import numpy as np, fallingcat as fc
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    model = fc.robots.revolute_hopper()
    kernel = fc.compile(model, fc.mass_matrix)
    fc.compile(model, fc.kinetic_energy)
state = model.random_state(np.random.default_rng(0))
q, v = model.flatten(state)
assert np.allclose(kernel(q), fc.mass_matrix(model, state))
print(len(told), told[0].message, told[0].filename == "<string>")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (
        "1 kernels run as plain NumPy, slower: llvmlite is not installed (pip install llvmlite) True"
    )
