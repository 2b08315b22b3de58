"""MATLAB files: the same arrays as scipy reads, and broken bytes are a ValueError, nothing else."""

import io

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from soft_twin.sensing.mat_file import mat_arrays

FIELDS = {
    "rates": np.random.default_rng(0).standard_normal((7, 3)),
    "counts": np.arange(12, dtype=np.int32).reshape(3, 4),
    "small": np.array([[1.0, 2.0]]),
    "valid": np.ones((7, 1), bool),
    "rate": 100.0,
    "image": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
}


def file(compressed, **fields):
    stream = io.BytesIO()
    savemat(stream, fields, do_compression=compressed)
    return stream.getvalue()


@pytest.mark.parametrize("compressed", [True, False])
def test_arrays_are_those_that_scipy_reads(compressed):
    data = file(compressed, **FIELDS, text="of no concern", cells=np.array([1, "a"], dtype=object))
    theirs = loadmat(io.BytesIO(data), squeeze_me=True)
    ours = mat_arrays(data, FIELDS, 10**6)
    assert set(ours) == set(FIELDS)
    for name, values in ours.items():
        np.testing.assert_array_equal(values, theirs[name])


def test_an_array_is_not_unpacked_beyond_what_is_allowed():
    data = file(True, zeros=np.zeros(10**6))
    assert len(data) < 20_000
    with pytest.raises(ValueError, match="unpacks to more than 1000000 bytes"):
        mat_arrays(data, ["zeros"], 10**6)
    assert mat_arrays(data, ["others"], 10**6) == {}


@pytest.mark.parametrize("compressed", [True, False])
def test_broken_bytes_are_named_and_crash_nothing(compressed):
    good, rng = file(compressed, rates=FIELDS["rates"], rate=100.0), np.random.default_rng(1)
    refused = 0
    for _ in range(2000):
        data = bytearray(good)
        data[rng.integers(128, len(data))] ^= 1 << rng.integers(8)
        end = rng.integers(128, len(data)) if rng.random() < 0.2 else len(data)
        try:
            arrays = mat_arrays(bytes(data[:end]), ["rates", "rate"], 10**6)
            assert all(values.dtype.kind in "biuf" for values in arrays.values())
        except ValueError as error:
            refused += 1
            assert str(error)
    assert refused > 300
