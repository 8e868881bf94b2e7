"""Force laws: joint space, task space, passive joints, actuators."""
