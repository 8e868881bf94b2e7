"""A program that runs a sweep in processes of its own and kills them: ``python killed_sweeps.py FOLDER KILLS SEED``.

It prints as JSON what a test has to know; nothing of fallingcat is imported twice, so that a kill costs milliseconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from fallingcat.studies import Parameters, StudyKind, parse, study_kind, sweep

LOG = "log"
SHAPE = (24, 25)


class CosineParameters(Parameters):
    a: float = 0.0
    b: float = 0.0
    log: str = ""


@study_kind
class Cosine(StudyKind[CosineParameters, tuple[float, float]]):
    """A trivial study: two numbers, and a line in a file for each run that came to its end."""

    name, parameters, chunk_sizes = "cosine", CosineParameters, {"cpu": 3}
    measures = {"cosine": lambda seen: np.cos(seen[0] + seen[1]), "product": lambda seen: seen[0] * seen[1]}  # noqa: RUF012

    def run(self, parameters, progress):
        if parameters.a == 3.0 and parameters.b == 4.0:
            raise ValueError("a run that fails")
        if parameters.a == 5.0 and parameters.log.endswith("deadly"):
            os.kill(os.getpid(), signal.SIGKILL)
        if parameters.a == 6.0 and parameters.b == 1.0 and parameters.log.endswith("deadly"):
            pow(3, 10**10)  # hours, and no other thread of Python runs meanwhile
        time.sleep(2e-4)
        with open(parameters.log, "a") as out:
            out.write(f"{parameters.a} {parameters.b}\n")
        return parameters.a, parameters.b


STUDY = "title = 'cosine'\nkind = 'cosine'\n[parameters]\n"
GRID = {"a": np.arange(float(SHAPE[0])), "b": np.arange(float(SHAPE[1]))}


def swept(out: Path, log: Path, **how: object) -> object:
    return sweep(parse(STUDY, "cosine", "cosine.toml"), GRID, out, log=str(log), resume=True, chunk=40, **how)


def truth(out: Path) -> tuple[int, int]:
    """Runs that are done, and how many of them are wrong; an unreadable file is an exception."""
    import xarray

    with xarray.open_dataset(out, engine="zarr") as data:
        done, a, b = data.done.values, data.a.values[:, None], data.b.values[None, :]
        wrong = (data["cosine"].values != np.cos(a + b)) | (data["product"].values != a * b)
        return int(done.sum()), int((done & wrong).sum())


def files(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


def wait(log: Path, rng: random.Random, workers: int) -> None:
    """Any moment: of the start, or between, within or after some runs."""
    if rng.random() < 0.2:
        time.sleep(rng.uniform(0.0, 0.1))
        return
    begun, lines, until = log.stat().st_size, rng.randrange(30 * max(workers, 1)), time.monotonic() + 5.0
    while log.stat().st_size < begun + 8 * lines and time.monotonic() < until:
        time.sleep(2e-4)
    time.sleep(rng.uniform(0.0, 3e-3))


def main(folder: Path, kills: int, seed: int, workers: int) -> None:
    rng, log = random.Random(seed), folder / LOG
    log.touch()
    whole, out = folder / "whole", folder / "killed"
    swept(whole, log, workers=0)  # not interrupted
    began = time.perf_counter()
    log.write_text("")
    history, killed, rounds = [], 0, 0
    while killed < kills:
        rounds += 1
        child = os.fork()
        if child == 0:
            swept(out, log, workers=workers)
            os._exit(0)
        wait(log, rng, workers)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise SystemExit(f"after {killed} kills a sweep did not go on: see above")
        killed += os.WIFSIGNALED(status)
        if (out / "zarr.json").exists():
            history.append(truth(out))
            if history[-1][0] >= SHAPE[0] * SHAPE[1] - 1:  # all done before it was killed: once more
                for path in sorted(out.rglob("*"), reverse=True):
                    path.rmdir() if path.is_dir() else path.unlink()
                history.append((0, 0))
                log.write_text("")
    counted = log.read_text().count("\n")
    last = swept(out, log, workers=workers)
    sys.stdout.write(json.dumps({
        "kills": killed, "rounds": rounds, "history": history, "same": files(out) == files(whole),
        "last": last.data(), "computed_after": log.read_text().count("\n") - counted,
        "left": [str(p) for p in out.rglob("*.part")], "seconds": time.perf_counter() - began,
    }))  # fmt: skip


def deadly(folder: Path) -> None:
    """A sweep in two processes, in which all runs with one value kill theirs, and one never ends."""
    grid = {"a": np.arange(7.0), "b": np.arange(2.0)}
    study = parse(STUDY, "cosine", "cosine.toml")
    found = sweep(study, grid, folder / "out", log=str(folder / "deadly"), chunk=3, workers=2, time_limit=3.0)
    sys.stdout.write(json.dumps(found.data()))


if __name__ == "__main__" and len(sys.argv) == 2:
    deadly(Path(sys.argv[1]))
elif __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
