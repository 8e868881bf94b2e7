"""Kernels used from many threads, across forks, without memory: each in a process of its own, which may not crash."""

import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler.cpu import code_memory as room
from fallingcat.compiler.cpu import machine_code, threads

START = """
import gc, os, signal, sys, threading, time
import numpy as np
import fallingcat as fc
cat = fc.robots.cat()

def batch(count):
    rng = np.random.default_rng(count)
    states = [cat.flatten(cat.random_state(rng)) for _ in range(16)]
    q, v = (np.resize(np.stack(x), (count, len(x[0]))) for x in zip(*states))
    return q, v, rng.normal(size=(count, cat.nv))

def at_once(count, work):
    barrier = threading.Barrier(count)
    failures = []
    def run(i):
        barrier.wait()
        try:
            work(i)
        except BaseException as error:
            failures.append(error)
    ts = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in ts: t.start()
    for t in ts: t.join()
    assert not failures, failures
"""


def run(script, tmp_path, timeout=300, **variables):
    """The output of a script in a new process with an empty cache."""
    environment = {**os.environ, "FALLINGCAT_CACHE": str(tmp_path / "empty"), **variables}
    done = subprocess.run(
        [sys.executable, "-c", START + script], capture_output=True, text=True, timeout=timeout, env=environment
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout


@pytest.mark.parametrize("cache", ["on", "off"])
def test_first_batches_from_many_threads(tmp_path, cache):
    script = """
from fallingcat.compiler.cpu import native
texts, original = [], native.object_code
native.object_code = lambda text: texts.append(text) or original(text)
k = fc.compile(cat, fc.forward_dynamics)
arguments = batch(3000)
results = [None] * 16
def work(i):
    for _ in range(3):
        results[i] = k(*arguments, threads=1 + i % 3)
        gc.collect()
at_once(16, work)
assert all(np.array_equal(x, results[0]) for x in results)
assert np.array_equal(results[0][7], k(*(x[7] for x in arguments)))
assert texts.count(max(texts, key=texts.count)) == 1, "code was made twice"
print("fine")
"""
    variables = {"FALLINGCAT_CACHE": "off"} if cache == "off" else {}
    assert run(script, tmp_path, **variables) == "fine\n"


def test_code_lives_as_long_as_a_call_of_it(tmp_path):
    script = """
arguments = batch(400_000)
out = []
for _ in range(3):
    k = fc.compile(cat, fc.inverse_dynamics)
    k(*batch(8))
    t = threading.Thread(target=lambda k: out.append(k(*arguments)), args=(k,))
    t.start()
    time.sleep(0.01)  # the other thread is in machine code
    del k
    gc.collect()
    t.join()
assert all(np.array_equal(x, out[0]) for x in out)
print("fine")
"""
    assert run(script, tmp_path) == "fine\n"


def test_many_kernels_from_many_threads(tmp_path):
    script = """
functions = [fc.inverse_dynamics, fc.mass_matrix, fc.gravity_forces, fc.coriolis_matrix]
q, v, a = batch(64)
def work(i):
    for f in functions[i % 4:] + functions[:i % 4]:
        k = fc.compile(cat, f)
        given = (q, v, a)[:len(k.signature)]
        got = k(*given)
        assert np.array_equal(got[5], k(*(x[5] for x in given)))
        del k
        gc.collect()
at_once(8, work)
print("fine")
"""
    assert run(script, tmp_path) == "fine\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("forks", [12, pytest.param(500, marks=pytest.mark.slow)])
def test_forks_while_another_thread_compiles(tmp_path, forks):
    script = """
batch(8)  # imports everything
shared = fc.compile(cat, fc.forward_dynamics)
stop = False
def work():
    while not stop:
        fc.compile(cat, lambda model, state, n=time.time(): n * fc.mass_matrix(model, state))
        k = fc.compile(cat, fc.forward_dynamics)
        k(*batch(8))
threading.Thread(target=work).start()
wrong = []
for i in range(forks):
    time.sleep(0.03 + 0.01 * (i % 12))
    child = os.fork()
    if not child:
        k = fc.compile(cat, lambda model, state: (2.0 + i) * state.velocity)
        fine = np.array_equal(k(np.zeros((3, 17)), np.ones((3, 16))), np.full((3, 16), 2.0 + i))
        shared(*batch(8), threads=2)
        os._exit(0 if fine else 1)
    end = time.time() + 20
    while time.time() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        status = -1
    if status:
        wrong.append((i, status))
stop = True
assert not wrong, wrong
print("fine")
"""
    script = script.replace("range(forks)", f"range({forks})")
    assert run(script, tmp_path, timeout=20 * forks + 60) == "fine\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts as Linux does")
