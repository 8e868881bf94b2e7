"""LLVM text of the function that XLA calls: ``XLA_FFI_Error *handle(XLA_FFI_CallFrame *)``, around ``batch``.

It is what a C compiler makes of XLA's header ``xla/ffi/api/c_api.h``: the places of the fields below are those of its
structures since version :data:`OLDEST`.  Later versions with the same first number only add fields behind them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

OLDEST: Final = (0, 1)
"""version of XLA's foreign function interface"""

# places of fields, in bytes (64-bit machines)
FRAME_EXTENSION, FRAME_API, FRAME_ARGUMENTS, FRAME_RESULTS = 8, 16, 72, 112
BUFFER_DATA, BUFFER_SHAPE = 24, 40
EXTENSION_KIND, EXTENSION_METADATA = 8, 24
METADATA_VERSION, METADATA_TRAITS = 8, 32
API_ERROR_CREATE = 48
METADATA = 1
"""the kind of extension by which XLA asks what a handler was made for"""
RESOURCE_EXHAUSTED = 8
NO_MEMORY = "there is no memory for a batch"


def handler(inputs: int, element: str, version: tuple[int, int]) -> Iterator[str]:
    """``handle_{element}``: ``batch_{element}`` of the call's buffers, all ``(count, size)``."""
    yield from handler_prologue(f"handle_{element}", NO_MEMORY, version)
    yield from buffers(inputs)
    yield from load("result", "results", 0)
    yield from load("bout", "result", BUFFER_DATA)
    yield from load("shape", "result", BUFFER_SHAPE)
    yield "  %count = load i64, ptr %shape"
    pointers = ", ".join([*(f"ptr %b{i}" for i in range(inputs)), "ptr %bout", "i64 %count"])
    yield f"  %failed = call i32 @batch_{element}({pointers})"
    yield "  %fine = icmp eq i32 %failed, 0"
    yield "  br i1 %fine, label %done, label %say"
    yield from failed(f"handle_{element}", RESOURCE_EXHAUSTED)


def handler_prologue(name: str, message: str, version: tuple[int, int]) -> Iterator[str]:
    """The beginning of a function: it tells XLA what it was made for, if asked, and has an error to tell."""
    yield f'@message_{name} = internal constant [{len(message) + 1} x i8] c"{message}\\00"'
    yield f"define ptr @{name}(ptr %frame) nounwind {{"
    yield "entry:"
    yield "  %error = alloca [32 x i8], align 8"
    yield from load("extension", "frame", FRAME_EXTENSION)
    yield "  %plain = icmp eq ptr %extension, null"
    yield "  br i1 %plain, label %run, label %look"
    yield "look:"
    yield from load("kind", "extension", EXTENSION_KIND, "i32")
    yield f"  %asked = icmp eq i32 %kind, {METADATA}"
    yield "  br i1 %asked, label %tell, label %run"
    yield "tell:"
    yield from load("metadata", "extension", EXTENSION_METADATA)
    yield from store("metadata", METADATA_VERSION, "i64 24", "ptr null", f"i32 {version[0]}", f"i32 {version[1]}")
    yield from store("metadata", METADATA_TRAITS, "i32 0")
    yield "  ret ptr null"
    yield "run:"


def buffers(inputs: int) -> Iterator[str]:
    """``%b0``, ``%b1``, ...: the numbers of the arguments; and ``%results``."""
    yield from load("arguments", "frame", FRAME_ARGUMENTS)
    for i in range(inputs):
        yield from load(f"buffer{i}", "arguments", 8 * i)
        yield from load(f"b{i}", f"buffer{i}", BUFFER_DATA)
    yield from load("results", "frame", FRAME_RESULTS)


def failed(name: str, code: int) -> Iterator[str]:
    """The end of a function: ``done``, or ``say`` that it failed."""
    yield "done:"
    yield "  ret ptr null"
    yield "say:"
    yield from load("told", "frame", FRAME_API)
    yield from load("create", "told", API_ERROR_CREATE)
    yield from store("error", 0, "i64 28", "ptr null", f"ptr @message_{name}", f"i32 {code}")
    yield "  %made = call ptr %create(ptr %error)"
    yield "  ret ptr %made"
    yield "}"


def load(name: str, base: str, place: int, kind: str = "ptr") -> Iterator[str]:
    """``%name``: the field of the structure at ``%base``."""
    yield f"  %at_{name} = getelementptr i8, ptr %{base}, i64 {place}"
    yield f"  %{name} = load {kind}, ptr %at_{name}"


def store(base: str, place: int, *fields: str) -> Iterator[str]:
    """Writes fields one after the other into the structure at ``%base``."""
    for field in fields:
        yield f"  %to_{base}{place} = getelementptr i8, ptr %{base}, i64 {place}"
        yield f"  store {field}, ptr %to_{base}{place}"
        place += 4 if field.startswith("i32") else 8


@functools.cache
def version() -> tuple[int, int]:
    """Version of the interface in the header that comes with JAX.

    An :class:`OSError` or :class:`ValueError` says why it cannot be used.  (It must be the right one: a handler that
    XLA refuses leaves JAX without its CPU.)
    """
    import jax

    ffi: Any = getattr(jax, "ffi", None)
    if ffi is None:
        raise ValueError(f"JAX {jax.__version__} has no jax.ffi")
    text = Path(ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    major, minor = (int(x[1]) if x else -1 for x in found)
    if major != OLDEST[0] or minor < OLDEST[1]:
        raise ValueError(f"JAX {jax.__version__} has version {major}.{minor} of the interface, not 0.1 or a later 0")
    return major, minor
