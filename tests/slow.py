"""The slow suite, one test after the other: stop it whenever you like, resume it, and see what is left.

    python tests/slow.py                    from the beginning, two tests at a time
    python tests/slow.py --resume           only what has not passed yet: what is left, and what failed
    python tests/slow.py --status           what passed, failed and is left; runs nothing
    python tests/slow.py tests/dynamics     of one folder only

Every test is a process of its own. What it found is in the file of results (JSON) before the next one begins, so that
nothing is lost when the command is killed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "slow", "--hypothesis-profile=slow", "-p", "no:cacheprovider")
KEPT = 20_000
"""Characters of a failed test's output, from its end, which has the falsifying example."""

Results = dict[str, dict[str, Any]]


def collected(places: Sequence[str]) -> list[str]:
    """Node ids of the slow tests."""
    found = subprocess.run([*PYTEST, "--collect-only", *places], capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"tests could not be collected:\n{found.stdout}{found.stderr}")
    return [line for line in found.stdout.splitlines() if "::" in line]


def ran(test: str, alive: set[subprocess.Popen[str]]) -> dict[str, Any]:
    """One test in a process of its own: outcome, seconds, and the output if it failed."""
    began = time.monotonic()
    with subprocess.Popen([*PYTEST, test], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        alive.add(process)
        output, _ = process.communicate()
        alive.discard(process)
    good = process.returncode == 0
    about = {
        "outcome": "passed" if good else "failed",
        "seconds": round(time.monotonic() - began, 1),
        "commit": commit(),
    }
    return about if good else about | {"output": output[-KEPT:]}


def commit() -> str:
    """What was tested; ``+`` for changes that are not committed."""
    said = subprocess.run(["git", "describe", "--always", "--dirty=+"], capture_output=True, text=True, check=False)
    return said.stdout.strip()


def read(path: Path) -> Results:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(path: Path, results: Results) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    os.replace(part, path)


def having(results: Results, tests: Sequence[str], outcome: str | None) -> list[str]:
    return [test for test in tests if results.get(test, {}).get("outcome") == outcome]


def summary(results: Results, tests: Sequence[str]) -> str:
    """
    >>> summary({"a": {"outcome": "passed"}, "b": {"outcome": "failed"}}, ["a", "b", "c"])
    '3 slow tests: 1 passed, 1 failed, 1 left'
    """
    counts = ", ".join(f"{len(having(results, tests, key))} {key or 'left'}" for key in ("passed", "failed", None))
    return f"{len(tests)} slow tests: {counts}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(tests: Sequence[str], wanted: Sequence[str], path: Path, workers: int) -> Results:
    """Run what is ``wanted`` of the ``tests``; every result is written when it is known."""
    results = {test: found for test, found in read(path).items() if test not in wanted}
    write(path, results)
    pool = ThreadPoolExecutor(workers)
    alive: set[subprocess.Popen[str]] = set()
    try:
        running = {pool.submit(ran, test, alive): test for test in wanted}
        for future in as_completed(running):
            test, found = running[future], future.result()
            results[test] = found
            write(path, results)
            say(f"{found['outcome']} in {found['seconds']:g} s: {test} ({summary(results, tests)})")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in alive.copy():  # where it was stopped
            process.kill()
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", help="files, folders or node ids; all of them if left out")
    parser.add_argument("--workers", type=int, default=2, help="tests at a time (2)")
    parser.add_argument("--results", type=Path, default=Path("slow_results.json"), help="file of results")
    parser.add_argument("--resume", action="store_true", help="leave out what passed")
    parser.add_argument("--status", action="store_true", help="run nothing")
    options = parser.parse_args(arguments)
    tests = collected(options.places)
    results = read(options.results)
    if not options.status:
        passed = having(results, tests, "passed") if options.resume else []
        wanted = [test for test in tests if test not in passed]
        results = run(tests, wanted, options.results, options.workers)
    for test in having(results, tests, "failed"):
        say(f"failed: {test}")
    for test in having(results, tests, None):
        say(f"left: {test}")
    say(summary(results, tests))
    return 0 if len(having(results, tests, "passed")) == len(tests) else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; --resume goes on")
