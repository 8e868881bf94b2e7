"""Many robots at once, stepped as you like: on this processor, or on a GPU."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contact import Contact
from ..control import Law
from ..errors import ModelError, told
from ..model import Model, State
from .arguments import seconds, starts, whole
from .closed import check_closed
from .field import layout_of
from .implicit import Implicit
from .implicit_step import anchors
from .simulate import own_laws, system_of
from .stiffness import DEFAULT_STEP
from .system import System, held


class Fleet:
    """``N`` simulations of one robot in steps of ``dt`` (s), by the integrator :class:`Implicit`.

    Between steps you look at :attr:`state`, whose fields are arrays with a first axis over the robots, give joint
    ``forces`` (N x n; N m or N) that are held while steps are taken, and :meth:`reset` some.  ``target`` is ``cpu``
    (``threads`` of it, float64) or ``cuda``: there arrays are CuPy's and nothing leaves the GPU, and ``dtype`` may be
    ``float32``.  ``driven`` says whether forces will be given.  What the model holds acts as in
    :func:`fallingcat.simulate`, unless ``passive=False``.

    >>> import fallingcat as fc
    >>> cat = fc.robots.two_cylinder_cat()
    >>> fleet = Fleet(cat, [cat.state(rates=[0.1 * i, 0.5]) for i in range(100)], driven=True)
    >>> fleet.step(10, forces=-0.1 * fleet.state.rates)
    >>> fleet.state.joints.shape, round(float(fleet.times[0]), 6)
    ((100, 2), 0.01)
    """

    def __init__(
        self,
        model: Model,
        states: Sequence[State] | State,
        laws: Law | Sequence[Law] | None = None,
        contact: Contact | None = None,
        *,
        dt: float = DEFAULT_STEP,
        driven: bool = False,
        target: str = "cpu",
        dtype: str = "float64",
        threads: int = 1,
        integrator: Implicit | None = None,
        passive: bool = True,
    ) -> None:
        many, dt = starts(model, states), seconds(dt, "dt")
        check_closed(model, *many)
        own = own_laws(model, dt, passive, many.joints, laws or driven)
        system = system_of(model, State(*(x[0] for x in many)), laws, contact, own)
        if system.controller is not None:
            raise ModelError("a fleet takes force laws, and forces at each step instead of a function as a controller")
        self.system = System(model, system.laws, contact, held, external=True) if driven else system
        self.dt, self.threads, self.count = dt, whole(threads, "threads"), len(many.pose)
        memory = anchors(self.system, many)
        self.layout = layout_of(self.system, memory.shape[1])
        self.march = (integrator or Implicit()).at(self.system, dt).stepper(self.system, (), memory.shape[1])
        if target == "cpu" and dtype != "float64":
            raise ModelError(f"a fleet on the CPU counts in float64, not {told(dtype)}")
        self._gpu = None if target == "cpu" else _Gpu(self.march.on(target, dtype), self.march.numbers)
        self._x = self._given(self._fresh(many, memory))

    # looking --------------------------------------------------------------------------------------------------

    @property
    def times(self) -> Any:
        """``N`` (s): since each started, or was reset."""
        return self._x[0] if self._gpu else self._x[:, 0]

    @property
    def state(self) -> State:
        """Where all robots are: ``N x 4 x 4``, ``N x joints``, ``N x m``, ``N x n``."""
        return State(*self._series().states)

    @property
    def works(self) -> Any:
        """``N x ports``: work (J) since the start; :attr:`ports` names them."""
        series = self._series()
        return series.base_works + series.joint_works

    @property
    def ports(self) -> tuple[str, ...]:
        """The ways in which energy passes."""
        return self.system.ports

    def packed(self) -> np.ndarray:
        """``N x size``: everything, as floats in this computer's memory; see :class:`.Layout`."""
        return np.asarray(self._gpu.fetched(self._x) if self._gpu else self._x, dtype=float)[:, 1:]

    def _series(self) -> Any:
        return self.layout.series((self._x.T if self._gpu else self._x)[:, 1:])

    # moving ---------------------------------------------------------------------------------------------------

    def step(self, steps: int = 1, forces: Any = None) -> None:
        """``steps`` of ``dt``, all robots, under joint ``forces`` (N x n) that stay the same meanwhile."""
        steps = whole(steps, "steps")
        if (forces is not None) != (self.system.controller is not None):
            raise ModelError("forces are given to a fleet that is made with driven=True, and to no other")
        applied = self._applied(forces)
        if self._gpu:
            self._x = self._gpu.marched(self._x, self.dt, applied, steps)
        else:
            rows = self.march.rows(self._x[:, 0], self._x[:, 1:], self.dt, 1, steps, self.threads, applied)[0]
            times = self._x[:, :1] + steps * self.dt
            self._x = np.concatenate([times, rows], axis=1)

    def reset(self, which: Any, states: Sequence[State] | State) -> None:
        """Robots ``which`` (indices, or N truth values) start anew from ``states``, one for each."""
        many = starts(self.system.model, states)
        check_closed(self.system.model, *many)
        which = np.asarray(self._gpu.fetched(which) if self._gpu else which)
        places = np.flatnonzero(which) if which.dtype == bool and which.shape == (self.count,) else which
        if places.shape != (len(many.pose),) or places.dtype.kind not in "iu" or not (abs(places) < self.count).all():
            raise ModelError(f"which of {self.count} robots to reset is {len(many.pose)} indices, not {told(which)}")
        fresh = self._given(self._fresh(many, anchors(self.system, many)))
        if self._gpu:
            self._x[:, places] = fresh
        else:
            self._x[places] = fresh

    def _fresh(self, many: State, memory: np.ndarray) -> np.ndarray:
        return np.hstack([np.zeros((len(memory), 1)), self.layout.table(tuple(many), memory)])

    def _given(self, x: np.ndarray) -> Any:
        return self._gpu.sent(x) if self._gpu else x

    def _applied(self, forces: Any) -> Any:
        """``N x nv`` (columns on the GPU): joint forces, and none on the base."""
        model = self.system.model
        if forces is None:
            return self._given(np.zeros((self.count, 0)))
        forces = forces if self._gpu else np.asarray(forces, dtype=float)
        if tuple(getattr(forces, "shape", ())) != (self.count, model.n):
            raise ModelError(f"forces have shape ({self.count}, {model.n}), not {told(forces)}")
        if self._gpu:
            return self._gpu.padded(forces, model.m)
        return np.hstack([np.zeros((self.count, model.m)), forces])


