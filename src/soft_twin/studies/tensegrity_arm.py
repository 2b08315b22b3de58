"""The tensegrity twin on a real arm of TM40's family (Liu et al. 2023): five strut IMUs, 40 pressures, the tip's pose.

What the recording does not tell: which way the struts are counted around the arm, which channel feeds which cylinder
and how many pascals a count is, the arm's dimensions, and where its base stands. So all cylinders get one and the same
pressure, the other 15 struts are freed, which strut of its module each IMU sits on and the base's place (translation
and yaw) are fitted to the tip on half of the recording, and the error is that on the other half. Picture: replay.png.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import soft_twin
from soft_twin.constants import STANDARD_GRAVITY
from soft_twin.errors import RecordingError
from soft_twin.recording.npz import read_npz
from soft_twin.robots.tensegrity import TensegrityArm
from soft_twin.sensing.inclination import StrutInclinations, StrutParameters
from soft_twin.sensing.samples import ImuSample
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

FILE = Path("tensegrity_arm") / "imu_mocap_part1.npz"
MAX_SIZE = 500_000_000  # [bytes]
RATE = 30.0  # [Hz]
AXIS = (-1.0, 0.0, 0.0)  # of a strut, bottom → top, in its sensor's frame
BLOCK = 100  # samples; blocks are used for fitting and for testing in turn
EVERY = 3  # every third sample is estimated
SEARCH_EVERY = 20  # every twentieth sample is used to find out which struts have IMUs
PRESSURE = 400e3  # [Pa] of all cylinders


@dataclass(frozen=True)
class ArmRecording:
    """Numbers of the measured struts (k,), specific forces and rates (n, k, 3) [m/s², rad/s], tip (n, 3) [m],
    pressures (n, 40) in raw counts."""

    numbers: np.ndarray
    specific_forces: np.ndarray
    rates: np.ndarray
    tip: np.ndarray
    counts: np.ndarray


def read_recording(path: Path) -> ArmRecording:
    """The recording.

    Raises:
        RecordingError: it is not there or lacks what is needed.
    """
    if not path.is_file():
        raise RecordingError(f"no recording '{path}': give the folder of the recordings with --data or $SOFT_TWIN_DATA")
    arrays = read_npz(path, ("obs", "code", "state_gt", "action"), MAX_SIZE)
    try:
        samples = arrays["obs"].reshape(len(arrays["obs"]), -1, 6)
        return ArmRecording(
            arrays["code"][0].astype(int), STANDARD_GRAVITY * samples[:, :, :3], np.radians(samples[:, :, 3:]),
            1e-3 * arrays["state_gt"][:, :3], arrays["action"],
        )  # fmt: skip
    except (ValueError, IndexError, TypeError) as error:
        raise RecordingError(f"{path}: arrays of other shapes than the arm's recordings have: {error}") from error


def run(folder: Path, data: Path) -> str:
    """Replay the recording; the table."""
    recording = read_recording(data / FILE)
    arm = soft_twin.load_robot("tm40")
    inclinations = measured_inclinations(recording)
    steps = np.arange(0, len(inclinations), EVERY)
    train = (steps // BLOCK) % 2 == 0
    truth = recording.tip[steps]
    places = found_places(arm, recording.numbers, inclinations, recording.tip)
    tips = placed(tips_of(arm, places, inclinations[steps]), truth, train)[1]
    rows = {"the tip's mean": np.tile(truth[train].mean(axis=0), (len(truth), 1))}
    rows["linear regression on the 5 inclinations"] = _regression(inclinations[steps], truth, train)
    rows["linear regression on the 40 pressures"] = _regression(recording.counts[steps], truth, train)
    rows["twin, 15 struts freed, one pressure"] = tips
    _draw(folder / "replay.png", steps / RATE, truth, rows, train)
    return "\n".join(
        [
            f"{len(steps)} of {len(inclinations)} samples at {RATE:g} Hz, tip's travel {_travel(truth)} mm;"
            " errors [mm] on the unseen half",
            *(_row(name, estimate, truth, train) for name, estimate in rows.items()),
            f"  IMUs of struts {', '.join(map(str, recording.numbers))} taken for {places.tolist()} of the twin",
            f"  rates against the paper's eq. 15: slope {_rate_slope(recording):+.2f}, so its sign is the other one",
        ]
    )


def measured_inclinations(recording: ArmRecording) -> np.ndarray:
    """(n, k) inclinations by the paper's complementary filter [rad]."""
    names = [str(number) for number in recording.numbers]
    parameters = StrutParameters(estimator="complementary", time_constant=0.2)
    struts = StrutInclinations(names, np.tile(AXIS, (len(names), 1)), parameters)
    rows = []
    for i, (forces, rates) in enumerate(zip(recording.specific_forces, recording.rates, strict=True)):
        for name, force, rate in zip(names, forces, rates, strict=True):
            struts.update(name, ImuSample(i / RATE, rate, force, np.nan))
        rows.append(struts.angles(i / RATE))
    return np.array(rows)


