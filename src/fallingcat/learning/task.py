"""Tasks of learning: what a robot sees, what is rewarded, when an episode ends; written with array functions."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..contact import Contact
from ..control import Law
from ..dynamics.checks import positive
from ..errors import ModelError, describe
from ..model import Model, State
from ..records import concise

Range = tuple[float, float]
MAX_DELAY = 1000
"""Largest delay of actions and observations, in periods"""


@concise
@dataclass(frozen=True, eq=False)
class Snapshot:
    """All robots after an action, in arrays of the library ``xp`` with a first axis over robots.

    Example:
        >>> one = np.eye(3)[None]
        >>> now = Snapshot(np, np.zeros(1), one, *np.zeros((2, 1, 3)), np.zeros((1, 6)), np.zeros((1, 3)))
        >>> now.gravity
        array([[-0., -0., -1.]])
    """

    xp: Any
    """module of the array functions: ``numpy``, ``torch``, ``jax.numpy`` or ``cupy``"""
    time: Any
    """``N`` (s): since the start of the episode"""
    rotation: Any
    """``N x 3 x 3``: of the base, to world axes"""
    position: Any
    """``N x 3`` (m): of the base, in the world"""
    joints: Any
    """``N x q``"""
    twist: Any
    """``N x m``: velocity of the base, in its own axes, ``[v; w]`` for a free base"""
    rates: Any
    """``N x n``"""
    feet: Any = None
    """``N x points x 3`` (m): positions of the contact points, in the world"""
    foot_velocities: Any = None
    """``N x points x 3`` (m/s), world axes"""
    foot_forces: Any = None
    """``N x points x 3`` (N), world axes"""
    foot_heights: Any = None
    """``N x points`` (m): of the contact points above the ground"""
    height: Any = None
    """``N`` (m): of the base above the ground; None without one"""
    actions: Any = None
    """``N x k``: last actions that were given"""
    last_actions: Any = None
    """``N x k``: those before them"""
    commands: Any = None
    """``N x c``: see :meth:`Task.command`"""
    level: Any = None
    """``N``, from 0 to 1: how difficult the episode is, see :meth:`Task.level`"""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """inputs of laws that the actions led to, such as ``targets``"""
    memory: Mapping[str, Any] = field(default_factory=dict)
    """arrays by name that :meth:`Task.remember` returned last"""

    @property
    def gravity(self) -> Any:
        """``N x 3``: direction of gravity in the axes of the base, ``(0, 0, -1)`` where it is upright."""
        return -self.rotation[:, 2, :]

    @property
    def contacts(self) -> Any:
        """``N x points`` truth values: points that carry a force."""
        return (self.foot_forces * self.foot_forces).sum(axis=2) > 0.0

    def with_(self, **changes: Any) -> Snapshot:
        """Snapshot with other fields.

        Args:
            changes: Fields by name.

        Returns:
            Snapshot.
        """
        return dataclasses.replace(self, **changes)


@concise
@dataclass(frozen=True)
class Randomization:
    """Differences from robot to robot, drawn anew at every reset.

    Example:
        >>> Randomization(mass=(0.8, 1.2), friction=(0.4, 1.2)).push
        0.0
    """

    mass: Range = (1.0, 1.0)
    """factor on the mass of every link, each on its own"""
    friction: Range | None = None
    """Coulomb's coefficient of the ground; None: that of the task"""
    stiffness: Range = (1.0, 1.0)
    """factor on ``kp`` of the servos"""
    damping: Range = (1.0, 1.0)
    """factor on ``kd`` of the servos"""
    strength: Range = (1.0, 1.0)
    """factor on the torques of all motors: on ``kp`` and ``kd`` together"""
    push: float = 0.0
    """largest change (m/s) of the horizontal velocity of the base by a push, along x and y"""
    push_period: float = 5.0
    """mean time (s) between two pushes"""
    action_delay: int = 0
    """control periods by which actions come late, at most; each robot draws its own whole number"""
    sensor_delay: int = 0
    """the same for observations"""

    def __post_init__(self) -> None:
        for name in ("mass", "friction", "stiffness", "damping", "strength"):
            given = getattr(self, name)
            if not (_is_range(given) or (given is None and name == "friction")):
                raise ModelError(f"{name} is (low, high), positive numbers in order, not {describe(given)}")
        for name in ("action_delay", "sensor_delay"):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MAX_DELAY:
                raise ModelError(f"{name} is a whole number of periods, at most {MAX_DELAY}, not {describe(given)}")
        positive(self.push, "push of a Randomization (m/s)", zero=True)
        positive(self.push_period, "push_period of a Randomization (s)")

    def parameters(self, model: Model, rng: np.random.Generator, count: int) -> dict[str, np.ndarray] | None:
        """Parameters of a bank of robots.

        Args:
            model: Robot.
            rng: Random numbers.
            count: Number of robots.

        Returns:
            Arrays by name, as :class:`fallingcat.BatchSimulator` takes them; None: all are the same.
        """
        found = {}
        if self.mass != (1.0, 1.0):
            for link in model.links:
                if link.body.mass > 0.0:
                    found[f"{link.name}.mass"] = link.body.mass * rng.uniform(*self.mass, count)
        if self.friction is not None:
            found["friction"] = rng.uniform(*self.friction, count)
        return found or None


