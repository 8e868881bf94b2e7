"""What both sides of ``benchmarks/optimal.py`` share."""

DT, NODES, REPEATS = 0.01, 20, 9
FEET = ["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"]
STATE_WEIGHTS = [100.0] * 3 + [10.0] * 3 + [1.0] * 12 + [0.1] * 6 + [0.01] * 12
CONTROL_WEIGHT, DAMPING, SHIFT = 0.1, 50.0, [0.02, 0.0, -0.03]
