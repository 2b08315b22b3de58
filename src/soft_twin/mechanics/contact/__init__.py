"""Bodies against obstacles: gaps, edges, friction. `Contact` is a constraint: those are met first, whoever comes."""

import soft_twin.mechanics.constraints  # noqa: F401
