import numpy as np
import pytest

from soft_twin import load_robot
from soft_twin.emulation.devices import DEVICES, VALVES
from soft_twin.emulation.faults import Fault, FaultScript, parse_fault, set_fault
from soft_twin.errors import UsageError


@pytest.fixture
def make():
    devices = []

    def make(name):
        devices.append(DEVICES[name](load_robot("slender"), 0))
        return devices[-1]

    yield make
    for device in devices:
        device.close()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("silence@10", Fault("silence", 1, 10.0, 1.0)),
        ("stalled:3@5+2.5", Fault("stalled", 3, 5.0, 2.5)),
        ("supply lost@0.5+1", Fault("supply lost", 1, 0.5, 1.0)),
    ],
)
def test_a_script_in_words(text, fault):
    assert parse_fault(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        *("", "silence", "@3", "gremlins@3", "silence@", "stalled:x@3", "silence@3+"),
        *("stalled:0@3", "silence@1.2.3", "silence@.", "silence@3+1.2.3"),
    ],
)
def test_what_is_no_fault_is_refused_with_the_faults_there_are(text):
    with pytest.raises(UsageError, match="stalled"):
        parse_fault(text)


@pytest.mark.parametrize("name", sorted(VALVES))
def test_the_chamber_of_that_number_is_stuck(make, name):
    device = make(name)
    each = 2 if name == "openpneu" else 1  # channels
    set_fault(device, parse_fault("stuck:2@1"), True)
    assert list(np.flatnonzero(device.chambers.stuck)) == [each]


@pytest.mark.parametrize("name", DEVICES)
def test_every_device_lives_and_is_unplugged_and_replugged(make, name):
    device = make(name)
    for _ in range(20):
        device.step(device.period)
    if name.startswith("modbus"):
        return
    path = device.address
    set_fault(device, Fault("unplugged", 1, 0.0, 1.0), True)
    device.step(device.period)
    assert not device.port.connected
    set_fault(device, Fault("unplugged", 1, 0.0, 1.0), False)
    device.step(device.period)
    assert device.address.startswith("/dev/")
    assert path.startswith("/dev/")


def test_faults_begin_and_end_by_the_clock(make):
    device = make("motors")
    script = FaultScript([parse_fault("overheated:2@2+1"), parse_fault("stalled:6@1+3")])
    seen = []
    for now in np.arange(0.0, 5.0, 0.5):
        script.advance(device, now)
        seen.append((bool(device.motors.stalled[5]), bool(device.motors.derating[1] < 1.0)))
    assert (
        seen
        == [(False, False)] * 2 + [(True, False)] * 2 + [(True, True)] * 2 + [(True, False)] * 2 + [(False, False)] * 2
    )


@pytest.mark.parametrize(
    ("device", "kind", "index"), [("imu", "stuck", 1), ("motors", "stalled", 7), ("modbus", "silence", 1)]
)
def test_a_fault_that_a_device_cannot_have_is_refused(make, device, kind, index):
    with pytest.raises(UsageError, match=kind):
        set_fault(make(device), Fault(kind, index, 0.0, 1.0), True)
