"""A recorded run once more through the library, without middleware: the same outputs, to the bit, every time.

In goes what the sensors said (`imu/data_raw`, `imu/temperature`), from `solver/status` at which samples the twin was
solved, for which target, and whether the actuators were commanded, and when filter and twin were reset
(`gravity/reset`, `twin/reset`). Out come gravity, cable displacements and the motors' angles, and the pressures of
chambers, to be compared with those that were recorded. Nothing in it looks at a clock.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from soft_twin.driving.cables.winch import Winch
from soft_twin.errors import RecordingError
from soft_twin.files import is_missing
from soft_twin.inverse.controller import Controller
from soft_twin.inverse.goals import told_by_coordinate
from soft_twin.inverse.targets import ActuationTarget, Target, pose_target
from soft_twin.parallel import long_work
from soft_twin.recording.reader import Series, arrays, topic_types
from soft_twin.recording.recorded_run import check_not_mixed, check_one_run
from soft_twin.recording.robots import CALIBRATED, METADATA, check_actuators, check_types, prefix, recorded_namespace
from soft_twin.recording.storage import files, metadata
from soft_twin.robots.base import DrivenRobot
from soft_twin.sensing.gravity import GravityEstimator, build_estimator
from soft_twin.sensing.gravity_ahead import GravityAhead, ahead_of
from soft_twin.sensing.heater import TEMPERATURE_KEPT, TemperatureControl, heating_of
from soft_twin.sensing.imu_calibration import calibration_beside
from soft_twin.sensing.samples import ImuSample

INPUTS = ("imu/data_raw", "imu/temperature", "solver/status", "gravity/reset", "twin/reset")
OUTPUTS = ("gravity", "cables/command", "chambers/command", "twin/tip")
MOST_BACK = 0.01  # share of samples that may be stamped before the one before them
SAME_STAMP = 1000  # [ns] a stamp that went through a float is off by up to 0.2 µs


class Estimator(Protocol):
    """What of a GravityEstimator a replay uses."""

    def update(self, sample: ImuSample) -> Any: ...

    def reset(self) -> None: ...


@dataclass(frozen=True)
class Comparison:
    """How far replayed values are from recorded ones, where both have the same stamp.

    Attributes:
        what, unit: of the values.
        pairs: how many there are of both, those left out of which either is not a number.
        median, p99, largest: of the distances, in `unit`; NaN without pairs.
    """

    what: str
    unit: str
    pairs: int
    median: float
    p99: float
    largest: float


@dataclass(frozen=True)
class ReplayResult:
    """What a replay came to, one row a sample or a solve.

    Attributes:
        gravity_stamp: (n,) int64 [ns since the epoch] of the samples that gave a valid gravity.
        gravity: (n, 3) in base_link [m/s²].
        heater_duty: (n,) 0…1.
        stamp: (m,) int64 [ns since the epoch] of the solves.
        compensating: (m,) whether displacements and pressures are commands.
        tip: (m, 3) the twin's tip, base_link [m].
        displacements, tensions: (m, c) [m], [N].
        rotor_counts: (m, c) encoder counts that the motors are sent to.
        pressures: (m, h) of the chambers [Pa].
        left_out: solves of the recording without a valid gravity at their stamp.
        comparisons: with what was recorded.
        calibration: which one of the IMU was taken, in words; empty where an estimator was given.
    """

    gravity_stamp: np.ndarray
    gravity: np.ndarray
    heater_duty: np.ndarray
    stamp: np.ndarray
    compensating: np.ndarray
    tip: np.ndarray
    displacements: np.ndarray
    tensions: np.ndarray
    rotor_counts: np.ndarray
    pressures: np.ndarray
    left_out: int
    comparisons: tuple[Comparison, ...]
    calibration: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over all outputs, little-endian, in the order of the attributes."""
        whole = hashlib.sha256()
        for values in (
            self.gravity_stamp,
            self.gravity,
            self.heater_duty,
            self.stamp,
            self.compensating,
            self.tip,
            self.displacements,
            self.tensions,
            self.rotor_counts,
            self.pressures,
        ):
            whole.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes())
        return whole.hexdigest()


