"""Kernels are pickled and copied as their recipe: model, name of the function, options."""

import copy
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest

import fallingcat as fc

MODEL = fc.robots.revolute_hopper()


def weighted(model, state, weights):
    return weights * fc.bias_forces(model, state)


CASES = [
    (fc.inverse_dynamics, {}),
    (fc.coriolis_matrix, {"factorization": "passive"}),
    (fc.reduced_equations, {}),
    (weighted, {"inputs": {"weights": MODEL.nv}, "dtype": "float32"}),
]


def arguments(kernel):
    q, v = MODEL.flatten(MODEL.random_state(np.random.default_rng(1)))
    return [{"q": q, "v": v}.get(a.name, np.linspace(0.0, 1.0, a.size)).astype(kernel.dtype) for a in kernel.signature]


def numbers(result):
    return np.concatenate([np.ravel(x) for x in (result if isinstance(result, tuple) else (result,))])


@pytest.mark.parametrize(("function", "options"), CASES, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("again", [lambda k: pickle.loads(pickle.dumps(k)), copy.deepcopy, copy.copy])
def test_copies_are_the_same_kernel(function, options, again):
    kernel = fc.compile(MODEL, function, **options)
    other = again(kernel)
    assert other is not kernel
    assert (other.signature, other.operations, other.dtype) == (kernel.signature, kernel.operations, kernel.dtype)
    given = arguments(kernel)
    np.testing.assert_array_equal(numbers(other(*given)), numbers(kernel(*given)))
    batch = [np.stack([x, x]) for x in given]
    np.testing.assert_array_equal(numbers(other(*batch)), numbers(kernel(*batch)))


def test_a_pickle_holds_no_code():
    kernel = fc.compile(MODEL, fc.reduced_equations)
    kernel(*(np.zeros((2, a.size)) for a in kernel.signature))
    assert len(pickle.dumps(kernel)) < len(pickle.dumps(MODEL)) + 500


def test_what_has_no_name_is_copied_but_not_pickled():
    kernel = fc.compile(MODEL, lambda model, state: 2.0 * state.velocity)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(kernel)
    given = arguments(kernel)
    np.testing.assert_array_equal(copy.deepcopy(kernel)(*given), kernel(*given))


def test_another_process_gets_a_kernel():
    kernel = fc.compile(MODEL, fc.forward_dynamics)
    given = arguments(kernel)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(kernel, given), kernel(*given))


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory in use from the kernel")
def test_kernels_that_are_gone_take_no_memory():
    script = """
import gc, numpy as np, fallingcat as fc
model = fc.robots.prismatic_hopper()
def used():
    return 4096 * int(open("/proc/self/statm").read().split()[1])
def work(count):
    for i in range(count):
        k = fc.compile(model, fc.mass_matrix)
        k(np.zeros((2, model.nq)))
        if i % 20 == 0:
            gc.collect()
work(100)
before = used()
work(300)
print(used() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert int(done.stdout) < 1e6  # 19 KB each were 5.6e6
