"""Properties that are computed once."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """Property that is computed once: ``functools.cached_property`` as it is from Python 3.12 on, without a lock.

    In Python 3.11 all instances share one lock: a process that is forked while any thread computes such a property
    of any instance waits for ever, and two threads can wait for each other.  Values are pure, so that nothing is wrong
    with computing one twice.
    """

    if sys.version_info < (3, 12) and not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            known = instance.__dict__
            if self.attrname not in known:
                return known.setdefault(self.attrname, self.func(instance))
            return known[self.attrname]
