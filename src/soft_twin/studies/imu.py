"""The IMU's filters: the paper's ablation on an emulated chip, and real recordings against other filters.

Pictures: ablation.png (Lai et al. 2025, Figure 7) and recordings.png.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from soft_twin.errors import RecordingError
from soft_twin.files import checked_file, one_line, parse_json
from soft_twin.sensing.broad import read_broad
from soft_twin.sensing.ekf import OrientationEkf
from soft_twin.sensing.evaluation import inclination_errors, inclination_rmse, rms
from soft_twin.sensing.optical_trial import OpticalTrial
from soft_twin.sensing.vqf_orientation import VQF, VqfOrientation
from soft_twin.studies.imu_ablation import RATE, Case, cases
from soft_twin.studies.results import write_picture

matplotlib.use("Agg")

COLOURS = {(False, False): "#d55e00", (True, False): "#e69f00", (False, True): "#56b4e9", (True, True): "#0072b2"}
PUBLISHED = ("madgwick", "mahony")
MAX_RESULTS = 10_000_000  # [bytes]


@dataclass(frozen=True)
class TrialRow:
    """Inclination RMSE of one trial [°], NaN where a filter or a figure is not at hand.

    Attributes:
        name: of the trial.
        ekf, vqf: measured now.
        worst: greatest error of the EKF.
        nis: mean normalised innovation squared of the EKF.
        within: share of the samples whose error the EKF's covariance gives 95 %.
        madgwick, mahony: as BROAD's authors published them.
    """

    name: str
    ekf: float
    vqf: float
    worst: float
    nis: float
    within: float
    madgwick: float
    mahony: float


def run(folder: Path, data: Path) -> str:
    """Do both experiments; their tables. Without BROAD under `data` the second one says so."""
    ablation = cases()
    _draw_ablation(folder / "ablation.png", ablation)
    tables = [ablation_table(ablation)]
    rows = trial_rows(data)
    if rows:
        _draw_trials(folder / "recordings.png", rows)
        tables.append(trial_table(rows))
    else:
        tables.append(f"no BROAD trials (.mat) in {data / 'broad'}: real recordings are left out")
    return "\n\n".join(tables)


def ablation_table(ablation: Sequence[Case]) -> str:
    """The eight cases as lines of text."""
    lines = [
        f"{'motion':8} {'temperature':12} {'EKF':4} {'inclination rms':>16} {'yaw after 30 s':>15} {'greatest yaw':>13}"
    ]
    for case in ablation:
        heated, filtered = ("controlled" if case.heated else "free"), ("on" if case.filtered else "off")
        yaw = np.degrees(case.yaw)
        lines.append(
            f"{case.motion:8} {heated:12} {filtered:4} {np.degrees(rms(case.inclination)):15.2f}° "
            f"{yaw[min(round(30.0 * RATE), len(yaw) - 1)]:14.2f}° {np.abs(yaw).max():12.2f}°"
        )
    return "\n".join(lines)


def trial_rows(data: Path) -> list[TrialRow]:
    """Each BROAD trial under data/broad through the filters; none where there is no such folder."""
    folder = data / "broad"
    published = {name: _published(folder / f"results_{name}_average_rmse.json") for name in PUBLISHED}
    return [_row(read_broad(path), published) for path in sorted(folder.glob("*.mat"))]


def trial_table(rows: Sequence[TrialRow]) -> str:
    """The rows, and their means over the trials at hand."""
    heads = ("EKF", "worst", "VQF", "Madgw.", "Mahony", "NIS", "in 95 %")
    lines = [f"{'inclination RMSE [°]':46} " + " ".join(f"{head:>6}" for head in heads)]
    for row in [*rows, mean_row(rows)]:
        lines.append(
            f"{row.name:46} {row.ekf:6.2f} {row.worst:6.2f} {row.vqf:6.2f} {row.madgwick:6.2f} {row.mahony:6.2f} "
            f"{row.nis:6.2f} {100.0 * row.within:6.1f}%"
        )
    lines.append("Madgwick and Mahony: as published with BROAD, one parameter set for all of its 39 trials.")
    return "\n".join(lines)


def mean_row(rows: Sequence[TrialRow]) -> TrialRow:
    """Means over the rows, and the worst of all errors."""
    means = {
        name: float(np.mean([getattr(row, name) for row in rows]))
        for name in ("ekf", "vqf", "nis", "within", *PUBLISHED)
    }
    return TrialRow(name=f"mean of {len(rows)}", worst=max(row.worst for row in rows), **means)


def _row(trial: OpticalTrial, published: dict[str, dict[str, float]]) -> TrialRow:
    counted = trial.counted
    ekf = OrientationEkf()
    track = ekf.update_batch(trial.angular_velocity, trial.specific_force, trial.rate)
    errors = inclination_errors(track.quaternion_wxyz[counted], trial.quaternion_wxyz[counted])
    normalised = errors**2 / np.mean(track.std[counted, :2] ** 2, axis=1)
    return TrialRow(
        name=trial.name,
        ekf=np.degrees(rms(errors)),
        vqf=np.degrees(inclination_rmse(VqfOrientation(), trial)) if VQF is not None else np.nan,
        worst=np.degrees(errors.max()),
        nis=float(track.nis.mean()),
        within=float(np.mean(normalised < _CHI2_2_95)),
        **{name: values.get(trial.name, np.nan) for name, values in published.items()},
    )


_CHI2_2_95 = 5.991


def _published(path: Path) -> dict[str, float]:
    """Inclination RMSE [°] by trial from one of BROAD's result files; empty where it is not there."""
    if not path.exists():
        return {}
    checked_file(path, "result file", MAX_RESULTS, RecordingError)
    try:
        trials = parse_json(path.read_text(encoding="utf-8"))["trials"]
        return {name: float(values["tagp_parameters"]["inclination_rmse_deg"]) for name, values in trials.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(f"{path}: not a result file of BROAD: {one_line(error)}") from error


def _draw_ablation(path: Path, ablation: Sequence[Case]) -> None:
    figure = Figure(figsize=(11.0, 6.5), layout="constrained")
    for column, motion in enumerate(("static", "swings")):
        chosen = [case for case in ablation if case.motion == motion]
        for row, what in enumerate(("yaw", "inclination")):
            _draw_errors(figure.add_subplot(2, 2, 2 * row + column + 1), chosen, motion, what)
    write_picture(path, figure, dpi=130)


def _draw_errors(axes: Axes, chosen: Sequence[Case], motion: str, what: str) -> None:
    for case in chosen:
        errors = np.degrees(getattr(case, what))[:: int(RATE)]
        label = f"temperature {'controlled' if case.heated else 'free'}, EKF {'on' if case.filtered else 'off'}"
        axes.plot(np.arange(len(errors)) / 60.0, errors, color=COLOURS[case.heated, case.filtered], label=label)
    axes.set(title=f"{motion}: {what} error", xlabel="time [min]", ylabel="error [°]")
    axes.grid(alpha=0.3)
    if what == "yaw" and motion == "static":
        axes.legend(fontsize=8)


def _draw_trials(path: Path, rows: Sequence[TrialRow]) -> None:
    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(rows))
    series = {"EKF": "ekf", "VQF": "vqf", "Madgwick (published)": "madgwick", "Mahony (published)": "mahony"}
    for k, ((label, field), colour) in enumerate(
        zip(series.items(), ("#0072b2", "#56b4e9", "#e69f00", "#d55e00"), strict=True)
    ):
        axes.bar(places + 0.2 * (k - 1.5), [getattr(row, field) for row in rows], 0.2, label=label, color=colour)
    axes.set_xticks(places, [row.name.replace("_", " ") for row in rows], rotation=30, ha="right", fontsize=7)
    axes.set(ylabel="inclination RMSE [°]", title="BROAD: one parameter set for all trials")
    axes.grid(axis="y", alpha=0.3)
    axes.legend()
    write_picture(path, figure, dpi=130)
