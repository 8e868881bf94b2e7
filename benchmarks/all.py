"""Everything at once: the benchmarks beside all peers that are installed, then README's tables and the picture.

    python benchmarks/all.py                 all scripts (about half an hour on two free cores), tables, picture
    python benchmarks/all.py kernels peers   these scripts, tables, picture
    python benchmarks/all.py --tables        tables and picture from the results that are there

A script that fails is named at the end, and the exit code says so; what it wrote before stays.  On a GPU machine,
``gpu.py`` and ``contact.py --gpu`` are run by hand.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import feature_table
import plots
import readme_tables as tables
from rich.console import Console

HERE = Path(__file__).parent
COMMANDS: dict[str, tuple[str, ...]] = {
    "import_time": ("import_time.py",),
    "calls": ("calls.py",),
    "first_calls": ("first_calls.py",),
    "parse": ("parse.py",),
    "kernels": ("kernels.py",),
    "scaling": ("scaling.py",),
    "peers": ("peers.py",),
    "compile_times": ("compile_times.py",),
    "dynamics": ("dynamics.py",),
    "jax_kernels": ("jax_kernels.py",),
    "inverse_kinematics": ("inverse_kinematics.py",),
    "whole_body": ("whole_body.py",),
    "contact": ("contact.py",),
    "contact_hard": ("contact.py", "--hard"),
    "contact_points": ("contact_points.py",),
    "contact_scenes": ("contact_scenes.py",),
    "hopper": ("hopper.py",),
    "curvature_map": ("curvature_map.py", "--write"),
    "symbolic": ("symbolic.py",),
    "drift": ("drift.py",),
}


def run(names: list[str]) -> list[str]:
    """One after the other; gives those that failed."""
    console, failed = Console(), []
    for k, name in enumerate(names):
        console.rule(f"{name} ({k + 1} of {len(names)})")
        start = time.perf_counter()
        script, *arguments = COMMANDS[name]
        if subprocess.run([sys.executable, HERE / script, *arguments], check=False).returncode:
            failed.append(name)
        console.print(f"{name}: {time.perf_counter() - start:.0f} s")
    return failed


def readme(text: str) -> str:
    """README.md with its table as the results have it."""
    return tables.put(text, tables.BEGIN, tables.highlights(), tables.END)


def page(text: str) -> str:
    """docs/benchmarks.md with its tables as the results have them."""
    return tables.put(text, tables.BEGIN, tables.section(), tables.END)


def write() -> None:
    """Tables and picture, from the results that are there."""
    tables.README.write_text(readme(tables.README.read_text(encoding="utf-8")), encoding="utf-8")
    tables.PAGE.write_text(page(tables.PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    feature_table.PAGE.write_text(feature_table.page(), encoding="utf-8")
    plots.PICTURE.write_text(plots.picture(), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these only, of: " + ", ".join(COMMANDS))
    parser.add_argument("--tables", action="store_true", help="run nothing")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(COMMANDS)):
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(COMMANDS)}")
    failed = [] if options.tables else run(options.names or list(COMMANDS))
    write()
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
