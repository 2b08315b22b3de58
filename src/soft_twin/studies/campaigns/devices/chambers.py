"""Chambers of air behind proportional valves: what the pressures truly are, and what the sensors make of them.

A chamber of volume V at the absolute pressure p takes the mass flow m' isothermally: p' = R T m' / V. A valve is an
orifice after ISO 6358: m' = C ρ₀ p_up ψ(p_down / p_up), ψ(r) = 1 up to the critical ratio b (choked), beyond
√(1 − ((r − b)/(1 − b))²). C ρ₀ R T / V is one number here, the conductance [1/s]. The valve's own controller opens
it in proportion to what is missing, fully from `band` on.
"""

import math
from random import Random

ATMOSPHERE = 101_325.0  # [Pa]
CRITICAL_RATIO = 0.3
HOLDS = "holds"  # stuck as it stands
FAULTS = ("closed", "open", "exhausts", HOLDS)


def flow(upstream: float, downstream: float) -> float:
    """Flow through an orifice of conductance 1 /s between absolute pressures [Pa/s]; zero against the pressure."""
    if downstream >= upstream:
        return 0.0
    ratio = downstream / upstream
    if ratio <= CRITICAL_RATIO:
        return upstream
    return upstream * math.sqrt(1.0 - ((ratio - CRITICAL_RATIO) / (1.0 - CRITICAL_RATIO)) ** 2)


class Chambers:
    """Chambers, their valves and sensors.

    Attributes:
        pressures: true gauge pressures [Pa].
        supply: gauge pressure of the supply [Pa].
        supplied: the supply is there.
        stuck: of each valve, None or one of FAULTS.
        uncontrolled: of each valve, its controller does nothing: it stays as it stands.
        leaks: conductance of each chamber's leak, out or in [1/s].
        sensors: one Sensor for each chamber.
    """

    def __init__(
        self, rng: Random, start: float, count: int, supply: float, vacuum: float, band: float, ejector: bool = False
    ):
        """Chambers that stand at `start`, and exhaust to `vacuum`, both gauge [Pa]; an ejector makes that of the
        supply."""
        self.pressures = [start] * count
        self.supply, self.supplied = supply, True
        self.stuck: list[str | None] = [None] * count
        self.uncontrolled = [False] * count
        self.leaks = [0.0] * count
        self.sensors = [Sensor(rng, start) for _ in range(count)]
        self._conductances = [rng.uniform(2.5, 6.0) for _ in range(count)]
        self._openings = [0.0] * count
        self._vacuum, self._band, self._ejector = vacuum + ATMOSPHERE, band, ejector

    def step(self, dt: float, targets: list[float]) -> None:
        """Live for a time, the valves being told these gauge pressures [Pa]."""
        for chamber, target in enumerate(targets):
            self._step_chamber(dt, chamber, target)
            self.sensors[chamber].follow(dt, self.pressures[chamber])

    def _step_chamber(self, dt: float, chamber: int, target: float) -> None:
        pressure = self.pressures[chamber]
        wanted = max(-1.0, min(1.0, (target - pressure) / self._band))
        opening = self._opening(chamber, wanted)
        change = dt * self._rate(chamber, opening)
        controlled = self.stuck[chamber] is None and not self.uncontrolled[chamber]
        if controlled and abs(change) > abs(target - pressure):
            change = target - pressure  # the valve's own controller is faster than this step
        inside = pressure + ATMOSPHERE
        leaking = dt * self.leaks[chamber] * (flow(inside, ATMOSPHERE) - flow(ATMOSPHERE, inside))
        self.pressures[chamber] = max(pressure + change - leaking, self._vacuum - ATMOSPHERE)
        self._openings[chamber] = opening

    def _opening(self, chamber: int, wanted: float) -> float:
        stuck = self.stuck[chamber]
        if stuck is None:
            return self._openings[chamber] if self.uncontrolled[chamber] else wanted
        return {"closed": 0.0, "open": 1.0, "exhausts": -1.0, HOLDS: self._openings[chamber]}[stuck]

    def _rate(self, chamber: int, opening: float) -> float:
        """Rate of a chamber's pressure through its valve [Pa/s]."""
        pressure = self.pressures[chamber] + ATMOSPHERE
        if opening > 0.0:
            supply = (self.supply if self.supplied else 0.0) + ATMOSPHERE
            return opening * self._conductances[chamber] * flow(supply, pressure)
        sucks = self.supplied or not self._ejector
        return opening * self._conductances[chamber] * flow(pressure, self._vacuum if sucks else ATMOSPHERE)


class Sensor:
    """A pressure sensor with a lag and noise, and what can be wrong with it.

    Attributes:
        lie: None, "low", "high", "text" (not a number), "stuck" or "drift".
        wrong_telegrams: so many readings to come are nonsense.
    """

    LOW, HIGH = -100e3, 1e6  # [Pa] gauge: a vacuum, and a broken bridge

    def __init__(self, rng: Random, start: float):
        self.lie: str | None = None
        self.wrong_telegrams = 0
        self._rng = rng
        self._lag, self._noise = rng.uniform(0.005, 0.03), rng.uniform(20.0, 300.0)
        self._value, self._said = start, start
        self._drift, self._drift_rate = 0.0, rng.choice((-1, 1)) * rng.uniform(5e3, 40e3)
        self._nonsense = rng.uniform(50e3, 90e3)

    def follow(self, dt: float, pressure: float) -> None:
        self._value += (pressure - self._value) * min(1.0, dt / self._lag)
        self._drift = self._drift + self._drift_rate * dt if self.lie == "drift" else 0.0

    def read(self) -> float:
        """What it says now [Pa]; NaN where it says no number."""
        if self.wrong_telegrams > 0:
            self.wrong_telegrams -= 1
            return self._value + self._nonsense
        if self.lie == "low":
            return self.LOW
        if self.lie == "high":
            return self.HIGH
        if self.lie == "text":
            return math.nan
        if self.lie != "stuck":
            self._said = self._value + self._drift + self._rng.gauss(0.0, self._noise)
        return self._said
