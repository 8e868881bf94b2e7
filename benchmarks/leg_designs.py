"""[Feurstein] 5: is there under-actuated hopping forward with a prismatic leg, and of which leg?  A map of designs.

python benchmarks/leg_designs.py --runs 300 --designs 4                 # on this processor, minutes
python benchmarks/leg_designs.py --runs 30000 --target cuda             # on a machine with a GPU: a million runs

The leg is the slider of 4.2 under controller I: radial spring, damper in flight and energy controller, no torque on the
leg's angle at all.  A design is the share of the foot in the mass, the moment of inertia of the trunk and how far its
center lies beside the leg.  Gains, rest lengths, wanted energies and starts are drawn at random, as in the study
revolute-locked-gait; each run goes on until it has fallen, or for 8 s.  Those that go forward by more than 0.05 m/s are
run again alone, for 30 s: a gait is one whose hops repeat to 0.1 %.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.lie import SE2
from fallingcat.model import Body, Joint, Link, Model, Prismatic
from fallingcat.simulation import BatchSimulator, EventLocator, Rosenbrock
from fallingcat.studies.hoppers.attraction import initial_states
from fallingcat.studies.hoppers.batch_runs import RUNNING, BatchRuns
from fallingcat.studies.hoppers.hopper import floor, laws, start
from fallingcat.studies.hoppers.parameters import SearchParameters
from fallingcat.studies.hoppers.search import gait_speeds

RESULT = Path(__file__).parent / "results" / "leg_designs.json"
MASS = 1.007
FOOT_SHARES, INERTIAS, OFFSETS = (0.02, 0.05, 0.15), (0.0, 0.002, 0.01, 0.05), (0.0, 0.01, 0.03)
"""Of the whole mass; kg m^2; m beside the leg."""
RANGES = {"K_r": (600.0, 6000.0), "D_r": (1.0, 60.0), "K_E": (0.5, 60.0)}
EVEN = {"r_des": (0.08, 0.16), "E_des": (2.0, 6.0)}
STARTS = ((-0.5, 0.5), (0.02, 0.3), (0.08, 0.16), (-0.3, 1.5))
"""Lean of the leg (rad), height of the foot (m), length of the leg (m), forward speed (m/s)."""
LOOK, TRIAL, AGAIN, FORWARD, CHUNK = 0.05, 8.0, 20, 0.05, 8192
FELL, STAYED, BROKE = range(3)


def design(share: float, inertia: float, offset: float) -> Model:
    """A slider with a trunk: a point on the leg where inertia and offset are zero, as in 4.2."""
    trunk = Body(MASS * (1.0 - share), np.array([0.0, offset, 0.0]), inertia * np.eye(3))
    links = (Link("base", trunk), Link("foot", Body(MASS * share)))
    leg = Joint("leg", Prismatic((1.0, 0.0, 0.0)), parent="base", child="foot")
    return Model("leg", SE2(), links, (leg,), gravity=np.array([0.0, -9.81, 0.0]))


class Forward(BatchRuns):
    """Whether runs stay up, and where they are in the middle and at the end."""

    columns = (*BatchRuns.columns, "middle", "end")
    patience, broke = 4, BROKE

    def __init__(self, simulator: BatchSimulator) -> None:
        super().__init__(simulator, LOOK, round(TRIAL / LOOK))
        self.middle = self.end = self.xp.zeros(simulator.count)

    def says(self, arrived: Any) -> Any:
        xp, (pose, _, twist, _) = self.xp, self.simulator.state
        x, height, spin = pose[:, 0, 3], pose[:, 1, 3], xp.abs(twist[:, 2])
        self.middle = xp.where(arrived & (self.looks == self.last // 2), x, self.middle)
        self.end = xp.where(arrived, x, self.end)
        up = (height > 0.0) & (height < 1.0) & (spin < 60.0)
        out = xp.where(up, xp.where(self.looks == self.last, STAYED, RUNNING), FELL)
        return xp.where(xp.isfinite(height + spin), out, BROKE)


def drawn(rng: np.random.Generator, count: int) -> list[SearchParameters]:
    """Random gains of controller I."""
    p = fc.studies.load("revolute-locked-gait").parameters
    assert isinstance(p, SearchParameters)
    base = p.model_copy(update={"robot": "prismatic_hopper", "controller": "I", "q1": 0.12, "theta": -0.5 * np.pi})
    columns = {name: np.exp(rng.uniform(*np.log(ends), count)) for name, ends in RANGES.items()}
    columns |= {name: rng.uniform(*ends, count) for name, ends in EVEN.items()}
    values = [dict(zip(columns, row, strict=True)) for row in zip(*(x.tolist() for x in columns.values()), strict=True)]
    return [base.model_copy(update=own | {"K_p": 0.0, "D_p": 0.0, "alpha_des": 0.0}) for own in values]


def tried(model: Model, runs: int, target: str, seed: int) -> dict[str, Any]:
    """What becomes of random runs of one design."""
    rng, verdicts, speeds, gaits = np.random.default_rng(seed), np.zeros(3, int), [], []
    for first in range(0, runs, CHUNK):
        count = min(CHUNK, runs - first)
        each = drawn(rng, count)
        begun = initial_states(model, np.stack([rng.uniform(*ends, count) for ends in STARTS], axis=1))
        origin = start(model, each[0])
        own, how = (
            [laws(model, origin, p) for p in each],
            {"integrator": EventLocator(Rosenbrock(1e-5)), "ledger": False},
        )
        simulator = BatchSimulator(model, begun, own, floor(each[0]), dt=5e-3, target=target, **how)
        forward: list[int] = []
        for left in Forward(simulator).finished_columns():
            verdicts += np.bincount(left["verdict"], minlength=3)
            speed = (left["end"] - left["middle"]) / (0.5 * TRIAL)
            good = (left["verdict"] == STAYED) & (speed > FORWARD)
            speeds += speed[good].tolist()
            forward += left["runs"][good].tolist()
        for i in sorted(forward)[: AGAIN - len(gaits)]:
            longer = each[i].model_copy(update={"duration": 30.0})
            gaits += [{"speed": pace} for pace in gait_speeds(model, [begun.at(i)], [longer]) if np.isfinite(pace)]
    return {
        "runs": runs, "fell": int(verdicts[FELL]), "up": int(verdicts[STAYED]), "broke": int(verdicts[BROKE]),
        "forward": len(speeds), "gaits": len(gaits), "fastest": max((g["speed"] for g in gaits), default=None),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300, help="of each design")
    parser.add_argument("--designs", type=int, default=None, help="so many of the 36, evenly; all if left out")
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    every = list(itertools.product(FOOT_SHARES, INERTIAS, OFFSETS))
    chosen = (
        every if given.designs is None else [every[k] for k in np.linspace(0, 35, given.designs).round().astype(int)]
    )
    rows = []
    for k, (share, inertia, offset) in enumerate(chosen):
        began = time.perf_counter()
        found = tried(design(share, inertia, offset), given.runs, given.target, k)
        rows.append({"foot_share": share, "inertia": inertia, "offset": offset} | found)
        print(rows[-1], f"{time.perf_counter() - began:.0f} s", flush=True)
        given.out.write_text(json.dumps({"target": given.target, "trial_s": TRIAL, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
