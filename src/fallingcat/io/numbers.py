"""Numbers out of text: the whole text, decimal point, finite; no locale, no ``nan``, no ``inf``, no hexadecimals.

>>> parse_number("-1.5e-3")
-0.0015
>>> [parse_number(text) for text in ("1,5", "nan", "1e400", "0x10", "1.0f", "١", "")]
[None, None, None, None, None, None, None]
"""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np

from .diagnostics import Reader
from .limits import MAX_NUMBER
from .safe_xml import Element

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPACE: Final = " \t\r\n"  # XML's own; str.split() would let exotic spaces through
_SPACES: Final = re.compile(f"[{_SPACE}]+")


def parse_number(text: str) -> float | None:
    """The finite number that ``text`` is as a whole, or None."""
    if len(text) > MAX_NUMBER or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def number(reader: Reader, element: Element, attribute: str, default: float | None = None) -> float:
    """The number in an attribute, or ``default``; without a default the attribute is required.

    Example:
        >>> from fallingcat.io.safe_xml import parse
        >>> reader = Reader("r.urdf")
        >>> number(reader, parse(b"<mass value='2.5'/>", reader), "value")
        2.5
        >>> number(reader, parse(b"<mass value='2,5'/>", reader), "value")
        Traceback (most recent call last):
        fallingcat.errors.FileError: r.urdf:1: <mass>: 'value' is one finite number, not '2,5' (write a decimal point)
    """
    text = element.attributes.get(attribute)
    if text is None:
        if default is None:
            reader.fail(element, f"the attribute {attribute!r} is missing")
        return default
    value = parse_number(text.strip(_SPACE))
    return (
        _salvaged_number(reader, element, f"{attribute!r} is one finite number, not {text[:80]!r}", text)
        if value is None
        else value
    )


def vector(
    reader: Reader,
    element: Element,
    attribute: str,
    size: int | tuple[int, int],
    default: tuple[float, ...] | None = None,
) -> np.ndarray:
    """The numbers in an attribute, exactly ``size`` or between ``size[0]`` and ``size[1]`` of them, or ``default``.

    Example:
        >>> from fallingcat.io.safe_xml import parse
        >>> reader = Reader("r.urdf")
        >>> vector(reader, parse(b"<axis xyz=' 0 1.  0 '/>", reader), "xyz", 3)
        array([0., 1., 0.])
        >>> vector(reader, parse(b"<axis xyz='0 1 0 0'/>", reader), "xyz", 3)
        Traceback (most recent call last):
        fallingcat.errors.FileError: r.urdf:1: <axis>: 'xyz' has 3 numbers, not 4
        (repair the file, or load it with faults="warn": the first 3 are taken)
    """
    text = element.attributes.get(attribute)
    if text is None:
        if default is None:
            reader.fail(element, f"the attribute {attribute!r} is missing")
        return np.array(default, dtype=float)
    stripped = text.strip(_SPACE)
    words = _SPACES.split(stripped) if stripped else []
    low, high = (size, size) if isinstance(size, int) else size
    if not low <= len(words) <= high:
        wanted = f"{low}" if low == high else f"{low} to {high}"
        rule = f"{attribute!r} has {wanted} numbers, not {len(words)}"
        if len(words) < low or None in map(parse_number, words):
            reader.fail(element, rule, _hint(text))
        reader.fault(element, rule, f"the first {high} are taken")
    values = [parse_number(word) for word in words[:high]]
    for i in (i for i, value in enumerate(values) if value is None):
        values[i] = _salvaged_number(
            reader, element, f"{attribute!r} holds finite numbers, not {words[i][:80]!r}", words[i]
        )
    return np.array(values, dtype=float)


def _salvaged_number(reader: Reader, element: Element, rule: str, text: str) -> float:
    """The number before a stray comma or dot, ``-1.57.`` or ``0.07,``, which is a fault; others are errors."""
    value = parse_number(text.strip(_SPACE)[:-1]) if text.strip(_SPACE)[-1:] in (",", ".") else None
    if value is None:
        reader.fail(element, rule, _hint(text))
    reader.fault(element, rule, f"taken as {value:g}")
    return value


def shortest_text(numbers: object) -> str:
    """Shortest text that gives the same floats back; no negative zeros.

    Example:
        >>> shortest_text([0.1, -0.0, 2])
        '0.1 0.0 2.0'
    """
    return " ".join(repr(float(x) + 0.0) for x in np.asarray(numbers, dtype=float))


def _hint(text: str) -> str | None:
    if "${" in text or "$(" in text:
        return 'a leftover of xacro? xacro="expand" runs it, if you trust the file'
    return "write a decimal point" if "," in text else None