def _is_range(given: Any) -> bool:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        return False
    try:
        low, high = (positive(x, "a limit") for x in given)
    except ModelError:
        return False
    return low <= high


class Task(ABC):
    """Base class for tasks.

    A task says how a robot is built into its world (fields), where episodes start, what an action does, what is
    observed and rewarded, and when an episode ends.  Its methods are functions of a :class:`Snapshot`, written once
    with the functions of ``now.xp``; they run on NumPy, Torch, JAX or CuPy arrays.

    Example:
        >>> import fallingcat as fc
        >>> class Reach(Task):
        ...     model, actions = fc.robots.planar_arm(), 3
        ...     laws = (fc.control.PositionServo(kp=20.0, kd=1.0),)
        ...     def start(self, rng, count):
        ...         angles = rng.uniform(-1.0, 1.0, (count, 3))
        ...         return fc.State(*(np.stack(x) for x in zip(*(self.model.state(joints=q) for q in angles))))
        ...     def control(self, actions, now):
        ...         return {"targets": actions}
        ...     def observe(self, now):
        ...         return {"joints": now.joints, "rates": 0.1 * now.rates}
        ...     def reward(self, now):
        ...         return {"near zero": now.xp.exp(-(now.joints**2).sum(axis=1))}
        >>> world = fc.learning.Environment(Reach(), 4, seed=1)
        >>> world.reset().shape, world.step(np.zeros((4, 3))).rewards.shape
        ((4, 6), (4,))
    """

    model: Model
    """robot"""
    actions: int
    """numbers of an action"""
    laws: Sequence[Law] = ()
    """force laws, whose inputs :meth:`control` sets"""
    contact: Contact | None = None
    """ground"""
    period: float = 0.02
    """s from action to action"""
    dt: float = 0.002
    """s: step of the simulation"""
    horizon: float = 20.0
    """s after which an episode is cut off"""
    limit: float = 100.0
    """largest size of an action"""
    commands: int = 0
    """numbers of a command"""
    command_period: float = 10.0
    """mean time (s) for which a command holds"""
    first_level: float = 1.0
    """level of the first episodes, from 0 to 1: see :meth:`level`"""
    source: str | None = None
    """file of the robot, which a file of a policy names"""
    randomization: Randomization = Randomization()
    """differences from robot to robot"""
    noise: Mapping[str, float] = {}
    """half width of the uniform noise of each observed quantity, by name"""

    @abstractmethod
    def start(self, rng: np.random.Generator, count: int) -> State:
        """Bank of states from which episodes start.

        Args:
            rng: Random numbers.
            count: Number of states.

        Returns:
            States with a first axis.
        """

    @abstractmethod
    def control(self, actions: Any, now: Snapshot) -> Mapping[str, Any]:
        """Inputs of laws that an action asks for.

        Args:
            actions: ``N x k``.
            now: Robots before the action.

        Returns:
            Arrays (N x size) by name.
        """

    @abstractmethod
    def observe(self, now: Snapshot) -> Mapping[str, Any]:
        """Quantities that the policy sees, in order.

        Args:
            now: Robots.

        Returns:
            Arrays (N x size) by name.
        """

    @abstractmethod
    def reward(self, now: Snapshot) -> Mapping[str, Any]:
        """Terms of the reward, which are added.

        Args:
            now: Robots after an action.

        Returns:
            Arrays (N) by name.
        """

    def total(self, terms: Any) -> Any:
        """Reward of all terms.

        Args:
            terms: ``terms x N``.

        Returns:
            ``N``: their sum.
        """
        return terms.sum(axis=0)

    def done(self, now: Snapshot) -> Any:
        """Episodes that end: by default none.

        Args:
            now: Robots after an action.

        Returns:
            ``N`` truth values.
        """
        return now.time < 0.0

    def command(self, library: Any, count: int) -> Any:
        """New commands.

        Args:
            library: Source of random numbers: ``library.uniform(low, high, *shape)``.
            count: Number of robots ``N``.

        Returns:
            ``N x commands``.
        """
        return library.uniform(-1.0, 1.0, count, self.commands)

    def remember(self, now: Snapshot) -> Mapping[str, Any]:
        """Quantities that the next step needs, such as the time that feet are in the air; zero after a reset.

        Args:
            now: Robots after an action.

        Returns:
            Arrays (N x size) by name.
        """
        return {}

    def level(self, now: Snapshot, fallen: Any) -> Any:
        """Levels of the next episodes: a curriculum; by default they stay.

        Random commands and pushes are multiplied by the level of a robot; what else depends on it, such as weights of
        the reward, reads :attr:`Snapshot.level`.  Policies are evaluated at level 1.

        Args:
            now: Robots after an action.
            fallen: ``N`` truth values: robots whose episode ends here by itself.

        Returns:
            ``N``: numbers that are taken within 0 and 1, for robots whose episode ends here.
        """
        return now.level

    def about(self) -> dict[str, Any]:
        """Plain data that a file of a policy keeps of its task.

        Returns:
            Data for JSON.
        """
        known = {"task": type(self).__name__.lower(), "robot": self.model.name, "period": self.period}
        return known | ({"source": str(self.source)} if self.source else {})

    def metrics(self, now: Snapshot) -> Mapping[str, Any]:
        """Quantities that are shown while learning.

        Args:
            now: Robots after an action.

        Returns:
            Arrays (N) by name.
        """
        return {}


class _NoMemory(dict[str, Any]):
    """Memory of a robot of which one state alone is known: an error where it is asked for."""

    def __getitem__(self, name: str) -> Any:
        raise ModelError("the policy observes what its task remembers, which one state alone does not have")

    def __bool__(self) -> bool:
        return bool(self[""])


def single_snapshot(state: State, time: Any, command: Any, action: Any) -> Snapshot:
    """One robot as a snapshot, of any kind of number."""
    rows = [np.reshape(x, (1, -1)) for x in (state.joints, state.twist, state.rates, command, action)]
    joints, twist, rates, commands, actions = rows
    pose = np.asarray(state.pose)
    return Snapshot(
        np, np.reshape(time, 1), pose[None, :3, :3], pose[None, :3, 3], joints, twist, rates, actions=actions,
        commands=commands, memory=_NoMemory(),
    )  # fmt: skip