def replay(
    path: str | Path,
    robot: DrivenRobot,
    namespace: str | None = None,
    estimator: Estimator | None = None,
    controller: Controller | None = None,
) -> ReplayResult:
    """Replay a recording.

    Args:
        path: of the recording.
        robot: the robot that was run; cables and chambers drive it, and no muscles.
        namespace: of the robot's topics; see `recorded_namespace`.
        estimator, controller: fresh ones to use instead of those that the robot's nodes would make.

    Raises:
        RecordingError: the recording is unreadable, of another robot, or has no raw IMU data, no solves, or none at a
            sample that gives a valid gravity, or a stretch of time twice, or samples of several IMUs, or several runs.
    """
    series = _series(path, robot, namespace)
    check_actuators(path, series["solver/status"], robot)
    kept = _imu_choices(robot).get("temperature_silent_after", TEMPERATURE_KEPT)
    calibration, in_words = _calibration(robot, path) if estimator is None else ("", "")
    estimates = _estimate(series, estimator or _estimator(robot, calibration), kept)
    solves = _solve(series, estimates, _controller(robot) if controller is None else controller, _ahead(robot))
    if not solves:
        raise RecordingError(
            f"'{path}' cannot be replayed: {len(estimates)} of its {len(series['imu/data_raw'])} samples give a valid "
            f"gravity, and none of its {len(series['solver/status'])} solves is of one of them"
        )
    cables, count = len(robot.cable_names), len(robot.actuator_names)
    coordinates, efforts = (_rows(solves, name, (count,)) for name in ("coordinates", "efforts"))
    displacements = coordinates[:, :cables]
    outputs = {
        "gravity_stamp": np.array([stamp for stamp, _ in estimates], dtype=np.int64),
        "gravity": np.array([estimate.gravity_in_base for _, estimate in estimates]).reshape(-1, 3),
        "heater_duty": np.array([estimate.heater_duty for _, estimate in estimates], dtype=float),
        "stamp": np.array([stamp for stamp, _, _ in solves], dtype=np.int64),
        "compensating": np.array([compensating for _, compensating, _ in solves], dtype=bool),
        "tip": _rows(solves, "tip", (3,)),
        "displacements": displacements,
        "tensions": efforts[:, :cables],
        "rotor_counts": np.asarray(Winch(robot.winches.winch).rotor_counts(displacements)) if cables else displacements,
        "pressures": efforts[:, cables:],
    }
    left_out = len(series["solver/status"]) - len(solves)
    return ReplayResult(**outputs, left_out=left_out, comparisons=_compare(series, outputs), calibration=in_words)


def table(result: ReplayResult) -> str:
    """A replay's comparisons as aligned lines."""
    lines = [f"{'replayed against recorded':<26}{'pairs':>8}{'median':>12}{'p99':>12}{'largest':>12}"]
    for row in result.comparisons:
        numbers = "".join(f"{value:>12.4g}" for value in (row.median, row.p99, row.largest))
        lines.append(f"{f'{row.what} [{row.unit}]':<26}{row.pairs:>8}{numbers}")
    if result.calibration:
        lines.append(f"calibration of the IMU: {result.calibration}")
    if result.left_out:
        lines.append(f"{result.left_out} solves left out: no valid gravity at their stamp")
    return "\n".join(lines)


def _controller(robot: DrivenRobot) -> Controller:
    """As the robot's node makes it, by either of its names."""
    choices = _solver_choices(robot)
    return robot.build_controller(robot.build_twin(backend=choices.get("twin", "fem")), choices.get("reuse", False))


def _ahead(robot: DrivenRobot) -> GravityAhead:
    """Likewise."""
    choices = _solver_choices(robot)
    return ahead_of(choices.get("lead", 0.0), choices.get("acceleration_smoothing", 0.0))


def _solver_choices(robot: DrivenRobot) -> dict[str, Any]:
    return {**robot.nodes.get("gravity_to_actuators", {}), **robot.nodes.get("gravity_to_cables", {})}


def _imu_choices(robot: DrivenRobot) -> dict[str, Any]:
    return robot.nodes.get("imu_to_gravity", {})


def _calibration(robot: DrivenRobot, recording: str | Path) -> tuple[str | Path, str]:
    """Of the IMU, beside the recording or else as the description says, empty for none; and in words."""
    beside = calibration_beside(files(recording)[0])
    told = metadata(recording, METADATA).get(CALIBRATED)
    if not is_missing(beside):
        changed = told and beside.is_file() and hashlib.sha256(beside.read_bytes()).hexdigest() != told
        return beside, f"{beside.name}, which has changed since this was recorded" if changed else beside.name
    own = _imu_choices(robot).get("calibration", "")
    taken = f"the description's {own}" + (", which is missing" if is_missing(own) else "") if own else "none"
    if told:
        return own, f"{taken} ({beside.name}, which this was recorded with, is missing beside it)"
    return own, f"{taken} (no {beside.name} beside it)"


