"""An emulated neck in simulated time: its body, winches with a lag and a wrong zero, two IMU chips behind filters,
and what holds its plate.

Each tick of DT the body is stepped, both chips give as many samples as they have in that time, their gravity estimators
take them, and the plate's holder decides on the cables. The chips were warmed up and calibrated in POSITIONS before, as
a person does it by `calibrate_accelerometer`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.descriptions.drives import ImuPlace
from soft_twin.driving.cables.cable_control import DriverParameters
from soft_twin.emulation.base_motion import BaseMotion, inclinations, moving_base
from soft_twin.emulation.imu import EmulatedImu, EmulatedImuParameters
from soft_twin.emulation.imus import FeltMotion
from soft_twin.emulation.plant import Plant
from soft_twin.inverse.plate_holder import Held, PlateHolder
from soft_twin.inverse.plate_payload import Payload
from soft_twin.inverse.plate_rest import Measured
from soft_twin.robots.fem_robot import FemRobot
from soft_twin.sensing.calibration import ImuCalibration
from soft_twin.sensing.gravity import GravityEstimator, GravityParameters
from soft_twin.sensing.imu_calibration import calibrate_accelerometer
from soft_twin.sensing.samples import ImuSample
from soft_twin.twins.constant_curvature import pitch_roll_of
from soft_twin.twins.plate_orientation import axis_of

DT, IMU_PERIOD = 0.02, 0.01  # [s]
AMBIENT = 25.0  # [°C]
TAUT, SETTLED = 1.0, 10.0  # [s] for which the body is held before all, and for which the filters run then
FACES = np.vstack([np.eye(3), -np.eye(3)])
LEANING = np.vstack([FACES, FACES + 0.45 * np.roll(FACES, 1, axis=1), FACES + 0.45 * np.roll(FACES, 2, axis=1)])
POSITIONS = LEANING / np.linalg.norm(LEANING, axis=1, keepdims=True)  # what points up on the board
ALIGNED_AFTER = 1.5  # [s] that a plate is given to come to rest, and to be tared
EACH_POSITION = 1.0  # [s]
HOLDING = 1.5  # [s] on the clock of the base's motion, which holds its inclination then
UPRIGHT = 90.0  # [°] inclination of a base that stands
SOFTLY = DriverParameters().tension_lag  # [s] time constant of the tensions as the driver tells them
ENTERED = 0.3  # [°] of the target, within which a motion has settled
LAST = 25  # ticks that say how far it is off at rest
TENSION_NOISE = 0.05  # [N]


class FilteredImu:
    """A chip with the filter that takes its samples.

    Attributes:
        gravity: (3,) in the frame that the board is mounted in [m/s²]; None: not known.
    """

    def __init__(
        self, mounting: np.ndarray, seed: int, errors: EmulatedImuParameters | None = None, estimator: str = "ekf"
    ):
        """Calibrated, and warm.

        Args:
            mounting: (3, 3) from the board's frame.
            seed: of the chip.
            errors: of the chip.
            estimator: orientation filter.
        """
        self._chip, self._time = EmulatedImu(errors, seed), 0.0
        self.gravity: np.ndarray | None = None
        self._estimator = GravityEstimator(mounting)
        while self._estimator.heater.state != "steady":
            self._warm(np.array([0.0, 0.0, STANDARD_GRAVITY]))
        fit = calibrate_accelerometer(np.array([self._mean_force(STANDARD_GRAVITY * up) for up in POSITIONS]))
        matrix, offset = tuple(map(tuple, fit.matrix.tolist())), tuple(fit.offset.tolist())
        parameters = GravityParameters(
            calibration=ImuCalibration(accelerometer_matrix=matrix, accelerometer_offset=offset)
        )
        self._estimator = GravityEstimator(mounting, parameters, estimator, self._estimator.heater)

    def sense(self, rate: np.ndarray, force: np.ndarray) -> None:
        """One sample, through its filter."""
        estimate = self._estimator.update(self._sample(rate, force))
        self.gravity = estimate.gravity_in_base if estimate.valid else None

    def _mean_force(self, force: np.ndarray) -> np.ndarray:
        forces = [self._warm(force).specific_force for _ in range(round(EACH_POSITION / IMU_PERIOD))]
        return np.mean(forces, axis=0)

    def _warm(self, force: np.ndarray) -> ImuSample:
        """One sample of a board at rest, for its heater."""
        sample = self._sample(np.zeros(3), force)
        self._estimator.heater.update(sample.time, sample.temperature)
        return sample

    def _sample(self, rate: np.ndarray, force: np.ndarray) -> ImuSample:
        """The chip's next one, its heater on."""
        self._time += IMU_PERIOD
        duty = self._estimator.heater.duty
        return self._chip.sample(self._time, rate, force, AMBIENT, duty, IMU_PERIOD)


