"""Chambers filled through proportional valves: set points in, pressures out."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ChamberParameters:
    """Chambers and their valves, all alike. Pressures are gauge.

    Attributes:
        supply: pressure before the valves [Pa].
        valve_lag: time constant of a valve's set point [s].
        fill_rate: change of pressure per pressure difference across an open valve [1/s]; the smaller the volume, the
            larger.
        leak: share of its pressure that a chamber loses per second [1/s].
        noise: of the pressure sensors [Pa].
    """

    supply: float = 0.7e6
    valve_lag: float = 0.02
    fill_rate: float = 12.0
    leak: float = 0.02
    noise: float = 100.0


class Chambers:
    """The state of n chambers.

    Attributes:
        pressures: (n,) true gauge pressures [Pa].
        targets: (n,) set points of the valves [Pa].
        stuck: (n,) bool, fault: the valve keeps what it was told last.
        supply: gauge pressure before the valves [Pa]; lost, it is 0.
    """

    def __init__(self, count: int, parameters: ChamberParameters | None = None, seed: int = 0):
        self.parameters = parameters or ChamberParameters()
        self.pressures, self.targets = np.zeros(count), np.zeros(count)
        self.stuck = np.zeros(count, dtype=bool)
        self.supply = self.parameters.supply
        self._valves = np.zeros(count)
        self._rng = np.random.default_rng(seed)

    def step(self, dt: float) -> None:
        """Let `dt` seconds pass."""
        p = self.parameters
        target = np.where(self.stuck, self._valves, self.targets)
        self._valves = target + (self._valves - target) * np.exp(-dt / p.valve_lag)
        reachable = np.minimum(self._valves, self.supply)
        # fill and leak: ṗ = f (p_valve − p) − l p, exactly over dt
        settled = p.fill_rate * reachable / (p.fill_rate + p.leak)
        self.pressures = settled + (self.pressures - settled) * np.exp(-(p.fill_rate + p.leak) * dt)

    def measured(self) -> np.ndarray:
        """(n,) pressures as the sensors see them [Pa]."""
        return self.pressures + self.parameters.noise * self._rng.standard_normal(len(self.pressures))
