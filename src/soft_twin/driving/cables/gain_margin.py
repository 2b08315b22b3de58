"""How far the control of a cable is from swinging: which gains are safe on winches that nobody has measured.

With the rate v = ḋ the control is i = −(k_v + k_i / s) (1 + k_p / s) v, and the winch m v̇ + b v = i. Cut open at the
current, with the feedback late by τ, the loop is

    L(s) = (k_v + k_i / s) (1 + k_p / s) e^(−s τ) / (m s + b).

It swings where L passes −1 on the wrong side; the least |1 + L| over all frequencies is its modulus margin.
"""

from itertools import product

import numpy as np

from soft_twin.driving.cables.winch_control import ControlGains
from soft_twin.errors import InputError

LEAST_MARGIN = 0.2  # on any of these winches; the default gains have 0.23
FRICTIONS = (5.0, 17.1, 35.0)  # [A s/m]
INERTIA_SHARES = (0.75, 1.0, 1.2)  # of what the gains are made for
FREQUENCIES = np.geomspace(1.0, 2000.0, 2000)  # [rad/s]; the loop crosses over between 10 and 200


def modulus_margin(gains: ControlGains, friction: float, inertia: float) -> float:
    """The least |1 + L| of a winch with this friction b [A s/m] and inertia m [A s²/m]; 0 where the loop swings."""
    s = 1j * FREQUENCIES
    loop = (gains.rate + gains.integral / s) * (1.0 + gains.position / s) / (inertia * s + friction)
    loop *= np.exp(-s * gains.delay)
    crossings = np.flatnonzero(np.abs(loop) >= 1.0)
    stable = crossings.size and np.unwrap(np.angle(loop))[crossings[-1]] > -np.pi
    return float(np.abs(1.0 + loop).min()) if stable else 0.0


def check_gains(gains: ControlGains) -> None:
    """See that no winch that may be there swings by these gains.

    Raises:
        InputError: one would, with the highest gain that is right.
    """
    if _least_margin(gains) >= LEAST_MARGIN:
        return
    lower = (share * gains.position for share in np.arange(0.95, 0.0, -0.05))
    right = next((each for each in lower if _least_margin(gains.tuned(each, gains.rate)) >= LEAST_MARGIN), None)
    advice = f"expected at most {right:.3g} /s with this rate_gain" if right else "expected a lower rate_gain"
    raise InputError(
        f"position_gain = {gains.position:g} /s with rate_gain = {gains.rate:g} A s/m: winches of little friction "
        f"would swing, {advice}"
    )


def _least_margin(gains: ControlGains) -> float:
    """Over all winches that may be there."""
    winches = product(FRICTIONS, (share * gains.inertia for share in INERTIA_SHARES))
    return min(modulus_margin(gains, *winch) for winch in winches)
