"""LLVM text of the ways into a kernel: one state from Python, blocks, plain arrays.

``single`` is a CPython function: it looks at the fields of its NumPy arguments itself (type, dtype, shape,
contiguity), makes the result array and runs the kernel, so that a call costs little more than the kernel.  Whatever
is not plain float64 goes to the slow, polite way in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

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
)
"""What Python writes into ``@table`` after loading: addresses, never part of the cached code."""

# offsets in PyArrayObject (64-bit CPython with the GIL; checked against a live array before use)
TYPE, DATA, NDIM, SHAPE, DTYPE, FLAGS = 8, 16, 24, 32, 56, 64
MOST_ON_STACK = 2**16  # bytes for all that a batch needs: the stack of a thread may be half a megabyte
MOST_ON_STACK_OF_ONE = 2**12  # for one state; more has its own memory, which only the thread with the GIL uses
CARRAY = 0x0001 | 0x0100 | 0x0400  # contiguous, aligned, writeable
WELL_BEHAVED = 0x0001 | 0x0100  # C-contiguous, aligned


def has_own_memory(program: Program, type_: Type) -> bool:
    """Whether the code for one state keeps its workspace from call to call (it starts out zero)."""
    return program.slots * type_.bytes > MOST_ON_STACK_OF_ONE


def single(
    program: Program, arguments: Sequence[Argument], shape: Sequence[int], type_: Type, views: Sequence[Leaf] = ()
) -> Iterator[str]:
    """``PyObject *single(self, args, nargs, kwnames)`` for METH_FASTCALL | METH_KEYWORDS.

    It returns an array of the given shape, or what ``build`` makes of a tuple of ``views`` of it.
    """
    count = len(arguments)
    number = 12 if type_.element == "double" else 11  # NPY_DOUBLE, NPY_FLOAT
    yield f"@table = global [{len(TABLE)} x i64] zeroinitializer"
    yield _dims("dims", shape)
    for k, leaf in enumerate(views):
        yield _dims(f"dims{k}", leaf.shape)
    own = has_own_memory(program, type_)
    if own:
        yield f"@work = internal global [{program.slots * type_.bytes} x i8] zeroinitializer, align 64"
    yield "define ptr @single(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {"
    yield "entry:"
    size = max(program.slots, 1) * type_.bytes
    yield "  %work = getelementptr i8, ptr @work, i64 0" if own else f"  %work = alloca [{size} x i8], align 64"
    yield "  %nokeys = icmp eq ptr %kwnames, null"
    yield f"  %rightcount = icmp eq i64 %nargs, {count}"
    yield "  %fine = and i1 %nokeys, %rightcount"
    yield "  br i1 %fine, label %check0, label %slow"
    for i, argument in enumerate(arguments):
        yield from _look(i, argument.shape, f"check{i + 1}" if i + 1 < count else "run")
    if not count:
        yield "check0:\n  br label %run"
    yield "run:"
    yield "  %pnew = getelementptr i64, ptr @table, i64 2"
    yield "  %new = load ptr, ptr %pnew"
    yield "  %ndarray = load ptr, ptr @table"
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
        yield "  %tuple = call ptr @collect(ptr %result)"
    else:
        yield "  %tuple = getelementptr i8, ptr %result, i64 0"
    yield "  br label %end"
    yield "slow:"
    yield "  %pcall = getelementptr i64, ptr @table, i64 3"
    yield "  %call = load ptr, ptr %pcall"
    yield "  %pslow = getelementptr i64, ptr @table, i64 4"
    yield "  %slowly = load ptr, ptr %pslow"
    yield "  %answer = call ptr %call(ptr %slowly, ptr %args, i64 %nargs, ptr %kwnames)"
    yield "  br label %end"
    yield "end:"
    yield "  %final = phi ptr [ %result, %run ], [ %tuple, %compute ], [ %answer, %slow ]"
    yield "  ret ptr %final"
    yield "}"
    if views:
        yield from _collect(views, number, type_)


def _dims(name: str, shape: Sequence[int]) -> str:
    numbers = ", ".join(f"i64 {n}" for n in shape) or "i64 0"
    return f"@{name} = internal constant [{max(len(shape), 1)} x i64] [{numbers}]"


def _from_table(name: str) -> Iterator[str]:
    """``%name``: the address with this name in the table."""
    yield f"  %p{name} = getelementptr i64, ptr @table, i64 {TABLE.index(name)}"
    yield f"  %{name} = load ptr, ptr %p{name}"


def _collect(views: Sequence[Leaf], number: int, type_: Type) -> Iterator[str]:
    """``PyObject *collect(array)``: ``build`` of a tuple of views, which keep the array alive; null after an error."""
    yield "define internal ptr @collect(ptr %array) noinline nounwind {"
    yield "entry:"
    for name in ("ndarray", *TABLE[2:3], *TABLE[5:]):
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


def _rooms(values: dict[str, int], type_: Type) -> Iterator[str]:
    """``%name``: aligned memory for so many blocks each, on the stack, or on the heap when it is much; the function
    goes on at ``start``, or ends with 1 where there is no memory.
    """
    ends = list(accumulate(-(-count * type_.bytes // 64) * 64 for count in values.values()))
    if ends[-1] <= MOST_ON_STACK:
        yield f"  %rooms = alloca [{max(ends[-1], 64)} x i8], align 64"
        yield "  %heap = getelementptr i8, ptr null, i64 0"
    else:
        yield f"  %heap = call ptr @malloc(i64 {ends[-1] + 64})"
        yield "  %nothing = icmp eq ptr %heap, null"
        yield "  br i1 %nothing, label %failed, label %found"
        yield "failed:\n  ret i32 1"
        yield "found:"
        yield "  %number = ptrtoint ptr %heap to i64"
        yield "  %above = add i64 %number, 63"
        yield "  %even = and i64 %above, -64"
        yield "  %rooms = inttoptr i64 %even to ptr"
    for name, place in zip(values, [0, *ends], strict=False):
        yield f"  %{name} = getelementptr i8, ptr %rooms, i64 {place}"
    yield "  br label %start"
    yield "start:"


def _look(i: int, shape: tuple[int, ...], then: str) -> Iterator[str]:
    """Whether argument ``i`` is an array of this shape as the kernel reads them; if so go on to ``then``."""
    yield f"check{i}:"
    yield f"  %slot{i} = getelementptr ptr, ptr %args, i64 {i}"
    yield f"  %o{i} = load ptr, ptr %slot{i}"
    yield from _field(i, "type", TYPE, "i64")
    yield f"  %wanttype{i} = load i64, ptr @table"
    yield f"  %istype{i} = icmp eq i64 %type{i}, %wanttype{i}"
    yield f"  br i1 %istype{i}, label %look{i}, label %slow"
    yield f"look{i}:"
    yield from _field(i, "data", DATA, "ptr")
    yield from _field(i, "ndim", NDIM, "i32")
    yield from _field(i, "shape", SHAPE, "ptr")
    yield from _field(i, "dtype", DTYPE, "i64")
    yield from _field(i, "flags", FLAGS, "i32")
    yield f"  %pwantdtype{i} = getelementptr i64, ptr @table, i64 1"
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


def _repeated(step: int) -> Iterator[str]:
    """The end of a loop over ``%count`` states or blocks, and of the function around it."""
    yield f"  %k1 = add i64 %k, {step}"
    yield "  %more = icmp slt i64 %k1, %count"
    yield "  br i1 %more, label %loop, label %end"
    yield "end:"
    yield "  call void @free(ptr %heap)"
    yield "  ret i32 0"
    yield "}"


def blocks(program: Program, type_: Type) -> Iterator[str]:
    """``int blocks(arguments..., out, count)``: ``count`` blocks in the layout ``[block][value][lane]``.

    0, or 1 where there is no memory.
    """
    count = len(program.argument_sizes)
    parameters = ", ".join([*(f"ptr %b{i}" for i in range(count)), "ptr %bout", "i64 %count"])
    yield "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
    yield f"define i32 @blocks({parameters}) nounwind {{"
    yield "entry:"
    yield from _rooms({"work": program.slots}, type_)
    yield "  %any = icmp sgt i64 %count, 0"
    yield "  br i1 %any, label %loop, label %end"
    yield "loop:"
    yield "  %k = phi i64 [ 0, %start ], [ %k1, %loop ]"
    for i, n in enumerate(program.argument_sizes):
        yield f"  %s{i} = mul i64 %k, {n}"
        yield f"  %a{i} = getelementptr {type_.text}, ptr %b{i}, i64 %s{i}"
    yield f"  %sout = mul i64 %k, {len(program.outputs)}"
    yield f"  %out = getelementptr {type_.text}, ptr %bout, i64 %sout"
    arguments = ", ".join([*(f"ptr %a{i}" for i in range(count)), "ptr %out", "ptr %work"])
    yield f"  call void @kernel({arguments})"
    yield from _repeated(1)


def iterate(program: Program, type_: Type) -> Iterator[str]:
    """``int iterate(arguments..., out, rows, every)``: one block again and again, its first outputs being its first
    argument the next time; every ``every``-th output is kept, ``[row][value][lane]``.

    0, or 1 where there is no memory.
    """
    count, size, outputs = len(program.argument_sizes), program.argument_sizes[0], len(program.outputs)
    parameters = ", ".join([*(f"ptr %b{i}" for i in range(count)), "ptr %bout", "i64 %rows", "i64 %every"])
    copy = "call void @llvm.memcpy.p0.p0.i64"
    yield "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
    yield "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    yield f"define i32 @iterate({parameters}) nounwind {{"
    yield "entry:"
    yield from _rooms({"work": program.slots, "a0": size, "out": outputs}, type_)
    yield f"  {copy}(ptr %a0, ptr %b0, i64 {size * type_.bytes}, i1 false)"
    yield "  br label %row"
    yield "row:"
    yield "  %r = phi i64 [ 0, %start ], [ %r1, %kept ]"
    yield "  br label %step"
    yield "step:"
    yield "  %k = phi i64 [ 0, %row ], [ %k1, %step ]"
    arguments = ", ".join(["ptr %a0", *(f"ptr %b{i}" for i in range(1, count)), "ptr %out", "ptr %work"])
    yield f"  call void @kernel({arguments})"
    yield f"  {copy}(ptr %a0, ptr %out, i64 {size * type_.bytes}, i1 false)"
    yield "  %k1 = add i64 %k, 1"
    yield "  %more = icmp slt i64 %k1, %every"
    yield "  br i1 %more, label %step, label %kept"
    yield "kept:"
    yield f"  %place = mul i64 %r, {outputs}"
    yield f"  %to = getelementptr {type_.text}, ptr %bout, i64 %place"
    yield f"  {copy}(ptr %to, ptr %out, i64 {outputs * type_.bytes}, i1 false)"
    yield "  %r1 = add i64 %r, 1"
    yield "  %again = icmp slt i64 %r1, %rows"
    yield "  br i1 %again, label %row, label %end"
    yield "end:"
    yield "  call void @free(ptr %heap)"
    yield "  ret i32 0"
    yield "}"


def batch(program: Program, type_: Type, element: str = "") -> Iterator[str]:
    """``int batch(arguments..., out, count)``: plain arrays ``(count, n)``, transposed into lanes and back, block by
    block.

    The last block repeats the last state in the lanes that are left over.  With ``element``, arrays hold numbers of
    this type, whatever the kernel computes in, and the function is ``batch_{element}``.
    """
    count, suffix = len(program.argument_sizes), element and f"_{element}"
    parameters = ", ".join([*(f"ptr %b{i}" for i in range(count)), "ptr %bout", "i64 %count"])
    yield f"define i32 @batch{suffix}({parameters}) nounwind {{"
    yield "entry:"
    inputs = {f"a{i}": n for i, n in enumerate(program.argument_sizes)}
    yield from _rooms({"work": program.slots, **inputs, "out": len(program.outputs)}, type_)
    yield "  %last = sub i64 %count, 1"
    yield "  %any = icmp sgt i64 %count, 0"
    yield "  br i1 %any, label %loop, label %end"
    yield "loop:"
    yield "  %k = phi i64 [ 0, %start ], [ %k1, %next ]"
    for i, n in enumerate(program.argument_sizes):
        yield f"  call void @spread{suffix}(ptr %b{i}, ptr %a{i}, i64 %k, i64 %last, i64 {n})"
    arguments = ", ".join([*(f"ptr %a{i}" for i in range(count)), "ptr %out", "ptr %work"])
    yield f"  call void @kernel({arguments})"
    yield f"  call void @gather{suffix}(ptr %bout, ptr %out, i64 %k, i64 %last, i64 {len(program.outputs)})"
    yield "  br label %next"
    yield "next:"
    yield from _repeated(type_.lanes)
    yield from _transposing(f"spread{suffix}", type_, element or type_.element, into_lanes=True)
    yield from _transposing(f"gather{suffix}", type_, element or type_.element, into_lanes=False)


def until(program: Program, type_: Type) -> Iterator[str]:
    """``int until(arguments..., out, count, most)``: each of ``count`` states again and again, its first outputs being
    its first argument the next time, until its last output is positive, ``most`` times at most; plain arrays.

    The states in the lanes of a block go on until all are done.
    """
    count, lanes, outputs = len(program.argument_sizes), type_.lanes, len(program.outputs)
    parameters = ", ".join([*(f"ptr %b{i}" for i in range(count)), "ptr %bout", "i64 %count", "i64 %most"])
    copy = "call void @llvm.memcpy.p0.p0.i64"
    yield "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
    yield "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    yield f"define i32 @until({parameters}) nounwind {{"
    yield "entry:"
    inputs = {f"a{i}": n for i, n in enumerate(program.argument_sizes)}
    yield from _rooms({"work": program.slots, **inputs, "out": outputs}, type_)
    yield "  %last = sub i64 %count, 1"
    yield "  %any = icmp sgt i64 %count, 0"
    yield "  br i1 %any, label %loop, label %end"
    yield "loop:"
    yield "  %k = phi i64 [ 0, %start ], [ %k1, %next ]"
    for i, n in enumerate(program.argument_sizes):
        yield f"  call void @spread(ptr %b{i}, ptr %a{i}, i64 %k, i64 %last, i64 {n})"
    yield "  br label %step"
    yield "step:"
    yield "  %s = phi i64 [ 0, %loop ], [ %s1, %step ]"
    arguments = ", ".join([*(f"ptr %a{i}" for i in range(count)), "ptr %out", "ptr %work"])
    yield f"  call void @kernel({arguments})"
    yield f"  {copy}(ptr %a0, ptr %out, i64 {program.argument_sizes[0] * type_.bytes}, i1 false)"
    yield f"  %pflag = getelementptr {type_.text}, ptr %out, i64 {outputs - 1}"
    yield f"  %flag = load {type_.text}, ptr %pflag, align {type_.bytes}"
    yield f"  %done = fcmp ogt {type_.text} %flag, zeroinitializer"
    all_done = (
        f"call i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1> %done)" if lanes > 1 else "or i1 %done, false"
    )
    yield f"  %all = {all_done}"
    yield "  %s1 = add i64 %s, 1"
    yield "  %fewer = icmp slt i64 %s1, %most"
    yield "  %open = xor i1 %all, true"
    yield "  %again = and i1 %fewer, %open"
    yield "  br i1 %again, label %step, label %stop"
    yield "stop:"
    yield f"  call void @gather(ptr %bout, ptr %out, i64 %k, i64 %last, i64 {outputs})"
    yield "  br label %next"
    yield "next:"
    yield from _repeated(lanes)
    yield from _transposing("spread", type_, type_.element, into_lanes=True)
    yield from _transposing("gather", type_, type_.element, into_lanes=False)
    if lanes > 1:
        yield f"declare i1 @llvm.vector.reduce.and.v{lanes}i1(<{lanes} x i1>)"


def _transposing(name: str, type_: Type, e: str, into_lanes: bool) -> Iterator[str]:
    """Copies ``n`` numbers of each of the states ``first`` ... between rows of a plain array of ``e`` and lanes."""
    own, lanes = type_.element, type_.lanes
    parameters = "ptr noalias %rows, ptr noalias %lanes, i64 %first, i64 %last, i64 %n"
    yield f"define internal void @{name}({parameters}) noinline nounwind {{"
    yield "entry:"
    for i in range(lanes):
        yield f"  %i{i} = add i64 %first, {i}"
        yield f"  %over{i} = icmp sgt i64 %i{i}, %last"
        yield f"  %state{i} = select i1 %over{i}, i64 %last, i64 %i{i}"
        yield f"  %start{i} = mul i64 %state{i}, %n"
        yield f"  %row{i} = getelementptr {e}, ptr %rows, i64 %start{i}"
    yield "  %any = icmp sgt i64 %n, 0"
    yield "  br i1 %any, label %loop, label %end"
    yield "loop:"
    yield "  %j = phi i64 [ 0, %entry ], [ %j1, %loop ]"
    yield f"  %lane = getelementptr {type_.text}, ptr %lanes, i64 %j"
    for i in range(lanes):
        yield f"  %p{i} = getelementptr {e}, ptr %row{i}, i64 %j"
    if into_lanes:
        whole = "poison" if lanes > 1 else "%x0"
        for i in range(lanes):
            yield f"  %r{i} = load {e}, ptr %p{i}"
            yield _converted(f"%x{i}", f"%r{i}", e, own)
            if lanes > 1:
                yield f"  %v{i} = insertelement {type_.text} {whole}, {own} %x{i}, i32 {i}"
                whole = f"%v{i}"
        yield f"  store {type_.text} {whole}, ptr %lane, align {type_.bytes}"
    else:
        yield f"  %v = load {type_.text}, ptr %lane, align {type_.bytes}"
        for i in range(lanes):
            lane = f"extractelement {type_.text} %v, i32 {i}" if lanes > 1 else f"bitcast {own} %v to {own}"
            yield f"  %r{i} = {lane}"
            yield _converted(f"%x{i}", f"%r{i}", own, e)
            yield f"  store {e} %x{i}, ptr %p{i}"
    yield "  %j1 = add i64 %j, 1"
    yield "  %more = icmp slt i64 %j1, %n"
    yield "  br i1 %more, label %loop, label %end"
    yield "end:"
    yield "  ret void"
    yield "}"


def _converted(new: str, old: str, given: str, wanted: str) -> str:
    """``new``: the number ``old`` in the type that is wanted."""
    how = "bitcast" if given == wanted else "fpext" if wanted == "double" else "fptrunc"
    return f"  {new} = {how} {given} {old} to {wanted}"
