"""Bodies against obstacles: gaps, edges, friction. `Contact` is a constraint, and those are met first, whoever comes."""

import soft_twin.mechanics.constraints  # noqa: F401
