"""Robots in a browser: what recordings and running graphs say of them, drawn by viser."""
