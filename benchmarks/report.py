"""What the benchmarks have in common: options, the file of results, the table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Result = dict[str, Any]


def main(
    about: str | None, path: Path, repeats: int, measure: Callable[[int], Result], show: Callable[[Result], None]
) -> None:
    """Measure with ``--repeats``, write the numbers to ``--output`` (JSON) and show them."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--output", type=Path, default=path)
    options = parser.parse_args()
    result = measure(options.repeats)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    show(result)
