"""LLVM text of the way into a kernel from Python, for one state.

``single`` is a CPython function: it looks at the fields of its NumPy arguments itself (type, dtype, shape,
contiguity), makes the result array and runs the kernel, so that a call costs little more than the kernel.  Whatever
is not plain float64 goes to the slow, polite way in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir.inputs import Argument
from ..ir.program import Program
from ..ir.results import Leaf
from .llvm import Type

TABLE = (
    "ndarray",
    "dtype",
    "PyArray_New",
    "PyObject_Vectorcall",
    "slow",
    "PyArray_SetBaseObject",
    "PyTuple_New",
    "PyTuple_SetItem",
    "Py_IncRef",
    "Py_DecRef",
    "PyObject_CallOneArg",
    "build",
    "work",
)
"""Addresses that the builtin's ``self``, an array, holds: never part of the cached code."""

# offsets in PyArrayObject (64-bit CPython with the GIL; checked against a live array before use)
TYPE, DATA, NDIM, SHAPE, DTYPE, FLAGS = 8, 16, 24, 32, 56, 64
CARRAY = 0x0001 | 0x0100 | 0x0400  # contiguous, aligned, writeable
WELL_BEHAVED = 0x0001 | 0x0100  # C-contiguous, aligned
MAX_ON_STACK_OF_ONE = 2**12  # bytes of workspace; more has its own memory, which only the thread with the GIL uses


def has_own_memory(program: Program, type_: Type) -> bool:
    """True if the code for one state keeps its workspace from call to call (it starts out zero)."""
    return program.slots * type_.bytes > MAX_ON_STACK_OF_ONE


def single(
    program: Program,
    arguments: Sequence[Argument],
    shape: Sequence[int],
    type_: Type,
    views: Sequence[Leaf] = (),
    unused_second: bool = False,
) -> Iterator[str]:
    """``PyObject *single(self, args, nargs, kwnames)`` for METH_FASTCALL | METH_KEYWORDS.

    It returns an array of the given shape, or what ``build`` makes of a tuple of ``views`` of it.  With
    ``unused_second`` a call may give one argument more after the first, which is not read.
    """
    count = len(arguments)
    number = 12 if type_.element == "double" else 11  # NPY_DOUBLE, NPY_FLOAT
    yield _dims("dims", shape)
    for k, leaf in enumerate(views):
        yield _dims(f"dims{k}", leaf.shape)
    own = has_own_memory(program, type_)
    size = max(program.slots, 1) * type_.bytes
    yield f"@work_size = constant i64 {size if own else 0}"
    yield "define ptr @single(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {"
    yield "entry:"
    yield f"  %ptable = getelementptr i8, ptr %self, i64 {DATA}"
    yield "  %table = load ptr, ptr %ptable"
    yield from _from_table("work") if own else [f"  %work = alloca [{size} x i8], align 64"]
    yield "  %nokeys = icmp eq ptr %kwnames, null"
    yield f"  %more = sub i64 %nargs, {count}"
    yield f"  %rightcount = icmp ule i64 %more, {int(unused_second)}"
    yield "  %fine = and i1 %nokeys, %rightcount"
    yield "  br i1 %fine, label %check0, label %slow"
    for i, argument in enumerate(arguments):
        yield from _check_argument(i, argument.shape, f"check{i + 1}" if i + 1 < count else "run")
    if not count:
        yield "check0:\n  br label %run"
    yield "run:"
    yield "  %pnew = getelementptr i64, ptr %table, i64 2"
    yield "  %new = load ptr, ptr %pnew"
    yield "  %ndarray = load ptr, ptr %table"
    yield (
        f"  %result = call ptr %new(ptr %ndarray, i32 {len(shape)}, ptr @dims, i32 {number}, "
        "ptr null, ptr null, i32 0, i32 0, ptr null)"
    )
    yield "  %failed = icmp eq ptr %result, null"
    yield "  br i1 %failed, label %end, label %compute"
    yield "compute:"
    yield f"  %pout = getelementptr i8, ptr %result, i64 {DATA}"
    yield "  %out = load ptr, ptr %pout"
    pointers = ", ".join([*(f"ptr %data{i}" for i in range(count)), "ptr %out", "ptr %work"])
    yield f"  call void @kernel({pointers})"
    if views:
        yield "  %tuple = call ptr @collect(ptr %result, ptr %table)"
    else:
        yield "  %tuple = getelementptr i8, ptr %result, i64 0"
    yield "  br label %end"
    yield "slow:"
    yield "  %pcall = getelementptr i64, ptr %table, i64 3"
    yield "  %call = load ptr, ptr %pcall"
    yield "  %pslow = getelementptr i64, ptr %table, i64 4"
    yield "  %slowly = load ptr, ptr %pslow"
    yield "  %answer = call ptr %call(ptr %slowly, ptr %args, i64 %nargs, ptr %kwnames)"
    yield "  br label %end"
    yield "end:"
    yield "  %final = phi ptr [ %result, %run ], [ %tuple, %compute ], [ %answer, %slow ]"
    yield "  ret ptr %final"
    yield "}"
    if views:
        yield from _collect(views, number, type_)


