"""Charts: coordinates of rotations ([ETH] 2.4.5, 2.5.1) and of positions ([ETH] 2.2, 2.3), with their rate matrices.

>>> import numpy as np
>>> from fallingcat.lie.charts import EulerZYX, UnitQuaternion
>>> R = EulerZYX().to_matrix([0.1, 0.2, 0.3])
>>> q = UnitQuaternion().from_matrix(R)
>>> omega = EulerZYX().rate_matrix([0.1, 0.2, 0.3]) @ [1.0, 0.0, 0.0]
>>> qdot = UnitQuaternion().rate_matrix_inverse(q) @ omega
>>> bool(np.allclose(UnitQuaternion().rate_matrix(q) @ qdot, [0.0, 0.0, 1.0]))
True
"""

from .angle_axis import AngleAxis
from .cartesian import Cartesian
from .chart import Axes, Chart, ChartWarning, PositionChart, RotationChart
from .cylindrical import Cylindrical
from .direction_cosines import DirectionCosines
from .euler import EulerChart
from .euler_xyz import EulerXYZ
from .euler_zxz import EulerZXZ
from .euler_zyx import EulerZYX
from .euler_zyz import EulerZYZ
from .planar import PlanarAngle, PlanarPosition
from .quaternion import UnitQuaternion
from .rotation_vector import RotationVector
from .spherical import Spherical

ROTATION_CHARTS: tuple[RotationChart, ...] = (
    EulerZYX(),
    EulerXYZ(),
    EulerZYZ(),
    EulerZXZ(),
    AngleAxis(),
    RotationVector(),
    UnitQuaternion(),
    DirectionCosines(),
)
POSITION_CHARTS: tuple[PositionChart, ...] = (Cartesian(), Cylindrical(), Spherical())

__all__ = [
    "POSITION_CHARTS",
    "ROTATION_CHARTS",
    "AngleAxis",
    "Axes",
    "Cartesian",
    "Chart",
    "ChartWarning",
    "Cylindrical",
    "DirectionCosines",
    "EulerChart",
    "EulerXYZ",
    "EulerZXZ",
    "EulerZYX",
    "EulerZYZ",
    "PlanarAngle",
    "PlanarPosition",
    "PositionChart",
    "RotationChart",
    "RotationVector",
    "Spherical",
    "UnitQuaternion",
]
