"""Event-driven rigid contact: modes, impacts and transitions between modes."""
