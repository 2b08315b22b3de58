"""Does heating the chip matter? (the paper's Figures 7c and 7d): yaw by the EKF, with and without temperature control.

The paper's unheated chip loses 20° of yaw in 30 s. The emulated one has a gyroscope whose bias moves by about SLOPE per
kelvin, seventeen times what its data sheet tells, and air that warms by 15 °C in these 30 s, as motors warm it. Its
bias was calibrated at the temperature at which it rests, heated or not. After the accelerometer's calibration and a
minute of rest it stays at rest, or swings as the paper's elbow does, in trials with other chips; each of them twice,
with the heater controlled and without. Files: table.json, heating.png, heating.mcap (what the chips of the first trial
said, a motion behind the other, heated and not, each with its minute of rest). No loop: a chip and a filter.
"""

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.emulation.imu import EmulatedImu, EmulatedImuParameters
from soft_twin.parallel import compute_here
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.robots import load_robot
from soft_twin.sensing.evaluation import heading_errors, inclination_errors
from soft_twin.studies.imu_ablation import (
    MOTIONS,
    RATE,
    WARM_UP,
    Recorded,
    filter_orientation,
    make_motion,
    record,
)
from soft_twin.studies.results import write_picture
from soft_twin.studies.slender.shared import write_table

matplotlib.use("Agg")

SLOPE = np.radians(0.25)  # [rad/s/K] standard deviation of the gyroscope's
CALIBRATED = {False: 23.0, True: 38.0}  # [°C] at which the bias was taken away: that of rest, heated or not
AIR = (20.0, 35.0)  # [°C] at the start and at the end
DURATION = 30.0  # [s]
TRIALS = (1, 2, 3, 4)  # seeds
PAPER = {"yaw_deg": 20.0, "seconds": 30.0, "heated": False}


@dataclass(frozen=True)
class Row:
    """A trial: what yaw and inclination are off after DURATION [°], and by how much the chip warmed meanwhile [K]."""

    motion: str
    heated: bool
    trial: int
    yaw_deg: float
    inclination_deg: float
    warmed: float


def run(folder: Path, data: Path) -> str:
    """Every trial of every motion, heated and not; `data` is not used."""
    cases = [(motion, heated, trial) for motion in MOTIONS for heated in (False, True) for trial in TRIALS]
    found = compute_here(partial(drift, DURATION), cases, "trials")
    rows = [row for row, *_ in found]
    write_table(folder, {"rows": [asdict(row) for row in rows], "paper": PAPER, "loop": "none: a chip and a filter"})
    draw(folder / "heating.png", [(row, yaw) for row, yaw, _ in found])
    record_chips(folder / "heating.mcap", [(row, said) for row, _, said in found if row.trial == TRIALS[0]])
    return table(rows)


def drift(duration: float, case: tuple[str, bool, int]) -> tuple[Row, np.ndarray, Recorded]:
    """The row of a case (motion, heated, trial), its yaw error over time (n,) [°], 0 at the start, and what the chip
    said."""
    name, heated, trial = case
    parameters = EmulatedImuParameters()
    gyroscope = replace(parameters.gyroscope, bias_per_kelvin=SLOPE)
    chip = EmulatedImu(replace(parameters, gyroscope=gyroscope, reference_temperature=CALIBRATED[heated]), seed=trial)
    motion, begin = make_motion(name, duration), round(WARM_UP * RATE)
    recorded = record(motion, heated, RATE, AIR, chip)
    orientation = filter_orientation(recorded, motion)[begin:]
    yaw = np.degrees(np.unwrap(heading_errors(orientation, motion.quaternion_wxyz[begin:])))
    tilt = np.degrees(inclination_errors(orientation, motion.quaternion_wxyz[begin:]))
    warmed = float(recorded.temperature[-1] - recorded.temperature[begin])
    row = Row(name, heated, trial, float(abs(yaw[-1] - yaw[0])), float(tilt.max()), warmed)
    return row, yaw - yaw[0], recorded


def record_chips(path: Path, found: list[tuple[Row, Recorded]]) -> None:
    """What chips said, one trial behind the other, each a phase."""
    begin = 0.0
    with SimulatedRecording(path, load_robot("slender")) as recording:
        for row, said in found:
            recording.text("run/phase", begin, f"{row.motion}, {'heated' if row.heated else 'not heated'}")
            for i, (rates, force, celsius) in enumerate(zip(*vars(said).values(), strict=True)):
                recording.imu("imu/data_raw", begin + i / RATE, rates, force)
                recording.temperature("imu/temperature", begin + i / RATE, celsius)
            begin += len(said.temperature) / RATE


def table(rows: list[Row]) -> str:
    """Means and ranges of the trials."""
    lines = [f"{'motion':8} {'heater':8} {'yaw after 30 s [°]':>26} {'inclination [°]':>16} {'chip warmed by [K]':>19}"]
    for motion in MOTIONS:
        for heated in (False, True):
            own = [row for row in rows if (row.motion, row.heated) == (motion, heated)]
            yaws = [row.yaw_deg for row in own]
            each = ", ".join(f"{yaw:.2f}" for yaw in yaws)
            lines.append(
                f"{motion:8} {'on' if heated else 'off':8} {each:>26} {max(row.inclination_deg for row in own):16.2f} "
                f"{np.mean([row.warmed for row in own]):19.2f}"
            )
    return "\n".join([*lines, f"paper, off: about {PAPER['yaw_deg']:g}° in {PAPER['seconds']:g} s"])


def draw(path: Path, found: list[tuple[Row, np.ndarray]]) -> None:
    """Yaw errors over time."""
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    for axes, motion in zip(figure.subplots(1, len(MOTIONS), sharey=True), MOTIONS, strict=True):
        for row, yaw in found:
            if row.motion == motion:
                label = ("heated" if row.heated else "not heated") if row.trial == TRIALS[0] else None
                colour = "#0072b2" if row.heated else "#d55e00"
                axes.plot(np.arange(len(yaw)) / RATE, yaw, color=colour, label=label)
        axes.set(title=motion, xlabel="time [s]", ylabel="yaw error [°]")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    write_picture(path, figure, dpi=110)
