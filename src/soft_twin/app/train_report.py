"""What `soft-twin train` says of what it has learned: errors before and after, what is odd, and what it cost."""

import numpy as np

from soft_twin.learning.frames import MarkerRecording, Recording
from soft_twin.learning.pipeline import Errors, Learned, Pipeline
from soft_twin.learning.simulations import pressure_limits

MUCH = 0.01  # of the body's size, that frames stay off what was learned of them: sound ones stay off by half, or less
WIDE, WIDER = 0.005, 2.0  # of the body's size, and of the mean at the mesh's points, that N_fk is off between them


def told(learned: Learned, pipeline: Pipeline) -> tuple[list[str], list[str]]:
    """Lines of what was learned, and of what is odd about it."""
    simulations, recording = learned.simulations, pipeline.recording
    lines = [_of_simulations(learned), _of_recording(recording)]
    if learned.unseen is not None:
        count = len(learned.unseen.after)
        lines.append(_of_errors(f"  {count} frames left out, by what the others teach", learned.unseen))
    lines.append(_of_errors("  all frames, by all", learned.seen))
    seconds = {"simulations": simulations.seconds * (len(simulations.points) + len(simulations.failed))}
    seconds |= learned.seconds
    lines.append("processor time: " + ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items()))
    odd = [f"simulation {number} was left out: {reason}" for number, reason in simulations.failed.items()]
    odd += _of_limits(pipeline) + _of_wide_faces(learned, pipeline.learning.parts)
    after, others = learned.seen.after[:, 0], np.median(learned.seen.after[:, 0])
    odd += [
        f"{recording.name(row)} stays {after[row]:.2f} mm off, others {others:.2f} mm in the median: its pressures?"
        for row in learned.odd
    ]
    return lines, odd + _of_all(others, learned.correction.shapes.size)


def _of_all(off: float, size: float) -> list[str]:
    """Of frames that stay off by so much in the median [mm], of a body of a size [mm]."""
    if off <= MUCH * size:
        return []
    return [
        f"the frames stay {off:.2f} mm off in the median, {100.0 * off / size:.1f} % of the body: are they in "
        "base_link, in metres, and of these pressures? Or the twin is of another robot"
    ]


def _of_wide_faces(learned: Learned, parts: int) -> list[str]:
    """Of faces so wide that what is between their points is another surface."""
    between, size = learned.between, learned.correction.shapes.size
    if between.mean <= WIDER * learned.surrogate or between.largest <= WIDE * size:
        return []
    return [
        f"between the mesh's points N_fk is {between.largest:.1f} mm off at most, {100.0 * between.largest / size:.1f} "
        f"% of the body: faces are wide and curved; more `parts` of `learning` than {parts} teach what is there"
    ]


def _of_simulations(learned: Learned) -> str:
    simulations, between = learned.simulations, learned.between
    return (
        f"{len(simulations.points)} simulations of {simulations.seconds:.2f} s, {int(simulations.by_volume.sum())} of "
        f"them by volume; those that were not trained on are met within {learned.surrogate:.2f} mm in the mean at "
        f"the mesh's points, {between.mean:.2f} mm between them ({between.largest:.1f} at most)"
    )


def _of_recording(recording: Recording | MarkerRecording) -> str:
    if isinstance(recording, Recording):
        points = [len(scan.points) for scan in recording.scans]
        return f"{len(points)} scans of {min(points)}…{max(points)} points, from the surface [mm], mean (largest):"
    missed = 100.0 * np.isnan(recording.markers).any(axis=2).mean()
    frames, markers = recording.markers.shape[:2]
    return f"{frames} frames of {markers} markers, {missed:.1f} % missed, from their places [mm], mean (largest):"


def _of_errors(name: str, errors: Errors) -> str:
    (before, most), (after, least) = (each.mean(axis=0) for each in errors)
    return f"{name:48} {before:8.2f} ({most:.1f}) before, {after:8.2f} ({least:.1f}) after"


def _of_limits(pipeline: Pipeline) -> list[str]:
    """Of chambers whose range ends before the description's does."""
    pairs = zip(pipeline.robot.chamber_names, pressure_limits(pipeline.robot), pipeline.inflation.limits, strict=True)
    return [
        f"{name} balloons: learned up to {own[1]:g} of {said[1]:g} Pa"
        for name, said, own in pairs
        if own[1] < said[1] - 1e-6 * abs(said[1])
    ]
