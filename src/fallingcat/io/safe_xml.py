r"""Bytes to a tree of elements that know their lines; no DOCTYPE, no entities, UTF-8 only, within the stated limits.

>>> from fallingcat.io.diagnostics import Reader
>>> text = b"<robot>\n <link name='arm'><inertial><mass value='1'/></inertial></link>\n</robot>"
>>> root = parse(text, Reader("r.urdf"))
>>> mass = root.children[0].children[0].children[0]
>>> mass.line, mass.label, mass.attributes
(2, "<link name='arm'> <mass>", {'value': '1'})
>>> parse(b"<!DOCTYPE robot [<!ENTITY a 'aaa'>]><robot/>", Reader("r.urdf"))
Traceback (most recent call last):
fallingcat.errors.FileError: r.urdf:1: a robot file has no DOCTYPE and no entities (remove the declaration)
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from xml.parsers import expat

from .diagnostics import Place, Reader
from .limits import MAX_ATTRIBUTE, MAX_ATTRIBUTES, MAX_DEPTH, MAX_ELEMENTS, MAX_TAG

_QUOTE: Final = 40  # characters of a text that are kept, to be shown
_UNBOUND: Final = expat.errors.XML_ERROR_UNBOUND_PREFIX
_PREFIX: Final = re.compile(rb"[<\s/]([A-Za-z_][A-Za-z0-9_.-]{0,40}):[A-Za-z_]")
_TAG: Final = re.compile(rb"<[^\s/>]+")
_MAX_PREFIXES: Final = 32
_MAX_LEADING_BYTES: Final = 4096  # bytes before an XML declaration that should have been the first
_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)
_ENCODING: Final = re.compile(rb"encoding\s*=\s*[\"']([^\"']*)")


@dataclass(slots=True, eq=False)
class Element:
    """An XML element: ``tag`` (``{namespace}tag`` where one is declared), ``attributes``, ``children``, ``text``."""

    tag: str
    attributes: dict[str, str]
    line: int
    parent: Element | None = field(default=None, repr=False)
    children: list[Element] = field(default_factory=list, repr=False)
    text: str = ""
    """The beginning of the character data directly inside, without blanks around it: enough to quote."""

    def __iter__(self) -> Iterator[Element]:
        return iter(self.children)

    def get(self, attribute: str, default: str = "") -> str:
        """The text of an attribute."""
        return self.attributes.get(attribute, default)

    def all(self, tag: str) -> list[Element]:
        """The children with this tag."""
        return [child for child in self.children if child.tag == tag]

    @property
    def label(self) -> str:
        """The element with its name, or with the nearest ancestor that has one."""
        if "name" in self.attributes:
            return f"<{self.tag} name={self.attributes['name']!r}>"
        named: Element | None = self.parent
        while named is not None and "name" not in named.attributes:
            named = named.parent
        # the root's name says nothing that the file's name does not
        return f"<{self.tag}>" if named is None or named.parent is None else f"{named.label} <{self.tag}>"


def only(reader: Reader, element: Element, tag: str) -> Element | None:
    """The one child with this tag, or None; two are a fault.

    Example:
        >>> root = parse(b"<robot><link/><link/></robot>", Reader("r.urdf"))
        >>> only(Reader("r.urdf"), root, "link")
        Traceback (most recent call last):
        fallingcat.errors.FileError: r.urdf:1: <link>: there may be only one <link> inside <robot>
        (repair the file, or load it with faults="warn": the first is taken)
    """
    found = element.all(tag)
    if len(found) > 1:
        reader.fault(found[1], f"there may be only one <{tag}> inside <{element.tag}>", "the first is taken")
    return found[0] if found else None


def parse(data: bytes, reader: Reader) -> Element:
    """The root element of an XML document, or a :class:`FileError`."""
    data = _without_last_zeros(data, reader)
    _check_bytes(data, reader)
    return _parsed(_without_late_declaration(data, reader), reader)


def _parsed(data: bytes, reader: Reader, lenient: bool = True) -> Element:
    """The root; undeclared prefixes are declared in a second attempt, if this is the first."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    builder = _Builder(reader)
    # the encoding is given: whatever the file declares, its bytes were found to be UTF-8
    parser = DefusedXMLParser(target=builder, encoding="utf-8", forbid_dtd=True, forbid_entities=True)
    expat_parser = builder.parser = parser.parser
    expat_parser.XmlDeclHandler = builder.declaration
    expat_parser.DefaultHandlerExpand = None  # it would be called for every comment and CDATA, in vain
    try:
        parser.feed(data)
        root: Element | None = parser.close()
    except DefusedXmlException:
        rule = "a robot file has no DOCTYPE and no entities"
        reader.fail(Place(expat_parser.CurrentLineNumber), rule, "remove the declaration")
    except SyntaxError as error:  # ElementTree.ParseError is one
        if lenient and builder.root is not None and expat.ErrorString(getattr(error, "code", 0)) == _UNBOUND:
            return _parsed(_with_prefixes(data, builder.start_of_root, reader), reader, lenient=False)
        reader.fail(Place(getattr(error, "position", (None,))[0]), *_error_text(error))
    if root is None:
        reader.fail(None, "there is no root element")
    return root