@dataclass(frozen=True)
class Moments:
    """What was at the end of each tick.

    Attributes:
        trace: (t, 2) pitch and roll of the plate [°].
        tips, axes: (t, 3) the plate's centre [m] and its normal.
        asked, driven: (t, c) displacements that were commanded, and that the winches say [m].
        tensions: (t, c) as the driver tells them [N].
        gravities: (t, 2, 3) in the base and on the plate, as the filters give them [m/s²]; NaN: not known.
    """

    trace: np.ndarray
    tips: np.ndarray
    axes: np.ndarray
    asked: np.ndarray
    driven: np.ndarray
    tensions: np.ndarray
    gravities: np.ndarray


class NeckLoop:
    """See the module's docstring.

    Attributes:
        plant: the body.
        holder: what holds its plate.
        silent: names of IMUs that are not heard now.
        carried: whether the base goes on along its motion; else it stands where it is.
        trace: (t, 2) pitch and roll of the plate [°], tick by tick.
    """

    def __init__(
        self,
        robot: FemRobot,
        holder: PlateHolder,
        zero: Sequence[float] = (0.0, 0.0, 0.0),
        inclination: float = UPRIGHT,
        payload: float = 0.0,
        seed: int = 0,
        askew: float = 0.0,
        motion: tuple[BaseMotion, float] | None = None,
    ):
        """Rest, held by the cables, IMUs warm.

        Args:
            robot: the neck.
            holder: begins anew.
            zero: (c,) cable that the winches have wound in where they say 0 [m].
            inclination: of the base to the ground [°], 90: upright.
            payload: on the plate [kg].
            seed: of IMUs and noise.
            askew: standard deviation of the angles about each axis by which boards are turned from where the robot's
                description has them [rad].
            motion: of the base, and where on its clock it stands [s]; None: the inclination.
        """
        self.plant, self.holder, self._robot = Plant(robot), holder, robot
        self._zero = np.asarray(zero, dtype=float)
        self._motion, self._clock = motion or (inclinations([inclination], 1.0, 1.0), HOLDING)
        self._base, self.carried = moving_base(self._motion, self._clock), False
        self._felt = FeltMotion(robot, self._motion, IMU_PERIOD)
        self._imus = [
            FilteredImu(place.mounting, seed + i, estimator=_filter_of(robot, place))
            for i, place in enumerate(robot.imus)
        ]
        self._names = [place.name for place in robot.imus]
        self._plate_at = next(i for i, place in enumerate(robot.imus) if place.plate is not None)
        self._base_at = next(i for i, place in enumerate(robot.imus) if place.plate is None)
        self._rng = np.random.default_rng(seed)
        turns = askew * np.random.default_rng([seed, 1]).standard_normal((len(self._imus), 3))
        self._askew = Rotation.from_rotvec(turns).as_matrix()
        self._rate, self._lag = robot.winches.cable_limits.rate, robot.emulated.motor_lag
        self.driven = np.zeros(len(robot.cable_names))  # what the winches say
        self._wound = self._zero.copy()
        self._tensions = np.zeros_like(self.driven)
        self.silent: set[str] = set()
        self._moments: list[tuple] = []
        self.load(payload)
        self.plant.settle(self._base.gravity)
        for _ in range(round(TAUT / DT)):  # from where it hangs freely to where its cables hold it
            self.plant.step(DT, self._wound, self._base)
        for _ in range(round(SETTLED / IMU_PERIOD)):
            self._sense()
        holder.look(self.measured, DT)
        holder.begin_at(self.driven)

    @property
    def trace(self) -> np.ndarray:
        return np.array([moment[0] for moment in self._moments]).reshape(-1, 2)

    @property
    def moments(self) -> Moments:
        """What has been so far."""
        return Moments(*(np.array(column) for column in zip(*self._moments, strict=True)))

    @property
    def measured(self) -> Measured:
        """What the holder knows of."""
        base, plate = (
            None if self._names[i] in self.silent else self._imus[i].gravity for i in (self._base_at, self._plate_at)
        )
        return Measured(base, plate, self._tensions, self.driven)

    def align(self) -> None:
        """Let the plate stand straight with nothing on it, and correct its IMUs by that, as the services `tare` and
        `align` do.

        Raises:
            InputError: as PlateHolder.align.
        """
        self.holder.controller.aim(0.0, 0.0)
        self.run(ALIGNED_AFTER)
        self.holder.tare()
        self.run(ALIGNED_AFTER)
        self.holder.align(self._robot.build_twin("fem"))

    def load(self, payload: float) -> None:
        """What hangs on the plate from now on [kg]."""
        self.plant.hang(payload)

    def run(self, seconds: float) -> Held:
        """Let time pass; the last of what the holder did."""
        for _ in range(round(seconds / DT)):
            held = self.holder.update(self.measured, DT)
            self._wind(held.tick.displacements)
            for _ in range(round(DT / IMU_PERIOD)):
                self._clock += IMU_PERIOD if self.carried else 0.0
                self._sense()
            self._note(held.tick.displacements)
        return held

    def _wind(self, displacements: np.ndarray) -> None:
        """Winches follow at their rate, the drums with a lag, and the body both."""
        self.driven = self.driven + np.clip(displacements - self.driven, -self._rate * DT, self._rate * DT)
        self._wound = self._wound - np.expm1(-DT / self._lag) * (self.driven + self._zero - self._wound)
        self._base = moving_base(self._motion, self._clock)
        self.plant.step(DT, self._wound, self._base)
        felt = self.plant.efforts + TENSION_NOISE * self._rng.standard_normal(len(self.driven))
        self._tensions = self._tensions - np.expm1(-DT / SOFTLY) * (felt - self._tensions)

    def _note(self, asked: np.ndarray) -> None:
        plate, known = self.plant.plates.rotations[0][:, 2], self.measured
        gravities = [np.full(3, np.nan) if each is None else each for each in (known.base, known.plate)]
        trace = np.degrees(pitch_roll_of(plate))
        self._moments.append((trace, self.plant.tip, plate, asked, self.driven, self._tensions, gravities))

    def _sense(self) -> None:
        """One sample of each IMU."""
        felt = self._felt.at(self._clock, self.plant.plates)
        for imu, turned, (rate, force) in zip(self._imus, self._askew, felt, strict=True):
            imu.sense(turned.T @ rate, turned.T @ force)


