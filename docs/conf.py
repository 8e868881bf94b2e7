"""Sphinx configuration: needs no network, neither to build nor to read."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring
from sphinx.util.inspect import TypeAliasForwardRef

import fallingcat
from fallingcat.arrays import types as array_types

project = "fallingcat"
author = "fallingcat developers"
copyright = "fallingcat developers"
version = release = fallingcat.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax from the package instead of a CDN
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
default_role = "code"  # `x` in a docstring is code

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {name: name for name in array_types.__annotations__}  # such as Matrix_6_nv
TypeAliasForwardRef.__repr__ = lambda self: self.name  # as in list[Vector], where Sphinx shows it
autodoc_default_options = {"members": True, "show-inheritance": True}

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_title = f"fallingcat {release}"


PRIVATE = {"caching", "cli", "escaping", "progress", "qp", "records", "registry"}
"""Modules of no tier, see `docs/reference/api.md`."""
FORMER = {"falling", "gaits", "kernels", "live", "views"}
"""Former names of packages."""


def public_modules(name: str) -> Iterator[str]:
    """The layers of the package, and the submodules that a layer names in `__all__`; the package itself comes last."""
    module = importlib.import_module(name)
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if info.name.startswith("_") or info.name in PRIVATE | FORMER:
            continue
        exported = info.name in getattr(module, "__all__", ()) and inspect.ismodule(getattr(module, info.name))
        if name == "fallingcat" or exported:
            yield from public_modules(f"{name}.{info.name}")
    yield name


def public_names(module: ModuleType) -> dict[str, Any]:
    """What a module exports: `__all__`, or what it defines itself."""
    own = [k for k, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__ and k[0] != "_"]
    return {key: getattr(module, key) for key in getattr(module, "__all__", own)}


def title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n\n"


def api_pages() -> dict[str, str]:
    """Text of the page of every public module: what a module only passes on is documented where it comes from.

    The pages are reStructuredText, as the docstrings are: within a Markdown page autodoc's output is not parsed.
    """
    pages: dict[str, str] = {}
    home: dict[int, str] = {}  # id of an object -> its full name
    for name in public_modules("fallingcat"):
        module = importlib.import_module(name)
        exported = public_names(module)
        passed_on = sorted(key for key, value in exported.items() if id(value) in home)
        if name == "fallingcat":
            pages[name] = title(name) + overview(exported, home)
            break
        home |= {id(value): f"{name}.{key}" for key, value in exported.items() if id(value) not in home}
        excluded = f"   :exclude-members: {', '.join(passed_on)}\n" if passed_on else ""
        pages[name] = title(name) + f".. automodule:: {name}\n{excluded}"
    return pages


def overview(exported: dict[str, Any], home: dict[int, str]) -> str:
    """A table for each layer: the names of `import fallingcat as fc`, and the first sentences of their docstrings."""
    layers: dict[str, list[str]] = {}
    for name, value in exported.items():
        if inspect.ismodule(value):
            continue
        place = home[id(value)]
        first = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
        summary = first if callable(value) else f"``{value}``"
        row = f"   * - :py:obj:`{name} <{place}>`\n     - {summary}\n"
        layers.setdefault(place.rpartition(".")[0], []).append(row)
    text = (
        "Names of ``import fallingcat as fc``, by package, with links to their pages.\n\n.. py:module:: fallingcat\n\n"
    )
    for layer, rows in sorted(layers.items()):
        text += f".. rubric:: :py:mod:`{layer}`\n\n.. list-table::\n   :widths: 30 70\n\n{''.join(rows)}\n"
    return text


def write_api_pages() -> None:
    """One page a public module, so that a new layer is documented the day it appears."""
    folder = Path(__file__).parent / "api"
    folder.mkdir(exist_ok=True)
    pages = {folder / f"{name}.rst": text for name, text in api_pages().items()}
    for stale in set(folder.iterdir()) - set(pages):
        stale.unlink()
    for page, text in pages.items():
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


write_api_pages()


def plain_fields(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A field of a named tuple without a docstring says nothing, instead of "Alias for field number 0"."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def inherited_sections(name: str, lines: list[str]) -> list[str]:
    """Args and Returns of the method that a method overrides, where it gives only a summary: shapes are said there."""
    module, owner, method = name.rsplit(".", 2)
    kind = getattr(importlib.import_module(module), owner, None) if module.startswith("fallingcat") else None
    if not inspect.isclass(kind) or any(line.strip() in ("Args:", "Returns:") for line in lines):
        return []
    for base in kind.__mro__[1:]:
        text = inspect.cleandoc(getattr(vars(base).get(method), "__doc__", None) or "")
        found = re.search(r"^(Args|Returns):\n.*?(?=^(?:Example|Raises):|\Z)", text, re.MULTILINE | re.DOTALL)
        if found:
            return ["", *found.group().rstrip().split("\n"), ""]
    return []


def sections(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Args, Returns and Raises of functions and classes as lists; napoleon itself would read attributes as types."""
    titles = {"Args:", "Returns:", "Yields:", "Raises:", "Example:"}
    if what == "method":
        place = next((i for i, line in enumerate(lines) if line.strip() in titles), len(lines))
        lines[place:place] = inherited_sections(name, lines)
    if what in ("function", "method", "class", "exception") and titles & set(map(str.strip, lines)):
        lines[:] = GoogleDocstring(lines, Config(), app, what, name, obj, options).lines()


def close_examples(app: Sphinx, docname: str, source: list[str]) -> None:
    """Examples end with a blank line, which ends their expected output; it is not shown."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def setup(app: Sphinx) -> None:
    app.connect("source-read", close_examples)
    app.connect("autodoc-process-docstring", plain_fields)
    app.connect("autodoc-process-docstring", sections)
