"""Programs run line by line, as the emitters' code does it."""

import math

from fallingcat.arrays.operations import OPERATIONS
from fallingcat.compiler.ir.instructions import OUT, TABLE, WORK, Loop

RUN = {
    **{op: row.evaluate for op, row in OPERATIONS.items()},
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}


def run(p, arguments):
    """Runs a program as the emitters' code does: nothing but the workspace lives between chunks."""
    work, out = [math.nan] * p.slots, [math.nan] * len(p.outputs)
    for start, count in p.clear:
        work[start : start + count] = [0.0] * count

    def memory(place, k=0):
        source = {WORK: work, OUT: out, TABLE: p.table}.get(place.argument)
        return (arguments[place.argument] if source is None else source)[place.offset + k]

    def lines(instructions, known, value):
        for line in instructions:
            assert line.value not in known  # every value is made once
            known[line.value] = RUN[line.op](*map(value, line.operands))

    for chunk in p.chunks:
        if isinstance(chunk, Loop):
            for k in range(chunk.count):
                known = {x: memory(place, k) for x, place in chunk.rows.items()}
                known |= {x: memory(place) for x, place in chunk.shared.items()}
                lines(chunk.instructions, known, lambda x, known=known: known[x] if isinstance(x, int) else x)
                shift = [s for first, s in chunk.segments if first <= k][-1]
                for place, x in chunk.results:
                    if place.argument == WORK:
                        work[place.offset + k] = known[x]
                    else:
                        assert math.isnan(out[place.offset + k + shift])  # every place is written once
                        out[place.offset + k + shift] = known[x]
            continue
        known = {x: work[slot] for x, slot in chunk.loads.items()}

        def value(x, known=known):
            if not isinstance(x, int):
                return x
            return memory(p.inputs[x]) if x in p.inputs else known[x]

        lines(chunk.instructions, known, value)
        for place, x in [*((slot, x) for x, slot in chunk.stores.items()), *chunk.kept]:
            work[place] = value(x)
        for place, x in chunk.outputs:
            assert math.isnan(out[place])
            out[place] = value(x)
    return out
