"""A code target of one's own: a function of a robot as plain Python with the standard library alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fallingcat.compiler.ir.program import program
from fallingcat.compiler.ir.trace import Recipe, trace

WRITTEN = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "sin": "math.sin({})", "cos": "math.cos({})", "sqrt": "math.sqrt({})",
}  # fmt: skip
"""Operations of the intermediate form as Python."""


@dataclass(frozen=True)
class PythonSource:
    """Text of a function ``f(*arguments) -> list`` of flat lists."""

    source: str

    @cached_property
    def function(self) -> Any:
        """The function that the text defines."""
        names: dict[str, Any] = {"math": math}
        exec(self.source, names)
        return names["f"]

    def __call__(self, *arguments: Any) -> list[float]:
        found: list[float] = self.function(*arguments)
        return found


def build(recipe: Recipe) -> PythonSource:
    """What ``fc.compile(model, function, target="py")`` gives."""
    traced = trace(recipe, whole=True)
    made = program(traced.inputs, traced.outputs, fuse=False)
    lines = [f"def f({', '.join(f'a{k}' for k in range(len(traced.arguments)))}):"]
    lines += [f"    x{x} = a{place.argument}[{place.offset}]" for x, place in made.inputs.items()]
    name = lambda x: f"x{x}" if isinstance(x, int) else repr(float(x))  # noqa: E731
    for line in made.instructions:
        lines.append(f"    x{line.value} = {WRITTEN[line.op].format(*map(name, line.operands))}")
    lines.append(f"    return [{', '.join(map(name, made.outputs))}]")
    return PythonSource("\n".join(lines) + "\n")
