"""Progress bars of long work, in a terminal or a notebook.

Elsewhere what takes long warns once, after seconds, with an estimate of what is left.  Work that is estimated to take
long says so before it begins, and work that would take more memory than most machines have is refused.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .errors import ModelError
from .escaping import terminal

BAR_DELAY = 1.0
"""s: what is done sooner says nothing"""
BAR_PERIOD = 0.1
"""s between two updates of the bar"""
ESTIMATE_DELAY = 3.0
"""s after which the rest is estimated"""
WARNING_DELAY = 30.0
"""s after which work that is not shown by a bar is reported by a warning"""
MAX_UNANNOUNCED_TIME = 5.0
"""s: what is estimated to take longer says so before it begins"""
MAX_BYTES = 4 << 30
"""Largest estimated memory of a calculation (bytes): larger ones are not begun."""


class SlowWarning(RuntimeWarning):
    """Warning of something that takes long; Ctrl-C stops it."""


def check_memory(what: str, size: float, instead: str) -> None:
    """Raise an error where ``what`` is estimated to take ``size`` bytes, too many; ``instead`` says what can be done.

    Example:
        >>> check_memory("a certificate of 'worm'", 6e9, "lock joints")
        Traceback (most recent call last):
        fallingcat.errors.ModelError: a certificate of 'worm' would take about 6 GB of memory, more than 4: lock joints
    """
    if size > MAX_BYTES:
        raise ModelError(f"{what} would take about {size / 1e9:.2g} GB of memory, more than 4: {instead}")


def is_interactive() -> bool:
    """True if the errors of this process go to a terminal, or it runs a notebook."""
    return _in_notebook() or bool(sys.stderr and sys.stderr.isatty())


def _in_notebook() -> bool:
    """True if this process is the kernel of a notebook: others may have imported its package."""
    package = sys.modules.get("IPython")
    shell = None if package is None else package.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def warn_of_time(what: str, seconds: float, advice: str = "") -> None:
    """Warn where ``what`` is estimated to take long."""
    if seconds > MAX_UNANNOUNCED_TIME:
        text = f"{what} will take {_duration(seconds)}" + (f": {advice}" if advice else "")
        warn_slow(text)


class _Line(NamedTuple):
    """Line of a program, as ``warnings.warn_explicit`` takes it."""

    filename: str
    lineno: int
    module: str
    registry: dict[Any, Any]


def _caller() -> _Line:
    """Line outside this library that called into it."""
    frame = sys._getframe(1)
    package = __name__.partition(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in (package, "contextlib"):
        frame = frame.f_back
    said = frame.f_globals.setdefault("__warningregistry__", {})
    return _Line(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", "__main__"), said)


def warn_slow(text: str, line: _Line | None = None) -> None:
    """Warn of something that takes long, at the line of the user's program."""
    filename, lineno, module, registry = line or _caller()
    warnings.warn_explicit(terminal(text), SlowWarning, filename, lineno, module, registry)


@contextlib.contextmanager
def report_progress(
    what: str, wanted: bool | None = None, advice: str = "", *, by_clock: bool = False
) -> Iterator[Callable[[float], None] | None]:
    """Bar named ``what`` if the block takes longer than a second; gives a function of the share that is done.

    ``wanted`` True or False shows it always or never; False gives None, so that nothing has to be counted.  Without a
    terminal or notebook, a :class:`SlowWarning` comes after some seconds instead, which ends with ``advice``;
    ``by_clock``: also where the block never says what is done.  The bar is removed when the block ends, in whatever
    way, and is not shown while another one is.
    """
    if wanted is False or (wanted is None and not is_interactive()):
        notice = _SlowNotice(what, advice)
        with _timer(WARNING_DELAY, notice.warn_by_clock) if by_clock else contextlib.nullcontext():
            yield None if wanted is False else notice.tell
        return
    bar = _Bar(what)
    with _timer(BAR_DELAY, bar.show):
        try:
            yield bar.tell
        finally:
            bar.hide()


@contextlib.contextmanager
def _timer(delay: float, function: Callable[[], None]) -> Iterator[None]:
    """Call ``function`` from a thread after ``delay`` seconds, unless the block has ended by then."""
    timer = threading.Timer(delay, function)
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # no room for another thread: nothing is told
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _SlowNotice:
    """A warning, once, if something takes long."""

    def __init__(self, what: str, advice: str = "") -> None:
        self._what, self._advice, self._start_time = what, advice, time.monotonic()
        self._line = _caller()
        self._first_share: tuple[float, float] | None = None
        """Time and size of the first share that was done: compiling and starting are over then"""

    def warn_by_clock(self) -> None:
        advice = f"; {self._advice}" if self._advice else ""
        text = f"{self._what} has not ended after {WARNING_DELAY:.0f} s; Ctrl-C stops it{advice}"
        warn_slow(text, self._line)

    def tell(self, share: float) -> None:
        now = time.monotonic()
        spent = now - self._start_time
        if self._first_share is None and share > 0.0:
            self._first_share = now, share
        since, first = self._first_share or (now, 0.0)
        left = (now - since) * (1.0 - share) / (share - first) if share > first else float("inf")
        enough = spent > min(ESTIMATE_DELAY, WARNING_DELAY) if share > first else spent > WARNING_DELAY and share == 0.0
        if enough and left > WARNING_DELAY:
            self._start_time = float("inf")  # once
            pace = f": at this pace {_duration(left)} are left" if share > first else ""
            advice = f"; {self._advice}" if self._advice else ""
            text = f"{self._what} has done {100.0 * share:.2g} % in {spent:.0f} s{pace}{advice}"
            warn_slow(text, self._line)


def _duration(seconds: float) -> str:
    """A duration, roughly.

    Example:
        >>> _duration(50.0), _duration(7200.0), _duration(1e6), _duration(1e12)
        ('about 50 s', 'about 2 h', 'about 12 days', 'years')
    """
    for size, name in ((120.0, "s"), (7200.0, "min"), (172_800.0, "h"), (3e7, "days")):
        if seconds < size:
            unit = {"s": 1.0, "min": 60.0, "h": 3600.0, "days": 86_400.0}[name]
            return f"about {seconds / unit:.0f} {name}"
    return "years"


class _Bar:
    """A bar of rich that may not be there yet, no longer, or at all; it pulses until a share is known."""

    def __init__(self, what: str) -> None:
        self._what, self._next, self._is_over = what, 0.0, False
        self._shown: Any = None
        self._lock = threading.Lock()

    def show(self) -> None:
        from rich.console import Console
        from rich.errors import LiveError
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock, contextlib.suppress(LiveError):  # somebody else draws
            if self._is_over:
                return
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            bar.start()
            bar.add_task(terminal(self._what), total=None)
            self._shown = bar

    def tell(self, share: float) -> None:
        if self._shown is not None and time.monotonic() >= self._next:
            self._next = time.monotonic() + BAR_PERIOD
            self._shown.update(self._shown.task_ids[0], total=1.0, completed=share)

    def hide(self) -> None:
        with self._lock:
            self._is_over = True
            if self._shown is not None:
                self._shown.stop()
