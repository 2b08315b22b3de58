"""Measurements -> the shape of a twin: of a tensegrity, from how its struts are inclined."""
