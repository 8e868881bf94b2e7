"""C99 text: a function of one robot in a header, a source and a test main, for microcontrollers and real-time loops.

No allocation, nothing of the C library but ``math.h``, reentrant (the workspace is the caller's), a fixed number of
operations without branches.  Names are generated; what the robot calls its parts is in a comment, escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ...errors import FileError
from ...io.files import write_text
from ...model import Model
from ...records import concise
from ..ir.inputs import state_inputs
from ..ir.instructions import Chunk
from ..ir.program import Program, program
from ..ir.results import flatten
from ..ir.trace import Recipe, Trace, call_with_flat_values, trace
from .c_syntax import Real, argument_names, identifier, statement, table

TESTS = 2
"""States in the test main."""


@concise
@dataclass(frozen=True)
class CSource:
    """Three texts: ``{name}.h``, ``{name}.c`` and ``{name}_test.c``."""

    name: str
    header: str
    source: str
    main: str
    inputs: tuple[tuple[np.ndarray, ...], ...]
    """the arguments that the test main uses, for each test state"""

    def write(self, folder: str | Path) -> list[Path]:
        """Write the three files into ``folder``, which is made if it is not there; returns their paths."""
        texts = {f"{self.name}.h": self.header, f"{self.name}.c": self.source, f"{self.name}_test.c": self.main}
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # ValueError: a path with a NUL
            raise FileError(f"the folder cannot be made: {error}", file=str(folder)) from None
        for file, text in texts.items():
            write_text(Path(folder, file), text)
        return [Path(folder, file) for file in texts]


def build(recipe: Recipe, fma: bool = False) -> CSource:
    """C texts of a kernel.

    ``fma=True`` calls ``fma()`` for products that are added at once: one rounding less, fast only where the processor
    has the instruction.
    """
    model, traced = recipe.model, trace(recipe, whole=True)
    made = program(traced.inputs, traced.outputs, fuse=fma)
    name, real = identifier(recipe.function), Real(recipe.dtype)
    operations = sum(traced.graph.count(traced.outputs).values())
    names = argument_names(traced.arguments)
    about = ["/*", *table(model, traced.arguments, traced, operations, names), " */"]
    inputs = _test_inputs(model, traced, recipe.dtype, dict(recipe.options.get("example", ())))
    return CSource(
        name,
        "\n".join([*about, *_header(made, real, name, names), ""]),
        "\n".join([f'#include "{name}.h"', "", "#include <math.h>", "", *_source(made, real, name, names), ""]),
        "\n".join([*_main(made, real, name, inputs, [_expected_results(recipe, traced, test) for test in inputs]), ""]),
        inputs,
    )


def _prototype(made: Program, real: Real, name: str, names: list[str]) -> str:
    sizes = zip(names, made.argument_sizes, strict=True)
    arguments = [f"const {real.text} {argument}[{max(n, 1)}]" for argument, n in sizes]
    return (
        f"void {name}({', '.join([*arguments, f'{real.text} out[{max(len(made.outputs), 1)}]', f'{name}_work *work'])})"
    )


def _header(made: Program, real: Real, name: str, names: list[str]) -> Iterator[str]:
    guard = f"{name.upper()}_H"
    yield from (f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    yield "/* Room for intermediate values; its contents before a call do not matter. One for each thread. */"
    yield f"typedef struct {{ {real.text} value[{max(made.slots, 1)}]; }} {name}_work;"
    yield ""
    yield "/* Arguments and result must not overlap. */"
    yield f"{_prototype(made, real, name, names)};"
    yield from ("", "#ifdef __cplusplus", "}", "#endif", "", "#endif")


def _source(made: Program, real: Real, name: str, names: list[str]) -> Iterator[str]:
    calls: list[str] = []
    anywhere: set[str] = set()
    for c, chunk in enumerate(made.chunks):
        assert isinstance(chunk, Chunk)  # loops were written out
        lines, used = chunk_statements(made, chunk, real, names)
        anywhere.update(used)
        types = {"out": f"{real.text} *restrict out", "w": f"{real.text} *restrict w"}
        parameters = ", ".join(types.get(x, f"const {real.text} *restrict {x}") for x in used)
        yield f"static void {name}_chunk{c}({parameters or 'void'})"
        yield from ("{", *lines, "}", "")
        calls.append(f"    {name}_chunk{c}({', '.join('work->value' if x == 'w' else x for x in used)});")
    yield _prototype(made, real, name, names)
    yield "{"
    everything = {*names, "out", "w"}
    yield from (f"    (void){'work' if x == 'w' else x};" for x in sorted(everything - anywhere))
    yield from calls
    yield "}"


def chunk_statements(made: Program, chunk: Chunk, real: Real, names: list[str]) -> tuple[list[str], list[str]]:
    """Statements of a chunk, and which of the arguments, out, w they use."""
    lines: list[str] = []
    known: set[int] = set()
    used: set[str] = set()

    def operand(x: Any) -> str:
        if not isinstance(x, int):
            return real.constant(x)
        if x not in known:
            known.add(x)
            place = made.inputs.get(x)
            array, index = ("w", chunk.loads[x]) if place is None else (names[place[0]], place[1])
            used.add(array)
            lines.append(f"    const {real.text} v{x} = {array}[{index}];")
        return f"v{x}"

    for line in chunk.instructions:
        text = statement(real, line, [operand(x) for x in line.operands])
        known.add(line.value)
        lines.append(f"    {text}")
    for place, x in chunk.outputs:
        value = operand(x)
        lines.append(f"    out[{place}] = {value};")
        used.add("out")
    for x, slot in chunk.stores.items():  # last: a slot that was read above may be written again
        lines.append(f"    w[{slot}] = v{x};")
        used.add("w")
    return lines, sorted(used, key=lambda x: (x == "w", x == "out", x))


def _test_inputs(
    model: Model, traced: Trace, dtype: str, example: Mapping[str, Any] = MappingProxyType({})
) -> tuple[tuple[np.ndarray, ...], ...]:
    """Random ones; arguments for which not every number will do are those of the option ``example``."""
    rng = np.random.default_rng(0)
    tests = []
    for _ in range(TESTS):
        known = state_inputs(model, model.random_state(rng))
        values = [known[name] for name in traced.state]
        values += [example.get(a.name, rng.normal(size=a.size)) for a in traced.arguments[len(values) :]]
        tests.append(tuple(np.asarray(x, dtype=dtype).reshape(-1) for x in values))
    return tuple(tests)


def _expected_results(recipe: Recipe, traced: Trace, test: tuple[np.ndarray, ...]) -> list[float]:
    """Flat results of the function itself, called with plain numbers: nothing that tracing does can hide in them."""
    numbers: list[float] = []
    with np.errstate(all="ignore"):
        flatten(call_with_flat_values(recipe, traced.state, traced.arguments, [x.astype(float) for x in test]), numbers)
    return numbers


def _main(
    made: Program,
    real: Real,
    name: str,
    inputs: tuple[tuple[np.ndarray, ...], ...],
    expected: list[list[float]],
) -> Iterator[str]:
    """Prints the outputs for the built-in inputs and compares them with what plain NumPy computed."""
    t, size = real.text, len(made.outputs)
    tolerance = "1e-9" if t == "double" else "1e-3f"
    yield f"/* Tests {name}: prints its results for {len(inputs)} states; returns 1 if one is not as expected. */"
    yield from ("#include <math.h>", "#include <stdio.h>", "", f'#include "{name}.h"', "")
    for k in range(len(made.argument_sizes)):
        yield f"static const {t} a{k}[{len(inputs)}][{max(made.argument_sizes[k], 1)}] = {{"
        yield from (f"    {{{', '.join(real.constant(float(x)) for x in test[k]) or '0'}}}," for test in inputs)
        yield "};"
    yield f"static const {t} expected[{len(inputs)}][{max(size, 1)}] = {{"
    yield from (f"    {{{', '.join(real.constant(float(x)) for x in results) or '0'}}}," for results in expected)
    yield "};"
    yield from ("", "int main(void)", "{", f"    static {t} out[{max(size, 1)}];", f"    static {name}_work work;")
    yield "    int wrong = 0;"
    yield f"    for (int test = 0; test < {len(inputs)}; test++) {{"
    arguments = ", ".join([*(f"a{k}[test]" for k in range(len(made.argument_sizes))), "out", "&work"])
    yield f"        {t} scale = 0;"
    yield f"        {name}({arguments});"
    magnitude = real.function("fabs")
    yield f"        for (int i = 0; i < {size}; i++)"
    yield f"            scale = {real.function('fmax')}(scale, {magnitude}(expected[test][i]));"
    yield f"        for (int i = 0; i < {size}; i++) {{"
    yield '            printf("%.17g\\n", (double)out[i]);'
    yield f"            if (!({magnitude}(out[i] - expected[test][i]) <= {tolerance} * scale)) wrong = 1;"
    yield from ("        }", "    }", "    return wrong;", "}")
