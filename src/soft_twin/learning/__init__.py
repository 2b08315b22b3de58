"""Learning what a twin gets wrong: simulated surfaces as B-splines, networks that predict them, a warp to reality.

Tian et al., "Correspondence-Free, Function-Based Sim-to-Real Learning for Deformable Surface Control" (the paper's
equations are cited by their numbers). Read in this order: samples and simulations (a twin's shapes), flattening and
surfaces (their B-splines), networks, warp, losses and training, correction (what is used), teaching,
storage, shape_control.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from soft_twin.learning.correction import Correction


def load(path: str | Path) -> "Correction":
    """The correction that `soft-twin train` wrote: `load(FILE)(pressures)` are points (p, 3) [m] in base_link.

    Raises:
        UsageError: there is no such file, or no JAX.
        RecordingError: it is something else, or broken.
    """
    from soft_twin.errors import UsageError

    try:
        from soft_twin.learning.storage import load as load_file
    except ImportError as error:
        raise UsageError(f"corrections need JAX ({error.name} is missing): pip install soft_twin[learning]") from None
    return load_file(path)