def _check_argument(i: int, shape: tuple[int, ...], then: str) -> Iterator[str]:
    """Check that argument ``i`` is an array of this shape as the kernel reads them; if so go on to ``then``."""
    yield f"check{i}:"
    yield f"  %place{i} = add i64 {i}, {'%more' if i else 0}"
    yield f"  %slot{i} = getelementptr ptr, ptr %args, i64 %place{i}"
    yield f"  %o{i} = load ptr, ptr %slot{i}"
    yield from _field(i, "type", TYPE, "i64")
    yield f"  %wanttype{i} = load i64, ptr %table"
    yield f"  %istype{i} = icmp eq i64 %type{i}, %wanttype{i}"
    yield f"  br i1 %istype{i}, label %look{i}, label %slow"
    yield f"look{i}:"
    yield from _field(i, "data", DATA, "ptr")
    yield from _field(i, "ndim", NDIM, "i32")
    yield from _field(i, "shape", SHAPE, "ptr")
    yield from _field(i, "dtype", DTYPE, "i64")
    yield from _field(i, "flags", FLAGS, "i32")
    yield f"  %pwantdtype{i} = getelementptr i64, ptr %table, i64 1"
    yield f"  %wantdtype{i} = load i64, ptr %pwantdtype{i}"
    yield f"  %isdtype{i} = icmp eq i64 %dtype{i}, %wantdtype{i}"
    yield f"  %isrank{i} = icmp eq i32 %ndim{i}, {len(shape)}"
    yield f"  %good{i} = and i32 %flags{i}, {WELL_BEHAVED}"
    yield f"  %isgood{i} = icmp eq i32 %good{i}, {WELL_BEHAVED}"
    yield f"  %u{i} = and i1 %isdtype{i}, %isrank{i}"
    yield f"  %w{i} = and i1 %u{i}, %isgood{i}"
    labels = [*(f"axis{i}_{k}" for k in range(len(shape))), then]
    yield f"  br i1 %w{i}, label %{labels[0]}, label %slow"
    for k, n in enumerate(shape):
        yield f"{labels[k]}:"
        yield f"  %pn{i}_{k} = getelementptr i64, ptr %shape{i}, i64 {k}"
        yield f"  %n{i}_{k} = load i64, ptr %pn{i}_{k}"
        yield f"  %isn{i}_{k} = icmp eq i64 %n{i}_{k}, {n}"
        yield f"  br i1 %isn{i}_{k}, label %{labels[k + 1]}, label %slow"


def _field(i: int, name: str, offset: int, type_: str) -> Iterator[str]:
    yield f"  %p{name}{i} = getelementptr i8, ptr %o{i}, i64 {offset}"
    yield f"  %{name}{i} = load {type_}, ptr %p{name}{i}"


def _dims(name: str, shape: Sequence[int]) -> str:
    numbers = ", ".join(f"i64 {n}" for n in shape) or "i64 0"
    return f"@{name} = internal constant [{max(len(shape), 1)} x i64] [{numbers}]"


def _collect(views: Sequence[Leaf], number: int, type_: Type) -> Iterator[str]:
    """``PyObject *collect(array)``: ``build`` of a tuple of views, which keep the array alive; null after an error."""
    yield "define internal ptr @collect(ptr %array, ptr %table) noinline nounwind {"
    yield "entry:"
    for name in ("ndarray", *TABLE[2:3], *TABLE[5:-1]):
        yield from _from_table(name)
    yield f"  %pdata = getelementptr i8, ptr %array, i64 {DATA}"
    yield "  %data = load ptr, ptr %pdata"
    yield f"  %tuple = call ptr %PyTuple_New(i64 {len(views)})"
    yield "  %notuple = icmp eq ptr %tuple, null"
    yield "  br i1 %notuple, label %failed, label %view0"
    for k, (shape, offset) in enumerate(views):
        yield f"view{k}:"
        yield f"  %data{k} = getelementptr {type_.element}, ptr %data, i64 {offset}"
        yield (
            f"  %x{k} = call ptr %PyArray_New(ptr %ndarray, i32 {len(shape)}, ptr @dims{k}, i32 {number}, "
            f"ptr null, ptr %data{k}, i32 0, i32 {CARRAY}, ptr null)"
        )
        yield f"  %none{k} = icmp eq ptr %x{k}, null"
        yield f"  br i1 %none{k}, label %drop, label %made{k}"
        yield f"made{k}:"
        yield "  call void %Py_IncRef(ptr %array)"
        yield f"  %set{k} = call i32 %PyArray_SetBaseObject(ptr %x{k}, ptr %array)"
        yield f"  %put{k} = call i32 %PyTuple_SetItem(ptr %tuple, i64 {k}, ptr %x{k})"
        yield f"  br label %{f'view{k + 1}' if k + 1 < len(views) else 'done'}"
    yield "drop:"
    yield "  call void %Py_DecRef(ptr %tuple)"
    yield "  br label %failed"
    yield "failed:"
    yield "  call void %Py_DecRef(ptr %array)"
    yield "  ret ptr null"
    yield "done:"
    yield "  call void %Py_DecRef(ptr %array)"
    yield "  %built = call ptr %PyObject_CallOneArg(ptr %build, ptr %tuple)"
    yield "  call void %Py_DecRef(ptr %tuple)"
    yield "  ret ptr %built"
    yield "}"


def _from_table(name: str) -> Iterator[str]:
    """``%name``: the address with this name in the table."""
    yield f"  %p{name} = getelementptr i64, ptr %table, i64 {TABLE.index(name)}"
    yield f"  %{name} = load ptr, ptr %p{name}"
