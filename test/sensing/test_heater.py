"""Temperature control on the emulated board's heat flow."""

import math

import numpy as np
import pytest

from soft_twin.emulation.imu import Thermal, ThermalParameters
from soft_twin.errors import InputError
from soft_twin.sensing.heater import HeaterParameters, TemperatureControl

DT = 0.01


def run(control, duration, ambient, thermal=None, sensor=lambda t, temperature: temperature, works=True, start=0.0):
    """Chip temperatures of a run: (n,); `ambient` may be a function of time."""
    thermal = thermal or Thermal(ThermalParameters(), ambient(start))
    duty, chips = 0.0, []
    for t in start + DT * np.arange(int(duration / DT)):
        chip = thermal.step(ambient(t), duty if works else 0.0, DT)
        duty = control.update(t, sensor(t, chip))
        chips.append(chip)
    return np.array(chips)


def constant(temperature):
    return lambda t: temperature


def quantised(t, temperature):
    return 0.125 * round(temperature / 0.125)


@pytest.mark.parametrize("sensor", [lambda t, temperature: temperature, quantised])
def test_reaches_its_target_and_stays(sensor):
    control = TemperatureControl()
    chips = run(control, 120.0, constant(20.0), sensor=sensor)
    assert control.target == pytest.approx(chips[0] + 15.0, abs=0.2)
    assert chips.max() < control.target + 0.5
    assert np.all(np.abs(chips[3000:] - control.target) < 0.1)
    assert control.state == "steady"


def test_states_follow_each_other():
    control, thermal = TemperatureControl(), Thermal(ThermalParameters(), 20.0)
    states, duty = [], 0.0
    for i in range(4000):
        duty = control.update(DT * i, thermal.step(20.0, duty, DT))
        if not states or states[-1] != control.state:
            states.append(control.state)
    assert states == ["cold", "heating", "steady"]


def test_rejects_a_step_of_the_air():
    control, thermal = TemperatureControl(), Thermal(ThermalParameters(), 20.0)
    run(control, 60.0, constant(20.0), thermal)
    for ambient in (10.0, 20.0):
        chips = run(control, 120.0, constant(ambient), thermal, start=60.0)
        assert np.all(np.abs(chips - control.target) < 0.3)


def test_does_not_wind_up_when_the_target_is_far():
    control = TemperatureControl(HeaterParameters(rise=28.0, patience=60.0))
    chips = run(control, 200.0, constant(20.0))
    assert 0.0 < chips.max() - control.target < 0.5


def test_target_can_be_given():
    control = TemperatureControl(HeaterParameters(target=40.0))
    assert run(control, 100.0, constant(22.0))[-1] == pytest.approx(40.0, abs=0.05)


def test_duty_keeps_to_its_limits():
    control, thermal = TemperatureControl(HeaterParameters(duty_limits=(0.1, 0.6))), Thermal(ThermalParameters(), 20.0)
    duties = [control.update(DT * i, thermal.step(20.0, control.duty, DT)) for i in range(6000)]
    assert min(duties[250:]) >= 0.1
    assert max(duties) == 0.6


@pytest.mark.parametrize("fault", ["broken heater", "stuck sensor", "too cold outside"])
def test_gives_up_and_says_why(fault):
    control = TemperatureControl()
    sensor = (lambda t, temperature: 25.0) if fault == "stuck sensor" else (lambda t, temperature: temperature)
    ambient = (lambda t: 20.0 if t < 2.5 else -20.0) if fault == "too cold outside" else constant(20.0)
    run(control, 90.0, ambient, sensor=sensor, works=fault != "broken heater")
    assert control.state == "failed"
    assert control.duty == 0.0
    assert "at full heat" in control.fault
    control.reset()
    assert (control.state, control.fault) == ("cold", "")


@pytest.mark.parametrize("again", ["reset", "begun anew"])
def test_a_chip_that_is_hot_already_is_not_made_hotter_each_time(again):
    """As where a node is reset, or is killed and respawned: the board is as warm as before."""
    control, thermal, start = TemperatureControl(), Thermal(ThermalParameters(), 20.0), 0.0
    unheated = thermal.chip
    for _ in range(4):
        chips = run(control, 150.0, constant(20.0), thermal, sensor=quantised, start=start)
        assert control.state == "steady"
        assert chips.max() < unheated + 15.0 + 2.5
        start += 150.0
        if again == "reset":
            control.reset()
            control.reset()
        else:
            for _ in range(300):
                thermal.step(20.0, 0.0, DT)  # while nobody tells it a duty
            control, start = TemperatureControl(), 0.0


def test_a_heater_that_has_failed_is_not_asked_for_more_after_a_reset():
    control, thermal = TemperatureControl(), Thermal(ThermalParameters(), 20.0)
    run(control, 90.0, lambda t: 20.0 if t < 2.5 else -20.0, thermal)
    before = control.target
    assert control.state == "failed"
    control.reset()
    run(control, 30.0, constant(0.0), thermal, start=90.0)
    assert control.target <= before


