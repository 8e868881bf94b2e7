"""The form between a function and its code: traced once, put in order, fused, cut; and how results are put together."""
