"""Run sequences with a leader that only writes down what it is asked."""

import numpy as np

from soft_twin.emulation.base_motion import inclinations
from soft_twin_ros.running.arm_bends import ArmBends
from soft_twin_ros.running.base_turns import BaseTurns
from soft_twin_ros.running.health import Drivers
from soft_twin_ros.running.plate_turns import PlateTurns
from soft_twin_ros.running.sequences import from_text
from soft_twin_ros.running.stands import Stands
from soft_twin_ros.running.takes_shape import TakesShape


class Book:
    """A leader of a robot with these nodes."""

    def __init__(self, *nodes):
        self.nodes, self.done, self.drivers = nodes, [], []
        self.tip = self.twin_tip = np.array([0.0, 0.0, 0.097])
        self.tip_axis = np.array([0.6, 0.0, 0.8])
        self.told = []

    def enter(self, phase):
        self.done.append(phase)

    def wait_until_ready(self, patience):
        self.done.append("ready")

    def require(self, drivers):
        self.drivers.append(drivers)

    def has(self, node):
        return node in self.nodes

    def trigger(self, service, node, patience=0.0):
        self.done.append(f"{node}/{service}")

    def aim(self, pitch, roll, node):
        self.done.append((node, pitch, roll))

    def hang(self, payload, node):
        self.done.append((node, payload))

    def switch(self, service, node, on):
        self.done.append(f"{node}/{service} {'on' if on else 'off'}")

    def show(self, points, node, patience):
        self.done.append((points.tolist(), node))

    def press(self, chambers, pressures, duration):
        self.done.append((dict(zip(chambers, pressures, strict=True)), duration))

    def settle(self, patience):
        self.done.append(f"settled within {patience:g} s")

    def pass_time(self, duration):
        self.done.append(duration)

    def play(self, phase, motion):
        self.told.append((phase, motion.duration, dict(motion.holds), round(motion.error(), 6)))


def base_turns(book):
    BaseTurns({}, [0.0, 0.0, 0.1], 8.0, 2.0, {"hold 45": "hold 45°"}).run(book)
    return book


def test_the_base_turns_twice_and_the_actuators_hold_the_second_time():
    book = base_turns(Book("cables_to_motors"))
    assert book.done == [
        *("starting", "ready", "gravity_to_actuators/compensate off", "warm-up", 2.0),
        *("cables_to_motors/home", "cables_to_motors/enable off", "ready", "without", "emulated_robot/play"),
        *("pause", "emulated_robot/rewind", "imu_to_gravity/reset_gravity", 1.5),
        *("gravity_to_actuators/compensate on", "cables_to_motors/enable on", 1.5, "with", "emulated_robot/play"),
        *("end", "cables_to_motors/enable off", "gravity_to_actuators/compensate off"),
    ]
    assert book.told == [(name, 8.0, {"hold 45": "hold 45°"}, 0.003) for name in ("without", "with")]


def test_a_robot_may_have_any_drivers_and_only_cables_are_homed():
    chambers = base_turns(Book("pressures_to_valves")).done
    assert "cables_to_motors/home" not in chambers
    assert chambers.count("pressures_to_valves/enable on") == 1
    both = base_turns(Book("cables_to_motors", "pressures_to_valves")).done
    assert {"cables_to_motors/enable on", "pressures_to_valves/enable on"} <= set(both)


def test_a_shape_is_shown_before_its_pressures_are_held(tmp_path):
    target = tmp_path / "target.csv"
    target.write_text("0.0,0.0,0.012\n0.01,0.0,0.013\n")
    sequence, book = TakesShape({}, str(target), "mine.safetensors", 3.0), Book("shape_to_pressures")
    assert from_text(sequence.to_text()) == sequence and sequence.driven_by == "shape_to_pressures"
    (parameters,) = sequence.parameters.values()
    assert parameters == {"weights": "mine.safetensors", "pose": "fixed", "whole": False}
    sequence.run(book)
    assert book.done == [
        *("starting", ([[0.0, 0.0, 0.012], [0.01, 0.0, 0.013]], "shape_to_pressures"), "ready"),
        *("pressures_to_valves/enable on", "ready", "with", 3.0, "settled within 20 s"),
        *("end", "pressures_to_valves/enable off"),
    ]
    assert book.drivers == [Drivers.ACTIVE, Drivers.WELL]