class _Builder:
    """The target of the parser: makes :class:`Element`, counts, and stops at the first limit."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.parser: Any = None
        self.root: Element | None = None
        self.start_of_root = 0
        self.open: list[Element] = []
        self.count = 0

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
            place = Place(self.parser.CurrentLineNumber)
            self.reader.fail(place, f"a robot file is encoded in UTF-8, not in {encoding!r}", "convert it")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self.open[-1] if self.open else None
        element = Element(tag, attributes, self.parser.CurrentLineNumber, parent)
        self.count += 1
        if self.count > MAX_ELEMENTS:
            self.reader.fail(element, f"a robot file has at most {MAX_ELEMENTS:,} elements")
        if len(self.open) >= MAX_DEPTH:
            self.reader.fail(Place(element.line, f"<{tag}>"), f"elements are nested at most {MAX_DEPTH:,} deep")
        if len(attributes) > MAX_ATTRIBUTES:
            self.reader.fail(Place(element.line, f"<{tag}>"), f"an element has at most {MAX_ATTRIBUTES} attributes")
        for name, text in attributes.items():
            if len(text) > MAX_ATTRIBUTE:
                self.reader.fail(element, f"attribute {name!r} is longer than {MAX_ATTRIBUTE:,} characters")
        if parent is None:
            self.root, self.start_of_root = element, self.parser.CurrentByteIndex
        else:
            parent.children.append(element)
        self.open.append(element)

    def data(self, text: str) -> None:
        if self.open and len(self.open[-1].text) < _QUOTE and (text := text.strip()):
            self.open[-1].text += text[:_QUOTE]

    def end(self, tag: str) -> None:
        self.open.pop()

    def close(self) -> Element | None:
        return self.root


def _with_prefixes(data: bytes, root: int, reader: Reader) -> bytes:
    """The file with every prefix that it uses and does not declare (``drake:``, ``sensor:``) declared in its root."""
    used: set[bytes] = set()
    for found in _PREFIX.finditer(data):
        used.add(found[1])
        if len(used) > _MAX_PREFIXES:
            break
    unknown = sorted(prefix.decode() for prefix in used if prefix != b"xmlns" and b"xmlns:" + prefix not in data)
    reader.warn(None, f"what has a prefix that is not declared is passed over: {', '.join(unknown)}")
    tag = _TAG.match(data, root)
    assert tag is not None  # the parser was here
    declared = "".join(f' xmlns:{prefix}="undeclared:{prefix}"' for prefix in unknown)
    return data[: tag.end()] + declared.encode() + data[tag.end() :]


def _without_late_declaration(data: bytes, reader: Reader) -> bytes:
    """The file with ``<?xml ... ?>`` blanked where blanks or comments stand before it, which XML does not allow."""
    start = data.find(b"<?xml", 0, _MAX_LEADING_BYTES)
    end = data.find(b"?>", start, start + 200) + 2
    before = data[: max(start, 0)].removeprefix(codecs.BOM_UTF8)
    if not before or end < start or _COMMENT.sub(b"", before).strip():
        return data
    encoding = _ENCODING.search(data[start:end])
    if encoding is not None and encoding[1].lower() not in (b"utf-8", b"utf8", b"us-ascii", b"ascii"):
        return data
    reader.warn(_place(data, start), "an XML declaration stands at the very beginning of a file: passed over")
    return data[:start] + b" " * (end - start) + data[end:]


def _without_last_zeros(data: bytes, reader: Reader) -> bytes:
    """The file without the NUL bytes that end it, as programs that write strings of C leave them: a fault."""
    text = data.rstrip(b"\0")
    if not text.strip() or text == data or b"\0" in text:
        return data
    reader.fault(_place(data, len(text)), "there is a NUL byte at the end", "passed over")
    return text


def _check_bytes(data: bytes, reader: Reader) -> None:
    """Check what can be said before the parser sees anything."""
    if not data.strip():
        reader.fail(None, "the file is empty")
    if b"\0" in data:
        reader.fail(_place(data, data.index(b"\0")), "there is a NUL byte", "a robot file is UTF-8 text")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{data[error.start]:02X} is not UTF-8"
        reader.fail(_place(data, error.start), "a robot file is encoded in UTF-8", byte)
    if max(map(len, data.split(b">"))) > MAX_TAG:  # before the parser holds all its attributes at once
        reader.fail(None, f"no tag, comment or text is longer than {MAX_TAG // 2**10:,} KiB")


def _place(data: bytes, position: int) -> Place:
    return Place(data.count(b"\n", 0, position) + 1)


def _error_text(error: SyntaxError) -> tuple[str, str | None]:
    """The parser's complaint in words, and a hint for the frequent ones."""
    code = getattr(error, "code", 0)
    names = expat.errors
    hints = {
        names.XML_ERROR_UNBOUND_PREFIX: "a leftover of xacro?",
        names.XML_ERROR_UNDEFINED_ENTITY: "robot files have no entities",
        names.XML_ERROR_NO_ELEMENTS: "is the file cut off?",
        names.XML_ERROR_UNCLOSED_TOKEN: "is the file cut off?",
        names.XML_ERROR_BAD_CHAR_REF: "XML has no such character",
    }
    reason = expat.ErrorString(code) or "syntax error"
    return f"this is not well-formed XML: {reason}", hints.get(reason)
