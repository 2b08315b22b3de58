import pytest

from soft_twin_ros.running.health import Drivers, NodesHealth, Told


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def health(clock):
    return NodesHealth(["imu_to_gravity", "cables_to_motors"], clock)


def told(state, failed=False, message="words that nobody reads"):
    return Told(failed, message, {"state": state})


def test_a_node_is_ready_when_its_state_says_so_whatever_its_words(health):
    assert health.unready() == dict.fromkeys(("cables_to_motors", "imu_to_gravity"), "is loading")
    health.take("imu_to_gravity", told("ready", message="waiting at the bus stop"))
    health.take("cables_to_motors", told("waiting", message="all is well"))
    assert health.unready() == {"cables_to_motors": "all is well"}


def test_nodes_of_others_are_nobodys_concern(health):
    health.take("camera", told("failed", failed=True))
    assert "camera" not in health.unready()
    assert health.value("camera", "state") == ""


def test_what_is_wrong_is_told_when_it_lasts(health, clock):
    health.take("imu_to_gravity", told("failed", failed=True, message="silent"))
    clock.now = 0.9
    assert health.wrong_for(1.0) == {}
    clock.now = 1.1
    assert health.wrong_for(1.0) == {"imu_to_gravity": "silent"}
    health.take("imu_to_gravity", told("ready"))
    assert health.wrong_for(1.0) == {}


def test_a_drivers_fault_is_told_at_once_to_who_asks(health):
    health.drivers = Drivers.ACTIVE
    health.take("imu_to_gravity", told("failed", failed=True, message="silent"))
    health.take("cables_to_motors", told("ready"))
    assert health.faults() == {}
    health.take("cables_to_motors", told("fault", failed=True, message="blocked"))
    assert health.faults() == {"cables_to_motors": "blocked"}


def test_a_driver_that_should_drive_and_relaxed_without_a_fault_may_be_enabled_again(health, clock):
    health.take("cables_to_motors", told("ready"))
    assert not health.relaxed, "nobody has asked it to drive"
    health.drivers = Drivers.ACTIVE
    health.take("cables_to_motors", told("fault", failed=True))
    assert not health.relaxed
    health.take("cables_to_motors", told("ready"))
    assert health.relaxed == {"cables_to_motors"}
    health.take("cables_to_motors", told("active"))
    assert not health.relaxed
    health.take("imu_to_gravity", told("ready"))
    assert not health.relaxed, "it is ready, and no driver"


@pytest.mark.parametrize(
    ("asked", "state", "failed", "wrong"),
    [
        (Drivers.THERE, "away", True, True),
        (Drivers.THERE, "position unknown", True, False),
        (Drivers.WELL, "ready", False, False),
        (Drivers.WELL, "fault", True, True),
        (Drivers.ACTIVE, "ready", False, True),
        (Drivers.ACTIVE, "active", False, False),
    ],
)
def test_drivers_are_asked_for_more_as_the_run_goes_on(health, clock, asked, state, failed, wrong):
    health.drivers = asked
    health.take("cables_to_motors", told(state, failed))
    clock.now = 2.0
    assert bool(health.wrong_for(1.0)) == wrong
