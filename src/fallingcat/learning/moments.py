"""Running means and deviations, in Torch."""

from __future__ import annotations

from typing import Any

try:
    import torch
except ImportError:  # the learner says so when it is made
    torch: Any = None  # type: ignore[no-redef]

CONSTANT_DEVIATION = 1e-5
"""Deviation, as a part of the mean, below which a quantity counts as constant."""


class Moments:
    """Running mean and variance of each column of arrays, which stay on their device.

    Args:
        size: Number of columns.
        device: Device of Torch.

    Example:
        >>> import torch  # doctest: +SKIP
        >>> moments = Moments(1, "cpu")  # doctest: +SKIP
        >>> moments.update(torch.tensor([[1.0], [3.0]]), 1.0)  # doctest: +SKIP
        >>> moments.normalize(torch.tensor([[4.0]]))  # doctest: +SKIP
        tensor([[2.]])
    """

    def __init__(self, size: int, device: Any) -> None:
        self.arrays = [torch.zeros(size, device=device), torch.ones(size, device=device)]
        """mean and variance"""

    @property
    def mean(self) -> Any:
        """Means."""
        return self.arrays[0]

    @property
    def scale(self) -> Any:
        """Deviations; 1 for columns that are constant."""
        deviation = self.arrays[1].sqrt()
        return torch.where(deviation > CONSTANT_DEVIATION * self.mean.abs(), deviation, torch.ones_like(deviation))

    def update(self, rows: Any, weight: Any) -> None:
        """Take in new data.

        Args:
            rows: ``rows x size``.
            weight: Share of the new data, between 0 and 1: 1 forgets the old ones.
        """
        variance, mean = torch.var_mean(rows, dim=0, correction=0)
        before, spread = self.arrays
        off = mean - before
        self.arrays = [before + weight * off, (1.0 - weight) * (spread + weight * off * off) + weight * variance]

    def normalize(self, x: Any) -> Any:
        """Columns of zero mean and unit deviation.

        Args:
            x: ``... x size``.

        Returns:
            Array of the same shape.
        """
        return (x - self.mean) / self.scale

    def denormalize(self, x: Any) -> Any:
        """Inverse of :meth:`normalize`.

        Args:
            x: ``... x size``.

        Returns:
            Array of the same shape.
        """
        return x * self.scale + self.mean
