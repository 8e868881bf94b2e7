"""LLVM text of functions of plain loops, read from their Python syntax.

Kernels are straight-line code.  An algorithm that branches on its numbers - a factorisation with pivots, an active
set - is written as Python functions over arrays instead, which run as they are, slowly, and which this module
translates word for word.  What it knows is what such algorithms need, and all else is an error:

- parameters ``int``, ``bool``, ``float``, ``Vector``, ``Integers``, ``Matrix`` (float64, int64, rows of float64), and
  records of these: a ``NamedTuple`` of the same module,
- ``x = ...``, ``x += ...``, ``x[i] = ...``, ``A[i, j] = ...``, ``for i in range(...)``, ``while``, ``if``, ``break``,
  ``continue``, ``return``, calls of other such functions,
- ``+ - * /``, comparisons, ``and``, ``or``, ``not``, ``a if c else b``, ``A[i]`` (a row), ``x[k:]`` (the rest),
  ``sqrt``, ``abs``.

A name has one type.  Sums may be taken in any order, so that loops fill SIMD lanes; NaN and infinity stay themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .signatures import ELEMENT, Signature, flat, signature

_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_FAST = "reassoc nsz arcp contract"


class Value(NamedTuple):
    """A number or array in LLVM text; a matrix is where it begins and how far apart its rows are."""

    type: str
    text: str
    stride: str = ""


def module(functions: Sequence[Callable[..., Any]]) -> str:
    """The functions, and ``int64 NAME_entry(int64 *arguments)`` of the last of them."""
    known = {s.name: s for s in map(signature, functions)}
    last = list(known.values())[-1]
    texts = ["declare double @llvm.sqrt.f64(double)", "declare double @llvm.fabs.f64(double)"]
    return "\n".join([*texts, *(_Function(s, known).text() for s in known.values()), _entry(last)])


def _entry(given: Signature) -> str:
    """All arguments from one table, so that a call from Python passes a single pointer."""
    lines = [f"define i64 @{given.name}_entry(ptr %table) nounwind {{"]
    passed = flat(given.parameters)
    for k, (_, type_) in enumerate(passed):
        lines += [f"  %p{k} = getelementptr i64, ptr %table, i64 {k}", f"  %x{k} = load {type_}, ptr %p{k}"]
    arguments = ", ".join(f"{type_} %x{k}" for k, (_, type_) in enumerate(passed))
    return "\n".join([*lines, f"  %r = call i64 @{given.name}({arguments})", "  ret i64 %r", "}"])


class _Function:
    """The text of one function; names live in memory, which LLVM turns into registers."""

    def __init__(self, given: Signature, known: dict[str, Signature]) -> None:
        self.given, self.known = given, known
        self.slots: dict[str, str] = {}
        self.lines: list[str] = []
        self.count = 0
        self.loops: list[tuple[str, str]] = []
        self.closed = False

    def text(self) -> str:
        for name, type_ in self.given.parameters:
            self.store(name, Value(type_, f"%{name}", f"%{name}.stride" if type_ == "matrix" else ""))
        self.block(self.given.tree.body)
        if not self.closed:
            self.emit("ret void" if self.given.result == "void" else "unreachable")
        parameters = ", ".join(f"{t}{' noalias' * (t == 'ptr')} %{n}" for n, t in flat(self.given.parameters))
        # not inlined: LLVM would unroll and vectorise the same loops again in every caller, for five times as long
        head = f"define internal {self.given.result} @{self.given.name}({parameters}) noinline nounwind {{\nentry:"
        slots = [f"  %{name}.slot = alloca {_storage_type(type_)}" for name, type_ in self.slots.items()]
        slots += [f"  %{name}.slot2 = alloca i64" for name, type_ in self.slots.items() if type_ == "matrix"]
        return "\n".join([head, *slots, *self.lines, "}"])

    # lines ------------------------------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        if not self.closed:
            self.lines.append(f"  {line}")
        self.closed = self.closed or line.startswith(("br ", "ret ", "unreachable"))

    def value(self, type_: str, line: str) -> Value:
        self.count += 1
        self.emit(f"%t{self.count} = {line}")
        return Value(type_, f"%t{self.count}")

    def label(self, *names: str) -> list[str]:
        self.count += 1
        return [f"{name}{self.count}" for name in names]

    def begin(self, label: str) -> None:
        self.emit(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.closed = False

    def store(self, name: str, x: Value) -> None:
        if self.slots.setdefault(name, x.type) != x.type:
            raise TypeError(f"{name} of {self.given.name} is both {self.slots[name]} and {x.type}")
        self.emit(f"store {_storage_type(x.type)} {x.text}, ptr %{name}.slot")
        if x.type == "matrix":
            self.emit(f"store i64 {x.stride}, ptr %{name}.slot2")

    # statements -------------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            getattr(self, f"do_{type(statement).__name__}")(statement)

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.expression(node.value)

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
        for (to, _), x in zip(pairs, [self.expression(source) for _, source in pairs], strict=True):
            self.assign(to, x)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.assign(node.target, self.binary(node.op, self.expression(node.target), self.expression(node.value)))
            return
        assert isinstance(node.target, ast.Subscript)
        place = self.place(node.target)
        old = self.value(place.type, f"load {place.type}, ptr {place.text}")
        new = self.binary(node.op, old, self.expression(node.value))
        self.emit(f"store {place.type} {new.text}, ptr {place.text}")

    def assign(self, target: ast.expr, x: Value) -> None:
        if isinstance(target, ast.Name):
            self.store(target.id, x)
            return
        assert isinstance(target, ast.Subscript)
        place = self.place(target)
        self.emit(f"store {place.type} {self.as_type(x, place.type).text}, ptr {place.text}")

    def do_For(self, node: ast.For) -> None:
        assert isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)
        bounds = [self.expression(x) for x in node.iter.args]
        start, stop = (Value("i64", "0"), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2].text if len(bounds) == 3 else "1"
        head, body, after, end = self.label("for", "body", "next", "end")
        counter = f"{node.target.id}.{head}"
        self.store(counter, start)
        self.begin(head)
        i = self.value("i64", f"load i64, ptr %{counter}.slot")
        more = self.value("i1", f"icmp {'sgt' if step.startswith('-') else 'slt'} i64 {i.text}, {stop.text}")
        self.emit(f"br i1 {more.text}, label %{body}, label %{end}")
        self.begin(body)
        self.store(node.target.id, i)
        self.loops.append((after, end))
        self.block(node.body)
        self.loops.pop()
        self.begin(after)
        i = self.value("i64", f"load i64, ptr %{counter}.slot")
        self.store(counter, self.value("i64", f"add nsw i64 {i.text}, {step}"))
        self.emit(f"br label %{head}")
        self.begin(end)

    def do_While(self, node: ast.While) -> None:
        head, body, end = self.label("while", "body", "end")
        self.begin(head)
        self.branch(node.test, body, end)
        self.begin(body)
        self.loops.append((head, end))
        self.block(node.body)
        self.loops.pop()
        self.emit(f"br label %{head}")
        self.begin(end)

    def do_If(self, node: ast.If) -> None:
        then, other, end = self.label("then", "else", "end")
        self.branch(node.test, then, other)
        self.begin(then)
        self.block(node.body)
        self.emit(f"br label %{end}")
        self.begin(other)
        self.block(node.orelse)
        self.begin(end)

    def do_Break(self, node: ast.Break) -> None:
        self.emit(f"br label %{self.loops[-1][1]}")

    def do_Continue(self, node: ast.Continue) -> None:
        self.emit(f"br label %{self.loops[-1][0]}")

    def do_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.emit("ret void")
        else:
            x = self.as_type(self.expression(node.value), self.given.result)
            self.emit(f"ret {x.type} {x.text}")

    # expressions ------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Value:
        found: Value = getattr(self, f"of_{type(node).__name__}")(node)
        return found

    def of_Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool):
            return Value("i1", str(node.value).lower())
        if isinstance(node.value, int):
            return Value("i64", str(node.value))
        assert isinstance(node.value, float)
        return Value("double", f"{node.value:.17e}")

    def of_Name(self, node: ast.Name) -> Value:
        if node.id not in self.slots:
            return self.of_Constant(ast.Constant(self.given.constants[node.id]))
        return self.slot(node.id)

    def of_Attribute(self, node: ast.Attribute) -> Value:
        return self.slot(ast.unparse(node))

    def slot(self, name: str) -> Value:
        type_ = self.slots[name]
        x = self.value(type_, f"load {_storage_type(type_)}, ptr %{name}.slot")
        if type_ != "matrix":
            return x
        return x._replace(stride=self.value("i64", f"load i64, ptr %{name}.slot2").text)

    def of_Subscript(self, node: ast.Subscript) -> Value:
        array = self.expression(node.value)
        if isinstance(node.slice, ast.Slice):
            assert node.slice.lower is not None and node.slice.upper is None
            first = self.expression(node.slice.lower)
            if array.type == "matrix":
                return Value("matrix", self.row(array, first), array.stride)
            return self.value(array.type, f"getelementptr {ELEMENT[array.type]}, ptr {array.text}, i64 {first.text}")
        if array.type == "matrix" and not isinstance(node.slice, ast.Tuple):
            return Value("vector", self.row(array, self.expression(node.slice)))
        place = self.place(node)
        return self.value(place.type, f"load {place.type}, ptr {place.text}")

    def row(self, array: Value, i: Value) -> str:
        offset = self.value("i64", f"mul nsw i64 {array.stride}, {i.text}")
        return self.value("vector", f"getelementptr double, ptr {array.text}, i64 {offset.text}").text

    def place(self, node: ast.Subscript) -> Value:
        """Address of an entry, and its type."""
        array = self.expression(node.value)
        element = ELEMENT[array.type]
        if isinstance(node.slice, ast.Tuple):
            row, column = map(self.expression, node.slice.elts)
            start = self.row(array, row)
        else:
            start, column = array.text, self.expression(node.slice)
        return self.value(element, f"getelementptr {element}, ptr {start}, i64 {column.text}")

    def of_BinOp(self, node: ast.BinOp) -> Value:
        return self.binary(node.op, self.expression(node.left), self.expression(node.right))

    def binary(self, op: ast.operator, a: Value, b: Value) -> Value:
        if isinstance(op, ast.Div) or "double" in (a.type, b.type):
            a, b = self.as_type(a, "double"), self.as_type(b, "double")
            name = "div" if isinstance(op, ast.Div) else _ARITHMETIC[type(op)]
            return self.value("double", f"f{name} {_FAST} double {a.text}, {b.text}")
        return self.value("i64", f"{_ARITHMETIC[type(op)]} i64 {a.text}, {b.text}")

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        x = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return self.value("i1", f"xor i1 {x.text}, true")
        if isinstance(node.operand, ast.Constant) and x.type == "i64":
            return Value("i64", f"-{x.text}")
        return self.value(x.type, f"fneg double {x.text}" if x.type == "double" else f"sub i64 0, {x.text}")

    def of_Compare(self, node: ast.Compare) -> Value:
        (op,), (right,) = node.ops, node.comparators
        a, b = self.expression(node.left), self.expression(right)
        word = _COMPARE[type(op)]
        if "double" in (a.type, b.type):
            a, b = self.as_type(a, "double"), self.as_type(b, "double")
            return self.value("i1", f"fcmp {'une' if word == 'ne' else 'o' + word} double {a.text}, {b.text}")
        return self.value("i1", f"icmp {word if word in ('eq', 'ne') else 's' + word} i64 {a.text}, {b.text}")

    def of_BoolOp(self, node: ast.BoolOp) -> Value:
        then, other = self.label("true", "false")
        return self.chosen(node, then, other, lambda: Value("i1", "true"), lambda: Value("i1", "false"))

    def of_IfExp(self, node: ast.IfExp) -> Value:
        then, other = self.label("true", "false")
        return self.chosen(
            node.test, then, other, lambda: self.expression(node.body), lambda: self.expression(node.orelse)
        )

    def chosen(self, test: ast.expr, then: str, other: str, a: Callable[[], Value], b: Callable[[], Value]) -> Value:
        """One of two values; what is not chosen is not computed."""
        self.branch(test, then, other)
        (join,) = self.label("join")
        slot = f"choice.{join}"
        self.begin(then)
        x = a()
        self.store(slot, x)
        self.emit(f"br label %{join}")
        self.begin(other)
        self.store(slot, self.as_type(b(), x.type))
        self.begin(join)
        return self.value(x.type, f"load {_storage_type(x.type)}, ptr %{slot}.slot")

    def branch(self, test: ast.expr, then: str, other: str) -> None:
        """Goes on at one of two labels; of ``and`` and ``or`` no more is computed than needed."""
        if isinstance(test, ast.BoolOp):
            for part in test.values[:-1]:
                (rest,) = self.label("also")
                if isinstance(test.op, ast.And):
                    self.branch(part, rest, other)
                else:
                    self.branch(part, then, rest)
                self.begin(rest)
            self.branch(test.values[-1], then, other)
        else:
            self.emit(f"br i1 {self.expression(test).text}, label %{then}, label %{other}")

    def of_Call(self, node: ast.Call) -> Value:
        assert isinstance(node.func, ast.Name)
        given = [value for x in node.args for value in self.argument(x)]
        if node.func.id in ("sqrt", "abs"):
            name = {"sqrt": "sqrt", "abs": "fabs"}[node.func.id]
            return self.value("double", f"call double @llvm.{name}.f64(double {self.as_type(given[0], 'double').text})")
        to = self.known[node.func.id]
        passed = []
        for x, (name, type_) in zip(given, to.parameters, strict=True):
            x = self.as_type(x, type_, f"{name} of {to.name}")
            passed.append(f"{_storage_type(type_)} {x.text}")
            if type_ == "matrix":
                passed.append(f"i64 {x.stride}")
        call = f"call {to.result} @{to.name}({', '.join(passed)})"
        if to.result == "void":
            self.emit(call)
            return Value("void", "")
        return self.value(to.result, call)

    def argument(self, node: ast.expr) -> list[Value]:
        """Values that are passed: all fields of a record."""
        if not isinstance(node, ast.Name) or node.id in self.slots:
            return [self.expression(node)]
        fields = [name for name in self.slots if name.startswith(f"{node.id}.")]
        return [self.slot(name) for name in fields] if fields else [self.expression(node)]

    def as_type(self, x: Value, type_: str, what: str = "it") -> Value:
        if x.type == type_:
            return x
        if (x.type, type_) != ("i64", "double"):
            raise TypeError(f"{what}, in {self.given.name}, is {type_}, not {x.type}")
        return self.value("double", f"sitofp i64 {x.text} to double")


def _storage_type(type_: str) -> str:
    return "ptr" if type_ in ELEMENT else type_
