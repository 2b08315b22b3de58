"""What is measured of a plate, and its mean while the plate is at rest."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from soft_twin.errors import InputError
from soft_twin.inverse.plate import FemPlate
from soft_twin.inverse.plate_alignment import Rest
from soft_twin.inverse.plate_payload import Payload, PayloadParameters
from soft_twin.twins.constant_curvature.kernels import bend_of

DURATION = 1.0  # [s] of rest that is averaged
TURNED, WOUND = np.radians(0.1), 2e-4  # directions of gravity [rad] and cables [m] within which that is rest
PULLING = 0.1  # [N]: where no cable pulls by that, nobody holds the plate
STRAIGHT = np.radians(5.0)  # bend up to which a plate counts as straight
MOST_PAYLOAD = 1.0  # [kg] that may be on a plate where nobody looked
DOUBTED = np.radians(0.15)  # bend by which a payload that is not known may tilt it
HOMED = 1e-4  # [m] to which each cable is homed
BELIEVED = 4.0  # standard deviations of tensions, beyond which lengths count alone
SPREADS = PayloadParameters()  # of tensions and of the body's stiffness


@dataclass(frozen=True)
class Measured:
    """What is measured, all at one time; None: not known.

    Attributes:
        base, plate: (3,) gravity in base_link, and in the plate's frame [m/s²].
        tensions: (c,) of the cables [N].
        displacements: (c,) cable pulled in [m].
        newest: (c,) cable pulled in as it was told last, where the rest is older [m]; None: `displacements` are.
    """

    base: np.ndarray | None
    plate: np.ndarray | None
    tensions: np.ndarray | None = None
    displacements: np.ndarray | None = None
    newest: np.ndarray | None = None

    @property
    def wound(self) -> np.ndarray | None:
        """(c,) cable pulled in by now [m]; None: not known."""
        return finite(self.displacements if self.newest is None else self.newest)

    @property
    def lost(self) -> str:
        """Which IMU is not known, in words; "" where both are."""
        lost = [name for name in ("base", "plate") if finite(getattr(self, name)) is None]
        return f"no gravity from the IMU of the {' and of the '.join(lost)}" if lost else ""


class RestWatch:
    """What was measured over the last DURATION, and whether that was rest."""

    def __init__(self):
        self._taken: deque[tuple[float, Measured]] = deque()
        self._span = 0.0

    def add(self, measured: Measured, dt: float) -> None:
        """Take in what is measured `dt` [s] after the last time."""
        self._taken.append((dt, measured))
        self._span += dt
        while self._span - self._taken[0][0] >= DURATION:
            self._span -= self._taken.popleft()[0]

    def mean(self) -> Measured:
        """Over the last DURATION.

        Raises:
            InputError: less than that is known, something was not heard, or the plate, its base or its cables moved.
        """
        if self._span < DURATION:
            raise InputError(f"{self._span:.1f} s are known of {DURATION:g} s at rest: wait, and try again")
        taken = [measured for _, measured in self._taken]
        lost = next((each.lost for each in taken if each.lost), "")
        if lost:
            raise InputError(f"{lost} in the last {DURATION:g} s")
        if any(finite(each.displacements) is None or finite(each.tensions) is None for each in taken):
            raise InputError("where the cables are, and what they pull by, is not known: is their driver running?")
        columns = zip(*((each.base, each.plate, each.tensions, each.displacements) for each in taken), strict=True)
        base, plate, tensions, displacements = (np.array(column) for column in columns)
        turned = max(_largest_turn(base), _largest_turn(plate))
        wound = float(np.ptp(displacements, axis=0).max())
        if turned > TURNED or wound > WOUND:
            raise InputError(
                f"in the last {DURATION:g} s the base or the plate turned by {np.degrees(turned):.2f}°, cables by "
                f"{1e3 * wound:.1f} mm: wait until all is at rest"
            )
        return Measured(*(each.mean(axis=0) for each in (base, plate, tensions, displacements)))


def straight_rest(plate: FemPlate, measured: Measured, payload: Payload | None) -> Rest:
    """What a rest says of the IMUs, where cables hold a plate straight.

    How it stands is told by the lengths of its cables, which are wound in by δq beside what was homed, as their
    tensions t show against those f(q) of the model,

        t = f(q + δq) + ∂f/∂s Δs + ∂f/∂m Δm + noise,   δq ~ N(0, HOMED²),

    s being how much stiffer the body is than its model and m the payload. Where the base stands upright a cable that
    is off by 0.1 mm shows by a fifth of a newton; where it leans, a body that is softer than its model hides that.
    Tensions that no such cause explains, as of motors that rub, are not believed.

    Args:
        plate: a model, which is left as it stands then.
        measured: the mean of a rest.
        payload: what is known of it; None: nobody looked.

    Raises:
        InputError: no cable pulls, the plate is bent, or what may hang on it tilts it by more than is known.
        ConvergenceError: the model found no equilibrium.
    """
    if measured.tensions.max() < PULLING:
        raise InputError("no cable pulls: the plate is held by cables that are homed and enabled")
    mass, doubt = (0.0, MOST_PAYLOAD) if payload is None else (payload.borne, min(payload.deviation, MOST_PAYLOAD))
    wound = measured.displacements + _homing_errors(plate, measured, mass, doubt)
    bend, heavier = (_bend(plate, measured.base, wound, borne) for borne in (mass, mass + doubt))
    if np.hypot(*bend) > STRAIGHT:
        raise InputError(
            f"the cables bend the plate by {np.degrees(np.hypot(*bend)):.0f}°: let it stand straight, pitch and roll 0"
        )
    if (tilt := float(np.hypot(*(heavier - bend)))) > DOUBTED:
        raise InputError(
            f"what hangs on the plate is known to {1e3 * doubt:.0f} g only, which may tilt it by "
            f"{np.degrees(tilt):.1f}°: tare it with nothing on it"
        )
    return Rest.of(measured.base, measured.plate, bend)


def finite(values: np.ndarray | None) -> np.ndarray | None:
    """The values; None where one of them is not finite."""
    return None if values is None or not np.isfinite(values).all() else np.asarray(values, dtype=float)


def _homing_errors(plate: FemPlate, measured: Measured, payload: float, doubt: float) -> np.ndarray:
    """(c,) likeliest δq of `straight_rest` [m], of a payload that is known to `doubt` [kg]."""
    expected = _tensions(plate, measured, payload)
    by_homing = HOMED * np.linalg.inv(plate.twin.linearise(measured.base).compliance)  # each column a deviation's
    by_mass = _tensions(plate, measured, payload + doubt) - expected
    by_stiffness = _tensions(plate, measured, payload, 1.0 + SPREADS.softness_spread) - expected
    ways = np.column_stack([by_homing, by_mass, by_stiffness, SPREADS.tension_noise * np.eye(len(expected))])
    missed = measured.tensions - expected
    weighted = np.linalg.solve(ways @ ways.T, missed)
    return HOMED * by_homing.T @ weighted * (missed @ weighted < BELIEVED**2)


def _tensions(plate: FemPlate, measured: Measured, payload: float, stiffness: float = 1.0) -> np.ndarray:
    """(c,) by which cables of these lengths pull at a body so much stiffer than its model [N]; at rest that is one
    whose loads are as much less."""
    plate.bear(measured.base / stiffness, payload)
    plate.orientation(measured.displacements)
    return stiffness * plate.twin.efforts


def _bend(plate: FemPlate, gravity: np.ndarray, displacements: np.ndarray, payload: float) -> np.ndarray:
    plate.bear(gravity, payload)
    return np.array(bend_of(*plate.orientation(displacements)))


def _largest_turn(vectors: np.ndarray) -> float:
    """Largest angle [rad] of vectors (t, 3) from their mean."""
    mean = vectors.mean(axis=0)
    across = np.linalg.norm(np.cross(vectors, mean), axis=1)
    return float(np.arctan2(across, vectors @ mean).max())
