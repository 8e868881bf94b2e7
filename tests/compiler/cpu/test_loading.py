"""Loading machine code where memory is crowded."""

import mmap
import os
import random
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler import compile
from fallingcat.compiler.cpu import native
from fallingcat.compiler.cpu.python_call import MAX_ON_STACK_OF_ONE


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


counted = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts as Linux does")


def mappings():
    return len(Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())


def linked(code):
    """The machine code of one state, in memory once more."""
    return native.Library(code, ("single", "work_size")).python_function(print, print, "another", np.dtype(float))


def kernel_of_one(robot, function):
    """Machine code, arguments and result of a kernel, and the bytes of its workspace."""
    kernel, (q, v) = fc.compile(robot, function), robot.flatten(robot.random_state(np.random.default_rng(0)))
    arguments = (q, v)[: len(kernel.signature)]
    return native.object_code(kernel.source), arguments, kernel(*arguments), 8 * kernel.program.slots


@counted
def test_libraries_share_mappings():
    """Each took three of its own; Linux gives a process 65,530."""
    code, arguments, truth, _ = kernel_of_one(fc.robots.two_cylinder_cat(), fc.mass_matrix)
    first, before = [linked(code) for _ in range(50)], mappings()
    second = [linked(code) for _ in range(100)]
    assert mappings() - before < 30  # 300
    del first, second[20:40]  # holes among them
    for call in second:
        np.testing.assert_array_equal(call(*arguments), truth)


@counted
def test_libraries_that_call_others_share_mappings():
    """The linker's table of addresses would take a mapping; memset, memcpy, malloc and exp of C are called."""
    text = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare double @exp(double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @f(ptr %x, i64 %n) nounwind {
  %heap = call ptr @malloc(i64 4096)
  call void @llvm.memset.p0.i64(ptr align 8 %heap, i8 0, i64 4096, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %heap, ptr %x, i64 2048, i1 false)
  %v = load double, ptr %heap
  %y = call double @exp(double %v)
  store double %y, ptr %x
  %last = getelementptr double, ptr %heap, i64 511
  %zero = load double, ptr %last
  %second = getelementptr double, ptr %x, i64 1
  store double %zero, ptr %second
  call void @free(ptr %heap)
  ret i32 0
}"""
    code, x = native.object_code(text), np.full(256, 1.0)
    first, before = [native.Library(code, ("f",)) for _ in range(20)], mappings()
    more = [native.Library(code, ("f",)) for _ in range(100)]
    assert mappings() - before < 30  # 200
    assert not more[50].function("f", 1)(x.ctypes.data, 1)
    np.testing.assert_array_equal(x[:3], [np.exp(1.0), 0.0, 1.0])
    assert len(first) == 20


@pytest.mark.slow
@counted
def test_libraries_beyond_what_mappings_of_their_own_allow():
    """22,000 took all that Linux gives a process; some 20 s and 1.5 GB."""
    code, arguments, truth, _ = kernel_of_one(fc.robots.two_cylinder_cat(), fc.mass_matrix)
    calls = [linked(code) for _ in range(30_000)]
    assert mappings() < 5_000
    for call in calls[::100]:
        np.testing.assert_array_equal(call(*arguments), truth)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_threads_link_call_and_drop_while_the_process_forks():
    """An earlier way to share mappings took the right to write from the workspace of long kernels."""
    robots = [fc.robots.two_cylinder_cat(), fc.robots.random_tree(np.random.default_rng(1), 14)]
    kinds = [kernel_of_one(r, f) for r in robots for f in (fc.mass_matrix, fc.coriolis_matrix, fc.bias_forces)]
    assert max(kind[3] for kind in kinds) > 2 * MAX_ON_STACK_OF_ONE
    end, wrong, made = time.monotonic() + 30.0, [], []

    def right(call, arguments, truth):
        return np.array_equal(call(*arguments), truth)

    def work(seed):
        rng, held = random.Random(seed), []
        while time.monotonic() < end:
            code, *rest, _ = rng.choice(kinds)
            held.append((linked(code), *rest))
            made.append(seed)
            wrong.extend(seed for one in rng.sample(held, min(5, len(held))) if not right(*one))
            if rng.random() < 0.02:
                rng.shuffle(held)
                del held[: len(held) // 3]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        child = os.fork()
        if not child:
            os._exit(sum(not right(linked(code), *rest) for code, *rest, _ in kinds))
        assert os.waitpid(child, 0)[1] == 0
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(made) > 100
