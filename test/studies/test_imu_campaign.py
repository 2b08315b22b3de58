"""The IMU's judge: its board speaks the protocol, its motions are physics, it has teeth; what it finds is bounded."""

import numpy as np
import pytest

from soft_twin.sensing.agreement import Agreement
from soft_twin.sensing.hypotheses import Hypotheses
from soft_twin.sensing.sample_check import SampleCheck, Trust, Verdict
from soft_twin.studies.campaigns import imu
from soft_twin.studies.campaigns.base import run_campaign
from soft_twin.studies.campaigns.devices.base_motion import random_motion
from soft_twin.studies.campaigns.devices.imu_board import crc16, frame


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


def test_gravity_is_seldom_wrong_while_valid_and_never_for_long():
    result = run_campaign(imu.ImuCampaign(), range(8))
    assert result.kinds()["campaign broken"] == result.kinds()["hang"] == 0
    assert result.kinds()["wrong while valid"] <= 2
    assert result.kinds()["wrong for long"] == 0


def test_the_judge_sees_sensors_that_nobody_checks(monkeypatch):
    monkeypatch.setattr(Agreement, "update", lambda *_: True)
    monkeypatch.setattr(Hypotheses, "update", lambda *_: 0.0)
    monkeypatch.setattr(SampleCheck, "judge", lambda _, sample: Verdict(Trust.GOOD, sample))
    kinds = run_campaign(imu.ImuCampaign(), range(8)).kinds()
    assert kinds["wrong while valid"] >= 2
    assert kinds["wrong for long"] >= 1
