"""CUDA text of one stage that is done again and again to what it gives: many steps of a simulation in one launch."""

from __future__ import annotations

from ..codegen.c_syntax import Real
from ..ir.instructions import Input
from .emitter import Columns, Text, fit_stage, opening, statements
from .spilling import prefetch_inputs
from .stages import Stage

GLOBAL_LOOKAHEAD = 300
"""Instructions before its use at which a number is asked for that the same kernel wrote: the compiler does not move
that past what is written, and the cache takes its time."""


def text(stage: Stage, arguments: int, dtype: str, name: str) -> Text:
    """Kernel ``name(a0, a1, ..., workspace, t, out, n, times)`` of a stage that stores nothing.

    So many times, each of which takes as ``a0`` what the last gave.

    A block keeps what comes and goes in ``t``, in two tiles by turns: in the cache, at addresses that need no
    arithmetic.  The compiler must not know what is the same each time: it would keep that in registers.
    """
    real, fit = Real(dtype), fit_stage(stage, dtype)
    fit = fit._replace(moves=fit.moves._replace(steps=prefetch_inputs(fit.moves.steps, GLOBAL_LOOKAHEAD)))
    size, block = len(stage.outputs), fit.block
    pointers = ", ".join(f'"+l"({x})' for x in ("p", "o", *(f"a{k}" for k in range(1, arguments))))
    lines = [
        *opening(name, fit, arguments, real, ("if (i >= count) return;",), ", const unsigned times"),
        f"    {real.text} *p = t - i + {2 * size * block}ull * blockIdx.x + threadIdx.x, *o = p + {size * block};",
        f"    for (unsigned k = 0; k < {size}; k++) p[{block} * k] = __ldg(fc_at(a0, k, n));",
        "    for (unsigned time = 0; time < times; time++) {",
        f'    asm volatile("" : {pointers} :: "memory");',
        *statements(stage, arguments, real, fit, Tiles(block)),
        f"    {real.text} *const made = o;",
        "    o = p;",
        "    p = made;",
        "    }",
        f"    for (unsigned k = 0; k < {size}; k++) __stcs(fc_at(out, k, n), p[{block} * k]);",
    ]
    return Text(name, "\n".join([*lines, "}", ""]), fit.block, fit.shared, fit.block)


class Tiles(Columns):
    """The first argument and the results lie in tiles of a ``block`` of states, in the cache that all blocks see."""

    first = "p"

    def __init__(self, block: int) -> None:
        self._block = block

    def read(self, place: Input, again: bool) -> str:
        """Expression that reads an input, of the first argument from the tile."""
        if place[0]:
            return super().read(place, again)
        return f"__ldcg({'b0' if again else 'p'} + {place[1] * self._block})"

    def written(self, array: str, place: int) -> str:
        """Statement that writes a number into the tile."""
        return f"__stcg(o + {place * self._block}, {{}});"
