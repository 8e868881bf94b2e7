"""State estimation: sensors, contact-aided filters of the base, and an observer of external forces."""

from .belief import Belief, Estimates
from .contact_detector import ContactDetector, ContactState
from .contact_filter import ContactFilter
from .feedback import EstimatedFeedback, FootSwitches
from .momentum_observer import MomentumObserver, ObserverState
from .sensors import IMU, ContactSensor, Encoders, Readings, add_noise, read
from .smoother import smooth

__all__ = [
    "IMU",
    "Belief",
    "ContactDetector",
    "ContactFilter",
    "ContactSensor",
    "ContactState",
    "Encoders",
    "EstimatedFeedback",
    "Estimates",
    "FootSwitches",
    "MomentumObserver",
    "ObserverState",
    "Readings",
    "add_noise",
    "read",
    "smooth",
]
