"""Bodies against obstacles: gaps, edges, friction."""
