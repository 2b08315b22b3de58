"""Emulated M2006 motors with C610 controllers, each winding a cable: torque currents in, feedback frames out.

Packs its bytes with `struct`, not with the driver's codec: the two check each other.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_twin.descriptions.drives import WinchDescription
from soft_twin.descriptions.m2006 import GEAR_RATIO
from soft_twin.errors import UsageError
from soft_twin.robots.base import DrivenRobot

COUNTS_PER_TURN = 8192
LEAST = 0.01  # of the square of its radius, that a drum keeps whatever has run off it
FIRST_ID = {0x200: 1, 0x1FF: 5}  # motor id of a command frame's first current


@dataclass(frozen=True)
class MotorParameters:
    """A motor with its gear and drum, seen at the drum.

    While current flows, drum speed ω follows the torque with the first-order lag τ: J (ω̇ + ω/τ) = K i − r T ∓ M_c,
    where J/τ stands for iron losses and the gear's oil. The inertia is that of the rotor times the square of the
    gear ratio, and a guess like the frictions, which no data sheet gives; frictions are low enough for a limp winch
    to be turned by its cable, as on the robot of Lai et al., which droops when it is not driven.

    All of it is of a drum right behind the motor's own gear; another ratio changes torques in proportion to it, and
    inertia by its square.

    Attributes:
        torque_constant: K [N·m/A] at the drum.
        inertia: J [kg·m²].
        lag: τ [s].
        friction: dry friction M_c [N·m].
        current_lag: time constant of the current loop [s].
        free_mobility: speed of a limp winch for a pull of its cable [m/s/N].
        timeout: without commands for so long the controller lets go [s].
        limp_time: zero current for so long and the motor counts as limp [s].
    """

    torque_constant: float = 0.18
    inertia: float = 4e-4
    lag: float = 0.02
    friction: float = 2e-4
    current_lag: float = 0.001
    free_mobility: float = 0.05
    timeout: float = 0.1
    limp_time: float = 0.05


class EmulatedC610:
    """Motors with their controllers and drums, stepped together; state arrays are in the order of `motor_ids`.

    Attributes:
        displacements: (c,) cable wound in beyond what is just taut on the undeformed body [m].
        rates: (c,) its rate [m/s].
        currents: (c,) torque current, > 0 turns the rotor forwards [A].
        stalled: (c,) bool, fault: the rotor is blocked.
        derating: (c,) fault: share of the current that an overheated controller still gives, 1 without fault.
        wiring: (c,) fault: −1 where two phases are swapped, so that the motor turns against its current.
        silent: (c,) bool, fault: neither hears nor answers.
    """

    def __init__(
        self,
        motor_ids: Sequence[int],
        winch: WinchDescription,
        parameters: MotorParameters | None = None,
        seed: int = 0,
        directions: Sequence[int] | None = None,
        scales: Sequence[float] | None = None,
    ):
        """`seed` draws where each rotor stands in its turn; winding directions are the winch's by default, and of each
        length that its drum winds, a cable moves by `scales`, by default 1: as if its drum were larger by that."""
        self.parameters = parameters or MotorParameters()
        self.motor_ids = tuple(motor_ids)
        count = len(self.motor_ids)
        self.displacements, self.rates, self.currents = np.zeros(count), np.zeros(count), np.zeros(count)
        self.stalled, self.silent = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.derating, self.wiring = np.ones(count), np.ones(count)
        self._winch = winch
        self._directions = np.full(count, winch.direction) if directions is None else np.array(directions)
        self._scales = np.ones(count) if scales is None else np.array(scales, dtype=float)
        self._commanded = np.zeros(count)
        self._since_command = np.full(count, np.inf)
        self._since_current = np.full(count, np.inf)
        self._zero_counts = np.random.default_rng(seed).integers(0, COUNTS_PER_TURN, count)

    @classmethod
    def of(cls, robot: DrivenRobot, seed: int = 0) -> "EmulatedC610":
        """The motors of a robot's cables, in their order.

        Raises:
            UsageError: it has no cables.
            DescriptionError: they have no drive.
        """
        drive = robot.winches
        if drive is None:
            raise UsageError(f"robot '{robot.name}' has no winches to emulate")
        directions = [drive.winch.direction * cable.direction for cable in drive.cables]
        own = MotorParameters(lag=robot.emulated.motor_lag, free_mobility=robot.emulated.limp_mobility)
        scales = [cable.scale for cable in drive.cables]
        motors = cls([cable.motor_id for cable in drive.cables], drive.winch, own, seed, directions, scales)
        wound = robot.emulated.wound or [cable.offset for cable in drive.cables]
        motors.displacements = np.array(wound, dtype=float)
        return motors

    @property
    def limp(self) -> np.ndarray:
        """(c,) bool: motors that hold nothing, for lack of current or of commands."""
        return self._since_current > self.parameters.limp_time

    def receive(self, can_id: int, data: bytes) -> None:
        """Take a frame from the bus; anything but a command of eight bytes is ignored."""
        if can_id not in FIRST_ID or len(data) != 8:
            return
        commands = dict(enumerate(struct.unpack(">4h", data), FIRST_ID[can_id]))
        for i, motor_id in enumerate(self.motor_ids):
            if motor_id in commands and not self.silent[i]:
                self._commanded[i] = 1e-3 * max(-10000, min(10000, commands[motor_id]))
                self._since_command[i] = 0.0

    def step(self, dt: float, tensions: np.ndarray) -> None:
        """Let `dt` seconds pass with the cables pulling at the drums by `tensions` (c,) [N]."""
        p = self.parameters
        self._since_command += dt
        self._commanded[self._since_command > p.timeout] = 0.0
        self._since_current = np.where(self._commanded == 0.0, self._since_current + dt, 0.0)
        wanted = self.derating * self._commanded
        self.currents = wanted + (self.currents - wanted) * np.exp(-dt / p.current_lag)
        final = self._final_rates(tensions)
        final[self.stalled], self.rates[self.stalled] = 0.0, 0.0
        slips, turned_round = self.rates - final, self.rates * final < 0.0
        until_rest = p.lag * np.log(np.divide(slips, -final, out=np.ones_like(final), where=turned_round))
        stops = turned_round & (until_rest < dt)  # and rests until the next step: it is where its rate says
        spans = np.where(stops, until_rest, dt)
        self.displacements += final * spans - slips * (p.lag * np.expm1(-spans / p.lag))
        self.rates = np.where(stops, 0.0, final + slips * np.exp(-spans / p.lag))

    def _final_rates(self, tensions: np.ndarray) -> np.ndarray:
        """(c,) rates towards which the present forces drive the cables [m/s]."""
        p, radius, gear = self.parameters, self._scales * self._radii, self._winch.gear_ratio / GEAR_RATIO
        pull = self.wiring * self._directions * self.currents * gear * p.torque_constant / radius
        force = np.where(self.limp, 0.0, pull) - tensions
        friction = gear * p.friction / radius
        heading = np.where(self.rates != 0.0, np.sign(self.rates), np.sign(force))
        sticks = (self.rates == 0.0) & (np.abs(force) <= friction)
        mobility = np.where(self.limp, p.free_mobility, radius**2 * p.lag / (gear**2 * p.inertia))
        return np.where(sticks, 0.0, (force - friction * heading) * mobility)

    @property
    def _radii(self) -> np.ndarray:
        """(c,) at which cables leave their drums [m]: wound onto itself, a cable's turns fill an area there."""
        lengths = self.displacements / self._scales
        return np.sqrt(
            np.maximum(self._winch.radius**2 + 2.0 * self._winch.growth * lengths, LEAST * self._winch.radius**2)
        )

    def jump(self, index: int, counts: int) -> None:
        """Fault: the encoder of a motor slips by so many counts."""
        self._zero_counts[index] += counts

    def halt(self) -> None:
        """The rotors stand, as if something had held them, and go on from there."""
        self.rates[:] = 0.0

    def feedback(self) -> list[tuple[int, bytes]]:
        """One feedback frame (id, data) of every motor that is not silent."""
        radii = self._radii
        drum_angle = 2.0 * self.displacements / (self._scales * (self._winch.radius + radii))
        gear = self._directions * self._winch.gear_ratio
        counts = (
            np.rint(drum_angle * (gear * COUNTS_PER_TURN / (2.0 * np.pi))).astype(int) + self._zero_counts
        ) % COUNTS_PER_TURN
        rpm = np.rint(self.rates / (self._scales * radii) * (gear * 60.0 / (2.0 * np.pi))).astype(int)
        raw_currents = np.rint(1e3 * self.currents).astype(int)
        values = zip(counts.tolist(), np.clip(rpm, -32768, 32767).tolist(), raw_currents.tolist(), strict=True)
        return [
            (0x200 + motor_id, struct.pack(">Hhh2x", *value))
            for motor_id, value, silent in zip(self.motor_ids, values, self.silent, strict=True)
            if not silent
        ]
