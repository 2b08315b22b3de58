"""How the chambers of a twin fill together, from their lowest pressures to their highest, or to where they balloon.

All pressures rise by equal shares of each chamber's own range. Where the body has no equilibrium under more of them,
chambers are driven by volume from there on, past the highest pressure that they can hold (the limit point of a
balloon). The range of one that balloons ends a little before, by volume: near the limit point the pressure hardly rises
any more, and where fewer chambers are blown up it is somewhat lower.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.constants import UPRIGHT_GRAVITY
from soft_twin.errors import ConvergenceError, InputError
from soft_twin.learning.samples import Inflation
from soft_twin.twins.finite_element import FemTwin

DOWN = np.array(UPRIGHT_GRAVITY)  # [m/s²] in base_link
STEPS = 17  # of pressure, the first without any
HALVINGS = 6  # of a step that finds no equilibrium
HELD = 0.9  # of the volume that blows a chamber up as far as its pressure rises
MOST_STEPS = 400  # by volume
Say = Callable[[str], None]


def find_inflation(
    twin: FemTwin,
    limits: np.ndarray,
    names: Sequence[str],
    largest: np.ndarray | None = None,
    say: Say | None = None,
) -> Inflation:
    """The pressures and volumes of all chambers.

    Args:
        twin: of the body.
        limits: (a, 2) lowest and highest pressure of each chamber [Pa].
        names: of the chambers.
        largest: (a,) volume that may be let into each [m³]; None: any.
        say: is called with a line of progress.

    Raises:
        ConvergenceError: the twin has no equilibrium with all pressures at their lowest, or just above.
        InputError: a chamber does not fill while all pressures rise.
    """
    search = _Search(twin, limits, names, np.full(len(names), np.inf) if largest is None else largest, say)
    search.by_pressure()
    if search.growing.any():
        search.by_volume()
    return search.inflation()


@dataclass
class _Curve:
    """What one chamber has gone through: pressures [Pa] and volumes [m³] that rise, and where it ends."""

    pressures: list[float]
    volumes: list[float]


class _Search:
    """See find_inflation."""

    def __init__(self, twin: FemTwin, limits: np.ndarray, names: Sequence[str], largest: np.ndarray, say: Say | None):
        self._twin, self._names, self._largest, self._say = twin, names, largest, say
        self._low, self._high = np.asarray(limits, float).T
        self._rows: list[tuple[np.ndarray, np.ndarray]] = []  # pressures, volumes
        self.growing = np.ones(len(names), bool)
        self._curves: list[_Curve] = []

    def by_pressure(self) -> None:
        """As far as there is an equilibrium under ever higher pressures."""
        share, size = 0.0, 1.0 / (STEPS - 1)
        while share <= 1.0 + 1e-9:
            pressures = self._low + min(share, 1.0) * (self._high - self._low)
            self._tell(f"{100.0 * share:.0f} % of the pressures")
            try:
                self._twin.equilibrium(DOWN, efforts=pressures)
            except ConvergenceError as error:
                if len(self._rows) > 1:
                    break
                size *= 0.5
                if not self._rows or size * (STEPS - 1) < 0.5**HALVINGS:
                    raise ConvergenceError(
                        f"no shape with {self._words(pressures)}, of which simulations begin: {error}"
                    ) from error
                share = size
                continue
            self._rows.append((pressures, self._twin.body_coordinates()))
            if (self._rows[-1][1] >= self._largest).any():
                break
            share += size
        pressures, volumes = (np.array(column) for column in zip(*self._rows, strict=True))
        self._check_rising(pressures, volumes)
        self._curves = [_Curve(list(p), list(v)) for p, v in zip(pressures.T, volumes.T, strict=True)]
        self.growing &= share <= 1.0 + 1e-9
        for i in np.flatnonzero(volumes[-1] >= self._largest):
            self._end(i, self._largest[i])

    def by_volume(self) -> None:
        """On from there, until each chamber has its highest pressure, or balloons."""
        (_, before), (_, volumes) = self._rows[-2:]
        step, halvings = volumes - before, 0
        for number in range(MOST_STEPS):
            self._tell(f"step {number + 1} by volume")
            tried = np.where(self.growing, volumes + step, volumes)
            try:
                pressures = self._twin.equilibrium(DOWN, coordinates=list(tried)).efforts
            except ConvergenceError:
                step, halvings = 0.5 * step, halvings + 1
                if halvings > HALVINGS:
                    break  # as far as there are shapes
                continue
            volumes = tried
            for i in np.flatnonzero(self.growing):
                self._grow(i, float(pressures[i]), float(volumes[i]))
            if not self.growing.any():
                break

    def inflation(self) -> Inflation:
        """What was found, at equal steps of each chamber's pressure."""
        columns = []
        for curve in self._curves:
            pressures = np.linspace(curve.pressures[0], curve.pressures[-1], STEPS)
            columns.append((pressures, np.interp(pressures, curve.pressures, curve.volumes)))
        return Inflation(*(np.array(each).T for each in zip(*columns, strict=True)))

    def _grow(self, i: int, pressure: float, volume: float) -> None:
        """One more point of a chamber's curve, or its end."""
        curve = self._curves[i]
        if pressure <= curve.pressures[-1]:
            top = _top([*curve.volumes[-2:], volume], [*curve.pressures[-2:], pressure])
            self._end(i, curve.volumes[0] + HELD * (top - curve.volumes[0]))
            return
        curve.pressures.append(pressure)
        curve.volumes.append(volume)
        if pressure >= self._high[i]:
            self._end(i, float(np.interp(self._high[i], curve.pressures, curve.volumes)))
        elif volume >= self._largest[i]:
            self._end(i, self._largest[i])

    def _end(self, i: int, volume: float) -> None:
        """A chamber is blown up no further than to a volume."""
        curve = self._curves[i]
        pressure = float(np.interp(volume, curve.volumes, curve.pressures))
        inside = [pair for pair in zip(curve.pressures, curve.volumes, strict=True) if pair[1] < volume]
        pressures, volumes = zip(*inside, strict=True)
        self._curves[i] = _Curve([*pressures, pressure], [*volumes, volume])
        self.growing[i] = False

    def _check_rising(self, pressures: np.ndarray, volumes: np.ndarray) -> None:
        if len(volumes) < 2:
            raise InputError(f"{', '.join(self._names)}: no volume above the lowest pressures is allowed")
        still = np.flatnonzero(~(np.diff(volumes, axis=0) > 0.0).all(axis=0))
        if len(still):
            raise InputError(
                f"chamber '{self._names[still[0]]}' does not fill while all pressures rise to "
                f"{self._words(pressures[-1])}: what is learned of it is how far it is inflated"
            )

    def _words(self, pressures: np.ndarray) -> str:
        pairs = zip(self._names, pressures, strict=True)
        return ", ".join(f"{name} {pressure:g} Pa" for name, pressure in pairs)

    def _tell(self, what: str) -> None:
        if self._say is not None:
            self._say(f"how chambers fill: {what}")


def _top(volumes: Sequence[float], pressures: Sequence[float]) -> float:
    """The volume where the parabola through three points is highest, between the first and the last of them."""
    second, first, _ = np.polyfit(np.asarray(volumes) - volumes[1], pressures, 2)
    if second >= 0.0:
        return volumes[1]
    return float(np.clip(volumes[1] - 0.5 * first / second, volumes[0], volumes[2]))