def test_chambers_stand_at_pressures_that_the_driver_knows_before_it_is_enabled():
    sequence, book = Stands({}, ["left", "right"], [[0.0, 0.0], [5.0, 7.0]], 10.0), Book("pressures_to_valves")
    assert from_text(sequence.to_text()) == sequence and sequence.driven_by == "gravity_to_actuators"
    assert sequence.parameters == {"gravity_to_actuators": {"compensate": False}}
    sequence.run(book)
    nothing, some = {"left": 0.0, "right": 0.0}, {"left": 5.0, "right": 7.0}
    assert book.done == [
        *("starting", "ready", (nothing, 1.0), "pressures_to_valves/enable on", "ready"),
        *("stand 1 of 2", (nothing, 10.0), "stand 2 of 2", (some, 10.0), "end", "pressures_to_valves/enable off"),
    ]
    assert book.drivers == [Drivers.ACTIVE, Drivers.WELL]


def test_a_plate_is_aligned_and_tared_then_held_without_and_with_a_payload():
    aims, holds = [[-25.0, 10.0], [15.0, -20.0]], {"hold 45": "hold 45°"}
    sequence = PlateTurns({}, [22.2, 0.0], 8.0, 2.0, [[20.0, 15.0]], aims, 3.0, 0.5, "plate", holds)
    assert from_text(sequence.to_text()) == sequence and sequence.driven_by == "pose_to_cables"
    book = Book("cables_to_motors")
    first, aimed = ("pose_to_cables", -25.0, 10.0), (3.0, "pose_to_cables", 15.0, -20.0, 3.0)
    sequence.run(book)
    words = [word for step in book.done for word in (step if isinstance(step, tuple) else (step,))]
    assert words == [
        *("starting", "ready", "pose_to_cables/compensate off", "warm-up", 2.0),
        *("homing", "cables_to_motors/take_up_slack", "ready", "cables_to_motors/enable off"),
        *("without", "emulated_robot/play", "pause", "emulated_robot/rewind"),
        *("imu_to_gravity/reset_gravity", "plate_imu_to_gravity/plate/reset_gravity", 1.5),
        *("align", "pose_to_cables", 0.0, 0.0, "pose_to_cables/compensate on", "cables_to_motors/enable on", 4.0),
        *("pose_to_cables/tare", 2.5, "pose_to_cables/align"),
        *("pause", "pose_to_cables", 20.0, 15.0, "tare", 3.0, "pose_to_cables/tare", 2.5),
        *("pause", "pose_to_cables", 22.2, 0.0, 3.0, "with", "emulated_robot/play"),
        *("pause", *first, "aim", *aimed, "emulated_robot", 0.5),
        *("pause", *first, "payload", *aimed, "emulated_robot", 0.0),
        *("end", "cables_to_motors/enable off", "pose_to_cables/compensate off"),
    ]
    assert [(name, holds) for name, _, holds, _ in book.told] == [("without", holds), ("with", holds)]
    off = np.arctan2(0.6, 0.8) - np.radians(22.2)  # of the leader's axis
    np.testing.assert_allclose([error for *_, error in book.told], off, atol=1e-6)


def test_drivers_must_drive_while_they_hold():
    assert base_turns(Book("cables_to_motors")).drivers == [Drivers.WELL, Drivers.ACTIVE, Drivers.WELL]


def test_the_holds_of_a_motion_are_phases_of_it():
    motion = inclinations([45.0, 0.0], 1.0, 1.0)
    assert [motion.phase(t) for t in (1.5, 3.5)] == list(motion.holds) == ["hold 45", "hold 0"]


def test_an_arm_moves_by_itself_and_its_estimate_is_compared():
    book = Book("emulated_arm")
    book.twin_tip = np.array([0.0, 0.004, 0.1])
    ArmBends({}, 12.0, 0.5, ("bent",)).run(book)
    assert book.done == ["starting", "ready", "warm-up", 0.5, "with", "end"]
    assert book.told == [("with", 12.0, {"bent": "bent"}, 0.005)]


def test_a_calibration_goes_to_the_node_that_reads_the_imu():
    sequence = BaseTurns({}, [0.0, 0.0, 0.1], 8.0, 2.0, calibration="/out/run.imu.yaml")
    assert sequence.parameters == {"imu_to_gravity": {"calibration": "/out/run.imu.yaml"}}
    assert BaseTurns({}, [0.0, 0.0, 0.1], 8.0, 2.0).parameters == {}


def test_a_sequence_goes_to_another_process_as_text():
    sequence = BaseTurns({"move_time": 1.0}, [0.0, 0.0, 0.1], 8.0, 2.0, {"hold -45": "hold -45°"})
    assert from_text(sequence.to_text()) == sequence
    assert isinstance(from_text(ArmBends({}, 12.0, 0.5).to_text()), ArmBends)
