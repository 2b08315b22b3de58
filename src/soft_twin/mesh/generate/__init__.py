"""Meshes made from a few numbers."""
