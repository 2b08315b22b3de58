"""What moves a body at will: pairs of an effort and the coordinate that it works on."""
