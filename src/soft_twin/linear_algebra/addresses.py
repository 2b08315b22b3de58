"""How addresses of blocks in a matrix are told: see Cholesky.addresses."""

DROPPED, TRANSPOSED = -1, -2  # offsets of blocks with a fixed node; those below are TRANSPOSED − offset
