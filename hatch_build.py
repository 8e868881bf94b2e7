"""The long description of the package: README without what only a clone has.

An index shows no files of the repository, so pictures are left out, links to pages become their words, and the commands
of a clone become those of an installed package.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

INSTALL = """## Install

Python 3.11 or newer; the core needs NumPy, llvmlite and four small libraries. Drop a cat:

```bash
pip install fallingcat && fallingcat drop
```

JAX, CasADi, SymPy, robot descriptions, the live view and sweeps come as extras: `pip install 'fallingcat[jax,view]'`.

"""


def long_description(readme: str) -> str:
    """README as an index can show it."""
    text = re.sub(r"<!--.*?-->\n?", "", readme, flags=re.DOTALL)
    text = re.sub(r"^!\[.*?\]\(.*?\)\n\n?", "", text, flags=re.MULTILINE)
    text = re.sub(r"## Install\n.*?(?=^## )", INSTALL, text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


class LongDescription(MetadataHookInterface):
    """Hook that sets ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description from README.md."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(text)}
