"""Docstrings of public names: summary, arguments, results, example, as the style page asks for them."""

import ast
import dataclasses
import functools
import inspect
import itertools
import re
from pathlib import Path

import pytest
from test_public_names import ROOMS, room

UNFINISHED: set[str] = set()
"""Packages whose docstrings are still to be brought into the form."""
NO_SUMMARY = re.compile(r"(what|how|whether|of|where|why|when)\b", re.IGNORECASE)
ARGUMENT = re.compile(r"^    (\*{0,2}\w+)(?: \(.+\))?: +\S", re.MULTILINE)


def section(text, title):
    """The indented lines below ``title:``, an empty text where there are none."""
    found = re.search(rf"^{title}:\n((?:(?:    .*)?\n)+)", text + "\n", re.MULTILINE)
    return found.group(1) if found else ""


def package(thing):
    """``dynamics`` of a function of `fallingcat.dynamics.mass`; nothing of a foreign one."""
    parts = (getattr(thing, "__module__", None) or "").split(".")
    return (parts[1] if len(parts) > 1 else "fallingcat") if parts[0] == "fallingcat" else None


def function_of(member):
    """The plain function behind a method, a property or a decorated one."""
    if isinstance(member, property):
        return member.fget
    return inspect.unwrap(getattr(member, "func", None) or getattr(member, "__func__", member))


def members(kind):
    """Public methods and properties of a class by the class that defines them first, outermost base first."""
    for base in reversed(kind.__mro__):
        for name, member in vars(base).items():
            if not name.startswith("_") and (inspect.isroutine(member) or is_property(member)):
                inherited = any(name in vars(other) for other in base.__mro__[1:])
                yield f"{base.__module__}.{base.__qualname__}.{name}", member, inherited


def is_property(member):
    return isinstance(member, (property, functools.cached_property))


