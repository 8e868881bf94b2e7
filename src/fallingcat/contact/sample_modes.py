"""Modes of contacts at samples of a run."""

from __future__ import annotations

from itertools import chain, repeat

import numpy as np

from .base import Mode


def modes_of_samples(touches: np.ndarray) -> tuple[Mode, ...]:
    """Mode of each sample, from truth values (K x points); equal modes in a row are one object.

    A tuple of its own for each of many samples would start the garbage collector again and again.

    >>> modes_of_samples(np.array([[True, False], [True, False], [False, False]]))
    ((True, False), (True, False), (False, False))
    """
    starts = np.flatnonzero(np.append(True, (touches[1:] != touches[:-1]).any(axis=1)))[: len(touches)]
    lengths = np.diff(starts, append=len(touches)).tolist()
    return tuple(chain.from_iterable(map(repeat, map(tuple, touches[starts].tolist()), lengths)))
