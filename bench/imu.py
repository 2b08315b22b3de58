"""The IMU's filters: real recordings, speed, drift on an emulated chip, temperature, inclinations of struts."""

import math
import os
import time
from pathlib import Path

import numpy as np

from soft_twin.app.measuring import Figure, time_calls
from soft_twin.sensing.ekf import OrientationEkf
from soft_twin.sensing.evaluation import heading_errors, inclination_errors, rms
from soft_twin.sensing.inclination import StrutInclinations, StrutParameters
from soft_twin.sensing.samples import ImuSample
from soft_twin.sensing.vqf_orientation import VQF, VqfOrientation
from soft_twin.studies.imu import mean_row, trial_rows
from soft_twin.studies.imu_ablation import RATE, WARM_UP, filter_orientation, make_motion, record, temperature_error

DATA = Path(os.environ.get("SOFT_TWIN_DATA", "../shared/data"))
BATCH = (180.0, 285.714)  # [s], [Hz]
STRUT_RATE = 80.0  # [Hz]


def measure() -> list[Figure]:
    """All figures; those on BROAD only where its trials are at hand."""
    return [*_recordings(), *_speed(), *_drift(), *_temperature(), *_struts()]


def _recordings() -> list[Figure]:
    rows = trial_rows(DATA)
    if not rows:
        return []
    mean = mean_row(rows)
    return [
        Figure("broad.trials", "BROAD trials at hand", len(rows)),
        Figure("broad.ekf_deg", "inclination RMSE, EKF, mean", mean.ekf, "°", "<= VQF in the same run"),
        Figure("broad.vqf_deg", "inclination RMSE, VQF, mean", mean.vqf, "°"),
        Figure(
            "broad.ekf_worst_trial_deg",
            "inclination RMSE, EKF, worst trial",
            max(row.ekf for row in rows),
            "°",
            "<= 2.5",
        ),
        Figure("broad.nis", "EKF's normalised innovation squared, mean", mean.nis, "", "<= 1"),
        Figure("broad.within_95", "errors within the EKF's 95 % bound", 100.0 * mean.within, "%", ">= 95"),
    ]


def _speed() -> list[Figure]:
    duration, rate = BATCH
    rng = np.random.default_rng(1)
    gyr = 0.3 * rng.standard_normal((round(duration * rate), 3))
    acc = np.array([0.0, 0.0, 9.81]) + 0.3 * rng.standard_normal(gyr.shape)
    samples = [ImuSample(i / rate, gyr[i], acc[i], math.nan) for i in range(len(gyr))]
    ekf = OrientationEkf()
    per_sample = time_calls(lambda i: ekf.update(samples[i]), len(samples), warm_up=0)
    figures = [
        Figure("update_us.median", "one update, streaming", 1e3 * float(np.median(per_sample)), "µs", "<= 10"),
        Figure("update_us.p99", "the same, 99th percentile", 1e3 * float(np.percentile(per_sample, 99)), "µs"),
    ]
    batch = float(np.median(time_calls(lambda i: OrientationEkf().update_batch(gyr, acc, rate), 7, warm_up=1)))
    figures.append(Figure("batch_ms", "a 3-minute recording, batch", batch, "ms"))
    if VQF is not None:
        vqf = float(np.median(time_calls(lambda i: VqfOrientation().update_batch(gyr, acc, rate), 7, warm_up=1)))
        figures.append(Figure("batch_over_vqf", "the same, over VQF's C++ batch", batch / vqf, "x", "<= 3"))
    return figures


