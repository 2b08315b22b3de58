"""Orderings, factorisations, refinement and quadratic programs: no mechanics."""
