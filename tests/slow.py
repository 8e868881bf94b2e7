"""The slow suite, file after file: stop it whenever you like, resume it, and see what is left.

    python tests/slow.py                    from the beginning, two files at a time
    python tests/slow.py --resume           only what has not passed yet: what is left, and what failed
    python tests/slow.py --status           what passed, failed and is left; runs nothing
    python tests/slow.py tests/dynamics     of one folder only

The tests of a file share a process, since a process takes longer to start than many of them; one that ends its process
ends no other: the rest of its file goes on in another. What a test found is in the file of results (JSON) before the
next one begins, so that nothing is lost when the command is killed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

OPTIONS = ("-q", "-m", "slow", "--hypothesis-profile=slow", "-p", "no:cacheprovider")
PYTEST = (sys.executable, "-m", "pytest", *OPTIONS)
KEPT = 20_000
"""Characters of a failed test's output, from its end, which has the falsifying example."""

Results = dict[str, dict[str, Any]]
STOPPED = threading.Event()
"""Set when the command stops: tests that it ends have not failed."""


def collected(places: Sequence[str]) -> list[str]:
    """Node ids of the slow tests."""
    found = subprocess.run([*PYTEST, "--collect-only", *places], capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"tests could not be collected:\n{found.stdout}{found.stderr}")
    return [line for line in found.stdout.splitlines() if "::" in line]


class Recorder:
    """Plugin of the process that runs tests: a line for each that begins, and one for each that ended."""

    def __init__(self, path: Path) -> None:
        self.path, self.began, self.output, self.good = path, 0.0, "", True

    def write(self, **about: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(about) + "\n")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.began, self.output, self.good = time.monotonic(), "", True
        self.write(test=nodeid, outcome="began")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.good, self.output = False, f"{self.output}{report.longreprtext}\n{report.capstdout}{report.capstderr}"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        outcome, seconds = "passed" if self.good else "failed", round(time.monotonic() - self.began, 1)
        self.write(test=nodeid, outcome=outcome, seconds=seconds, output=self.output[-KEPT:])


def record(path: str, tests: Sequence[str]) -> int:
    """Run tests in this process, with a :class:`Recorder`."""
    import pytest

    return int(pytest.main([*OPTIONS, *tests], plugins=[Recorder(Path(path))]))


def ran(tests: Sequence[str], alive: set[subprocess.Popen[str]], report: Any, path: Path) -> None:
    """Run tests of one file in a process of their own, in another one from where one of them ended it."""
    left = list(tests)
    while left and not STOPPED.is_set():
        began = time.monotonic()
        number, name = tempfile.mkstemp(".lines", f"{path.name}.", path.parent)
        os.close(number)
        lines, command = Path(name), [sys.executable, __file__, "--record", name, *left]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            alive.add(process)
            followed = threading.Thread(target=follow, args=(lines, process, report))
            followed.start()
            output, _ = process.communicate()
            followed.join()
            alive.discard(process)
        events = read_lines(lines)
        lines.unlink()
        done = {event["test"] for event in events if event["outcome"] != "began"}
        begun = [event["test"] for event in events if event["test"] not in done]
        failed = begun or ([] if done else left[:1])
        if failed and not STOPPED.is_set():
            seconds = round(time.monotonic() - began, 1)
            report(failed[0], {"outcome": "failed", "seconds": seconds, "output": output[-KEPT:]})
        left = [test for test in left if test not in done and test not in failed]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines of a recorder."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def outcome(event: dict[str, Any]) -> dict[str, Any]:
    """What is kept of the end of a test: the output of those that failed only."""
    return {
        key: event[key] for key in ("outcome", "seconds", "output") if key != "output" or event["outcome"] == "failed"
    }


def follow(path: Path, process: subprocess.Popen[str], report: Any) -> None:
    """Report results as they are recorded."""
    seen = 0
    while True:
        ended = process.poll() is not None
        events = read_lines(path)
        for event in events[seen:]:
            if event["outcome"] != "began":
                report(event["test"], outcome(event))
        seen = len(events)
        if ended:
            return
        time.sleep(0.1)


def commit() -> str:
    """What was tested; ``+`` for changes that are not committed."""
    said = subprocess.run(["git", "describe", "--always", "--dirty=+"], capture_output=True, text=True, check=False)
    return said.stdout.strip()


def read(path: Path) -> Results:
    """Results of a file, and of recorders whose command was killed before it wrote them there."""
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for lines in sorted(path.parent.glob(f"{path.name}.*.lines")):
        results |= {event["test"]: outcome(event) for event in read_lines(lines) if event["outcome"] != "began"}
    return results


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
    for lines in path.parent.glob(f"{path.name}.*.lines"):  # they are in it now
        lines.unlink()
    lock, alive = threading.Lock(), set[subprocess.Popen[str]]()
    at = commit()

    def report(test: str, found: dict[str, Any]) -> None:
        with lock:
            results[test] = found | {"commit": at}
            write(path, results)
            say(f"{found['outcome']} in {found['seconds']:g} s: {test} ({summary(results, tests)})")

    files = [list(group) for _, group in itertools.groupby(wanted, key=lambda test: test.partition("::")[0])]
    pool = ThreadPoolExecutor(workers)
    try:
        running = [pool.submit(ran, some, alive, report, path) for some in files]
        for future in as_completed(running):
            future.result()
    finally:
        STOPPED.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for process in alive.copy():  # where it was stopped
            process.kill()
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", help="files, folders or node ids; all of them if left out")
    parser.add_argument("--workers", type=int, default=2, help="files at a time (2)")
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
        sys.exit(record(sys.argv[2], sys.argv[3:]) if sys.argv[1:2] == ["--record"] else main())
    except KeyboardInterrupt:
        sys.exit("stopped; --resume goes on")
