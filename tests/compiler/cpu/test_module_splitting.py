"""Long code is made in pieces: the same bits, and Ctrl-C between them."""

import os
import re
import signal

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler.cpu import module_splitting as pieces
from fallingcat.compiler.cpu import native
from fallingcat.compiler.cpu import numpy_backend as plain


@pytest.fixture
def no_cache(monkeypatch):
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    plain.reason()  # tries LLVM, once in a process


def results(model, function):
    kernel = fc.compile(model, function)
    rng = np.random.default_rng(0)
    q = np.stack([model.flatten(model.random_state(rng))[0] for _ in range(9)])
    further = [rng.normal(size=(9, argument.size)) for argument in kernel.signature[1:]]
    return kernel(q[0], *(x[0] for x in further)), kernel(q, *further)


@pytest.mark.parametrize("function", [fc.forward_dynamics, fc.mass_matrix, fc.forward_kinematics, fc.linearize])
def test_pieces_compute_the_same_bits(function, no_cache, monkeypatch):
    cat, made, emitted = fc.robots.cat(), [], native._object_code
    monkeypatch.setattr(native, "_object_code", lambda text, *level: made.append(text) or emitted(text, *level))
    whole = results(cat, function)
    assert len(made) == 2  # one state, batches
    monkeypatch.setattr(pieces, "MAX_MODULE_LENGTH", 2**13)
    cut = results(cat, function)
    assert len(made) > 6
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_equal(one, other)


def test_a_piece_is_no_longer_than_it_may_be():
    """But for what calls all others, and for chunks that are longer alone."""
    text = fc.compile(fc.robots.humanoid(), fc.mass_matrix_derivative).source
    assert len(text) > pieces.MAX_MODULE_LENGTH / 4
    longest = pieces.MAX_MODULE_LENGTH
    try:
        pieces.MAX_MODULE_LENGTH = 2**15
        *parts, rest = pieces.modules(text)
    finally:
        pieces.MAX_MODULE_LENGTH = longest
    shared = len(rest)  # each has the helpers that it uses
    assert max(map(len, parts)) <= 2**15 + shared
    chunks = re.compile(r"define (internal )?void @kernel_chunk\d+\(")
    assert sum(len(chunks.findall(part)) for part in parts) == len(chunks.findall(text)) > 50
    assert not chunks.search(rest)


def test_ctrl_c_is_heard_between_pieces(no_cache, monkeypatch):
    """As the kernel of a robot of 120 joints is made, which takes ten seconds."""
    monkeypatch.setattr(pieces, "MAX_MODULE_LENGTH", 2**13)
    made, emitted = [], native._object_code

    def interrupting(text, *level):
        made.append(emitted(text, *level))
        if len(made) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return made[-1]

    monkeypatch.setattr(native, "_object_code", interrupting)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest may run in a process without
    try:
        with pytest.raises(KeyboardInterrupt):
            fc.compile(fc.robots.cat(), fc.forward_dynamics)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len(made) == 2
    monkeypatch.setattr(native, "_object_code", emitted)
    assert fc.compile(fc.robots.cat(), fc.forward_dynamics)  # and nothing is left behind that is half made
