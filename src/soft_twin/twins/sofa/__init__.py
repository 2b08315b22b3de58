"""SOFA as a second twin: a scene of it in a process of its own."""
