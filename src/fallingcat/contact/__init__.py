"""What robots touch: compliant floors, hard contacts, impacts; and what closes their loops."""

from . import loops
from .compliant import CompliantFloor
from .contact import Contact, Jump
from .hard import HardContacts
from .impacts import Impact, impact, switch
from .points import Plane, plane, point_jacobian, position
from .relief import HeightField, Relief
from .stance import center_of_pressure, contact_forces, corners, stance_base
from .stops import Stop, joint_stops

__all__ = [
    "CompliantFloor",
    "Contact",
    "HardContacts",
    "HeightField",
    "Impact",
    "Jump",
    "Plane",
    "Relief",
    "Stop",
    "center_of_pressure",
    "contact_forces",
    "corners",
    "impact",
    "joint_stops",
    "loops",
    "plane",
    "point_jacobian",
    "position",
    "stance_base",
    "switch",
]
