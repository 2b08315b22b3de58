"""Meshes: nodes, cells, faces, quality, named parts, and files."""
