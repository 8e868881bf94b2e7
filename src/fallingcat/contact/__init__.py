"""What robots touch: compliant floors, hard contacts, impacts."""

from .compliant import CompliantFloor
from .contact import Contact, Jump
from .hard import HardContacts
from .impacts import Impact, impact, switch
from .stance import center_of_pressure, contact_forces, corners, stance_base

__all__ = [
    "CompliantFloor",
    "Contact",
    "HardContacts",
    "Impact",
    "Jump",
    "center_of_pressure",
    "contact_forces",
    "corners",
    "impact",
    "stance_base",
    "switch",
]
