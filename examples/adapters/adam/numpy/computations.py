"""Plain numbers."""

from ..kindyn import KinDyn


class KinDynComputations(KinDyn):
    """Arrays of floats in, arrays of floats out."""
