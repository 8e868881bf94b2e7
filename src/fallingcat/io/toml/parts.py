"""Joints and loops of other packages in TOML files: fields of their dataclasses are keys of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from ...errors import ModelError, nearest_name_hint
from .values import wrong

OWN = "own"
"""Key under which a table keeps what only its kind knows; no file has it."""


def moved(
    given: Any, what: str, kinds: Mapping[str, Any], library: frozenset[str], keys: set[str], taken: set[str]
) -> Any:
    """A table in which the keys of a kind that is not the library's are under :data:`OWN`.

    Args:
        given: Table of a file.
        what: What its kinds are called.
        kinds: All kinds.
        library: Names of those whose keys the table knows.
        keys: Keys of the table.
        taken: Those of them that every kind has.
    """
    if isinstance(given, dict) and OWN in given:
        raise wrong(f"there is no key {OWN!r}")
    name = given.get("type") if isinstance(given, dict) else None
    if not isinstance(name, str) or name in library:
        return given
    if name not in kinds:
        if given.keys() <= keys:
            return given
        raise wrong(f"there is no {what} type {name!r}{nearest_name_hint(name, kinds)}")
    known = {field.name: field for field in fields(kinds[name]) if field.init and field.name not in taken}
    own = {key: _read(value, known[key]) for key, value in given.items() if key in known}
    for key in sorted(given.keys() - own.keys() - taken):
        raise wrong(f"there is no key {key!r}{nearest_name_hint(key, [*known, *taken])}")
    for field in known.values():
        if field.name not in own and field.default is MISSING and field.default_factory is MISSING:
            if "None" not in str(field.type):
                raise wrong(f"{field.name!r} is missing")
            own[field.name] = None  # which files leave out
    return {key: value for key, value in given.items() if key not in own} | {OWN: own}


def make_part(kind: Any, **given: Any) -> Any:
    """The part with these fields; what its class refuses is an error of the file."""
    try:
        return kind(**given)
    except TypeError as error:
        raise ModelError(f"{kind.__name__} cannot be made of these keys: {error}") from error


def part_table(part: Any, taken: set[str]) -> dict[str, Any]:
    """The fields of a part, as keys of its table."""
    names = [field.name for field in fields(part) if field.init]
    clash = sorted(set(names) & taken)
    if clash:
        raise ModelError(f"the field {clash[0]!r} of {type(part).__name__} has the name of another key of its table")
    return {name: value for name in names if (value := getattr(part, name)) is not None}


def _read(value: Any, field: Field[Any]) -> Any:
    """A value of the file as a dataclass has it: rows are tuples, numbers are floats unless the field is an int."""
    if field.type in (float, "float") and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise wrong(f"{field.name} is a number, not {value!r}")
    if isinstance(value, list):
        return tuple(_read(each, field) for each in value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        whole = field.type in (int, "int", "tuple[int, ...]") and float(value).is_integer()
        return int(value) if whole else float(value)
    return value
