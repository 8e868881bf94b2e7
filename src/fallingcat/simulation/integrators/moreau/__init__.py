"""Time stepping of Moreau for hard contacts."""
