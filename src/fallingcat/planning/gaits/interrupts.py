"""Ctrl-C while compiled code runs that would take the exception for a failed evaluation, and go on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def ctrl_c() -> Iterator[threading.Event]:
    """Context with a flag that Ctrl-C sets instead of raising, only where Python's own handler is installed.

    Example:
        >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
        >>> with ctrl_c() as pressed:
        ...     signal.raise_signal(signal.SIGINT)
        >>> pressed.is_set()
        True
        >>> _ = signal.signal(signal.SIGINT, before)
    """
    flag, usual = threading.Event(), signal.default_int_handler
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is usual
    if ours:
        signal.signal(signal.SIGINT, lambda *_: flag.set())
    try:
        yield flag
    finally:
        if ours:
            signal.signal(signal.SIGINT, usual)


def interrupt_callback(casadi: Any, problem: dict[str, Any], pressed: threading.Event) -> Any:
    """Callback for CasADi's solvers that ends them after the iteration in which the flag was set."""
    sizes = {"f": 1, "lam_p": problem["p"].numel()}
    sizes |= {name: problem[name[-1]].numel() for name in ("x", "g", "lam_x", "lam_g")}

    class InterruptCallback(casadi.Callback):  # type: ignore[misc]
        """Callback that returns 1 to stop the solver."""

        def __init__(self) -> None:
            """Register the callback."""
            casadi.Callback.__init__(self)
            self.construct("watch", {})

        def get_n_in(self) -> int:
            """Number of inputs."""
            return int(casadi.nlpsol_n_out())

        def get_n_out(self) -> int:
            """Number of outputs."""
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            """Sparsity of an input."""
            return casadi.Sparsity.dense(sizes[casadi.nlpsol_out(i)], 1)

        def eval(self, arg: Any) -> list[int]:
            """1 to stop, else 0."""
            return [int(pressed.is_set())]

    return InterruptCallback()