def _filter_of(robot: FemRobot, place: ImuPlace) -> str:
    """The orientation filter of an IMU's node, as the description has it."""
    node = "imu_to_gravity" if place.plate is None else "plate_imu_to_gravity"
    return robot.nodes.get(node, {}).get("estimator", "ekf")


@dataclass(frozen=True)
class Step:
    """How a plate came to a target.

    Attributes:
        settling: after which it stays within ENTERED of the target [s]; infinite: it does not.
        overshoot: of the way, beyond the target.
        steady: angle to the target, mean of the last half second [°].
        payload: as it was estimated at the end [kg]; NaN: it is not known.
        deviation: its standard deviation as it was told [kg]; NaN: nobody looked.
    """

    settling: float
    overshoot: float
    steady: float
    payload: float
    deviation: float


def step_to(loop: NeckLoop, pitch: float, roll: float, seconds: float = 3.0) -> Step:
    """Ask for a pose [°] at once, and see how the plate comes to it.

    The overshoot is along the way from where it stood to the target.
    """
    begun = len(loop.trace)
    start = loop.trace[-1] if begun else np.zeros(2)
    loop.holder.controller.aim(*np.radians([pitch, roll]))
    held = loop.run(seconds)
    return judged(loop.trace[begun:], start, np.array([pitch, roll]), held.payload)


def judged(trace: np.ndarray, start: np.ndarray, target: np.ndarray, payload: Payload | None = None) -> Step:
    """How a trace (t, 2) of pitch and roll [°] came from start to target (2,); with what is known of the payload."""
    off = away(trace, target)
    late = np.flatnonzero(off > ENTERED)
    settling = DT * (late[-1] + 1) if len(late) else 0.0
    if len(late) and late[-1] == len(off) - 1:
        settling = float("inf")
    way = target - start
    beyond = ((trace - target) @ way).max() / (way @ way)
    mass, deviation = (np.nan, np.nan) if payload is None else (payload.mass, payload.deviation)
    return Step(float(settling), max(0.0, float(beyond)), float(off[-LAST:].mean()), mass, deviation)


def away(trace: np.ndarray, target: np.ndarray) -> np.ndarray:
    """(t,) angles [°] of the plate's axis, at pitch and roll (t, 2) [°], to that of a target (2,)."""
    axes, aim = np.array([axis_of(*np.radians(each)) for each in trace]), axis_of(*np.radians(target))
    return np.degrees(2.0 * np.arcsin(np.minimum(1.0, 0.5 * np.linalg.norm(axes - aim, axis=1))))
