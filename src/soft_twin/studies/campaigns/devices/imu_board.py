"""A serial IMU board for campaigns, written from docs/imu_protocol.md alone: what its chip reads, and its bytes."""

import struct
from dataclasses import dataclass

import numpy as np

from soft_twin.studies.campaigns.devices.base_motion import FINE, BaseMotion

_BODY = struct.Struct("<BBHQ7f")


@dataclass
class Readings:
    """What a board measures, n samples, before faults or after some of them.

    Attributes:
        true_time: (n,) when it was measured [s].
        true_up: (n, 3) up in the frame of the board.
        gyroscope: (n, 3) [rad/s].
        accelerometer: (n, 3) [m/s²].
        temperature: (n,) [°C].
        board_time: (n,) by the board's clock [s].
        gyroscope_range, accelerometer_range: of the chip [rad/s], [m/s²].
    """

    true_time: np.ndarray
    true_up: np.ndarray
    gyroscope: np.ndarray
    accelerometer: np.ndarray
    temperature: np.ndarray
    board_time: np.ndarray
    gyroscope_range: float
    accelerometer_range: float


def measure(rng: np.random.Generator, motion: BaseMotion, rate: float) -> Readings:
    """A healthy chip on a moving base: means over each sample's time, noise, bias, warming, steps, ranges."""
    step = round(FINE / rate)
    count = len(motion.time) // step
    gyr = motion.rates[: count * step].reshape(count, step, 3).mean(axis=1)
    acc = motion.force[: count * step].reshape(count, step, 3).mean(axis=1)
    time = motion.time[step - 1 : count * step : step]
    temperature = rng.uniform(15.0, 35.0) + 8.0 * (1.0 - np.exp(-time / 10.0)) + 0.02 * rng.standard_normal(count)
    warming = temperature - temperature[0]
    noise = np.radians(rng.uniform(0.03, 0.2)), rng.uniform(0.01, 0.06)
    gyr = gyr * (1.0 + 0.004 * rng.standard_normal(3)) + np.radians(0.4) * rng.standard_normal(3)
    gyr += np.radians(0.015) * warming[:, None] * rng.standard_normal(3) + noise[0] * rng.standard_normal(gyr.shape)
    acc = acc * (1.0 + 0.003 * rng.standard_normal(3)) + 0.06 * rng.standard_normal(3)
    acc += noise[1] * rng.standard_normal(acc.shape)
    readings = Readings(
        time,
        motion.up[step - 1 : count * step : step],
        gyr,
        acc,
        temperature,
        rng.uniform(0.0, 1000.0) + time * (1.0 + 5e-5 * rng.standard_normal()),
        np.radians(2000.0),
        24.0 * 9.81,
    )
    quantise(readings)
    return readings


def quantise(readings: Readings) -> None:
    """Clip to the ranges and round to 16 bits, as the chip's last stage does."""
    for values, limit in (
        (readings.gyroscope, readings.gyroscope_range),
        (readings.accelerometer, readings.accelerometer_range),
    ):
        bit = limit / 32768.0
        np.clip(np.round(values / bit, out=values), -32768, 32767, out=values)
        values *= bit


def frame(sequence: int, board_time: float, gyr: np.ndarray, acc: np.ndarray, temperature: float) -> bytes:
    """A sample's frame, kind 0x01."""
    microseconds = max(round(1e6 * board_time), 0)
    body = _BODY.pack(0x01, 38, sequence & 0xFFFF, microseconds, *gyr.tolist(), *acc.tolist(), temperature)
    return b"\xa5\x5a" + body + struct.pack("<H", crc16(body))


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xFFFF, nothing reflected."""
    crc = 0xFFFF
    for byte in data:
        crc = ((crc << 8) & 0xFFFF) ^ _TABLE[(crc >> 8) ^ byte]
    return crc


def _table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021) & 0xFFFF if crc & 0x8000 else crc << 1
        table.append(crc)
    return table


_TABLE = _table()
