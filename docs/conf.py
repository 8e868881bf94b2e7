"""Sphinx configuration: needs no network, neither to build nor to read."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import fallingcat

project = "fallingcat"
author = "fallingcat developers"
copyright = "fallingcat developers"
version = release = fallingcat.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",  # MathJax from the package instead of a CDN
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
default_role = "code"  # `x` in a docstring is code

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_title = f"fallingcat {release}"


def public_modules(name: str) -> Iterator[str]:
    """The module, the layers of the package, and the submodules that a layer names in `__all__`."""
    yield name
    module = importlib.import_module(name)
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        exported = info.name in getattr(module, "__all__", ()) and inspect.ismodule(getattr(module, info.name))
        if name == "fallingcat" or exported:
            yield from public_modules(f"{name}.{info.name}")


def write_api_pages() -> None:
    """One page a public module, so that a new layer is documented the day it appears."""
    folder = Path(__file__).parent / "api"
    folder.mkdir(exist_ok=True)
    pages = {
        folder / f"{name}.md": f"# {name}\n\n```{{automodule}} {name}\n```\n" for name in public_modules("fallingcat")
    }
    for stale in set(folder.iterdir()) - set(pages):
        stale.unlink()
    for page, text in pages.items():
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


write_api_pages()