@pytest.mark.parametrize("gap", ["no samples", "no temperature"])
def test_a_chip_that_has_cooled_down_in_a_gap_is_heated_again(gap):
    """As a board that was unplugged for a minute, or whose node was deactivated."""
    control, thermal = TemperatureControl(), Thermal(ThermalParameters(), 20.0)
    run(control, 60.0, constant(20.0), thermal)
    for i in range(6000):
        thermal.step(20.0, 0.0, DT)
        if gap == "no temperature":
            control.update(60.0 + DT * i, math.nan)
    run(control, 60.0, constant(20.0), thermal, start=120.0)
    assert (control.state, control.fault) == ("steady", "")


def test_what_has_cooled_down_is_read_anew():
    control, thermal = TemperatureControl(), Thermal(ThermalParameters(), 20.0)
    run(control, 60.0, constant(20.0), thermal)
    run(control, 200.0, constant(30.0), thermal, sensor=lambda t, chip: math.nan, start=60.0)
    control.reset()
    chips = run(control, 60.0, constant(30.0), thermal, start=260.0)
    assert control.target == pytest.approx(chips[0] + 15.0, abs=0.2)


@pytest.mark.parametrize("temperature", [-60.0, 130.0, math.inf])
def test_a_temperature_that_no_chip_has_is_a_failure(temperature):
    control = TemperatureControl()
    assert control.update(0.0, temperature) == 0.0
    assert control.state == "failed"
    assert "outside" in control.fault


def test_without_a_temperature_the_heater_is_off_and_later_goes_on():
    control = TemperatureControl()
    chips = run(control, 40.0, constant(20.0), sensor=lambda t, chip: math.nan if 20.0 < t < 22.0 else chip)
    assert control.state == "steady"
    assert chips[2200] < control.target - 0.5
    assert control.update(50.0, math.nan) == 0.0
    assert control.state == "off"


def test_control_goes_on_when_its_clock_is_set_back():
    control, thermal = TemperatureControl(), Thermal(ThermalParameters(), 20.0)
    run(control, 60.0, constant(20.0), thermal, start=1000.0)
    chips = run(control, 10.0, constant(20.0), thermal, start=5.0)
    assert control.state == "steady"
    assert np.all(np.abs(chips - control.target) < 0.1)


def test_a_chip_that_is_hot_at_the_start_is_heated_to_below_what_it_stands():
    control, thermal = TemperatureControl(), Thermal(ThermalParameters(), 69.0)
    chips = run(control, 120.0, constant(69.0), thermal)
    assert chips[0] > 71.0
    assert control.target == 80.0
    assert chips.max() < 80.5
    assert (control.state, control.fault) == ("steady", "")


def test_a_chip_that_is_too_hot_to_be_heated_is_told_and_left_alone():
    control = TemperatureControl()
    chips = run(control, 10.0, constant(75.0))
    assert (control.state, control.duty) == ("failed", 0.0)
    assert control.fault == "chip is at 78.0 °C and may be heated to 80 °C only: cool the board, then reset"
    assert chips.max() < 78.1


def test_a_target_near_the_highest_is_kept_over_a_reset():
    control, thermal = TemperatureControl(), Thermal(ThermalParameters(), 69.0)
    run(control, 120.0, constant(69.0), thermal)
    control.reset()
    run(control, 120.0, constant(69.0), thermal, start=120.0)
    assert (control.state, control.fault) == ("steady", "")
    assert control.target <= 80.0


@pytest.mark.parametrize(
    "values",
    [
        {"duty_limits": (0.5, 0.2)},
        {"proportional": 0.0},
        {"reset_time": -1.0},
        {"target": 200.0},
        {"target": 81.0},
        {"target": -41.0},
        {"target": math.nan},
        {"rise": math.nan},
        {"rise": -1.0},
    ],
)
def test_refuses_impossible_settings(values):
    with pytest.raises(InputError):
        HeaterParameters(**values)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_a_chip_gets_no_hotter_than_it_shall_and_is_heated_in_the_end(seed):
    """Resets, starts anew, gaps, silent thermometers and clocks that jump, on a board that rests after a second."""
    rng = np.random.default_rng(seed)
    air, drift = rng.uniform(5.0, 32.0), rng.uniform(-2.0, 4.0)
    thermal = Thermal(ThermalParameters(capacity=rng.uniform(0.2, 0.5)), air)
    control, clock, told, duty, chips = TemperatureControl(), 0.0, 0.0, 0.0, []
    events = {
        round(when / 0.05): rng.choice(["reset", "begun anew", "gap", "silent", "jump"])
        for when in rng.uniform(5, 350, 5)
    }
    event, ends = "", 0.0
    for k in range(12_000):
        now = 0.05 * k
        chip = thermal.step(air + drift * math.sin(now / 200.0), duty if now - told < 1.0 else 0.0, 0.05)
        chips.append(chip)
        clock += 0.05
        if k in events:
            event, ends = events[k], now + rng.choice([0.5, 3.0, 10.0, 40.0, 100.0])
            clock += rng.choice([-1000.0, -10.0, -0.5, 0.5, 10.0, 1000.0]) * (event == "jump")
            if event == "reset":
                control.reset()
            if event == "begun anew":
                control = TemperatureControl()
        event = event if now < ends else ""
        if event != "gap":
            duty, told = control.update(clock, math.nan if event == "silent" else quantised(now, chip)), now
    unheated = air + max(drift, 0.0) + 3.0
    assert control.state == "steady", control.fault
    assert max(chips) < unheated + 15.0 + 4.0
