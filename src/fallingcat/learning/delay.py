"""Delays of actions and observations by a number of control periods, for each robot its own."""

from __future__ import annotations

from typing import Any


class Delay:
    """Arrays that come late: ``delay(x)`` is what was given some calls before, each robot by its own number.

    Args:
        xp: Module of array functions.
        most: Largest number of calls.

    Example:
        >>> import numpy as np
        >>> delay = Delay(np, 1)
        >>> delay.restart(np.array([True, True]), np.array([0, 1]), np.zeros((2, 1)))
        >>> delay(np.ones((2, 1))).tolist()
        [[1.0], [0.0]]
    """

    def __init__(self, xp: Any, most: int) -> None:
        self._xp, self._max_delay = xp, most
        self._history: list[Any] = []
        self._lag: Any = None

    @property
    def arrays(self) -> list[Any]:
        """Arrays that are remembered, as :meth:`take` takes them."""
        return [] if self._lag is None else [self._lag, *self._history]

    def take(self, arrays: list[Any]) -> None:
        """Remember arrays.

        Args:
            arrays: List of :attr:`arrays`.
        """
        if arrays:
            self._lag, *self._history = arrays

    def restart(self, which: Any, lag: Any, x: Any) -> None:
        """Forget the past of some robots.

        Args:
            which: ``N`` truth values.
            lag: ``N`` whole numbers: new delays of these robots.
            x: ``N x k``: stands for what they were given before.
        """
        if not self._max_delay:
            return
        self._lag = lag if self._lag is None else self._xp.where(which, lag, self._lag)
        self._history = [self._xp.where(which[:, None], x, old) for old in self._history] or [x] * self._max_delay

    def __call__(self, x: Any) -> Any:
        """Array of some calls before."""
        if not self._max_delay:
            return x
        late = x
        for calls, old in enumerate(self._history, start=1):
            late = self._xp.where((self._lag == calls)[:, None], old, late)
        self._history = [x, *self._history[:-1]]
        return late
