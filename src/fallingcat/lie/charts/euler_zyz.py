r"""Euler angles ZYZ: proper Euler angles; [ETH] (2.32)-(2.35), (2.90), (2.91).

.. math::

    R = C_z(z_1) C_y(y) C_z(z_2), \qquad
    E = \begin{bmatrix} 0 & -s_{z_1} & c_{z_1} s_y \\ 0 & c_{z_1} & s_{z_1} s_y \\ 1 & 0 & c_y \end{bmatrix}, \qquad
    E^{-1} = \begin{bmatrix} -c_y c_{z_1} / s_y & -c_y s_{z_1} / s_y & 1 \\ -s_{z_1} & c_{z_1} & 0 \\
             c_{z_1} / s_y & s_{z_1} / s_y & 0 \end{bmatrix}

    z_1 = \mathrm{atan2}(c_{23}, c_{13}), \quad y = \mathrm{atan2}(\sqrt{c_{13}^2 + c_{23}^2}, c_{33}), \quad
    z_2 = \mathrm{atan2}(c_{32}, -c_{31})

Singular at y = k pi: at the identity, which makes the chart a poor one for a body that starts upright.
"""

from typing import final

from .euler import EulerChart


@final
class EulerZYZ(EulerChart):
    """Proper Euler angles ``(z1, y, z2)`` in radians; singular where sin(y) = 0.

    Example:
        >>> round(float(EulerZYZ().singularity([0.1, 3.0, 0.2])), 6)
        0.14112
    """

    name = "Euler ZYZ"
    symbols = ("z1", "y", "z2")
    sequence = "zyz"
