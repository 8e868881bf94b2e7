"""What a worker process does with what it is given; imported there anew."""

import numpy as np

from fallingcat.errors import Interrupted


def answered(thing, arguments):
    """The answer of something that was sent here."""
    answer = thing(*arguments)
    return np.asarray(answer.state.joints if hasattr(answer, "iterations") else answer)


def interrupts(result):
    raise Interrupted("interrupted at t = 0.25 s", result)
