"""JavaScript text: a function of one robot for pages, in the statements of the C text.

Names are generated, and nothing of the robot's own is in the text: it may stand in a page.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ModelError
from ...records import concise
from ..ir.instructions import Chunk
from ..ir.program import program
from ..ir.trace import Recipe, trace
from .c import chunk_statements
from .c_syntax import Real, argument_names, identifier


class Script(Real):
    """Numbers of JavaScript, which have no type."""

    @property
    def text(self) -> str:
        """No type."""
        return ""

    def function(self, name: str) -> str:
        """Name of a function of ``Math``."""
        return f"Math.{name}"

    def constant(self, x: float) -> str:
        """The literal that reads back to the same bits.

        Example:
            >>> Script("float64").constant(-0.1), Script("float64").constant(float("inf"))
            ('(-0.1)', 'Infinity')
        """
        return super().constant(x).replace("INFINITY", "Infinity").replace("NAN", "NaN")


@concise
@dataclass(frozen=True)
class JavaScript:
    """Function ``name(...arguments, out, work)`` of arrays of numbers.

    Example:
        >>> JavaScript("fc_f", "function fc_f(q, out, w) {}", ("q",), 1, 1).arguments
        ('q',)
    """

    name: str
    source: str
    arguments: tuple[str, ...]
    """names, in order"""
    outputs: int
    """numbers of ``out``, which it fills"""
    work: int
    """numbers of ``work``, whose contents before a call do not matter"""


def build(recipe: Recipe) -> JavaScript:
    """JavaScript text of a kernel."""
    if recipe.dtype != "float64":
        raise ModelError(f"numbers of JavaScript are float64, not {recipe.dtype}")
    traced, real = trace(recipe, whole=True), Script("float64")
    made, name, names = (
        program(traced.inputs, traced.outputs, fuse=False),
        identifier(recipe.function),
        argument_names(traced.arguments),
    )
    lines: list[str] = []
    calls: list[str] = []
    for k, chunk in enumerate(made.chunks):
        assert isinstance(chunk, Chunk)  # loops were written out
        statements, used = chunk_statements(made, chunk, real, names)
        lines += [f"function {name}_chunk{k}({', '.join(used)}) {{", *statements, "}"]
        calls.append(f"    {name}_chunk{k}({', '.join(used)});")
    lines += [f"function {name}({', '.join([*names, 'out', 'w'])}) {{", *calls, "}"]
    source = "\n".join(lines).replace("const  ", "const ")
    given = tuple(argument.name for argument in traced.arguments)
    return JavaScript(name, source, given, len(made.outputs), max(made.slots, 1))
