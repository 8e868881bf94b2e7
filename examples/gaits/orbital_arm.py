"""The example of [Mishra] V-B as a page and as figures: `python examples/gaits/orbital_arm.py [FOLDER]`.

The same numbers and page come from `fallingcat study run orbital-gait`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import fallingcat as fc
from fallingcat.planning.gaits.orbital_example import surfaces, volume


def main(folder: Path) -> None:
    result = fc.studies.run("orbital-gait")
    for row in result.rows:
        print(f"{row.name:34} {row.published or '':>18} {row.ours:10.4f} {row.unit:4} {row.verdict}")
    (folder / "orbital_fig8.svg").write_text(surfaces(result.observed), encoding="utf-8")
    (folder / "orbital_fig9.svg").write_text(volume(result.observed), encoding="utf-8")
    print(result.page().write(folder / "orbital.html"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