def _estimator(robot: DrivenRobot, calibration: str | Path) -> GravityEstimator:
    """As the node imu_to_gravity makes it from the robot's description."""
    choices = _imu_choices(robot)
    heater = TemperatureControl(heating_of(choices))
    return build_estimator(robot.mounting, choices.get("estimator", "ekf"), calibration, heater)


def _series(path: str | Path, robot: DrivenRobot, namespace: str | None) -> dict[str, Series]:
    topics = topic_types(path)
    namespace = recorded_namespace(path, topics, robot, namespace)
    begin = prefix(namespace)
    found = arrays(path, {begin + name for name in (*INPUTS, *OUTPUTS, "run/phase")})
    check_types(path, topics, namespace)
    series = {topic.removeprefix(begin): values for topic, values in found.items()}
    for name in ("imu/data_raw", "solver/status"):
        if name not in series:
            raise RecordingError(f"'{path}' cannot be replayed: it has no messages on {begin}{name}")
    check_not_mixed(path, series.values())
    check_one_run(path, series.get("run/phase"))
    _check_one_imu(path, series["imu/data_raw"])
    status = series["solver/status"]
    if (status["use_orientation"].astype(bool) & np.isnan(status["target"]).any(axis=1)).any():
        raise RecordingError(
            f"'{path}' cannot be replayed: pose_to_cables held the orientation of a plate in it, and when it was tared "
            "and aligned, and which model steered, is not recorded; `soft-twin report` evaluates it"
        )
    return series


def _check_one_imu(path: str | Path, imu: Series) -> None:
    """Refuse samples that are not in the order of their stamps, of which the filter would leave out most."""
    back = int(np.sum(np.diff(imu.stamp) < 0))
    if back > MOST_BACK * len(imu):
        raise RecordingError(
            f"'{path}' cannot be replayed: {back} of its {len(imu)} samples are stamped before the one before them, as "
            "where two runs are recorded at once: expected samples of one IMU"
        )


