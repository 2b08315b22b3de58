"""A robot's YAML as models with units and limits: what may stand in a description, and a name for every mistake.

`load.py` reads a file; `cable_tube.py` and `tensegrity.py` say what robots of these kinds have. Nothing is built here.
Pydantic is imported by the modules that use it alone, so that `import soft_twin` stays quick.
"""
