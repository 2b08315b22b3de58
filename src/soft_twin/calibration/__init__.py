"""Parameters of a twin from recordings: what was measured, how far the twin is from it, and which numbers fit best."""
