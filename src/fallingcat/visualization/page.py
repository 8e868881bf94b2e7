"""One self-contained page: a 3-D animation, maps and time series, with a time line that moves them all.

The page is a single file of HTML that opens without a network.  Names and texts travel as JSON whose ``<``, ``>`` and
``&`` are escaped, and the player shows them as text, never as markup.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from pathlib import Path

import numpy as np

from ..errors import ModelError, describe
from ..escaping import page_json
from ..io.diagnostics import check_path
from ..io.files import write_text
from ..records import short_text
from .animation import Scene
from .charts import Chart, HeatMap, Picture, Table, Text

SCRIPTS = ("drawing.js", "triangles.js", "render.js", "scene.js", "charts.js", "tables.js", "record.js", "live.js",
           "player.js")  # fmt: skip
"""Files of the player, in the order in which they need each other."""
Block = Scene | HeatMap | Chart | Table | Picture | Text


@dataclass(frozen=True)
class Fact:
    """Card with a number.

    Example:
        >>> Fact("mass", "4 kg").note
        ''
    """

    label: str
    """above the number"""
    value: str
    """number and unit"""
    note: str = ""
    """below the number"""


@dataclass(frozen=True)
class Page:
    """Page with a title, cards with facts, and blocks in the order in which they are shown.

    Example:
        >>> "4 kg" in Page("cat", facts=[Fact("mass", "4 kg")]).html()
        True
    """

    title: str
    """title of the page"""
    subtitle: str = ""
    """below the title"""
    facts: Sequence[Fact] = ()
    """cards"""
    blocks: Sequence[Block] = field(default_factory=tuple)
    """charts, maps, scenes, tables, texts and pictures"""
    scripts: Sequence[str] = ()
    """generated functions in JavaScript, which a live scene calls; they run when the page is opened"""

    def html(self) -> str:
        """Whole page as text.

        Returns:
            HTML text.

        Example:
            >>> "</script><b>" in Page("<b>", facts=[Fact("</script><b>", "1")]).html()
            False
        """
        folder = resources.files(__package__)
        data = {
            "title": self.title,
            "subtitle": self.subtitle,
            "facts": [vars(fact) for fact in self.facts],
            "blocks": [block.data() for block in self.blocks],
        }
        parts = {
            "style": (folder / "page.css").read_text(encoding="utf-8"),
            "script": "\n".join([*self.scripts, *((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)]),
            "data": page_json(data),
        }
        page = (folder / "page.html").read_text(encoding="utf-8")
        for name, text in parts.items():
            page = page.replace(f"/*{name}*/", text, 1)
        return page

    def __repr__(self) -> str:
        return f"<Page {short_text(self.title)}: {', '.join(type(block).__name__ for block in self.blocks[:8])}>"

    def _repr_html_(self) -> str:
        """Page for notebooks, in a frame of its own, which cannot reach the notebook."""
        size = 'width="100%" height="640" style="border:0"'
        return f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts allow-downloads" {size}></iframe>'

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, as a whole or not at all.

        Args:
            path: File to write.

        Returns:
            Its path.
        """
        write_text(path, self.html())
        return Path(path)

    def video(self, path: str | os.PathLike[str], rate: int = 30, size: tuple[int, int] = (960, 720)) -> Path:
        """Write the first scene of the page as a video (extra ``video``).

        Args:
            path: ``.mp4`` or ``.gif`` file.
            rate: Pictures a second, from 1 to 120.
            size: Width and height (pixels).

        Returns:
            Path of the file.
        """
        from .scenes import pixels
        from .video import write_video

        check_path(path)
        if isinstance(rate, bool) or not isinstance(rate, (int, np.integer)) or not 1 <= rate <= 120:
            raise ModelError(f"rate is a number of pictures a second, from 1 to 120, not {describe(rate)}")
        return write_video(self, path, int(rate), pixels(size))
