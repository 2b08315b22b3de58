"""Chambers that do not have the pressure that they were told, and sensors that say nothing now and then."""

import numpy as np
import pytest

from soft_twin.driving.valves.chamber_watch import ChamberWatch

DT, TOLD = 0.02, np.array([50e3])


@pytest.fixture
def watch():
    return ChamberWatch(["left"], tolerance=20e3, response=0.5, patience=1.5)


def verdicts(watch, pressures):
    return [watch.update(np.array([pressure]), TOLD, DT, True) for pressure in pressures]


def test_a_chamber_astray_is_named_though_its_sensor_is_at_its_end_now_and_then(watch):
    heard = [np.nan if i % 20 < 6 else 100e3 for i in range(150)]  # 3 s
    assert ("chambers", "left is +50 kPa from what its valve is told: valve or sensor stuck; check both") in verdicts(
        watch, heard
    )


@pytest.mark.parametrize("pressure", [0.0, 25e3])
def test_a_relaxed_chamber_that_is_vented_sooner_than_its_valve_is_told_is_not_astray(watch, pressure):
    assert not any(watch.update(np.array([pressure]), TOLD, DT, False)[0] for _ in range(150))
    assert not any(watch.update(np.array([-pressure]), -TOLD, DT, False)[0] for _ in range(150))


def test_silence_accuses_nobody_and_clears_nobody(watch):
    assert not any(key for key, _ in verdicts(watch, [100e3] * 60 + [np.nan] * 500))
    assert any(key for key, _ in verdicts(watch, [100e3] * 30))
    assert not any(key for key, _ in verdicts(watch, [50e3] * 30 + [100e3] * 60))


@pytest.mark.parametrize("driven", [True, False])
def test_the_noise_of_a_sensor_is_no_news(driven):
    """A robot of a few kilopascals: what is told goes into logs and diagnostics, whenever it changes."""
    watch, random = ChamberWatch(["left"], tolerance=2e3, response=0.5, patience=1.5), np.random.default_rng(3)

    def told(pressure):
        asked = np.array([6e3 if driven else 0.0])
        noisy = (np.array([random.normal(pressure, 0.02 * 2e3)]) for _ in range(500))
        return [watch.update(each, asked, DT, driven)[1] for each in noisy][-250:]

    first, then = set(told(3.55e3)), set(told(2.55e3))
    assert len(first) == len(then) == 1 and "" not in first | then and first != then


@pytest.fixture
def four():
    return ChamberWatch(["a", "b", "c", "d"], tolerance=20e3, response=0.5, patience=1.5)


def held(watch, measured, told, seconds=4.0):
    """The first verdict with something to say while chambers stand like that."""
    turns = (watch.update(np.array(measured), np.array(told), DT, True) for _ in range(round(seconds / DT)))
    return next((each for each in turns if each[0]), ("", ""))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_supply_that_is_lost_is_named_be_it_of_pressure_or_of_vacuum(four, sign):
    assert held(four, [0.0, 0.0, 0.0, sign * 40e3], [sign * 40e3] * 4)[0] == "supply"


@pytest.mark.parametrize("factor", [0.001, 0.1, 10.0])
def test_where_all_chambers_are_off_that_another_unit_may_be_why_is_said(four, factor):
    told = np.array([30e3, 40e3, 50e3, 60e3])
    key, text = held(four, factor * told, told)
    assert key == ("supply" if factor < 1.0 else "chambers") and "another unit? Check them" in text
    assert factor > 1.0 or f"d has {60.0 * factor:.3g} of 60 kPa" in text


def test_a_chamber_that_was_measured_last_some_time_ago_is_told_by_that(four):
    for _ in range(100):
        _, text = four.update(np.array([1e3, 2e3, 3e3, 4e3]), np.full(4, 60e3), DT, True)
    _, text = four.update(np.array([np.nan, 2e3, 3e3, 4e3]), np.full(4, 60e3), DT, True)
    assert "a has 1 of 60 kPa" in text


def test_two_chambers_that_have_each_others_pressure_are_named_both(four):
    key, text = held(four, [60e3, 10e3, 30e3, 30e3], [10e3, 60e3, 30e3, 30e3])
    assert key == "chambers"
    assert "a is +50 kPa" in text and "b is -50 kPa" in text and "swapped" in text
    assert "leaks" not in text


def test_a_driven_chamber_that_stands_off_by_less_than_a_fault_is_named_and_one_on_its_way_is_not(four):
    assert held(four, [12e3, 30e3, 30e3, 30e3], [30e3] * 4) == ("", "")
    assert four.standing_off.startswith("a is -18 kPa from what its valve is told")
    held(four, [25e3, 30e3, 30e3, 30e3], [30e3] * 4, 0.1)
    assert not four.standing_off
    for i in range(400):  # behind all that it was told lately by 15 kPa
        told = 30e3 + 40e3 * i * DT
        assert not four.update(np.full(4, told - 35e3), np.full(4, told), DT, True)[0]
        assert not four.standing_off


def test_a_relaxed_chamber_does_not_stand_off(four):
    for _ in range(200):
        four.update(np.full(4, 12e3), np.zeros(4), DT, False)
    assert not four.standing_off


@pytest.mark.parametrize(
    ("measured", "absolute"),
    [
        ([101e3, 101.6e3, 101.3e3, 101.2e3], True),
        ([84e3, 84e3, 84.2e3, 84e3], True),  # in the heights
        ([101e3, 101e3, 101e3, 0.0], False),
        ([101e3, 101e3, 101e3, 40e3], False),
        ([50e3] * 4, False),
        ([150e3] * 4, False),
    ],
)
def test_relaxed_chambers_that_all_have_an_atmosphere_are_asked_whether_their_sensors_are_absolute(
    four, measured, absolute
):
    verdicts = [four.update(np.array(measured), np.zeros(4), DT, False) for _ in range(200)]
    assert verdicts[-1][0] == "pressed"
    assert verdicts[-1][1].endswith("or do the sensors read absolute pressures, not gauge ones?") is absolute


def test_a_chamber_that_keeps_its_vacuum_though_vented_is_named_with_what_to_do():
    sucked = ChamberWatch(["left", "right"], 20e3, response=0.5, patience=1.5, lowest=np.array([-65e3, -65e3]))
    verdicts = [sucked.update(np.array([-58e3, 0.0]), np.zeros(2), DT, False) for _ in range(200)]
    assert verdicts[-1] == (
        "sucked",
        "still under vacuum though vented: left by 58 kPa; close the vacuum and let air in by hand",
    )


def test_a_sensor_that_reads_a_vacuum_where_nothing_sucks_is_no_vacuum(four):
    verdicts = [four.update(np.full(4, [-58e3, 0.0, 0.0, 0.0]), np.zeros(4), DT, False) for _ in range(200)]
    assert verdicts[-1][0] == "chambers"
    assert "sensor" in verdicts[-1][1]
