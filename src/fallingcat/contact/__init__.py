"""What robots touch: compliant floors, hard contacts, impacts; and what closes their loops."""

from . import loops
from .bodies import BodyContacts
from .body_pairs import BodyPair, body_pairs
from .capabilities import AdmissibleImpulses, HybridModes, LinearizedForces
from .compliant import CompliantFloor
from .compliant_contact import CompliantContact
from .contact import Contact, Jump
from .defaults import default_springs
from .distances import Distance, distances, self_pairs
from .hard import HardContacts
from .impacts import Impact, impact, switch
from .pairs import SelfPairs, pushing_pairs
from .points import Plane, plane, point_jacobian, position
from .relief import HeightField, Relief
from .shapes import CollisionPoints, collision_points, feet
from .sole import Margins, Sole
from .stacked import ContactJacobian, contact_jacobian
from .stance import center_of_pressure, contact_forces, corners, stance_base
from .stops import Stop, joint_stops

__all__ = [
    "AdmissibleImpulses",
    "BodyContacts",
    "BodyPair",
    "CollisionPoints",
    "CompliantContact",
    "CompliantFloor",
    "Contact",
    "ContactJacobian",
    "Distance",
    "HardContacts",
    "HeightField",
    "HybridModes",
    "Impact",
    "Jump",
    "LinearizedForces",
    "Margins",
    "Plane",
    "Relief",
    "SelfPairs",
    "Sole",
    "Stop",
    "body_pairs",
    "center_of_pressure",
    "collision_points",
    "contact_forces",
    "contact_jacobian",
    "corners",
    "default_springs",
    "distances",
    "feet",
    "impact",
    "joint_stops",
    "loops",
    "plane",
    "point_jacobian",
    "position",
    "pushing_pairs",
    "self_pairs",
    "stance_base",
    "switch",
]
