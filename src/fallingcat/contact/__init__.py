"""Contact: compliant floors, hard contacts, impacts, terrain."""

from .._deprecated import former_names
from ..geometry.body_pairs import BodyPair, body_pairs
from ..geometry.collision_pairs import SelfPairs, pushing_pairs
from ..geometry.collision_points import CollisionPoints, collision_points, feet
from ..geometry.contact_points import Plane, plane, point_jacobian, position
from ..geometry.distances import Distance, distances, self_pairs
from ..geometry.ellipsoids import ContactEllipsoid, rim
from ..geometry.terrain import HeightField, Terrain
from .base import Contact, Jump
from .bodies import BodyContacts
from .capabilities import AdmissibleImpulses, HybridModes, LinearizedForces
from .compliant_bodies import CompliantBodies
from .compliant_contact import CompliantContact
from .compliant_floor import CompliantFloor
from .contact_jacobian import ContactJacobian, contact_jacobian
from .default_springs import body_springs, default_springs
from .rigid.event_driven.impacts import Impact, impact, switch
from .rigid.hard_contacts import HardContacts
from .rigid.joint_stops import Stop, joint_stops
from .stance import center_of_pressure, contact_forces, corners, stance_base
from .wrench_cone import Margins, WrenchCone

__all__ = [
    "AdmissibleImpulses",
    "BodyContacts",
    "BodyPair",
    "CollisionPoints",
    "CompliantBodies",
    "CompliantContact",
    "CompliantFloor",
    "Contact",
    "ContactEllipsoid",
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
    "SelfPairs",
    "Stop",
    "Terrain",
    "WrenchCone",
    "body_pairs",
    "body_springs",
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
    "plane",
    "point_jacobian",
    "position",
    "pushing_pairs",
    "rim",
    "self_pairs",
    "stance_base",
    "switch",
]

__getattr__ = former_names(__name__)
