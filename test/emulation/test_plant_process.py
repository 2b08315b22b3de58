"""The plant in its own process: what Plant says, to the bit, and errors that come through."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import soft_twin
from soft_twin.emulation.plant import Plant
from soft_twin.emulation.plant_process import PlantProcess
from soft_twin.errors import DeviceError, InputError
from soft_twin.mechanics.moving_base import MovingBase

PROGRAM = """
import soft_twin
from soft_twin.emulation.plant_process import PlantProcess
plant = PlantProcess(soft_twin.load_robot("slender"))
print(len(plant.stations))
plant.close()
"""
SIDEWAYS = np.array([0.0, -9.81, 0.0])


@pytest.fixture(scope="module")
def robot():
    return soft_twin.load_robot("slender")


@pytest.fixture
def remote(robot):
    remote = PlantProcess(robot)
    yield remote
    remote.close()


def test_it_moves_as_a_plant_does(robot, remote):
    plant = Plant(robot)
    for wound in (0.0, 1e-3):
        for body in (plant, remote):
            body.step(0.02, np.full(6, wound), MovingBase(SIDEWAYS))
    for what in ("tip", "tip_direction", "efforts", "coordinates", "compliance", "points", "centre_line", "stations"):
        assert np.array_equal(getattr(plant, what), getattr(remote, what))
    assert plant.efforts.max() > 0.0


def test_it_leaves_interruptions_to_its_parent_from_its_first_moment(robot, monkeypatch):
    send = PlantProcess._send

    def interrupt(self, what):
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            self._process.send_signal(number)
        send(self, what)

    monkeypatch.setattr(PlantProcess, "_send", interrupt)
    remote = PlantProcess(robot)
    remote.step(0.02, np.zeros(6), MovingBase(SIDEWAYS))
    remote.close()


def test_a_refused_step_is_told_and_the_next_one_goes(remote):
    before = remote.tip
    with pytest.raises(InputError, match="drives"):
        remote.step(0.02, np.full(6, np.nan), MovingBase(SIDEWAYS))
    assert np.array_equal(remote.tip, before)
    remote.step(0.02, np.zeros(6), MovingBase(SIDEWAYS))
    assert not np.array_equal(remote.tip, before)


def test_a_process_that_died_is_a_device_that_went_away(remote):
    remote._process.kill()
    remote._process.wait()
    with pytest.raises(DeviceError, match="gone"):
        remote.step(0.02, np.zeros(6), MovingBase(SIDEWAYS))


def test_the_program_that_starts_it_is_not_run_again(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    run = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=120.0)
    assert run.returncode == 0 and len(run.stdout.split()) == 1, run.stderr