def found_places(arm: TensegrityArm, numbers: np.ndarray, inclinations: np.ndarray, tip: np.ndarray) -> np.ndarray:
    """(k,) the twin's struts that fit best on the fitted half, each among its module's four."""
    steps = np.arange(0, len(inclinations), SEARCH_EVERY)
    train = (steps // BLOCK) % 2 == 0
    steps = steps[train]

    def error(places: np.ndarray) -> float:
        return placed(tips_of(arm, places, inclinations[steps]), tip[steps], np.ones(len(steps), dtype=bool))[0]

    first = arm.structure.strut_count - 4 * (1 + (numbers - 1) // 4)  # of the module, which is counted from the tip
    rest = product(range(4), repeat=len(numbers) - 1)  # the first IMU stays: turning all together is the base's yaw
    return min((first + [(numbers[0] - 1) % 4, *turns] for turns in rest), key=error)


def tips_of(arm: TensegrityArm, places: np.ndarray, inclinations: np.ndarray) -> np.ndarray:
    """(n, 3) tips of the twin in base_link [m], with the IMUs on its struts `places` (k,)."""
    estimator = arm.build_estimator("energy", tries=4)
    pressures = np.full(arm.model.cylinder_count, PRESSURE)
    tips = []
    for measured in inclinations:
        readings = np.full(arm.structure.strut_count, np.nan)
        readings[places] = measured
        tips.append(estimator.update(readings, pressures).tip())
    return np.array(tips)


def placed(tips: np.ndarray, truth: np.ndarray, train: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean error on the fitted half [m], and tips moved and turned about the vertical onto the truth there."""
    middle, target = tips[train].mean(axis=0), truth[train].mean(axis=0)
    left, right = (tips[train] - middle)[:, :2], (truth[train] - target)[:, :2]
    yaw = np.arctan2(np.sum(left[:, 0] * right[:, 1] - left[:, 1] * right[:, 0]), np.sum(left * right))
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    found = (tips - middle) @ turn.T + target
    return float(np.linalg.norm(found - truth, axis=1)[train].mean()), found


def _regression(inputs: np.ndarray, truth: np.ndarray, train: np.ndarray) -> np.ndarray:
    design = np.column_stack([inputs, np.ones(len(inputs))])
    return design @ np.linalg.lstsq(design[train], truth[train], rcond=None)[0]


def _rate_slope(recording: ArmRecording) -> float:
    """Slope of d/dt arccos(a_x/|a|) over the rate that eq. 15 of the paper gives, all struts together."""
    a, w = recording.specific_forces, recording.rates
    printed = (a[:, :, 1] * w[:, :, 2] - a[:, :, 2] * w[:, :, 1]) / np.hypot(a[:, :, 1], a[:, :, 2])
    seen = np.gradient(np.arccos(np.clip(a[:, :, 0] / np.linalg.norm(a, axis=2), -1.0, 1.0)), axis=0) * RATE
    return float(np.sum(printed * seen) / np.sum(printed**2))


def _travel(truth: np.ndarray) -> str:
    return " x ".join(f"{1e3 * span:.0f}" for span in np.ptp(truth, axis=0))


def _row(name: str, estimate: np.ndarray, truth: np.ndarray, train: np.ndarray) -> str:
    errors = 1e3 * np.linalg.norm(estimate - truth, axis=1)
    return (
        f"  {name:<42} mean {errors[~train].mean():6.0f}, median {np.median(errors[~train]):6.0f},"
        f" worst {errors[~train].max():6.0f} (fitted half: mean {errors[train].mean():6.0f})"
    )


def _draw(path: Path, times: np.ndarray, truth: np.ndarray, rows: dict[str, np.ndarray], train: np.ndarray) -> None:
    figure = Figure(figsize=(12.0, 7.0), layout="constrained")
    figure.suptitle("Tip of a real tensegrity arm; shaded: unseen by the fits", x=0.01, ha="left")
    for axes, d, name in zip(figure.subplots(3, 1, sharex=True), range(3), "xyz", strict=True):
        axes.plot(times, 1e3 * truth[:, d], color="#333333", lw=2.5, label="motion capture")
        for (label, estimate), colour in list(zip(rows.items(), ("", "#009e73", "", "#0072b2"), strict=True))[1::2]:
            axes.plot(times, 1e3 * estimate[:, d], color=colour, lw=1.2, label=label)
        axes.fill_between(times, 0, 1, where=~train, transform=axes.get_xaxis_transform(), color="#f1f1f1", zorder=0)
        axes.set_ylabel(f"{name} [mm]")
    axes.set_xlabel("time [s]")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), frameon=False, ncol=3, loc="outside lower center")
    write_picture(path, figure, dpi=110)
