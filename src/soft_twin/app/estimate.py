"""`soft-twin estimate RECORDING`: the node's orientation filter over a recording, for comparisons."""

import argparse
from pathlib import Path

import numpy as np

from soft_twin.errors import RecordingError, UsageError
from soft_twin.files import whole_file
from soft_twin.recording.imu import read_imu_recording
from soft_twin.sensing.ekf import OrientationEkf
from soft_twin.sensing.orientation import OrientationTrack
from soft_twin.sensing.recorded_units import unit_doubts
from soft_twin.sensing.vqf_orientation import VqfOrientation

FILTERS = {"ekf": OrientationEkf, "vqf": VqfOrientation}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recording",
        type=Path,
        help="BROAD's .mat, a bag (folder, .mcap, .db3) with sensor_msgs/Imu, or .npz: gyr, acc, rate",
    )
    parser.add_argument("--estimator", choices=FILTERS, default="ekf", help="orientation filter; default ekf")
    parser.add_argument("--topic", help="of the samples in a bag; default: the only one, or the one ending in data_raw")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.npz", help="quat (n, 4) w x y z sensor to world, bias, std"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.out.suffix != ".npz":
        raise UsageError(f"--out {arguments.out}: expected a name that ends in .npz")
    recording = read_imu_recording(arguments.recording, arguments.topic)
    track = FILTERS[arguments.estimator]().update_batch(
        recording.angular_velocity,
        recording.specific_force,
        recording.rate,
        recording.temperature,
        recording.time,
    )
    _check(track, arguments.recording)
    doubts = unit_doubts(recording.angular_velocity, recording.specific_force, recording.steps)
    try:
        with whole_file(arguments.out) as partial:
            np.savez(partial, quat=track.quaternion_wxyz, bias=track.gyroscope_bias, std=track.std)
    except OSError as error:
        raise UsageError(f"--out {arguments.out}: cannot be written: {error.strerror}") from error
    count = len(track.quaternion_wxyz)
    print(f"{arguments.recording.name}: {count} samples, {recording.steps.sum():.1f} s at {recording.rate:.1f} Hz")
    print(f"gyroscope bias at the end [°/s]: {np.array2string(np.degrees(track.gyroscope_bias[-1]), precision=3)}")
    if len(track.nis):
        print(f"normalised innovation squared: {track.nis.mean():.2f} on average (1: all that the model allows)")
    for doubt in doubts:
        print(f"note: {doubt}")
    print(f"written: {arguments.out}")
    return 0


def _check(track: OrientationTrack, recording: Path) -> None:
    """Refuse to write what is no orientation."""
    wrong = np.flatnonzero(~np.isfinite(np.column_stack([track.quaternion_wxyz, track.gyroscope_bias])).all(axis=1))
    if len(wrong):
        raise RecordingError(f"{recording}: no orientation from sample {wrong[0]} on: the filter gives no numbers")
