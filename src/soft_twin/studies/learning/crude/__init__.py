"""Twins that are cruder than finite elements, to be corrected all the same: arcs, and a chain in MuJoCo."""
