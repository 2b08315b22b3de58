"""Twins of what is real, corrected by some recordings and tested on others."""
