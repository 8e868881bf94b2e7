"""LLVM text of the ways into a kernel for arrays: blocks of states, plain arrays, and a step again and again.

Each is a C function of pointers and counts; it gives 0, or 1 where there is no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from ..ir.program import Program
from .llvm import Type

MOST_ON_STACK = 2**16  # bytes for all that a batch needs: the stack of a thread may be half a megabyte


def blocks(program: Program, type_: Type) -> Iterator[str]:
    """``int blocks(arguments..., out, count)``: ``count`` blocks in the layout ``[block][value][lane]``."""
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


def iterate(program: Program, type_: Type) -> Iterator[str]:
    """``int iterate(arguments..., out, rows, every)``: one block again and again, its first outputs being its first
    argument the next time; every ``every``-th output is kept, ``[row][value][lane]``.
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


def _repeated(step: int) -> Iterator[str]:
    """The end of a loop over ``%count`` states or blocks, and of the function around it."""
    yield f"  %k1 = add i64 %k, {step}"
    yield "  %more = icmp slt i64 %k1, %count"
    yield "  br i1 %more, label %loop, label %end"
    yield "end:"
    yield "  call void @free(ptr %heap)"
    yield "  ret i32 0"
    yield "}"


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
