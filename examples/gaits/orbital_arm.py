"""The example of [Mishra] V-B as a page and as figures: `python examples/gaits/orbital_arm.py [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from fallingcat.gaits.orbital import comparison, orbital_example, orbital_page, surfaces, volume


def main(folder: Path) -> None:
    found = orbital_example()
    for row in comparison(found):
        print(f"{row[0]:32}" + "".join(f"{cell:>11}" for cell in row[1:]))
    (folder / "orbital_fig8.svg").write_text(surfaces(found), encoding="utf-8")
    (folder / "orbital_fig9.svg").write_text(volume(found), encoding="utf-8")
    print(orbital_page(found).write(folder / "orbital.html"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
