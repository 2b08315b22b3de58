"""A release of the slender robot as the twin itself does it with known parameters, in memory and recorded."""

import numpy as np
import pytest
from known_release import DT, GRAVITY, MESHES, STEPS, TRUTH, UP

from soft_twin.calibration.release import Release
from soft_twin.calibration.released import released_twin
from soft_twin.calibration.tune import tune
from soft_twin.recording.simulated import SimulatedRecording
from soft_twin.studies.slender.shared import variant


@pytest.fixture(scope="session")
def robot(tmp_path_factory):
    return variant(tmp_path_factory.mktemp("robot"), "slender", {"body.meshes": MESHES})


@pytest.fixture(scope="session")
def release(robot):
    """What the twin itself does with TRUTH, at the ends of its steps."""
    times = DT * np.arange(STEPS + 1)
    straight = Release(times, np.tile([0.0, 0.0, 0.1], (STEPS + 1, 1)), GRAVITY)
    twin = released_twin(robot.path, straight, DT)
    twin.set(TRUTH)
    return Release(times, np.vstack([straight.tips[:1], twin.positions()[:, 0]]), GRAVITY)


@pytest.fixture(scope="session")
def found(robot, release):
    """What a search finds of it."""
    return tune(robot.path, release, dt=DT)


@pytest.fixture
def record(robot, release, tmp_path):
    """Writes a recording of that release, with what is given instead, and gives its path."""

    def write(times=release.times, tips=release.tips, gravity=GRAVITY, wound=None, owner=robot):
        path = tmp_path / "release.mcap"
        with SimulatedRecording(path, owner) as recording:
            recording.text("run/phase", 0.0, "released")
            for row, (when, tip) in enumerate(zip(times, tips, strict=True)):
                recording.pose("tip/pose", when, tip, UP)
                recording.vector("gravity", when, gravity(when) if callable(gravity) else gravity)
                if wound is not None:
                    recording.joints("cables/state", when, robot.cable_names, wound[row], np.zeros(6))
        return path

    return write
