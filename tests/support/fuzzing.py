"""Fuzzers that run for a given time: ``FALLINGCAT_FUZZ_SECONDS=60 pytest -m slow tests/io/test_fuzz.py``.

A good file is broken by accidents: to its bytes, whatever they mean (`broken_bytes`), or to its structure, so that it
stays well-formed (`broken_xml`, `broken_toml`).
"""

import copy
import json
import os
import re
import time
import tomllib
from xml.etree import ElementTree

from hostile_names import SCRIPTS
from hypothesis import given, settings
from hypothesis import strategies as st

SECONDS = float(os.environ.get("FALLINGCAT_FUZZ_SECONDS", "600"))


def try_many(strategy, check, number):
    """``check`` of so many examples."""

    @settings(max_examples=number)
    @given(strategy)
    def one(example):
        check(example)

    one()


def try_for(strategy, check, seconds=SECONDS, each=500):
    """``check`` of new examples until the time is over, and how many there were."""
    end, count = time.monotonic() + seconds, 0

    @settings(max_examples=each, derandomize=False, database=None)
    @given(strategy)
    def some(example):
        nonlocal count
        count += 1
        check(example)

    while time.monotonic() < end:
        some()
    return count


# bytes --------------------------------------------------------------------------------------------------------------

NUMBER = re.compile(rb"-?[0-9.]+(?:e-?[0-9]+)?")
ATTRIBUTE = re.compile(rb"([A-Za-z_]+) ?= ?(['\"])(.*?)\2")
ELEMENT = re.compile(rb"<(\w+)(?:[^<>]*/>|[^<>]*>[^<>]*</\1>)|^\w+ ?= ?.*$", re.MULTILINE)  # one without children
TAG = re.compile(rb"</?\w+[^<>]*>|^\[+\w+\]+$", re.MULTILINE)
ODD = ["0", "-0", "-1", "1e308", "-1e308", "1e400", "1e-320", "1e-200", "1e30", "1e9",
       "nan", "inf", "1,5", "0x1", "1e", "1_0", "++1", "99999999999999999999", "45"]  # fmt: skip
ODD_BYTES = [*(odd.encode() for odd in ODD), b"", b" ", b"1 2", b"\xc2\xa0", b"${x}", b"9" * 400, b"0." + b"1" * 400]
WORDS = [b"a", b"b", b"j", b"k", b"world", b"fixed", b"planar", b"ball", b"..", b"\xff", b"&#0;", b"&#10;", b"&lt;",
         b"\0", b"<!--", b"<![CDATA[<script>hit=1</script>]]>", b"&lt;img src=x onerror=hit=1&gt;",
         b"\\n", b"\\u001b[31m", b'"', b"'", b"]", b"[[link]]"]  # fmt: skip


@st.composite
def broken_bytes(draw, files):
    """A good file after one to five accidents."""
    data = draw(st.sampled_from(files))
    for _ in range(draw(st.integers(1, 5))):
        data = draw(st.sampled_from(BYTE_ACCIDENTS))(draw, data)
    return data


def place(draw, pattern, data):
    """Where something is in the file, or None."""
    found = list(pattern.finditer(data))
    return found[draw(st.integers(0, len(found) - 1))] if found else None


def flip_bytes(draw, data):
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        if out:
            out[draw(st.integers(0, len(out) - 1))] = draw(st.integers(0, 255))
    return bytes(out)


def cut(draw, data):
    i, j = sorted(draw(st.lists(st.integers(0, len(data)), min_size=2, max_size=2)))
    return data[:i] if draw(st.booleans()) else data[:i] + data[j:]


def replace_number(draw, data):
    hit = place(draw, NUMBER, data)
    new = draw(st.sampled_from(ODD_BYTES) | st.floats(-10, 10).map(lambda x: repr(x).encode()))
    return data if hit is None else data[: hit.start()] + new + data[hit.end() :]


def replace_value(draw, data):
    hit = place(draw, ATTRIBUTE, data)
    new = draw(st.sampled_from(ODD_BYTES + WORDS))
    return data if hit is None else data[: hit.start(3)] + new + data[hit.end(3) :]


def swap_attributes(draw, data):
    one, two = place(draw, ATTRIBUTE, data), place(draw, ATTRIBUTE, data)
    if one is None or two is None or one.start() >= two.start():
        return data
    group = draw(st.sampled_from([0, 1, 3]))  # the whole, the name, the value
    (i, j), (k, m) = one.span(group), two.span(group)
    return data[:i] + data[k:m] + data[j:k] + data[i:j] + data[m:]


def delete_element(draw, data):
    hit = place(draw, draw(st.sampled_from([ELEMENT, TAG, ATTRIBUTE])), data)
    return data if hit is None else data[: hit.start()] + data[hit.end() :]


def duplicate_element(draw, data):
    hit, there = place(draw, ELEMENT, data), place(draw, TAG, data)
    return data if hit is None or there is None else data[: there.end()] + hit[0] + data[there.end() :]


