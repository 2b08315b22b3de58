"""The emulated tensegrity arm: a mismatched forward model that moves, with noisy inclinations and pressures."""

from dataclasses import dataclass

import numpy as np

from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.twins.tensegrity.cases import bending_pressures
from soft_twin.twins.tensegrity.forward import Motion
from soft_twin.twins.tensegrity.mismatch import mismatched
from soft_twin.twins.tensegrity.shape import Shape

SWEEP = 12.0  # [s] straight, bent by pressure, straight, pulled by a hand to one side and the other
PHASES = {"straight": 2.0, "bending": 4.0, "bent": 5.0, "straightening": 7.0, "pulled": SWEEP}  # [s] their ends


@dataclass(frozen=True)
class ArmReading:
    """What the arm's sensors say: inclinations (s,) [rad], gauge pressures (c,) [Pa]; and the truth."""

    inclinations: np.ndarray
    pressures: np.ndarray
    truth: Shape


class EmulatedTensegrityArm:
    """The arm in motion: straight for two seconds, bent by its pressures, then pulled by a hand, again and again."""

    def __init__(self, arm: TensegrityArm, seed: int = 0):
        self._random = np.random.default_rng(seed)
        self._noise = arm.emulated.inclination
        self._straight = np.full(arm.model.cylinder_count, arm.model.laws.pressure_range[1])
        self._bent = bending_pressures(arm.model, azimuth=0.4, lowest=0.4)
        self._motion = Motion(mismatched(arm.model, arm.emulated, seed), self._straight)
        self._time = 0.0

    @property
    def phase(self) -> str:
        """What the arm does now, one of PHASES."""
        return next(name for name, end in PHASES.items() if self._time % SWEEP < end)

    def step(self, dt: float) -> ArmReading:
        """The readings dt [s] later."""
        self._time += dt
        pressures, hand = self.program(self._time)
        truth = self._motion.step(dt, pressures, hand)
        noise = self._random.normal(0.0, self._noise, truth.strut_count)
        return ArmReading(np.clip(truth.inclinations + noise, 0.0, np.pi), pressures, truth)

    def program(self, time: float) -> tuple[np.ndarray, np.ndarray | None]:
        """Pressures (c,) [Pa] and the hand's pull (3,) [m], or None, at a time [s]."""
        phase = time % SWEEP
        bend = np.interp(
            phase, [PHASES[name] for name in ("straight", "bending", "bent", "straightening")], [0.0, 1.0, 1.0, 0.0]
        )
        pressures = (1.0 - bend) * self._straight + bend * self._bent
        start = PHASES["straightening"]
        if phase < start:
            return pressures, None
        return pressures, np.array([0.25 * np.sin(2.0 * np.pi * (phase - start) / (SWEEP - start)), 0.0, 0.0])
