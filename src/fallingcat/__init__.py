"""fallingcat: floating-base robots, with one set of equations of motion and every formulation a change of velocity.

>>> import fallingcat as fc
>>> raise fc.FileError("mass must be positive", file="robot.urdf", line=12, element="<link name='arm'>")
Traceback (most recent call last):
fallingcat.errors.FileError: robot.urdf:12: <link name='arm'>: mass must be positive
"""

from .errors import ExtraMissingError, FallingCatError, FileError, ModelError, NumericsError

__version__ = "0.1.0"

__all__ = [
    "ExtraMissingError",
    "FallingCatError",
    "FileError",
    "ModelError",
    "NumericsError",
]
