"""What takes longer than a second says so where somebody looks: in a terminal or a notebook, never in a pipe."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .escaping import terminal

AFTER = 1.0
"""s: what is done sooner says nothing"""
OFTEN = 0.1
"""s between two looks at the bar"""


def watched() -> bool:
    """Whether somebody looks: the errors of this process go to a terminal, or it runs a notebook."""
    return "ipykernel" in sys.modules or bool(sys.stderr and sys.stderr.isatty())


@contextlib.contextmanager
def telling(what: str, wanted: bool | None = None) -> Iterator[Callable[[float], None] | None]:
    """A bar named ``what`` if the block takes longer than a second; gives a function of the share that is done.

    It gives None where nobody looks (``wanted``: True or False whoever looks), so that nothing has to be counted there.
    The bar is gone when the block ends, however it ends.  Where something else draws already, it stays away.
    """
    if not (watched() if wanted is None else wanted):
        yield None
        return
    bar = _Bar(what)
    timer = threading.Timer(AFTER, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.tell
    finally:
        timer.cancel()
        bar.hide()


class _Bar:
    """A bar of rich that may not be there yet, no longer, or at all; it pulses until a share is known."""

    def __init__(self, what: str) -> None:
        self._what, self._next, self._over = what, 0.0, False
        self._shown: Any = None
        self._lock = threading.Lock()

    def show(self) -> None:
        from rich.console import Console
        from rich.errors import LiveError
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock, contextlib.suppress(LiveError):  # somebody else draws
            if self._over:
                return
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            bar.start()
            bar.add_task(terminal(self._what), total=None)
            self._shown = bar

    def tell(self, share: float) -> None:
        if self._shown is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + OFTEN
            self._shown.update(self._shown.task_ids[0], total=1.0, completed=share)

    def hide(self) -> None:
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown.stop()
