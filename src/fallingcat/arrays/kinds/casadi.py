"""CasADi ``SX`` scalars."""

import casadi

sin, cos, sqrt, exp, log = casadi.sin, casadi.cos, casadi.sqrt, casadi.exp, casadi.log
arctan2, less, select = casadi.atan2, casadi.lt, casadi.if_else