def test_no_mapping_is_an_error(tmp_path):
    """LLVM ended the process; kernels that nobody has any more make room."""
    script = """
import mmap
from fallingcat.compiler.cpu import code_memory as room
kernel = fc.compile(cat, fc.mass_matrix)
state = cat.neutral()
truth = kernel(state)
held = []
try:
    while True:
        rights = mmap.PROT_READ | (mmap.PROT_WRITE if len(held) % 2 else 0)
        held.append(mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=rights))
except OSError:
    del held[-3:]
for _ in range(3):
    try:
        fc.compile(cat, lambda model, state: 2.0 * state.velocity)(state)
        print("made")
    except MemoryError as error:
        print(error)
assert np.array_equal(kernel(state), truth)
held.clear()
print(fc.compile(cat, lambda model, state: 2.0 * state.velocity)(state).sum())
"""
    *said, last = run(script, tmp_path).splitlines()
    assert len(said) == 3
    assert all("memory mappings (vm.max_map_count)" in line for line in said)
    assert last == "0.0"


def test_kernels_that_nobody_has_make_room(monkeypatch):
    answers, collected = iter([False, True, False, False]), []
    monkeypatch.setattr(room, "_can_map", lambda sizes: next(answers))
    monkeypatch.setattr(room.gc, "collect", lambda: collected.append(1))
    room.check_mappings()
    assert collected == [1]
    with pytest.raises(MemoryError, match=r"memory mappings \(vm.max_map_count\)"):
        room.check_mappings()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as Linux does")
@pytest.mark.parametrize("megabytes", [2, 24])
def test_no_memory_for_code_is_an_error(tmp_path, megabytes):
    """LLVM ended the process where it got no memory."""
    script = f"""
import resource
small = fc.robots.two_cylinder_cat()
fc.compile(small, fc.mass_matrix)(small.neutral())
human, state = fc.robots.humanoid(), fc.robots.humanoid().neutral()
size = int(open("/proc/self/statm").read().split()[0]) * mmap_page
resource.setrlimit(resource.RLIMIT_AS, (size + {megabytes} * 2**20, resource.RLIM_INFINITY))
try:
    fc.compile(human, fc.coriolis_matrix)(state)
except MemoryError as error:
    print(str(error) or "Python's own")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(fc.compile(human, fc.mass_matrix)(state).shape)
""".replace("mmap_page", str(os.sysconf("SC_PAGESIZE")))
    said, last = run(script, tmp_path).splitlines()
    assert "to make machine code" in said or said == "Python's own"
    assert last.startswith("(")


def test_no_memory_is_an_error(tmp_path):
    script = """
from fallingcat.compiler.cpu import native
original = native.object_code
native.object_code = lambda text: original(text.replace(
    "declare ptr @malloc(i64)", "define internal ptr @malloc(i64 %size) { ret ptr null }"))
k = fc.compile(cat, fc.forward_dynamics_derivatives)
q, v, a = batch(64)
blocks = [fc.compiler.aligned((8, x.shape[1], k.lanes)) for x in (q, v, a)]
for x in blocks:
    x[:] = 0.1
for call in (lambda: k(q, v, a), lambda: k(q, v, a, threads=3), lambda: k.blocks(*blocks)):
    try:
        call()
    except MemoryError as error:
        print(error)
k(q[0], v[0], a[0])
"""
    said = "there is no memory for a batch of forward_dynamics_derivatives\n"
    assert run(script, tmp_path) == 3 * said


def test_batches_while_the_interpreter_ends(tmp_path):
    script = """
k = fc.compile(cat, fc.forward_dynamics)
arguments = batch(4000)
expected = k(*arguments)
def work():
    threading.main_thread().join()
    time.sleep(0.1)  # executors start nothing any more
    assert np.array_equal(k(*arguments, threads=3), expected)
    os.write(1, b"fine")
threading.Thread(target=work).start()
threading.Thread(target=lambda: [k(*arguments, threads=2) for _ in iter(int, 1)], daemon=True).start()
"""
    assert run(script, tmp_path) == "fine"


def test_an_interrupted_batch_keeps_its_arrays(monkeypatch):
    """Ctrl-C ends the call; other threads may still write."""
    model = fc.robots.prismatic_hopper()
    k = fc.compile(model, fc.mass_matrix)
    parts = []

    def interrupted(part, shares):
        parts.append(part)
        raise KeyboardInterrupt

    monkeypatch.setattr(machine_code, "run_parts", interrupted)
    q = np.zeros((10, model.nq))
    with pytest.raises(KeyboardInterrupt):
        k(q)
    alive = weakref.ref(q)
    del q
    assert alive() is not None
    parts[0]((0, 10))  # what a thread does that has not heard of it


def test_nobody_takes_a_share(monkeypatch):
    """Where no thread can be started, this one does everything."""

    class Refuses:
        def submit(self, *args):
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr(threads, "_pool", lambda size: Refuses())
    seen: list[int] = []
    threads.run_parts(seen.append, [1, 2, 3])
    assert seen == [1, 2, 3]


def test_a_process_ends_when_no_thread_is_in_llvm(tmp_path):
    """Else LLVM is taken apart under a daemon thread that compiles: a crash, two times in three."""
    script = """
fc.compile(cat, fc.forward_dynamics)
from llvmlite.binding import ffi

inside = threading.Event()

def compile():
    with ffi.lib._lock:  # as around every call of LLVM
        inside.set()
        time.sleep(0.5)
        os.write(1, b"out again")

threading.Thread(target=compile, daemon=True).start()
inside.wait()
"""
    assert run(script, tmp_path) == "out again"
