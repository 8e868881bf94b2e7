"""Names in generated text: symbols are ours; what the robot calls its parts is escaped, here and nowhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ... import escaping
from ...model import Model

if TYPE_CHECKING:
    from ..derivation import Derivation

_OURS: Final = re.compile(r"theta|[A-Za-z]{1,2}|[A-Za-z]{1,5}_([0-9]{1,4}[xyz]{0,2}|[xyz])", re.ASCII)
_RESERVED_WORDS: Final = ("as", "do", "fn", "if", "im", "in", "is", "np", "or", "pi", *"eijqvapEI")
"""Reserved words of the languages and of the text itself; longer words are reserved in some language."""


def safe_name(name: str, format: str) -> str:
    r"""Name of the robot as text of this format: letters, digits, ``_ . -``, and bytes in hexadecimal.

    >>> safe_name("knee_1*/", "c"), safe_name("knee_1*/", "latex")
    ('knee_1%2A%2F', 'knee\\_1\\%2A\\%2F')
    """
    return escaping.latex(name) if format == "latex" else escaping.comment(name)


def escape_underscores(text: str) -> str:
    """Our own words in LaTeX: underscores are letters."""
    return text.replace("_", "\\_")


def identifiers(symbols: list[Any]) -> dict[Any, str]:
    """A generated name for each symbol: its own where that is ours, ``u_1`` where a user chose it freely."""
    found: dict[Any, str] = {}
    for x in symbols:
        name = str(x)
        plain = _OURS.fullmatch(name) and name not in _RESERVED_WORDS
        found[x] = name if plain else f"u_{1 + sum(each.startswith('u_') for each in found.values())}"
    return found


def legend(d: Derivation, format: str) -> list[str]:
    """Inputs, and the numbers of links, joints and frames; one line each."""
    model: Model = d.model
    own = escape_underscores if format == "latex" else str
    given = {"q": d.q, "v": d.v, "a": d.a}
    lines = [own(", ".join(f"{name} = [{', '.join(map(str, xs))}]" for name, xs in given.items()))]
    for i, link in enumerate(model.links):
        lines.append(f"link {i}: {safe_name(link.name, format)}")
    for i, joint in enumerate(model.joints):
        place, kind = model.q_slices[i], safe_name(joint.kind.name, format)
        names = ", ".join(str(x) for x in d.q[model.base.nq + place.start : model.base.nq + place.stop])
        lines.append(f"joint {i + 1}: {safe_name(joint.name, format)} ({kind}{', ' + own(names) if names else ''})")
    lines += [f"frame {i + 1}: {safe_name(frame.name, format)}" for i, frame in enumerate(model.frames)]
    return lines


def summary(derivation: Derivation) -> str:
    """Inputs and names of quantities as HTML, for notebooks."""
    items = "".join(f"<li>{line}</li>" for line in legend(derivation, "html"))
    names = ", ".join(f"<code>{name}</code>" for name in derivation.names)
    return f"<b>Derivation of {safe_name(derivation.model.name, 'html')}</b><ul>{items}</ul><p>{names}</p>"
