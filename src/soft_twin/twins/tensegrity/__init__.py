"""Tensegrities: rigid struts that float in a net of cords and pneumatic cylinders."""
