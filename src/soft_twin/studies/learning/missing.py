"""What is lost where points of scans, or markers, are missing: the manipulator learned from less and less.

Scans of all of its surface, with the scanner's noise, lose a hole each, at random places; markers that are all seen
lose some at random. Each is drawn several times. Simulations, scans of the reality and N_fk's training are those of
learning/manipulator in the folder beside this one, or are made there; each row is stored as it ends. Picture:
missing.png; table.json.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from soft_twin.emulation.motion_capture import spread_markers
from soft_twin.errors import UsageError
from soft_twin.learning.correction import ShapeModel
from soft_twin.learning.frames import MarkerRecording, Recording, Scan
from soft_twin.learning.identity import description_hash
from soft_twin.learning.markers import learn_warp_by_markers
from soft_twin.learning.simulations import learnable
from soft_twin.learning.teaching import learn_warp
from soft_twin.learning.training import WarpTraining
from soft_twin.mesh.triangles import drawn
from soft_twin.parallel import Workers, compute_all, terminal_progress
from soft_twin.studies.learning.prediction import errors_of, reality_at_rest, told
from soft_twin.studies.learning.shape import learned
from soft_twin.studies.results import write_picture, write_text

matplotlib.use("Agg")

ROBOT = "manipulator"
DRAWS = 3
POINTS, MARKERS = (0.2, 0.4), (0.1, 0.3)  # shares that are missing
SCANNED, BY_EYES, SEEN = "scans", "scans as its eyes see it", "markers"
Case = tuple[str, float, int]  # name, share that is missing, number of the draw


def run(folder: Path, data: Path, robot: str = ROBOT) -> str:
    """Learn from all and from less, compare; `data` is not used."""
    robot, learning = learnable(robot)
    if learning.markers is None:
        raise UsageError(f"robot '{robot.name}' has no markers: {robot.path}, learning.markers")
    beside = folder.parent / robot.name
    digest = f"{description_hash(robot)} {learning.model_dump_json()}"
    cases = list(_known(str(robot.path), str(beside), digest).recordings)
    work = partial(trained, str(robot.path), str(beside), digest)
    rows = compute_all(work, cases, Workers(1), folder / "rows", terminal_progress, "trainings")
    terminal_progress("")
    content = [
        {"name": name, "missing": share, "draw": number} | {key: float(value) for key, value in row.items()}
        for (name, share, number), row in zip(cases, rows, strict=True)
    ]
    write_text(folder / "table.json", json.dumps({"rows": content}, indent=1))
    draw(folder, content)
    return table(content)


def trained(path: str, beside: str, digest: str, case: Case) -> dict[str, np.ndarray]:
    """Mean and largest error [mm] at the unseen pressures of what was learned from one of the `recordings`, and the
    processor time of its training [s]. `digest` is what stored results belong to."""
    known = _known(path, beside, digest)
    recording = known.recordings[case]
    learn = learn_warp_by_markers if isinstance(recording, MarkerRecording) else learn_warp
    training, begin = WarpTraining.described(known.learning), time.process_time()
    correction = learn(known.shapes, recording, known.robot, training, say=terminal_progress)
    seconds = time.process_time() - begin
    mean, largest = errors_of(correction, known.unseen, True).mean(axis=0)
    return {"mean_mm": mean, "largest_mm": largest, "seconds": np.array(seconds)}


class _Known(NamedTuple):
    robot: Any
    learning: Any
    shapes: ShapeModel
    recordings: dict[Case, Recording | MarkerRecording]
    unseen: list[dict[str, np.ndarray]]


@lru_cache(maxsize=1)
def _known(path: str, beside: str, digest: str) -> _Known:
    """What all trainings share; kept while the digest is the same."""
    robot, learning = learnable(path)
    correction, frames, _ = learned(robot, learning, Path(beside))
    seen, unseen = frames[: learning.frames], frames[learning.frames :]
    found = recordings(seen, reality_at_rest(robot, learning, Path(beside)), learning)
    return _Known(robot, learning, correction.shapes, dict(found), unseen)


def recordings(
    frames: list[dict[str, np.ndarray]], at_rest: dict[str, np.ndarray], learning
) -> Iterator[tuple[Case, Recording | MarkerRecording]]:
    """What is learned from, each case and its recording."""
    pressures, held = told(frames)
    scans, markers = whole_scans(frames, learning), all_markers(frames, at_rest, learning)
    for share, number in _draws(POINTS):
        left = with_holes(scans, share, [learning.seed, 8, number])
        yield (SCANNED, share, number), Recording(pressures, left, held=held)
    own = [Scan(frame["scan"], frame["normals"]) for frame in frames]
    yield (BY_EYES, 0.0, 0), Recording(pressures, own, held=held)
    for share, number in _draws(MARKERS):
        yield (SEEN, share, number), with_gaps(markers, share, [learning.seed, 9, number])


def _draws(shares: Sequence[float]) -> list[tuple[float, int]]:
    """Nothing missing once, and each share several times."""
    return [(0.0, 0), *product(shares, range(DRAWS))]


def whole_scans(frames: list[dict[str, np.ndarray]], learning) -> list[Scan]:
    """Points all over the true surface of each frame, with the scanner's noise."""
    scans = []
    for number, frame in enumerate(frames):
        random = np.random.default_rng([learning.seed, 7, number])
        points, normals = drawn(frame["points"], frame["triangles"], learning.scanner.points, random)
        scans.append(Scan(points + random.normal(0.0, learning.scanner.noise, points.shape), normals))
    return scans


