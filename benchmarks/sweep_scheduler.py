"""What a sweep of 1e9 runs costs on 1, 100 and 10,000 workers: the model on paper beside a simulation of the scheduler.

python benchmarks/sweep_scheduler.py [--seconds-per-run 0.09] [--chunk 8192]

On paper (docs/explanation/sweep_design.md): workers take ``R t / W``; rounding up to whole chunks, the scheduler's
time for each task
and what is lost with workers that die are added.  The simulation plays all tasks: one scheduler that serves one request
after the other, workers of different speed that commit every ``pause`` seconds to one file system that serves so many
files a second, and die at random; the chunk of one that died goes on, from its last commit, on another.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
from dataclasses import dataclass

import numpy as np

RUNS = 10**9
ASKS, DONE, DIED = range(3)


@dataclass(frozen=True)
class Cluster:
    workers: int
    chunk: int
    run: float
    """s of one run"""
    files: int = 22
    """of one commit: 21 measures and ``done``"""
    file_rate: float = 2000.0
    """files that the store takes in a second: what `sweep` keeps to"""
    task: float = 2e-3
    """s of the scheduler for each task: sent, finished, reported"""
    spread: float = 0.1
    """standard deviation of the logarithm of a chunk's time"""
    lives: float = 30 * 86400.0
    """s that a worker lives, in the mean"""
    restart: float = 60.0
    """s until another takes its place"""

    @property
    def tasks(self) -> int:
        return -(-RUNS // self.chunk)

    @property
    def pause(self) -> float:
        return max(self.workers * self.files / self.file_rate, 16 * self.run)


def paper(c: Cluster) -> dict[str, float]:
    """Closed form."""
    work = RUNS * c.run / c.workers
    mean = c.chunk * c.run
    tail = mean * (1.0 + c.spread * math.sqrt(2.0 * math.log(max(c.workers, 2)))) * 0.5 if c.workers > 1 else 0.0
    crashes = RUNS * c.run / c.lives
    lost = crashes * (0.5 * c.pause + c.restart) / c.workers
    scheduler, store = c.tasks * c.task, c.tasks * c.files / c.file_rate
    makespan = max(work + tail + lost, scheduler, store)
    return {
        "makespan_s": makespan,
        "scheduler_busy": scheduler / work,
        "files_per_s": c.workers * c.files / c.pause,
        "deaths": crashes,
        "efficiency": work / makespan,
    }


def simulated(c: Cluster, seed: int = 0) -> dict[str, float]:
    """Every task, in the order of time; a worker that asks when nothing is left goes, even if a chunk comes back."""
    rng = np.random.default_rng(seed)
    times = c.chunk * c.run * np.exp(c.spread * rng.standard_normal(c.tasks) - 0.5 * c.spread**2)
    pending, rest = list(range(c.tasks))[::-1], times.copy()
    events = [(0.0, w, ASKS, 0) for w in range(c.workers)]
    heapq.heapify(events)
    scheduler = store = end = 0.0  # until when each is busy
    crashes = served = 0
    while events:
        t, worker, what, k = heapq.heappop(events)
        if what == DONE:  # the last commit of a chunk waits for its turn, then the worker asks for more
            store = max(store, t) + c.files / c.file_rate
            end = max(end, store)
            heapq.heappush(events, (store, worker, ASKS, 0))
        elif what == DIED:
            pending.append(k)
            heapq.heappush(events, (t + c.restart, worker, ASKS, 0))
        elif pending:
            k, scheduler, served = pending.pop(), max(scheduler, t) + c.task, served + 1
            death = rng.exponential(c.lives)
            if death >= rest[k]:
                heapq.heappush(events, (scheduler + rest[k], worker, DONE, k))
                continue
            crashes += 1
            rest[k] -= c.pause * math.floor(death / c.pause)  # since its last commit it worked for nothing
            heapq.heappush(events, (scheduler + death, worker, DIED, k))
    busy = served * c.task
    work = RUNS * c.run / c.workers
    return {"makespan_s": end, "scheduler_busy": busy / end, "deaths": crashes, "efficiency": work / end}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seconds-per-run", type=float, default=0.09)
    options.add_argument("--chunk", type=int, default=8192)
    given = options.parse_args()
    for workers in (1, 100, 10_000):
        c = Cluster(workers, given.chunk, given.seconds_per_run)
        about = {"workers": workers, "tasks": c.tasks, "task_s": c.chunk * c.run, "pause_s": c.pause}
        about["files"] = c.tasks * c.files
        about["store_GB"] = RUNS * (8 * (c.files - 1) + 1) / 1e9
        print(json.dumps(about | {"paper": paper(c), "simulated": simulated(c)}, indent=1))


if __name__ == "__main__":
    main()