@functools.cache
def public():
    """``{package: {name: thing}}`` of all classes and functions that are on the list."""
    found = {}
    for name in ROOMS:
        for thing in (getattr(room(name), each) for each in room(name).__all__):
            if (inspect.isclass(thing) or inspect.isroutine(thing)) and package(thing):
                found.setdefault(package(thing), {})[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


def summary_faults(text):
    first, _, rest = text.partition("\n")
    if not first.endswith((".", "!", "?")):
        yield "the first line is no sentence"
    if rest and not rest.startswith("\n"):
        yield "the summary takes more than one line"
    if NO_SUMMARY.match(first):
        yield f"begins with {first.split()[0]!r}"


def argument_faults(text, function, title="Args"):
    documented = {name.lstrip("*") for name in ARGUMENT.findall(section(text, title))}
    wanted = {name for name in inspect.signature(function).parameters if not name.startswith("_")} - {"self", "cls"}
    yield from (f"nothing about the argument {name!r}" for name in sorted(wanted - documented))
    yield from (f"there is no argument {name!r}" for name in sorted(documented - wanted))


def function_faults(function, examples=""):
    """Faults of a function; ``examples`` is the text of the class that may hold the example instead."""
    text = inspect.getdoc(function) or ""
    yield from summary_faults(text)
    yield from argument_faults(text, function)
    result = inspect.signature(function).return_annotation
    if result not in (None, "None", "NoReturn") and not (section(text, "Returns") or section(text, "Yields")):
        yield "nothing about what it returns"
    if ">>>" not in text + examples:
        yield "no example"


def class_faults(kind):
    text, label = inspect.cleandoc(kind.__doc__ or ""), f"{kind.__module__}.{kind.__qualname__}"
    yield from ((label, fault) for fault in summary_faults(text))
    if ">>>" not in text:
        yield label, "no example"
    made = dataclasses.is_dataclass(kind) or hasattr(kind, "_fields") or getattr(kind, "_is_protocol", False)
    own_init = "__init__" in vars(kind) and not made
    if own_init:
        yield from ((label, fault) for fault in argument_faults(text, vars(kind)["__init__"]))
    for name, member, inherited in members(kind):
        function = function_of(member)
        if package(function) is None or package(function) in UNFINISHED:
            continue
        if inherited or is_property(member):
            faults = summary_faults(inspect.getdoc(function) or "")
        else:
            faults = function_faults(function, text)
        yield from ((name, fault) for fault in faults)


def faults_of(things):
    for name, thing in sorted(things.items()):
        if inspect.isclass(thing):
            yield from (f"{where}: {fault}" for where, fault in class_faults(thing))
        else:
            yield from (f"{name}: {fault}" for fault in function_faults(function_of(thing)))


@pytest.mark.parametrize("name", sorted(public().keys() - UNFINISHED))
def test_public_names_are_documented(name):
    faults = sorted(set(faults_of(public()[name])))
    assert not faults, "\n".join(["", *faults])


ARRAY = re.compile(r"\b(Vector|Matrix|Tensor|FloatArray|BoolArray)\b")
SHAPE = re.compile(
    r"\((?:[^()]*\b)?(?:\d+|[a-zA-Z]|n[qv]|N\d|dim|size|count|[a-z]+s)\b|\w x \w|shape|[Aa]s in|:meth:"
    r"|``(?:\d+|n[qv]?|[mkN]|dim|[^`]*(?:,| x )[^`]*)``"
)


def shape_faults(name, function):
    """Arrays among arguments and results whose texts do not say their shapes, where there are such texts."""
    text = inspect.getdoc(function) or ""
    entries = dict(re.findall(r"^    \*{0,2}(\w+): +(.*(?:\n        .*)*)", section(text, "Args"), re.MULTILINE))
    signature = inspect.signature(function)
    kinds = {key: str(each.annotation) for key, each in signature.parameters.items()}
    entries["returns"], kinds["returns"] = section(text, "Returns"), str(signature.return_annotation)
    for key, said in entries.items():
        if said and ARRAY.search(kinds.get(key, "")) and not SHAPE.search(said):
            yield f"{name}: {key}: {said.strip()!r}"


@pytest.mark.parametrize("name", sorted(public().keys() - UNFINISHED))
def test_arrays_say_their_shapes(name):
    faults = []
    for label, thing in public()[name].items():
        functions = [(label, thing)]
        if inspect.isclass(thing):
            functions = [(each, function_of(member)) for each, member, _ in members(thing) if not is_property(member)]
        faults += [x for each, f in functions if package(f) is not None for x in shape_faults(each, inspect.unwrap(f))]
    assert not faults, "\n".join(["", *sorted({*faults})])


def test_an_array_without_a_shape_is_found():
    def bare(x: "Vector", y: "Matrix") -> "Vector":  # noqa: F821
        """Product.

        Args:
            x: Right side (n).
            y: Left side.

        Returns:
            Product.
        """

    assert list(shape_faults("bare", bare)) == ["bare: y: 'Left side.'", "bare: returns: 'Product.'"]


def test_a_fault_is_found():
    def bare(model, gain=1.0) -> float:
        """How it is."""

    assert list(function_faults(bare)) == [
        "begins with 'How'",
        "nothing about the argument 'gain'",
        "nothing about the argument 'model'",
        "nothing about what it returns",
        "no example",
    ]


def test_a_complete_docstring_has_no_fault():
    def full(model, *gains) -> float:
        """Stiffness of the robot.

        Args:
            model: Robot.
            *gains: One for each joint (N m/rad),
                in any order.

        Returns:
            Stiffness (N m/rad).

        Example:
            >>> full(None)
        """

    assert not list(function_faults(full))


def attribute_docstrings(tree):
    """Line and text of the strings below constants and fields."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one, after in itertools.pairwise(body if isinstance(body, list) else []):
            text = after.value if isinstance(after, ast.Expr) else None
            if isinstance(one, (ast.Assign, ast.AnnAssign)) and isinstance(text, ast.Constant):
                yield after.lineno, text.value


def test_constants_and_fields_begin_with_their_quantity():
    """It reads "Height of the plane (m)", not "of the plane"."""
    root, wrong = Path(inspect.getsourcefile(room(""))).parent, []
    for file in sorted(root.rglob("*.py")):
        for line, text in attribute_docstrings(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(text, str) and NO_SUMMARY.match(text):
                wrong.append(f"{file.relative_to(root)}:{line}: {text[:60]}")
    assert not wrong, "\n".join(wrong)


def test_summaries_of_private_functions_begin_with_a_noun_or_verb():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for path in sorted(Path(inspect.getsourcefile(room(""))).parent.rglob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)]
        texts = [(ast.get_docstring(node) or "").partition("\n")[0] for node in nodes]
        found += [f"{path.name}: {text}" for text in texts if re.match(r"(What|How|Whether|Of|Why)\b", text)]
    assert found == []
