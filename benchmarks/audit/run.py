"""Audit of simulators: the same laws of mechanics, scenes, steps and tolerances for every engine, ours among them.

    python benchmarks/audit/run.py            engines that can be imported here; others keep their rows
    python benchmarks/audit/run.py --table    the page docs/simulator_audit.md again, from the results

Peers that cannot share an environment are measured one after the other, each with its own interpreter.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

RESULTS = HERE.parent / "results" / "simulator_audit.json"
STEP = 0.002  # s, the default of MJCF files


def audit(only: str) -> None:
    """Measure every law on every engine; what an engine cannot run is said in its own words."""
    from engines import engines
    from scenes import LAWS

    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name, (simulate, version) in engines().items():
        if only not in name:
            continue
        rows, motions = {}, {}
        for law in LAWS:
            try:
                for run in law.runs:
                    if run not in motions:
                        motions[run] = simulate(run, STEP)
                rows[law.name] = law.error(*law.runs, *(motions[run] for run in law.runs))
            except Exception as error:
                rows[law.name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]
            print(f"{name}: {law.name}: {rows[law.name]}", flush=True)
        kept[name] = {"version": version, "date": time.strftime("%Y-%m-%d"), "step": STEP, "laws": rows}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="engines whose names have this in them")
    parser.add_argument("--table", action="store_true", help="measure nothing; write page and picture again")
    options = parser.parse_args()
    if not options.table:
        audit(options.only)
    try:
        import page
    except ModuleNotFoundError as error:  # a peer's environment has no fallingcat
        sys.exit(f"the page is made where fallingcat is installed ({error.name} is missing here)")
    page.write()