def with_holes(scans: list[Scan], share: float, seed: list[int]) -> list[Scan]:
    """Each without the share of its points that are nearest to one of them."""
    random, left = np.random.default_rng(seed), []
    for scan in scans:
        away = np.linalg.norm(scan.points - scan.points[random.integers(len(scan.points))], axis=1)
        rows = np.sort(np.argsort(away)[round(share * len(away)) :])
        left.append(Scan(scan.points[rows], scan.normals[rows]))
    return left


def all_markers(frames: list[dict[str, np.ndarray]], at_rest: dict[str, np.ndarray], learning) -> MarkerRecording:
    """All markers in each frame, with the cameras' noise."""
    random = np.random.default_rng([learning.seed, 10])
    places = spread_markers(at_rest["points"], at_rest["triangles"], learning.markers.count, random)
    points = np.array([places.at(each["points"]) for each in (at_rest, *frames)])
    rest, *seen = points + random.normal(0.0, learning.markers.noise, points.shape)
    pressures, held = told(frames)
    return MarkerRecording(pressures, np.array(seen), rest, held=held)


def with_gaps(recording: MarkerRecording, share: float, seed: list[int]) -> MarkerRecording:
    """Without that share of its markers, at random in each frame."""
    gone = np.random.default_rng(seed).uniform(size=recording.markers.shape[:2]) < share
    return replace(recording, markers=np.where(gone[..., None], np.nan, recording.markers))


def table(content: list[dict]) -> str:
    """Errors on the unseen pressures, and how much worse they are than those of all there is to see."""
    lines = [f"{'errors on unseen pressures':26} {'missing':>8} {'mean [mm]':>10} {'largest [mm]':>13} {'change':>8}"]
    for name, share, mean, largest, change in summed(content):
        lines.append(f"{name:26} {100 * share:6.0f} % {mean:10.2f} {largest:13.1f} {100 * change:6.0f} %")
    return "\n".join(lines)


def summed(content: list[dict]) -> list[tuple[str, float, float, float, float]]:
    """Name, share that is missing, mean and largest error [mm] over the draws, and the mean's change."""
    found, whole = [], {}
    for name, share in dict.fromkeys((row["name"], row["missing"]) for row in content):
        rows = [row for row in content if (row["name"], row["missing"]) == (name, share)]
        mean, largest = (float(np.mean([row[key] for row in rows])) for key in ("mean_mm", "largest_mm"))
        kind = name.split()[0]
        found.append((name, share, mean, largest, mean / whole.setdefault(kind, mean) - 1.0))
    return found


def draw(folder: Path, content: list[dict]) -> None:
    """Every training's error over what was missing."""
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    plot = figure.subplots()
    for name, colour in zip((SCANNED, BY_EYES, SEEN), ("#0072b2", "#d55e00", "#009e73"), strict=True):
        rows = [row for row in content if row["name"] == name]
        plot.plot(
            [100 * row["missing"] for row in rows], [row["mean_mm"] for row in rows], "o", color=colour, label=name
        )
    plot.set(xlabel="missing [%]", ylabel="mean error [mm]", title="unseen pressures")
    plot.set_ylim(0.0, 1.1 * max(row["mean_mm"] for row in content))
    plot.legend(frameon=False)
    write_picture(folder / "missing.png", figure, dpi=110)
