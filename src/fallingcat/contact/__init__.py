"""What robots touch: compliant floors, hard contacts, impacts."""

from .compliant import CompliantFloor
from .contact import Contact, Jump

__all__ = ["CompliantFloor", "Contact", "Jump"]
