"""LLVM text of the ways into a kernel for arrays: blocks of states, plain arrays, and a step again and again.

Each is a C function of pointers and counts; it gives 0, or 1 where there is no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from ..ir.program import Program
from .llvm import Type

MAX_ON_STACK = 2**16  # bytes for all that a batch needs: the stack of a thread may be half a megabyte


def blocks(program: Program, type_: Type) -> Iterator[str]:
    """C function of ``count`` blocks in the layout ``[block][value][lane]``.

    ``int blocks(arguments..., out, count)``.
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
    yield from _loop_end(1)


def batch(program: Program, type_: Type, element: str = "") -> Iterator[str]:
    """C function of plain arrays ``(count, n)``, transposed into lanes and back, block by block.

    ``int batch(arguments..., out, count)``.  The last block repeats the last state in the lanes that are left over.
    With ``element``, arrays hold numbers of this type, whatever the kernel computes in, and the function is
    ``batch_{element}``.
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
    yield from _loop_end(type_.lanes)
    yield from _transposing(f"spread{suffix}", type_, element or type_.element, into_lanes=True)
    yield from _transposing(f"gather{suffix}", type_, element or type_.element, into_lanes=False)


def iterate(program: Program, type_: Type) -> Iterator[str]:
    """C function that steps each state of plain arrays ``(count, n)`` again and again.

    ``int iterate(arguments..., out, count, rows, every, stride)``: the first outputs of a state are its first argument
    the next time; every ``every``-th output is kept, and those of the next row lie ``stride`` states further.

    A block stays in the processor's cache for all its steps.
    """
    sizes, outputs = program.argument_sizes, len(program.outputs)
    inputs = {f"a{i}": n for i, n in enumerate(sizes)}
    parameters = [*(f"ptr %b{i}" for i in range(len(sizes))), "ptr %bout", "i64 %count, i64 %rows, i64 %every"]
    yield "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
    yield "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    yield f"define i32 @iterate({', '.join(parameters)}, i64 %stride) nounwind {{"
    yield "entry:"
    yield from _rooms({"work": program.slots, **inputs, "out": outputs}, type_)
    yield "  %last = sub i64 %count, 1"
    yield "  %any = icmp sgt i64 %count, 0"
    yield "  br i1 %any, label %loop, label %end"
    yield "loop:"
    yield "  %k = phi i64 [ 0, %start ], [ %k1, %next ]"
    for i, n in enumerate(sizes):
        yield f"  call void @spread(ptr %b{i}, ptr %a{i}, i64 %k, i64 %last, i64 {n})"
    yield "  br label %row"
    yield "row:"
    yield "  %r = phi i64 [ 0, %loop ], [ %r1, %kept ]"
    yield "  br label %step"
    yield "step:"
    yield "  %s = phi i64 [ 0, %row ], [ %s1, %step ]"
    yield f"  call void @kernel({', '.join(f'ptr %{x}' for x in (*inputs, 'out', 'work'))})"
    yield f"  call void @llvm.memcpy.p0.p0.i64(ptr %a0, ptr %out, i64 {sizes[0] * type_.bytes}, i1 false)"
    yield "  %s1 = add i64 %s, 1"
    yield "  %further = icmp slt i64 %s1, %every"
    yield "  br i1 %further, label %step, label %kept"
    yield "kept:"
    yield f"  %before = mul i64 %r, %stride\n  %place = mul i64 %before, {outputs}"
    yield f"  %to = getelementptr {type_.element}, ptr %bout, i64 %place"
    yield f"  call void @gather(ptr %to, ptr %out, i64 %k, i64 %last, i64 {outputs})"
    yield "  %r1 = add i64 %r, 1"
    yield "  %again = icmp slt i64 %r1, %rows"
    yield "  br i1 %again, label %row, label %next"
    yield "next:"
    yield from _loop_end(type_.lanes)
    yield from _transposing("spread", type_, type_.element, into_lanes=True)
    yield from _transposing("gather", type_, type_.element, into_lanes=False)


def until(program: Program, type_: Type) -> Iterator[str]:
    """C function that steps each of ``count`` states until its last output is positive, ``most`` times at most.

    ``int until(arguments..., out, count, most)``, of plain arrays: the first outputs of a state are its first argument
    the next time.

    A lane whose state is done takes the next one: no lane waits for others.
    """
    count, lanes, outputs = len(program.argument_sizes), type_.lanes, len(program.outputs)
    parameters = ", ".join([*(f"ptr %b{i}" for i in range(count)), "ptr %bout", "i64 %count", "i64 %most"])
    yield "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
    yield "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    yield f"define i32 @until({parameters}) nounwind {{"
    yield "entry:"
    yield f"  %states = alloca [{lanes} x i64]\n  %times = alloca [{lanes} x i64]"  # which lane has which, how often
    yield "  %next = alloca i64\n  %left = alloca i64"  # the next state that no lane has, and how many lanes have one
    inputs = {f"a{i}": n for i, n in enumerate(program.argument_sizes)}
    yield from _rooms({"work": program.slots, **inputs, "out": outputs}, type_)
    yield "  store i64 0, ptr %left"
    yield "  %any = icmp sgt i64 %count, 0"
    yield "  br i1 %any, label %fill, label %end"
    yield from _fill_lanes(program, lanes)
    yield "step:"
    arguments = ", ".join([*(f"ptr %a{i}" for i in range(count)), "ptr %out", "ptr %work"])
    yield f"  call void @kernel({arguments})"
    size = program.argument_sizes[0] * type_.bytes
    yield f"  call void @llvm.memcpy.p0.p0.i64(ptr %a0, ptr %out, i64 {size}, i1 false)"
    yield "  br label %look"
    yield from _refill_lanes(program, type_)
    yield "  %open = load i64, ptr %left\n  %go = icmp sgt i64 %open, 0"
    yield "  br i1 %go, label %step, label %end"
    yield "end:"
    yield "  call void @free(ptr %heap)\n  ret i32 0"
    yield "}"
    yield from _copying("take", type_, into_lane=True)
    yield from _copying("give", type_, into_lane=False)


def _fill_lanes(program: Program, lanes: int) -> Iterator[str]:
    """From ``fill`` to ``step``: a state for each lane; one that is left over computes with the first one's numbers."""
    yield "fill:"
    yield "  %f = phi i64 [ 0, %start ], [ %f1, %fill ]"
    yield "  %has = icmp slt i64 %f, %count\n  %first = select i1 %has, i64 %f, i64 0"
    yield from _load_state(program, "%first", "%f")
    yield f"  %fstate = {_lane(lanes)} %states, i64 0, i64 %f\n  %ftimes = {_lane(lanes)} %times, i64 0, i64 %f"
    yield "  %fmine = select i1 %has, i64 %f, i64 -1"
    yield "  store i64 %fmine, ptr %fstate\n  store i64 0, ptr %ftimes"
    yield "  %fone = zext i1 %has to i64\n  %fleft = load i64, ptr %left\n  %fsum = add i64 %fleft, %fone"
    yield "  store i64 %fsum, ptr %left\n  store i64 %fsum, ptr %next"
    yield f"  %f1 = add i64 %f, 1\n  %fmore = icmp slt i64 %f1, {lanes}"
    yield "  br i1 %fmore, label %fill, label %step"