BYTE_ACCIDENTS = [flip_bytes, cut, replace_number, replace_value, swap_attributes, delete_element, duplicate_element]

# trees of elements --------------------------------------------------------------------------------------------------

NUMBERS = st.sampled_from(ODD) | st.floats(-2, 2).map(repr)
KEYWORDS = "true false auto free ball slide hinge mesh box plane main leg revolute fixed floating planar"
TEXTS = (
    st.lists(NUMBERS, min_size=0, max_size=6).map(" ".join)
    | st.sampled_from(KEYWORDS.split())
    | st.sampled_from(["world", "a", "b", "base", "../x", "ghost", "radian", "xyz", "ZZZ", "", " ", "a\nb", "\x85"])
    | st.sampled_from(SCRIPTS)
)


@st.composite
def broken_xml(draw, roots):
    """A good tree after one to four accidents that keep it well-formed."""
    root = copy.deepcopy(draw(st.sampled_from(roots)))
    elements = [element for other in roots for element in other.iter()]
    for _ in range(draw(st.integers(1, 4))):
        everything = list(root.iter())
        element = everything[draw(st.integers(0, len(everything) - 1))]
        draw(st.sampled_from(TREE_ACCIDENTS))(draw, element, elements)
    return ElementTree.tostring(root)


def set_attribute(draw, element, elements):
    if element.attrib:
        element.set(draw(st.sampled_from(sorted(element.attrib))), draw(TEXTS))


def lose_attribute(draw, element, elements):
    if element.attrib:
        del element.attrib[draw(st.sampled_from(sorted(element.attrib)))]


def borrow_attribute(draw, element, elements):
    pairs = sorted({pair for other in elements for pair in other.attrib.items()})
    element.set(*draw(st.sampled_from(pairs)))


def lose(draw, element, elements):
    if len(element):
        element.remove(element[draw(st.integers(0, len(element) - 1))])


def double(draw, element, elements):
    if len(element):
        element.append(copy.deepcopy(element[draw(st.integers(0, len(element) - 1))]))


def insert(draw, element, elements):
    new = copy.deepcopy(draw(st.sampled_from(elements)))
    if len(list(new.iter())) < 50:
        element.insert(draw(st.integers(0, len(element))), new)


def rename(draw, element, elements):
    tags = sorted({other.tag for other in elements} | {"include", "replicate", "attach", "texture", "x"})
    element.tag = draw(st.sampled_from(tags))


def write_text(draw, element, elements):
    element.text = draw(TEXTS)


TREE_ACCIDENTS = [set_attribute, lose_attribute, borrow_attribute, lose, double, insert, rename, write_text]

# tables -------------------------------------------------------------------------------------------------------------


class Raw(str):
    """A value of a TOML file as it is written."""


VALUES = (
    st.sampled_from([Raw(x) for x in (*ODD, "true", "[]", "{}", "[[1, 2], 3]", "1979-05-27", "'''a'''")])
    | st.floats(-2, 2)
    | st.lists(NUMBERS.map(Raw), min_size=0, max_size=4)
    | st.sampled_from(
        ["a", "b", "ghost", "", " ", "revolute", "helical", "fixed", "free", "planar", "a\nb", "\x1b[2J", *SCRIPTS]
    )
    | st.text(max_size=3)
)


@st.composite
def broken_toml(draw, files):
    """A good file after one to four accidents to its tables."""
    tables = [tomllib.loads(text) for text in files]
    root = copy.deepcopy(draw(st.sampled_from(tables)))
    others = [table for other in tables for table in _tables(other)]
    for _ in range(draw(st.integers(1, 4))):
        inside = list(_tables(root))
        draw(st.sampled_from(TABLE_ACCIDENTS))(draw, inside[draw(st.integers(0, len(inside) - 1))], others)
    return "".join(f"{json.dumps(key)} = {_written(value)}\n" for key, value in root.items()).encode("utf-8", "replace")


def _tables(value):
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _tables(one)


def _written(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, Raw):
        return str(value)
    return json.dumps(value) if isinstance(value, (str, bool)) else repr(value)


def set_value(draw, table, others):
    if table:
        table[draw(st.sampled_from(sorted(table)))] = draw(VALUES)


def lose_key(draw, table, others):
    if table:
        del table[draw(st.sampled_from(sorted(table)))]


def borrow_key(draw, table, others):
    pairs = [(key, value) for other in others for key, value in other.items()]
    key, value = pairs[draw(st.integers(0, len(pairs) - 1))]
    table[key] = copy.deepcopy(value)


def rename_key(draw, table, others):
    if table:
        key = draw(st.sampled_from(sorted(table)))
        table[draw(st.sampled_from(["name", "x", "mass", "base", "a.b", "\n", ""]))] = table.pop(key)


def double_item(draw, table, others):
    lists = [value for value in table.values() if isinstance(value, list) and value]
    if lists:
        items = draw(st.sampled_from(lists))
        items.append(copy.deepcopy(items[draw(st.integers(0, len(items) - 1))]))


TABLE_ACCIDENTS = [set_value, lose_key, borrow_key, rename_key, double_item]
