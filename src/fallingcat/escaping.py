"""Text that comes from a file, made harmless for the place where it is shown: one function for each kind of place.

Whatever a file, a name or an error says is data.  It never steers a terminal, ends a comment, or becomes markup, script
or LaTeX.  (The bars of ``rich`` get text as a field without markup, see :mod:`fallingcat.progress`.)
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any, Final

READABLE: Final = " (),:+=[]"
"""Characters that neither end a comment of C nor continue it on the next line."""
_LONGEST_COMMENT: Final = 80
_NO_XML: Final = re.compile("[^\t\n\r -\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def terminal(text: object) -> str:
    r"""Text on one line, with everything that does not print (line ends, escapes, direction marks) escaped.

    Example:
        >>> print(terminal("red \x1b[31m"))
        red \x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))


def html(text: object) -> str:
    """Text as characters of HTML or SVG, also inside an attribute in quotes; those that XML cannot hold are escaped.

    Example:
        >>> html("<b>'&'</b>")
        '&lt;b&gt;&#x27;&amp;&#x27;&lt;/b&gt;'
    """
    return escape(_NO_XML.sub(lambda found: terminal(found[0]), str(text)), quote=True)


def page_json(data: Any) -> str:
    r"""JSON that may stand in a page: nothing in it can end the element it is in.

    Example:
        >>> print(page_json({"name": "</script>"}))
        {"name":"\u003c/script\u003e"}
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def comment(name: str, also: str = "") -> str:
    """Name as comment text.

    Letters, digits, ``_ . -``, those of ``also``, and for all else ``%`` and its bytes in hexadecimal.

    Example:
        >>> comment("knee*/ exit(1);")
        'knee%2A%2F%20exit%281%29%3B'
        >>> comment("knee*/ exit(1);", also=READABLE)
        'knee%2A%2F exit(1)%3B'
    """
    keep = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-" + also
    plain = "".join(c if c in keep else "".join(f"%{b:02X}" for b in c.encode("utf-8", "replace")) for c in name)
    return plain if len(plain) <= _LONGEST_COMMENT else plain[: _LONGEST_COMMENT - 3] + "..."


def latex(name: str) -> str:
    r"""Name as text of LaTeX.

    Example:
        >>> print(latex("knee_1*/"))
        knee\_1\%2A\%2F
    """
    return comment(name).replace("_", "\\_").replace("%", "\\%")
