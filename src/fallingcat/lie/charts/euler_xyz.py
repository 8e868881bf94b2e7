r"""Euler angles XYZ: Cardan angles; [ETH] (2.43)-(2.45), (2.88), (2.89).

.. math::

    R = C_x(x) C_y(y) C_z(z), \qquad
    E = \begin{bmatrix} 1 & 0 & s_y \\ 0 & c_x & -c_y s_x \\ 0 & s_x & c_x c_y \end{bmatrix}, \qquad
    E^{-1} = \begin{bmatrix} 1 & s_x s_y / c_y & -c_x s_y / c_y \\ 0 & c_x & s_x \\
             0 & -s_x / c_y & c_x / c_y \end{bmatrix}

    x = \mathrm{atan2}(-c_{23}, c_{33}), \quad y = \mathrm{atan2}(c_{13}, \sqrt{c_{11}^2 + c_{12}^2}), \quad
    z = \mathrm{atan2}(-c_{12}, c_{11})

Singular at y = pi/2 + k pi. Misprints: the program of [ETH] A.2 has ``+cos(y) sin(x)`` in row 2, column 3 of E, where
(2.88) has the right minus; Example 2.9.7 cites (2.89), the inverse, for E: read (2.88).
"""

from typing import final

from .euler import EulerChart


@final
class EulerXYZ(EulerChart):
    """Cardan angles ``(x, y, z)`` in radians; singular where cos(y) = 0.

    Example:
        >>> EulerXYZ().rate_matrix([0.0, 0.0, 0.3])
        array([[1., 0., 0.],
               [0., 1., 0.],
               [0., 0., 1.]])
    """

    name = "Euler XYZ"
    symbols = ("x", "y", "z")
    sequence = "xyz"