def _drift() -> list[Figure]:
    figures = []
    for name, inclination_reach, yaw_reach in (("static", "", "<= 0.5"), ("swings", "<= 0.5", "<= 3")):
        motion = make_motion(name)
        orientation = filter_orientation(record(motion, heated=True), motion)
        after = slice(round(WARM_UP * RATE), None)
        estimated, truth = orientation[after], motion.quaternion_wxyz[after]
        yaw = np.degrees(np.unwrap(heading_errors(estimated, truth)))
        tilt = math.degrees(rms(inclination_errors(estimated, truth)))
        figures += [
            Figure(f"{name}.inclination_deg", f"{name} 10 min: inclination, rms", tilt, "°", inclination_reach),
            Figure(
                f"{name}.yaw_deg",
                f"{name} 10 min: greatest yaw drift",
                float(np.abs(yaw - yaw[0]).max()),
                "°",
                yaw_reach,
            ),
        ]
    return figures


def _temperature() -> list[Figure]:
    step, half = 10.0, 90.0
    error = temperature_error(-step, 2.0 * half)
    settled, after = error[3000 : round(100 * half)], error[round(100 * half) :]
    return [
        Figure(
            "temperature.from_30_s_K",
            "temperature: greatest deviation from 30 s on",
            float(np.abs(settled).max()),
            "K",
            "<= 0.1",
        ),
        Figure(
            "temperature.overshoot_K",
            "temperature: overshoot",
            float(max(error[: round(100 * half)].max(), 0.0)),
            "K",
            "<= 0.5",
        ),
        Figure(
            "temperature.step_K",
            "temperature: deviation after the air drops by 10 K",
            float(np.abs(after).max()),
            "K",
            "<= 0.3",
        ),
    ]


def _struts() -> list[Figure]:
    samples, truth = _swinging_strut(60.0)
    late = slice(round(10.0 * STRUT_RATE), None)
    figures = []
    for estimator, reach in (("ekf", "<= 1.0"), ("complementary", "")):
        struts = StrutInclinations(["s"], parameters=StrutParameters(estimator=estimator))
        angles = np.array([_updated(struts, sample) for sample in samples])
        error = math.degrees(rms((angles - truth)[late]))
        figures.append(
            Figure(f"strut.{estimator}_deg", f"strut swinging ±20° at 0.5 Hz: {estimator}, rms", error, "°", reach)
        )
    return figures + [_hundred_struts(samples)]


def _updated(struts: StrutInclinations, sample: ImuSample) -> float:
    struts.update("s", sample)
    return float(struts.angles(sample.time)[0])


def _hundred_struts(samples: list[ImuSample]) -> Figure:
    names = [f"strut_{i}" for i in range(100)]
    struts = StrutInclinations(names)
    rounds = samples[: round(2.0 * STRUT_RATE)]
    start = time.perf_counter()
    for sample in rounds:
        for name in names:
            struts.update(name, sample)
        struts.angles(sample.time)
    load = (time.perf_counter() - start) * STRUT_RATE / len(rounds)
    return Figure("strut.load_100", "100 struts at 80 Hz: share of one core", 100.0 * load, "%")


def _swinging_strut(duration: float, lever: float = 0.3) -> tuple[list[ImuSample], np.ndarray]:
    """Samples and true inclination of a strut about its bottom node: 40° ± 20° at 0.5 Hz, gyroscope bias 0.5 °/s."""
    t = np.arange(round(duration * STRUT_RATE)) / STRUT_RATE
    amplitude, pace = math.radians(20.0), math.pi
    angle = math.radians(40.0) + amplitude * np.sin(pace * t)
    rate, acceleration = amplitude * pace * np.cos(pace * t), -amplitude * pace**2 * np.sin(pace * t)
    zero = np.zeros_like(t)
    force = 9.81 * np.column_stack([np.cos(angle), zero, np.sin(angle)])
    force += lever * np.column_stack([-(rate**2), zero, -acceleration])
    rates = np.column_stack([zero, rate, zero]) + math.radians(0.5)
    rng = np.random.default_rng(0)
    rates += 1e-3 * rng.standard_normal(rates.shape)
    force += 0.02 * rng.standard_normal(force.shape)
    return [ImuSample(a, w, f, math.nan) for a, w, f in zip(t, rates, force, strict=True)], angle
