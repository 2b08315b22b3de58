"""Values of any size as a few characters, for messages."""

import reprlib
from typing import Any

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxdict = _SHORT.maxlist = 4
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.repr_YamlMapping, _SHORT.repr_YamlList = _SHORT.repr_dict, _SHORT.repr_list  # it looks types up by name


def shortened(value: Any) -> str:
    """The value as Python writes it, cut where it is long or deep: the work is bounded, whatever the value."""
    text = " ".join(_SHORT.repr(value).split())
    return text if len(text) <= 120 else text[:117] + "..."
