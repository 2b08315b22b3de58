"""The IMU's judge: its board speaks the protocol, its motions are physics, it has teeth; what it finds is bounded."""

import numpy as np
import pytest

from soft_twin.sensing.agreement import Agreement
from soft_twin.sensing.hypotheses import Hypotheses
from soft_twin.sensing.sample_check import SampleCheck, Trust, Verdict
from soft_twin.studies.campaigns import imu
from soft_twin.studies.campaigns.base import run_campaign
from soft_twin.studies.campaigns.devices.base_motion import random_motion
from soft_twin.studies.campaigns.devices.imu_board import crc16, frame, measure
from soft_twin.studies.campaigns.imu_faults import Fault
from soft_twin.studies.campaigns.imu_line import ImuLineCampaign


def test_a_frame_is_the_literal_one_of_the_protocol():
    literal = (
        "A5 5A 01 26 07 00 60 E3 16 00 00 00 00 00 00 00 80 3F 00 00 00 C0 00 00 00 3F "
        "00 00 00 00 00 00 00 00 00 00 1D 41 00 00 20 42 9F D0"
    )
    assert frame(7, 1.5, np.array([1.0, -2.0, 0.5]), np.array([0.0, 0.0, 9.8125]), 40.0) == bytes.fromhex(literal)
    assert crc16(b"123456789") == 0x29B1


@pytest.mark.parametrize("seed", range(5))
def test_up_turns_as_the_rates_say(seed):
    motion = random_motion(np.random.default_rng(seed), 8.0)
    turned = np.gradient(motion.up, motion.time, axis=0)
    np.testing.assert_allclose(turned[1:-1], -np.cross(motion.rates, motion.up)[1:-1], atol=0.02)


def test_a_case_is_the_same_each_time():
    assert imu.ImuCampaign().run_case(7) == imu.ImuCampaign().run_case(7)


def test_gravity_is_seldom_wrong_while_valid_and_hardly_ever_for_long():
    result = run_campaign(imu.ImuCampaign(), range(24))
    assert result.kinds()["campaign broken"] == result.kinds()["hang"] == 0
    assert result.kinds()["wrong while valid"] <= 4
    assert result.kinds()["wrong for long"] <= 1


@pytest.mark.parametrize("seed", [960229, 1400034, 1400097])
def test_what_was_known_of_a_wrong_sensor_outlives_a_line_that_loses_its_contact(seed):
    """Boards whose accelerometer begins to be misread; without that they are believed again after a gap."""
    kinds = {one.kind for one in ImuLineCampaign().run_case(seed)}
    assert kinds.isdisjoint({"wrong for long"})


def healthy(seed, fault=None):
    """A board in a random motion; with a gap, nothing arrives between its times."""
    rng = np.random.default_rng(seed)
    motion = random_motion(rng, imu.DURATION)
    readings = measure(rng, motion, 100.0)
    frames = imu._send(rng, readings)
    frames = frames if fault is None else [one for one in frames if not fault.start <= one.arrival < fault.end]
    return imu.Case(motion, readings, [] if fault is None else [fault], frames, 0.0)


@pytest.mark.parametrize(("seed", "length"), [(1009, 1.2), (1013, 0.6), (1020, 0.9)])
def test_a_gap_accuses_no_sensor(seed, length):
    case = healthy(seed, Fault("gap", 4.0, 4.0 + length, "nothing arrives"))
    told = imu.live(case)
    assert imu.judge(case, told) == []
    assert told.valid[-1]


GAP = Fault("gap", 4.0, 5.0, "nothing arrives")
WORN = Fault("gyroscope bias", 3.0, 4.0, "bias steps")


@pytest.mark.parametrize(
    ("fault", "withdrawn", "text", "kinds"),
    [
        (GAP, (4.0, 6.0), "gap: look at the line", set()),
        (GAP, (4.0, 12.0), "gap: look at the line", {"not recovered"}),
        (GAP, (4.0, 6.0), "gyroscope is dead: change the board", {"false accusation"}),
        (GAP, (4.0, 6.0), "temperature control: sensor stuck, change the board", set()),
        (GAP, (4.0, 6.0), "gap", {"mute message"}),
        (WORN, (3.0, 10.5), "axes wrong? set them", set()),
        (WORN, (3.0, 12.0), "axes wrong? set them", {"not recovered"}),
        (None, (0.0, 12.0), "look at it", {"false alarm"}),
        (None, (5.0, 5.1), "axes wrong? set them", {"false accusation"}),
    ],
)
def test_the_judge_knows_its_rules(fault, withdrawn, text, kinds):
    """What is told is made up: right, withdrawn between two times with a text. The base turns by 60° and rests."""
    case = healthy(1013, fault)
    time = case.readings.true_time
    out = (time >= withdrawn[0]) & (time < withdrawn[1])
    told = imu.Told(
        time, np.zeros(len(time)), ~out, np.zeros(len(time)), out, [(text,) if each else () for each in out]
    )
    assert {one.kind for one in imu.judge(case, told)} == kinds


def test_the_judge_sees_sensors_that_nobody_checks(monkeypatch):
    monkeypatch.setattr(Agreement, "update", lambda *_: True)
    monkeypatch.setattr(Hypotheses, "update", lambda *_: 0.0)
    monkeypatch.setattr(SampleCheck, "judge", lambda _, sample: Verdict(Trust.GOOD, sample))
    kinds = run_campaign(imu.ImuCampaign(), range(8)).kinds()
    assert kinds["wrong while valid"] >= 2
    assert kinds["wrong for long"] >= 1
