"""Arguments of the wrong kind, shape, size or value, one after the other in the place of each argument of a good call.

``refused(call, arguments)`` tries them: out comes an error of ours, or numbers.  A call is ``(function, arguments)``.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from fallingcat.errors import FallingCatError

ODD = [
    None, "ghost", "", 3, -1, 0, np.nan, np.inf, True, [], {}, (), 1j, b"x", object(), np.zeros(0), np.zeros((2, 2)),
    np.eye(4), -np.eye(6), np.array("a"), np.array([None] * 3), np.full(7, np.nan), np.full(3, np.nan), lambda: 0,
    lambda *given: None, float, range(3), {"a": 1.0}, [[1.0], [1.0, 2.0]], np.float32(1.0), ["a", "a"], [np.nan],
    [None], ("ghost",), (1.0, np.nan), np.ma.masked_array(np.zeros(6), mask=[1, 0, 0, 0, 0, 0]), "x<script>\x1b[31m",
    np.zeros((1,) * 64), np.broadcast_to(1.0, (10**12, 6)), np.broadcast_to(0.0, (2**40,)), 1e308, 1e-308, 10**400,
]  # fmt: skip
"""Wrong almost everywhere; a few are right somewhere, and must then give numbers."""
HUGE = 1e100
"""Numbers from which a result may overflow"""

Call = tuple[Callable[..., Any], Mapping[str, Any]]


def changes(call: Call) -> Iterator[tuple[str, Any]]:
    """Names of arguments with odd ones for them."""
    for name in call[1]:
        for odd in ODD:
            yield name, odd


def tried(call: Call, name: str, odd: Any) -> None:
    """A call with one odd argument: an error of ours, on one line, or an answer that is finite and can be shown."""
    function, given = call
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(**{**given, name: odd})
    except FallingCatError as error:
        found = None
        said = str(error)
    except Exception as error:
        error.add_note(f"{name}={odd!r:.60} of {given.keys()}")
        raise
    else:
        said = repr(found).replace("\n", " ")
    assert said.isprintable()
    huge = isinstance(odd, (int, float)) and abs(odd) > HUGE
    assert huge or is_finite(found), f"{name}={odd!r:.60} of {given.keys()} gave {found!r:.200}"


def is_finite(x: Any) -> bool:
    """True unless an array, also in a tuple, holds what is no number."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind not in "fc" or bool(np.isfinite(x).all())
    return not isinstance(x, tuple) or all(map(is_finite, x))
