r"""Euler angles ZYX: yaw, pitch, roll; [ETH] (2.40)-(2.42), (2.83)-(2.87).

.. math::

    R = C_z(z) C_y(y) C_x(x), \qquad
    E = \begin{bmatrix} 0 & -s_z & c_y c_z \\ 0 & c_z & c_y s_z \\ 1 & 0 & -s_y \end{bmatrix}, \qquad
    E^{-1} = \begin{bmatrix} c_z s_y / c_y & s_y s_z / c_y & 1 \\ -s_z & c_z & 0 \\
             c_z / c_y & s_z / c_y & 0 \end{bmatrix}

    z = \mathrm{atan2}(c_{21}, c_{11}), \quad y = \mathrm{atan2}(-c_{31}, \sqrt{c_{32}^2 + c_{33}^2}), \quad
    x = \mathrm{atan2}(c_{32}, c_{33})

Singular at y = pi/2 + k pi. There the printed inverse (2.42) gives z = x = 0, which is another rotation; ours does not
(see `EulerChart`).
"""

from typing import final

from .euler import EulerChart


@final
class EulerZYX(EulerChart):
    """Yaw, pitch, roll ``(z, y, x)`` in radians; singular where cos(y) = 0.

    Example:
        >>> import numpy as np
        >>> chart = EulerZYX()
        >>> R = chart.to_matrix([0.7, 1.5, -0.5])
        >>> bool(np.allclose(chart.from_matrix(R), [0.7, 1.5, -0.5]))
        True
        >>> chart.rate_matrix_inverse([0.0, np.pi / 2, 0.0])
        Traceback (most recent call last):
        ...
        fallingcat.errors.NumericsError: chart Euler ZYX is singular at z = 0, y = 1.57079633, x = 0: ...
    """

    name = "Euler ZYX"
    symbols = ("z", "y", "x")
    sequence = "zyx"
