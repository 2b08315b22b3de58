"""The twin solved backwards: goals and limits in, bounded cable displacements and tensions out."""
