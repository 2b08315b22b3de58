"""The emulated chip: its noise, its biases, its heat."""

import numpy as np
import pytest

from soft_twin.emulation.imu import (
    EmulatedImu,
    EmulatedImuParameters,
    SensorErrors,
    Thermal,
    ThermalParameters,
    perfect_imu,
)

DT = 0.01
GRAVITY = np.array([0.0, 0.0, 9.81])


def samples(imu, count, rates=(0.0, 0.0, 0.0), force=GRAVITY, ambient=25.0, duty=0.0):
    return [imu.sample(DT * i, np.array(rates), force, ambient, duty, DT) for i in range(count)]


def test_a_perfect_chip_tells_the_truth():
    [sample] = samples(EmulatedImu(perfect_imu()), 1, rates=(0.1, -0.2, 0.3))
    np.testing.assert_array_equal(sample.angular_velocity, [0.1, -0.2, 0.3])
    np.testing.assert_array_equal(sample.specific_force, GRAVITY)


def test_the_same_seed_is_the_same_chip():
    def values(seed):
        return np.array([s.angular_velocity for s in samples(EmulatedImu(seed=seed), 20)])

    np.testing.assert_array_equal(values(1), values(1))
    assert not np.allclose(values(1), values(2))


def test_noise_has_its_density():
    imu = EmulatedImu(EmulatedImuParameters(gyroscope=SensorErrors(noise_density=2e-4), jitter=0.0))
    rates = np.array([s.angular_velocity for s in samples(imu, 20000)])
    np.testing.assert_allclose(rates.std(axis=0), 2e-4 / np.sqrt(DT), rtol=0.03)


def test_bias_moves_with_the_chips_temperature():
    imu = EmulatedImu(EmulatedImuParameters(gyroscope=SensorErrors(bias_per_kelvin=1e-3)), seed=4)
    start = samples(imu, 1)[0]
    end = samples(imu, 20000, duty=0.5)[-1]
    rise = imu.temperature - (25.0 + 3.0)
    assert rise == pytest.approx(18.0, rel=0.01)
    slope = (end.angular_velocity - start.angular_velocity) / rise
    assert np.all(np.abs(slope) < 4e-3)
    assert np.any(np.abs(slope) > 2e-4)


def test_bias_walks_with_the_root_of_time():
    walks = []
    for seed in range(40):
        imu = EmulatedImu(EmulatedImuParameters(gyroscope=SensorErrors(bias_walk=1e-3)), seed)
        for i in range(200):
            imu.sample(0.05 * i, np.zeros(3), GRAVITY, 25.0, 0.0, 0.05)
        walks.append(imu.gyroscope_bias)
    assert np.std(walks) == pytest.approx(1e-3 * np.sqrt(10.0), rel=0.15)


def test_saturates_and_quantises():
    errors = SensorErrors(range=2.0, bits=8)
    imu = EmulatedImu(EmulatedImuParameters(gyroscope=errors))
    step = 4.0 / 256
    sample = imu.sample(0.0, np.array([5.0, -5.0, 0.777]), GRAVITY, 25.0, 0.0, DT)
    np.testing.assert_allclose(sample.angular_velocity, [2.0, -2.0, step * round(0.777 / step)])


def test_stamps_jitter_and_never_go_back():
    imu = EmulatedImu(EmulatedImuParameters(jitter=0.002))
    times = np.array([s.time for s in samples(imu, 1000)])
    assert np.all(np.diff(times) > 0.0)
    assert np.std(times - DT * np.arange(1000)) == pytest.approx(0.002, rel=0.15)


def test_heat_flow_is_the_closed_form():
    p = ThermalParameters(chip_lag=1e-6)
    thermal = Thermal(p, 20.0)
    for _ in range(1000):
        thermal.step(20.0, 0.5, DT)
    rise = p.resistance * p.heater_power * 0.5 * (1.0 - np.exp(-10.0 / (p.resistance * p.capacity)))
    assert thermal.chip == pytest.approx(20.0 + p.resistance * p.self_heating + rise, abs=1e-9)


def test_temperature_is_read_in_steps():
    readings = {s.temperature for s in samples(EmulatedImu(), 100)}
    assert all(reading / 0.0625 == round(reading / 0.0625) for reading in readings)