def _refill_lanes(program: Program, type_: Type) -> Iterator[str]:
    """From ``look`` to ``decide``: lanes whose states are done give them away, and take the next ones."""
    e, lanes, outputs = type_.element, type_.lanes, len(program.outputs)
    yield "look:"
    yield "  %l = phi i64 [ 0, %step ], [ %l1, %looked ]"
    yield f"  %pstate = {_lane(lanes)} %states, i64 0, i64 %l\n  %state = load i64, ptr %pstate"
    yield f"  %ptimes = {_lane(lanes)} %times, i64 0, i64 %l\n  %before = load i64, ptr %ptimes"
    yield "  %now = add i64 %before, 1\n  store i64 %now, ptr %ptimes"
    yield f"  %flags = getelementptr {type_.text}, ptr %out, i64 {outputs - 1}"
    yield f"  %pflag = getelementptr {e}, ptr %flags, i64 %l\n  %flag = load {e}, ptr %pflag"
    yield f"  %reached = fcmp ogt {e} %flag, 0.0\n  %enough = icmp sge i64 %now, %most"
    yield "  %over = or i1 %reached, %enough\n  %real = icmp sge i64 %state, 0\n  %done = and i1 %over, %real"
    yield "  br i1 %done, label %give, label %looked"
    yield "give:"
    yield f"  call void @give(ptr %bout, ptr %out, i64 %state, i64 %l, i64 {outputs})"
    yield "  %new = load i64, ptr %next\n  %more = icmp slt i64 %new, %count"
    yield "  br i1 %more, label %again, label %last"
    yield "again:"
    yield from _load_state(program, "%new", "%l")
    yield "  store i64 %new, ptr %pstate\n  store i64 0, ptr %ptimes"
    yield "  %new1 = add i64 %new, 1\n  store i64 %new1, ptr %next"
    yield "  br label %looked"
    yield "last:"
    yield "  store i64 -1, ptr %pstate"
    yield "  %some = load i64, ptr %left\n  %fewer = sub i64 %some, 1\n  store i64 %fewer, ptr %left"
    yield "  br label %looked"
    yield "looked:"
    yield f"  %l1 = add i64 %l, 1\n  %lmore = icmp slt i64 %l1, {lanes}"
    yield "  br i1 %lmore, label %look, label %decide"
    yield "decide:"


