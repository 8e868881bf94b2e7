"""What was passed over, told once for each kind of thing instead of once for each thing."""

from __future__ import annotations

from collections import Counter

from ..diagnostics import Located, Reader


class Tally:
    """Remarks, counted; each becomes one warning, at the first place.

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
        self._first: dict[str, Located | None] = {}

    def note(self, text: str, place: Located | None) -> None:
        """Count a remark."""
        self._count[text] += 1
        self._first.setdefault(text, place)

    def report(self) -> None:
        """Turn the remarks into warnings."""
        for text, place in self._first.items():
            times = self._count[text]
            self.reader.warn(place, text if times == 1 else f"{text} ({times} times in the file)")
