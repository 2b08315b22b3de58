"""Which name was meant, for messages."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """What to say of a name that is none of those that are known: the one that looks like it, else all."""
    known = list(known)
    near = difflib.get_close_matches(name[:100], known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}"