def _lane(lanes: int) -> str:
    return f"getelementptr [{lanes} x i64], ptr"


def _load_state(program: Program, state: str, lane: str) -> Iterator[str]:
    for i, n in enumerate(program.argument_sizes):
        yield f"  call void @take(ptr %b{i}, ptr %a{i}, i64 {state}, i64 {lane}, i64 {n})"


def _copying(name: str, type_: Type, into_lane: bool) -> Iterator[str]:
    """Copies the ``n`` numbers of a state between its row of a plain array and a lane."""
    e = type_.element
    yield f"define internal void @{name}(ptr noalias %rows, ptr noalias %lanes, i64 %state, i64 %lane, i64 %n) {{"
    yield "entry:"
    yield f"  %start = mul i64 %state, %n\n  %row = getelementptr {e}, ptr %rows, i64 %start"
    yield f"  %column = getelementptr {e}, ptr %lanes, i64 %lane"
    yield "  %any = icmp sgt i64 %n, 0\n  br i1 %any, label %loop, label %end"
    yield "loop:"
    yield f"  %j = phi i64 [ 0, %entry ], [ %j1, %loop ]\n  %r = getelementptr {e}, ptr %row, i64 %j"
    yield f"  %k = mul i64 %j, {type_.lanes}\n  %c = getelementptr {e}, ptr %column, i64 %k"
    source, target = ("%r", "%c") if into_lane else ("%c", "%r")
    yield f"  %x = load {e}, ptr {source}\n  store {e} %x, ptr {target}"
    yield "  %j1 = add i64 %j, 1\n  %more = icmp slt i64 %j1, %n\n  br i1 %more, label %loop, label %end"
    yield "end:\n  ret void\n}"


def _rooms(values: dict[str, int], type_: Type) -> Iterator[str]:
    """Aligned memory ``%name`` for so many blocks each, on the stack, or on the heap when it is much.

    The function goes on at ``start``, or ends with 1 where there is no memory.
    """
    ends = list(accumulate(-(-count * type_.bytes // 64) * 64 for count in values.values()))
    if ends[-1] <= MAX_ON_STACK:
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


def _loop_end(step: int) -> Iterator[str]:
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
            yield _conversion(f"%x{i}", f"%r{i}", e, own)
            if lanes > 1:
                yield f"  %v{i} = insertelement {type_.text} {whole}, {own} %x{i}, i32 {i}"
                whole = f"%v{i}"
        yield f"  store {type_.text} {whole}, ptr %lane, align {type_.bytes}"
    else:
        yield f"  %v = load {type_.text}, ptr %lane, align {type_.bytes}"
        for i in range(lanes):
            lane = f"extractelement {type_.text} %v, i32 {i}" if lanes > 1 else f"bitcast {own} %v to {own}"
            yield f"  %r{i} = {lane}"
            yield _conversion(f"%x{i}", f"%r{i}", own, e)
            yield f"  store {e} %x{i}, ptr %p{i}"
    yield "  %j1 = add i64 %j, 1"
    yield "  %more = icmp slt i64 %j1, %n"
    yield "  br i1 %more, label %loop, label %end"
    yield "end:"
    yield "  ret void"
    yield "}"


def _conversion(new: str, old: str, given: str, wanted: str) -> str:
    """``new``: the number ``old`` in the type that is wanted."""
    how = "bitcast" if given == wanted else "fpext" if wanted == "double" else "fptrunc"
    return f"  {new} = {how} {given} {old} to {wanted}"
