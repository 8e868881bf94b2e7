"""Functions in Python, JAX, C, Julia and MATLAB: the same steps, each in its own words."""

from __future__ import annotations

from .printers import C, Julia, Matlab, NumPy, print_expression
from .program import Program


def python(p: Program, header: list[str], numpy: str = "numpy") -> str:
    """``robot(q, v, a, p)`` with NumPy; returns the matrices in order."""
    words = NumPy()
    body = [f"    {x} = {array}[{i}]" for array, i, x in _read_inputs(p)]
    body += [f"    {x} = {print_expression(words, step)}" for x, step in p.steps]
    for name, m in p.outputs.items():
        rows = ", ".join(f"[{', '.join(print_expression(words, x) for x in m.row(i))}]" for i in range(m.rows))
        body.append(f"    {_output_name(name)} = np.array([{rows}])")
    body.append(f"    return {', '.join(map(_output_name, p.outputs))}{',' if len(p.outputs) == 1 else ''}")
    lines = [*(f"# {line}" for line in header), "", f"import {numpy} as np"]
    lines += [f"from {numpy} import {', '.join(words.functions)}"] if words.functions else []
    lines += ["", f"PARAMETERS = ({_numbers(p, 'np.nan')}{',' if p.parameters else ''})", "", ""]
    return "\n".join([*lines, "def robot(q, v, a, p=PARAMETERS):", *body, ""])


def jax(p: Program, header: list[str]) -> str:
    """Function in Python with ``jax.numpy``, as :func:`python`: works under ``jit``, ``vmap`` and ``grad``."""
    return python(p, header, "jax.numpy")


def c(p: Program, header: list[str]) -> str:
    """``void robot(q, v, a, p, M, ...)``: C99, matrices row by row."""
    words = C()
    lines = ["/*", *(f" * {line}" for line in header), " */", "#include <math.h>", ""]
    count = max(1, len(p.parameters))
    numbers = _numbers(p, "NAN") or "0.0"
    lines += [f"const double robot_parameters[{count}] = {{{numbers}}};", ""]
    given = ", ".join(f"const double *{name}" for name in p.inputs)
    lines += [f"void robot({given}, {', '.join(f'double *{_output_name(name)}' for name in p.outputs)})", "{"]
    lines += [f"    (void){name};" for name in p.inputs]
    lines += [f"    const double {x} = {array}[{i}];" for array, i, x in _read_inputs(p)]
    lines += [f"    const double {x} = {print_expression(words, body)};" for x, body in p.steps]
    for name, m in p.outputs.items():
        lines += [f"    {_output_name(name)}[{i}] = {print_expression(words, body)};" for i, body in enumerate(m)]
    return "\n".join([*lines, "}", ""])


def julia(p: Program, header: list[str]) -> str:
    """``robot(q, v, a, p)`` in Julia."""
    words = Julia()
    lines = [f"# {line}" for line in header]
    lines += ["", f"const PARAMETERS = Float64[{_numbers(p, 'NaN')}]", ""]
    lines += ["function robot(q, v, a, p = PARAMETERS)"]
    lines += [f"    {x} = {array}[{i + 1}]" for array, i, x in _read_inputs(p)]
    lines += [f"    {x} = {print_expression(words, body)}" for x, body in p.steps]
    for name, m in p.outputs.items():
        entries = ", ".join(print_expression(words, body) for body in m.T)
        lines.append(f"    {_output_name(name)} = reshape([{entries}], {m.rows}, {m.cols})")
    return "\n".join([*lines, f"    return {', '.join(map(_output_name, p.outputs))}", "end", ""])


def matlab(p: Program, header: list[str]) -> str:
    """``[M, ...] = robot(q, v, a, p)`` for MATLAB and Octave."""
    words = Matlab()
    lines = [f"function [{', '.join(map(_output_name, p.outputs))}] = robot(q, v, a, p)"]
    lines += [f"% {line}" for line in header]
    lines += ["if nargin < 4", f"    p = [{_numbers(p, 'NaN')}];", "end"]
    lines += [f"{x} = {array}({i + 1});" for array, i, x in _read_inputs(p)]
    lines += [f"{x} = {print_expression(words, body)};" for x, body in p.steps]
    for name, m in p.outputs.items():
        entries = ", ".join(print_expression(words, body) for body in m.T)
        lines.append(f"{_output_name(name)} = reshape([{entries}], {m.rows}, {m.cols});")
    return "\n".join([*lines, "end", ""])


def _read_inputs(p: Program) -> list[tuple[str, int, str]]:
    """``x = array[i]`` of all inputs that are needed."""
    return [(array, i, x) for array, xs in p.inputs.items() for i, x in enumerate(xs) if x]


def _numbers(p: Program, none: str) -> str:
    """The numbers of the parameters; ``none`` where a symbol has none."""
    return ", ".join(none if x is None else repr(float(x)) for x in p.parameters)


def _output_name(name: str) -> str:
    """An output is called by its name and an underscore: no symbol has one at its end."""
    return f"{name}_"
