"""A sweep on a Dask cluster of processes of this machine, one of which is killed in the middle."""

from __future__ import annotations

import os
import signal
import warnings
from contextlib import contextmanager
from pathlib import Path

import dask
import distributed
import numpy as np
import pytest

from fallingcat.errors import FallingCatError
from fallingcat.studies import parse, sweep

ROWS = "".join(f"[[row]]\nname = '{m}'\nmeasure = '{m}'\n" for m in ("updates_Euler_ZYX", "angle_rotation_vector"))
STUDY = parse(f"title = 'w'\nkind = 'kinematic-control'\n[parameters]\n{ROWS}", "wrist", "wrist.toml")


@contextmanager
def cluster(workers: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of distributed, about ports and sockets
        from distributed import LocalCluster

        with LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as running:
            yield running


def files(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_worker_is_killed_and_nothing_is_missing(tmp_path):
    grid = {"k": np.linspace(0.02, 1.0, 40)}
    sweep(STUDY, grid, tmp_path / "here", workers=0, chunk=2)
    killed = []

    with cluster(3) as running:
        pids = [worker.pid for worker in running.workers.values()]

        def tell(done: int, failed: int, total: int) -> None:
            if done >= 6 and not killed:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(done)

        found = sweep(STUDY, grid, tmp_path / "there", scheduler=running.scheduler_address, chunk=2, progress=tell)
    assert killed
    assert killed[0] < 40
    assert found.data() == {"done": 40, "failed": 0, "total": 40}
    assert files(tmp_path / "there") == files(tmp_path / "here")


def test_without_a_scheduler_it_says_so_and_other_work_of_dask_goes_on(tmp_path):
    before = dask.config.get("scheduler", None)
    with pytest.raises(FallingCatError, match="there is no Dask scheduler at 'nowhere'") as told:
        sweep(STUDY, {"k": [0.5]}, tmp_path / "out", scheduler="nowhere")
    assert told.value  # as long as it is there, so is what it was about
    assert dask.config.get("scheduler", None) == before
    with pytest.raises(ValueError, match="No global client"):
        distributed.get_client(timeout=0)
