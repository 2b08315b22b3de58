"""Exact derivatives of equilibria and motions."""
