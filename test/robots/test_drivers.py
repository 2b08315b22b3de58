"""Drivers that are built from descriptions, on emulated devices."""

import copy
import json
import threading

import pytest
import yaml

from soft_twin import load_robot
from soft_twin.emulation.openpneu import EmulatedOpenPneu
from soft_twin.errors import DescriptionError
from soft_twin.resources import folder

FINGER = yaml.safe_load((folder("config") / "finger.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def load(tmp_path):
    def load(change):
        content = copy.deepcopy(FINGER)
        change(content["robot"])
        path = tmp_path / "mine.yaml"
        path.write_text(json.dumps(content))
        return load_robot(path)

    return load


def test_the_fingers_cables_have_a_driver():
    driver = load_robot("finger").build_cable_driver("fingers cables", interface="virtual")
    try:
        state = driver.state()
        assert state.displacements.shape == (2,)
        assert not state.enabled
    finally:
        driver.close()


@pytest.fixture
def openpneu():
    device, closing = EmulatedOpenPneu(), threading.Event()

    def live():
        while not closing.wait(0.005):
            device.step(0.005)

    thread = threading.Thread(target=live)
    thread.start()
    yield device
    closing.set()
    thread.join()
    device.close()


def test_the_fingers_chamber_has_a_driver(openpneu):
    driver = load_robot("finger").build_valve_driver(openpneu.port.path)
    try:
        assert driver.state().pressures.shape == (1,)
    finally:
        driver.close()


@pytest.mark.parametrize(("name", "build"), [("slender", "build_valve_driver"), ("arm", "build_cable_driver")])
def test_a_robot_without_such_actuators_says_so(name, build):
    with pytest.raises(DescriptionError, match=f"robot '{name}' has no c"):
        getattr(load_robot(name), build)("/dev/nothing")


@pytest.mark.parametrize(
    ("missing", "build", "said"),
    [
        ("winches", "build_cable_driver", "cable 'left' has no drive: give 'winches'"),
        ("valves", "build_valve_driver", "chamber 'air' has no drive: give 'valves'"),
    ],
)
def test_actuators_without_a_drive_are_named_when_somebody_asks_for_their_driver(load, missing, build, said):
    robot = load(lambda robot: robot.pop(missing))
    with pytest.raises(DescriptionError, match=said):
        getattr(robot, build)("/dev/nothing")
