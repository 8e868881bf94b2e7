"""TOML that is not trusted, robots and studies alike: bounded in time and memory before the parser sees it.

>>> parsed("mass = 2.5", Reader("r.toml"))
{'mass': 2.5}
>>> parsed("a.b.c.d.e.f = 1", Reader("r.toml"))
Traceback (most recent call last):
fallingcat.errors.FileError: r.toml:1: there is a key with many dots
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from ..diagnostics import Place, Reader
from ..limits import MAX_NUMBER

MAX_CHARACTERS: Final = {"=": 250_000, ",": 1_000_000, "[": 500_000, "{": 250_000, "\n[": 50_000, "\\": 100_000}
"""Characters of a file: the largest robot of the library stays below, and the parser's time is bounded."""
_PART: Final = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
# three dots where a line begins, eight anywhere: a name may have some
_DEEP_KEY: Final = re.compile(rf"""^[ \t]*+\[?\[?[ \t]*+(?:{_PART}){{3}}|(?<![\w"'.-])(?:{_PART}){{8}}""", re.MULTILINE)
_INTEGER_LIMIT: Final = 2**63
"""Integers of TOML have 64 bits."""


def decoded(data: bytes, reader: Reader) -> str:
    """The text of a file."""
    if not data.strip():
        reader.fail(None, "the file is empty")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reader.fail(Place(line), "the file is encoded in UTF-8", f"byte 0x{data[error.start]:02X} is not UTF-8")


def parsed(text: str, reader: Reader) -> dict[str, Any]:
    """The tables of a text, without absurd numbers."""
    for character, most in MAX_CHARACTERS.items():
        if text.count(character) > most:
            reader.fail(None, f"a file has at most {most:,} times {character!r}")
    # the time of the parser grows with the square of the number of dots
    if deep := _DEEP_KEY.search(text):
        reader.fail(Place(text.count("\n", 0, deep.start()) + 1), "there is a key with many dots")
    tables = _loaded(text, reader)
    _check_integers(tables, reader)
    return tables


def _loaded(text: str, reader: Reader) -> dict[str, Any]:
    def number(digits: str) -> float:
        if len(digits) > MAX_NUMBER:
            reader.fail(None, f"a number has at most {MAX_NUMBER} characters, not {len(digits):,}", f"{digits[:40]}...")
        return float(digits)

    try:
        return tomllib.loads(text, parse_float=number)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        reason = str(error)[: found.start()].strip() if found else str(error)
        line, hint = (int(found[1]), None) if found else (None, "is the file cut off?")
        reader.fail(Place(line), f"this is not TOML: {reason}", hint)
    except RecursionError:
        reader.fail(None, "tables and arrays are nested too deeply")
    except ValueError as error:  # an integer of thousands of digits
        reader.fail(None, f"this is not TOML: {error}")


def _check_integers(tables: dict[str, Any], reader: Reader) -> None:
    stack: list[tuple[str, Any]] = [("", tables)]
    while stack:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(value.items())
        elif isinstance(value, list):
            stack.extend((key, each) for each in value)
        elif isinstance(value, int) and not -_INTEGER_LIMIT <= value < _INTEGER_LIMIT:
            reader.fail(Place(None, key), "an integer has 64 bits", f"{str(value)[:40]}... does not fit")
