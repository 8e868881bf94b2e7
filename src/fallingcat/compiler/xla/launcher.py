"""LLVM text of the function that XLA calls on a GPU: it launches the stages of a program on XLA's stream.

As :mod:`fallingcat.compiler.xla.handler`; arguments and results are columns ``(size, count)``, and the last result is
the workspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .handler import BUFFER_DATA, BUFFER_SHAPE, FRAME_API, buffers, failed, handler_prologue, load, store

FRAME_CONTEXT: Final = 24
API_STREAM: Final = 80
STREAM_SIZE, STREAM_OUT = 32, 24
INTERNAL: Final = 13
REFUSED: Final = "the GPU refuses to launch a kernel"


class Launch(NamedTuple):
    """One stage: a compiled function of the driver, and how it is launched."""

    function: int
    """``CUfunction``"""
    states: int
    """states of a block"""
    threads: int
    """threads of a block"""
    shared: int
    """bytes of dynamic shared memory"""


def launcher(inputs: int, launches: Sequence[Launch], start: int, version: tuple[int, int]) -> Iterator[str]:
    """``XLA_FFI_Error *launch(XLA_FFI_CallFrame *)``; ``start`` is the address of ``cuLaunchKernel``."""
    yield from handler_prologue("launch", REFUSED, version)
    yield from buffers(inputs)
    for k, name in enumerate(("out", "work")):
        yield from load(f"buffer_{name}", "results", 8 * k)
        yield from load(f"b{name}", f"buffer_{name}", BUFFER_DATA)
    yield from load("shape", "buffer_out", BUFFER_SHAPE)
    yield from load("count", "shape", 8, "i64")
    yield "  %none = icmp eq i64 %count, 0"
    yield "  br i1 %none, label %done, label %go"
    yield "go:"
    yield from _stream()
    yield from _argument_pointers([*(f"b{i}" for i in range(inputs)), "bwork", "bwork", "bout"])
    total = "0"
    for k, (function, states, threads, shared) in enumerate(launches):
        yield f"  %more{k} = add i64 %count, {states - 1}"
        yield f"  %blocks{k} = udiv i64 %more{k}, {states}"
        yield f"  %grid{k} = trunc i64 %blocks{k} to i32"
        shape = f"i32 %grid{k}, i32 1, i32 1, i32 {threads}, i32 1, i32 1, i32 {shared}"
        given = f"ptr inttoptr (i64 {function} to ptr), {shape}, ptr %stream, ptr %given, ptr null"
        yield f"  %code{k} = call i32 inttoptr (i64 {start} to ptr)({given})"
        yield f"  %sum{k} = or i32 {total}, %code{k}"
        total = f"%sum{k}"
    yield f"  %fine = icmp eq i32 {total}, 0"
    yield "  br i1 %fine, label %done, label %say"
    yield from failed("launch", INTERNAL)


def _stream() -> Iterator[str]:
    """``%stream``: where XLA does the work that this is a part of; its own error, if there is none."""
    yield from load("api", "frame", FRAME_API)
    yield from load("context", "frame", FRAME_CONTEXT)
    yield from load("get", "api", API_STREAM)
    yield f"  %question = alloca [{STREAM_SIZE} x i8], align 8"
    yield from store("question", 0, f"i64 {STREAM_SIZE}", "ptr null", "ptr %context", "ptr null")
    yield "  %wrong = call ptr %get(ptr %question)"
    yield "  %right = icmp eq ptr %wrong, null"
    yield "  br i1 %right, label %start, label %stop"
    yield "stop:"
    yield "  ret ptr %wrong"
    yield "start:"
    yield from load("stream", "question", STREAM_OUT)


def _argument_pointers(pointers: Sequence[str]) -> Iterator[str]:
    """``%given``: where the arguments of a kernel lie, these pointers and the number of states."""
    yield f"  %given = alloca [{len(pointers) + 1} x ptr], align 8"
    yield "  %small = trunc i64 %count to i32"
    for k, (kind, name) in enumerate([*(("ptr", name) for name in pointers), ("i32", "small")]):
        yield f"  %held{k} = alloca {kind}, align 8"
        yield f"  store {kind} %{name}, ptr %held{k}"
    yield from store("given", 0, *(f"ptr %held{k}" for k in range(len(pointers) + 1)))
