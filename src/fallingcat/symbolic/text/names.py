"""Names in generated text: symbols are ours; what the robot calls its parts is escaped, here and nowhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ...kernels.text.shared import escaped
from ...model import Model

if TYPE_CHECKING:
    from ..derivation import Derivation

_OURS: Final = re.compile(r"[A-Za-z]{1,5}(_[0-9]{1,4}[xyz]{0,2}|_[xyz])?", re.ASCII)
_WORDS: Final = """
    and as do def del elif else end for from if in is int long or not pass try while with pi e i j E I im inf nan
    q v a p np robot sin cos tan exp log sqrt tanh auto case char const
"""


def harmless(name: str, format: str) -> str:
    """A name of the robot's as text of this format: letters, digits, ``_ . -``, and bytes in hexadecimal.

    >>> harmless("knee_1*/", "c"), harmless("knee_1*/", "latex")
    ('knee_1%2A%2F', 'knee\\\\_1\\\\%2A\\\\%2F')
    """
    plain = escaped(name)
    return plain.replace("_", "\\_").replace("%", "\\%") if format == "latex" else plain


def identifiers(symbols: list[Any]) -> dict[Any, str]:
    """A generated name for each symbol: its own where that is ours, ``u_1`` where a user chose it freely."""
    found: dict[Any, str] = {}
    for x in symbols:
        name = str(x)
        plain = _OURS.fullmatch(name) and name not in _WORDS.split()
        found[x] = name if plain else f"u_{1 + sum(each.startswith('u_') for each in found.values())}"
    return found


def legend(d: Derivation, format: str) -> list[str]:
    """What goes in, and which link, joint and frame has which number; one line each."""
    model: Model = d.model
    lines = [f"q = [{', '.join(map(str, d.q))}], v = [{', '.join(map(str, d.v))}], a = [{', '.join(map(str, d.a))}]"]
    if format == "latex":
        lines = [line.replace("_", "\\_") for line in lines]
    for i, link in enumerate(model.links):
        lines.append(f"link {i}: {harmless(link.name, format)}")
    for i, joint in enumerate(model.joints):
        place, kind = model.q_slices[i], harmless(joint.kind.name, format)
        names = ", ".join(str(x) for x in d.q[model.base.nq + place.start : model.base.nq + place.stop])
        names = names.replace("_", "\\_") if format == "latex" else names
        lines.append(f"joint {i + 1}: {harmless(joint.name, format)} ({kind}{', ' + names if names else ''})")
    lines += [f"frame {i + 1}: {harmless(frame.name, format)}" for i, frame in enumerate(model.frames)]
    return lines