class _Gpu:
    """Steps on the GPU, robots in columns."""

    def __init__(self, kernels: list[Any], numbers: np.ndarray) -> None:
        import cupy

        self.cupy, self.kernels, self.numbers, self.dtype = cupy, kernels, numbers, kernels[-1].dtype

    def sent(self, x: np.ndarray) -> Any:
        return self.cupy.ascontiguousarray(self.cupy.asarray(x.T, dtype=self.dtype))

    def fetched(self, x: Any) -> np.ndarray:
        if isinstance(x, self.cupy.ndarray):
            return np.asarray(self.cupy.asnumpy(x).T)
        return np.asarray(x)

    def padded(self, forces: Any, above: int) -> Any:
        """``nv x N``: nothing on the base."""
        joints = self.cupy.from_dlpack(forces) if hasattr(forces, "__dlpack__") else self.cupy.asarray(forces)
        whole = self.cupy.zeros((above + joints.shape[1], joints.shape[0]), dtype=self.dtype)
        whole[above:] = joints.T
        return whole

    def marched(self, x: Any, dt: float, forces: Any, steps: int) -> Any:
        same = self._same(dt, x.shape[1])
        for _ in range(steps):
            ahead = [kernel.columns(x, *same, forces) for kernel in self.kernels[:-1]]
            x = self.kernels[-1].columns(x, *same, forces, *ahead)
        return x

    @functools.lru_cache(maxsize=2)  # noqa: B019 (lives as long as its fleet)
    def _same(self, dt: float, count: int) -> tuple[Any, Any]:
        """What all robots have in common, in columns."""
        shared = [np.array([dt]), self.numbers]
        return tuple(self.cupy.asarray(np.tile(s[:, None], (1, count)), dtype=self.dtype) for s in shared)
