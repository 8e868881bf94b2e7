r"""Euler angles ZXZ: proper Euler angles; [ETH] (2.36)-(2.39), (2.92), (2.93).

.. math::

    R = C_z(z_1) C_x(x) C_z(z_2), \qquad
    E = \begin{bmatrix} 0 & c_{z_1} & s_{z_1} s_x \\ 0 & s_{z_1} & -c_{z_1} s_x \\ 1 & 0 & c_x \end{bmatrix}, \qquad
    E^{-1} = \begin{bmatrix} -c_x s_{z_1} / s_x & c_x c_{z_1} / s_x & 1 \\ c_{z_1} & s_{z_1} & 0 \\
             s_{z_1} / s_x & -c_{z_1} / s_x & 0 \end{bmatrix}

    z_1 = \mathrm{atan2}(c_{13}, -c_{23}), \quad x = \mathrm{atan2}(\sqrt{c_{13}^2 + c_{23}^2}, c_{33}), \quad
    z_2 = \mathrm{atan2}(c_{31}, c_{32})

Singular at x = k pi.
"""

from typing import final

from .euler import EulerChart


@final
class EulerZXZ(EulerChart):
    """Proper Euler angles ``(z1, x, z2)`` in radians; singular where sin(x) = 0.

    Example:
        >>> EulerZXZ().from_matrix([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]).round(6) + 0.0
        array([0.      , 1.570796, 0.      ])
    """

    name = "Euler ZXZ"
    symbols = ("z1", "x", "z2")
    sequence = "zxz"
