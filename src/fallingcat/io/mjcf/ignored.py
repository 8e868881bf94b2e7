"""Tally of ignored elements: one warning for each kind instead of one for each element."""

from __future__ import annotations

from collections import Counter

from ..diagnostics import Located, Reader


class Tally:
    """Remarks, counted; each becomes one warning, at the first place.

    Example:
        >>> reader = Reader("r.xml")
        >>> tally = Tally(reader)
        >>> tally.note("'damping' is not read", None)
        >>> tally.note("'damping' is not read", None)
        >>> tally.report()
        >>> reader.warnings
        ["r.xml: 'damping' is not read (2 times in the file)"]
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._count: Counter[str] = Counter()
        self._first: dict[str, tuple[Located | None, str]] = {}

    def note(self, text: str, place: Located | None, why: str = "") -> None:
        """Count a remark; the first one may say ``why``."""
        self._count[text] += 1
        self._first.setdefault(text, (place, why))

    def report(self) -> None:
        """Turn the remarks into warnings."""
        for text, (place, why) in self._first.items():
            times = f" ({self._count[text]} times in the file)" if self._count[text] > 1 else ""
            self.reader.warn(place, text + times + (f": {why}" if why else ""))
