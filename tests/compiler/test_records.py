"""Results that are records, one workspace for all calls of one state, and threads that are kept."""

import gc
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler.cache.index import Unknown, decoded, encoded
from fallingcat.compiler.cpu.python_call import MAX_ON_STACK_OF_ONE
from fallingcat.compiler.cpu.threads import shares
from fallingcat.compiler.ir.results import builder, flatten, leaves, rebuild, size
from fallingcat.compiler.ir.trace import Face


def state_of(model, seed=0):
    return model.flatten(model.random_state(np.random.default_rng(seed)))


@dataclass
class Pair:
    name: str
    array: np.ndarray


@dataclass
class Nothing:
    """A record without fields."""


class Several(list):
    """A list of its own kind."""


VALUES = [
    np.arange(6.0).reshape(2, 3),
    2.0,
    (np.zeros((2, 3)), np.arange(4.0)),
    [1.0, "name", np.eye(2), None],
    {"a": np.arange(3.0), "b": (np.zeros((0, 0)), np.ones((1, 2)))},
    {},
    (),
    [{"left": [(), {}]}, np.ones(1)],
    fc.State(np.eye(4), np.arange(2.0), np.ones(6), np.zeros(2)),
    fc.State(np.eye(4), 3.0, (np.ones(6), "twist"), {"rates": [np.zeros(2)]}),
    Pair("f", np.eye(4)),
    (Nothing(), Several([np.ones(3), Several()])),
    {"deep": Pair("g", [fc.State(1.0, 2.0, 3.0, 4.0), np.ones(2)])},
]


def same(ours, theirs):
    assert type(ours) is type(theirs) or isinstance(theirs, float)
    if isinstance(ours, (Pair, Nothing)):
        ours, theirs = vars(ours), vars(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        ours, theirs = tuple(ours.values()), tuple(theirs.values())
    if isinstance(ours, (tuple, list)):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_result_is_put_together_as_it_was_taken_apart(value):
    """At once, from its views, and in a batch."""
    numbers, again = [], []
    tree = flatten(value, numbers)
    flat = np.array(numbers, dtype=float)
    assert size(tree) == len(numbers)
    same(rebuild(tree, flat), value)
    same(builder(tree)(tuple(flat[leaf.start : leaf.end].reshape(leaf.shape) for leaf in leaves(tree))), value)
    batch = flatten(rebuild(tree, np.stack([flat, 2.0 * flat])), again)
    for one, both in zip(leaves(tree), leaves(batch), strict=True):
        assert both.shape == (2, *one.shape)
        expected = np.concatenate([flat[one.start : one.end], 2.0 * flat[one.start : one.end]])
        np.testing.assert_array_equal(np.array(again[both.start : both.end], dtype=float), expected)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_result_is_stored_as_text(value):
    """Where its records are the library's own: others may change between runs."""
    model, tree = fc.robots.cat(), flatten(value, [])
    face = Face((), (), tree, {})
    if "test_records" in str(tree):
        with pytest.raises(Unknown, match="test_records"):
            encoded(face, model)
    else:
        assert decoded(json.loads(json.dumps(encoded(face, model))), model) == face


def test_the_arrays_of_a_record_live_on_their_own():
    model = fc.robots.cat()
    kernel = fc.compile(model, fc.inverse_dynamics_derivatives)
    q, v = state_of(model)
    first = kernel(q, v, v)
    kept, copy = first.velocity, first.velocity.copy()
    whole = kept.base
    assert all(x.base is whole and x.flags.writeable and x.flags.c_contiguous and x.flags.aligned for x in first)
    assert sys.getrefcount(whole) == 3 + 2  # three views, this name, the call
    del first
    assert sys.getrefcount(whole) == 1 + 2
    del whole
    for _ in range(50):
        other = kernel(2.0 * q, v, q[: model.nv])
    gc.collect()
    np.testing.assert_array_equal(kept, copy)
    assert not np.array_equal(other.velocity, kept)
    kept[:] = 0.0
    np.testing.assert_array_equal(kernel(q, v, v).velocity, copy)


def test_calls_from_many_threads():
    """Each call of one state has the workspace for itself while it lasts."""
    model = fc.robots.humanoid()
    kernel = fc.compile(model, fc.coriolis_matrix)
    assert kernel.program.slots * 8 > MAX_ON_STACK_OF_ONE
    states = [state_of(model, seed) for seed in range(8)]
    expected = [kernel(*state) for state in states]

    def many(k):
        return all(np.array_equal(kernel(*states[k]), expected[k]) for _ in range(300))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(many, range(8)))


def test_a_record_of_a_batch_and_of_bad_arguments():
    model = fc.robots.cat()
    kernel = fc.compile(model, fc.inverse_dynamics_derivatives)
    q, v = state_of(model)
    one, several = kernel(q, v, v), kernel(np.stack([q] * 3), v, v)
    for a, b in zip(one, several, strict=True):
        np.testing.assert_array_equal(b, np.stack([a] * 3))
    np.testing.assert_array_equal(kernel(list(q), v, v).velocity, one.velocity)
    with pytest.raises(fc.ModelError, match="q must have shape"):
        kernel(q[1:], v, v)
    with pytest.raises(fc.ModelError, match="takes 3 arguments"):
        kernel(q, v)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100, 4096])
@pytest.mark.parametrize("threads", [1, 2, 5, 64])
@pytest.mark.parametrize("operations", [0, 1, 4000, 10**7])
def test_shares_cover_the_batch_in_whole_blocks(count, threads, operations):
    parts = shares(count, threads, 8, operations)
    assert [start for start, _ in parts] == [0, *(end for _, end in parts[:-1])]
    assert parts[-1][1] == count
    assert len(parts) <= threads
    assert all(start % 8 == 0 and end > start for start, end in parts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_threads_after_a_fork():
    script = """
import os, sys, numpy as np, fallingcat as fc
model = fc.robots.humanoid()
kernel = fc.compile(model, fc.inverse_dynamics)
q, v = model.flatten(model.random_state(np.random.default_rng(0)))
many = [np.tile(x, (4096, 1)) for x in (q, v, v)]
expected = kernel(*many, threads=2)
child = os.fork()
if not child:
    os._exit(0 if np.array_equal(kernel(*many, threads=2), expected) else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