def _samples(series: dict[str, Series], kept: float) -> Iterator[tuple[int, ImuSample]]:
    """Stamps [ns] and samples; the temperature is the newest one up to each sample, NaN where it is older than `kept`
    [s]."""
    imu, temperatures = series["imu/data_raw"], np.full(len(series["imu/data_raw"].stamp), np.nan)
    if "imu/temperature" in series:
        known = series["imu/temperature"].stamp
        order = np.argsort(known, kind="stable")
        found = np.searchsorted(known, imu.stamp, side="right", sorter=order) - 1
        newest = order[found]
        counts = (found >= 0) & (imu.stamp - known[newest] <= 1e9 * kept)
        temperatures[counts] = series["imu/temperature"]["temperature"][newest[counts]]
    for i, stamp in enumerate(imu.stamp.tolist()):
        rates, force = imu["angular_velocity"][i], imu["linear_acceleration"][i]
        yield stamp, ImuSample(stamp // 10**9 + stamp % 10**9 * 1e-9, rates, force, float(temperatures[i]))


def _estimate(series: dict[str, Series], estimator: Estimator, kept: float) -> list[tuple[int, Any]]:
    """Stamp [ns] and estimate of each sample that gave a valid one."""
    resets = _after_events(series["imu/data_raw"], series.get("gravity/reset"))
    estimates, count = [], len(series["imu/data_raw"])
    with long_work("estimating gravity") as tell:
        for i, (stamp, sample) in enumerate(_samples(series, kept)):
            tell(i / count)
            if i in resets:
                estimator.reset()
            estimate = estimator.update(sample)
            if estimate.valid:
                estimates.append((stamp, estimate))
    return estimates


def _after_events(series: Series, events: Series | None) -> set[int]:
    """Indices of the first message that was sent after each event."""
    return set() if events is None else set(np.searchsorted(series.publish_time, events.publish_time).tolist())


def _solve(
    series: dict[str, Series], estimates: list[tuple[int, Any]], controller: Controller, ahead: GravityAhead
) -> list[tuple[int, bool, Any]]:
    """Stamp [ns], whether it was a command, and Tick of each solve whose gravity is known."""
    status, resets = series["solver/status"], _after_events(series["solver/status"], series.get("twin/reset"))
    known = np.array([stamp for stamp, _ in estimates], dtype=np.int64)
    estimate_of = dict(zip(*(rows.tolist() for rows in _matched(status.stamp, known)), strict=True))
    solves = []
    with long_work("solving") as tell:
        for i in range(len(status)):
            tell(i / len(status))
            if i in resets:
                controller.reset()
            if i in estimate_of:
                compensating = bool(status["compensating"][i])
                controller.aim(_target(controller, status, i))
                controller.enable(compensating)
                tick = controller.update(_felt(ahead, estimates, estimate_of[i]))
                solves.append((int(status.stamp[i]), compensating, tick))
    return solves


def _felt(ahead: GravityAhead, estimates: list[tuple[int, Any]], i: int) -> np.ndarray:
    """(3,) gravity of an estimate as the solver was told it, looked ahead by the one before."""
    now = estimates[i][1]
    if not ahead.looks or i == 0:
        return now.gravity_in_base
    before = estimates[i - 1][1]
    ahead.note(before.time, before.angular_velocity, before.specific_force)
    return ahead.look(now.time, now.gravity_in_base)


def _target(controller: Controller, status: Series, i: int) -> Target:
    """What solve `i` was asked; where it has no position, the actuators were told what they did."""
    if np.isnan(status["target"][i]).any():
        cables = told_by_coordinate(controller.twin)
        return ActuationTarget(np.where(cables, status["coordinates"][i], status["efforts"][i]))
    turned = bool(status["use_orientation"][i])
    rotation = Rotation.from_quat(status["target_xyzw"][i]).as_matrix() if turned else None
    return pose_target(controller.inverse, status["target"][i], str(status["frame"][i]), rotation)


def _matched(stamps: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of pairs with the same stamp [ns], which go back where a clock was set. Rows of `stamps` without a
    partner are left out."""
    if not len(others):
        return np.empty(0, dtype=int), np.empty(0, dtype=int)
    order = np.argsort(others, kind="stable")
    after = np.clip(np.searchsorted(others, stamps, sorter=order), 1, max(1, len(others) - 1))
    before, after = order[after - 1], order[after % len(others)]
    nearest = np.where(np.abs(stamps - others[before]) <= np.abs(stamps - others[after]), before, after)
    mine = np.flatnonzero(np.abs(stamps - others[nearest]) <= SAME_STAMP)
    return mine, nearest[mine]


def _rows(solves: list[tuple[int, bool, Any]], name: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.array([getattr(tick, name) for _, _, tick in solves], dtype=float).reshape(-1, *shape)


def _compare(series: dict[str, Series], outputs: dict[str, np.ndarray]) -> tuple[Comparison, ...]:
    sent = outputs["compensating"]
    pairs = (
        ("gravity", "vector", "deg", outputs["gravity_stamp"], outputs["gravity"], _degrees_between),
        ("twin/tip", "position", "mm", outputs["stamp"], outputs["tip"], _millimetres_between),
        ("cables/command", "position", "mm", outputs["stamp"][sent], outputs["displacements"][sent], _largest_mm),
        ("chambers/command", "pressures", "kPa", outputs["stamp"][sent], outputs["pressures"][sent], _largest_kpa),
    )
    return tuple(
        _compared(topic, unit, series[topic], series[topic][name], stamps, values, distance)
        for topic, name, unit, stamps, values, distance in pairs
        if topic in series
    )


def _compared(topic, unit, recorded: Series, recorded_values, stamps, values, distance) -> Comparison:
    mine, theirs = _matched(stamps, recorded.stamp)
    distances = distance(values[mine], recorded_values[theirs])
    distances = distances[np.isfinite(distances)]
    if not len(distances):
        return Comparison(topic, unit, 0, np.nan, np.nan, np.nan)
    return Comparison(topic, unit, len(distances), *map(float, np.percentile(distances, [50.0, 99.0, 100.0])))


def _degrees_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.sum(a * b, axis=1)))


def _millimetres_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return 1e3 * np.linalg.norm(a - b, axis=1)


def _largest_mm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return 1e3 * np.max(np.abs(a - b), axis=1, initial=0.0)


def _largest_kpa(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return 1e-3 * np.max(np.abs(a - b), axis=1, initial=0.0)
