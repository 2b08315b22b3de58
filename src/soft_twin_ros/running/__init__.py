"""Running a robot: which nodes it has, as processes that always end, and the sequence of a run."""
