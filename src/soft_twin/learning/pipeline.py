"""The whole way from a recording of a robot to its correction, with what it cost and what it is worth.

What can be wrong is told before what takes long: the surface, the recording, and, by a shape of the twin for each of
its frames, whether this is of the robot at all.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soft_twin.learning.correction import Correction, ShapeModel
from soft_twin.learning.fit_errors import frame_errors
from soft_twin.learning.frames import MarkerRecording, Recording, read_recording
from soft_twin.learning.markers import learn_warp_by_markers
from soft_twin.learning.plausibility import check_frames, check_inflation, checked_rows, outliers
from soft_twin.learning.samples import Inflation
from soft_twin.learning.shape_errors import Between, errors_between
from soft_twin.learning.simulations import (
    Simulations,
    SurfaceMesh,
    inflation_of,
    learned_surface,
    pressure_limits,
    simulate_all,
    simulated,
)
from soft_twin.learning.teaching import learn_shapes, learn_warp
from soft_twin.learning.training import EPOCHS, SHAPE_EPOCHS, WarpTraining
from soft_twin.parallel import Say, Workers
from soft_twin.robots.fem_robot import FemRobot

if TYPE_CHECKING:
    from soft_twin.descriptions.learning import Learning

LEFT_OUT, LEAST_FRAMES = 5, 10  # one of so many frames is left out for a test, where there are so many at least


class Errors(NamedTuple):
    """Of frames: (f, 2) mean and largest distance [mm] of what was seen from the surface, simulated and corrected."""

    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True)
class Learned:
    """What a pipeline yields.

    Attributes:
        correction: of all frames.
        simulations: of the twin.
        surrogate: mean distance [mm] of N_fk from simulations that it does not know, at the mesh's points.
        between: distances of its surface from these between the points.
        unseen: errors of frames that were left out, of what the others teach; None: there are too few frames.
        seen: errors of all frames.
        odd: numbers of the frames whose errors are many times the others'.
        seconds: processor time of each stage in this process.
    """

    correction: Correction
    simulations: Simulations
    surrogate: float
    between: Between
    unseen: Errors | None
    seen: Errors
    odd: np.ndarray
    seconds: dict[str, float]


@dataclass(frozen=True)
class Pipeline:
    """A robot, what was recorded of it, and where its simulations are stored.

    Attributes:
        robot, learning: and what its description says of learning.
        folder: of the recording.
        store: of the simulations.
        workers: who simulate.
        say: is called with lines of progress.
    """

    robot: FemRobot
    learning: "Learning"
    folder: Path
    store: Path
    workers: Workers
    say: Say | None = None
    _seconds: dict[str, float] = field(default_factory=dict, init=False)

    @cached_property
    def surface(self) -> SurfaceMesh:
        """That is learned.

        Raises:
            MeshError: there is none of its name, or it cannot be flattened.
        """
        return learned_surface(self.robot, self.learning)

    @cached_property
    def inflation(self) -> Inflation:
        """Of the twin's chambers.

        Raises:
            ConvergenceError, InputError: as `find_inflation`.
        """
        return inflation_of(self.robot, self.store)

    @cached_property
    def recording(self) -> Recording | MarkerRecording:
        """What was recorded, which is of this robot at these pressures.

        Raises:
            RecordingError: files are wrong, see `read_recording`, or frames, see `plausibility`.
        """
        names, size = self.robot.chamber_names, float(np.ptp(self.surface.points, axis=0).max())
        found = read_recording(self.folder, names, pressure_limits(self.robot), size)
        check_inflation(found.pressures, names, self.inflation, found.name)
        rows = checked_rows(len(found.pressures))
        shapes = self._simulated(found.pressures[rows])
        known = [i for i, each in enumerate(shapes) if not str(each["failure"])]
        check_frames(found, rows[known], [shapes[i]["points"] for i in known], self.surface.triangles)
        return found

    def simulate(self, count: int | None = None) -> Simulations:
        """So many shapes of the twin, by default as many as the description says.

        Raises:
            ConvergenceError: of `simulate_all`.
        """
        count = self.learning.simulations if count is None else count
        surface, parts = self.learning.surface, self.learning.parts
        return simulate_all(self.robot, surface, count, self.workers, self.store, self.say, parts)

    def learn(self, simulations: Simulations, seed: int = 0, epochs: int = EPOCHS) -> Learned:
        """All networks, and, where there are frames enough, a test on some that are left out.

        Args:
            simulations: of the twin.
            seed: of the training.
            epochs: of the warp at the most; fewer shorten all.

        Raises:
            RecordingError: the recording, or a marker, is not of this surface.
            ConvergenceError: training diverges.
        """
        recording, training = self.recording, WarpTraining.described(self.learning, seed=seed, epochs=epochs)
        with self._stage("shapes"):
            sizes = self.learning.shape_layers, seed, max(1, SHAPE_EPOCHS * epochs // EPOCHS)
            shapes, surrogate = learn_shapes(simulations, self.surface, self.inflation, *sizes, self.say)
            between = errors_between(shapes, simulations, self.surface, seed)
        unseen = self._tested(shapes, training)
        with self._stage("inputs and warp"):
            correction = self._corrected(shapes, recording, training)
        seen = errors_of(correction, recording)
        odd = outliers(seen.after[:, 0], shapes.size)
        return Learned(correction, simulations, surrogate, between, unseen, seen, odd, dict(self._seconds))

    def _tested(self, shapes: ShapeModel, training: WarpTraining) -> Errors | None:
        rows = np.arange(len(self.recording.pressures))
        if len(rows) < LEAST_FRAMES:
            return None
        unseen = rows % LEFT_OUT == LEFT_OUT - 1
        with self._stage("test"):
            correction = self._corrected(shapes, self.recording.chosen(rows[~unseen]), training)
        return errors_of(correction, self.recording.chosen(rows[unseen]))

    def _corrected(self, shapes: ShapeModel, recording, training: WarpTraining) -> Correction:
        learn = learn_warp_by_markers if isinstance(recording, MarkerRecording) else learn_warp
        return learn(shapes, recording, self.robot, training, say=self.say)

    def _simulated(self, pressures: np.ndarray) -> list[dict[str, np.ndarray]]:
        of_what = self.robot, self.learning.surface, self.learning.parts, self.inflation
        return simulated(*of_what, pressures, self.workers, self.store, self.say, "shapes to check the frames by")

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        begin = time.process_time()
        yield
        self._seconds[name] = time.process_time() - begin


def errors_of(correction: Correction, recording: Recording | MarkerRecording) -> Errors:
    """Of a recording's frames."""
    return Errors(*(frame_errors(correction, recording, corrected) for corrected in (False, True)))
