"""How bytes break: bits flip, pieces are cut, doubled, swapped, or overwritten."""

from collections.abc import Callable

import numpy as np

MOST_BREAKS = 4
WORDS = (
    b"\x00" * 8,
    b"\xff" * 8,
    b"\xff\xff\xff\x7f",
    b"\x80",
    b"%s%n",
    b"../",
    b"nan",
    b"inf",
    b"-1",
    b"1e999",
    b"999999999",
)


def broken(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes after one to MOST_BREAKS accidents."""
    for _ in range(rng.integers(1, MOST_BREAKS + 1)):
        data = BREAKS[rng.integers(len(BREAKS))](data, rng)
    return data


def _place(data: bytes, rng: np.random.Generator) -> int:
    """Anywhere, headers at the beginning more often."""
    if not data:
        return 0
    return int(rng.integers(min(len(data), 600) if rng.random() < 0.4 else len(data)))


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    if not data:
        return data
    result = bytearray(data)
    for _ in range(rng.integers(1, 9)):
        result[_place(data, rng)] ^= 1 << int(rng.integers(8))
    return bytes(result)


def _truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: _place(data, rng)]


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    start = _place(data, rng)
    return data[:start] + data[start + int(rng.integers(1, 200)) :]


def _double(data: bytes, rng: np.random.Generator) -> bytes:
    start = _place(data, rng)
    piece = data[start : start + int(rng.integers(1, 400))]
    return data[:start] + piece * int(rng.integers(2, 5)) + data[start + len(piece) :]


def _overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    start = _place(data, rng)
    piece = rng.bytes(int(rng.integers(1, 40)))
    return data[:start] + piece + data[start + len(piece) :]


def _word(data: bytes, rng: np.random.Generator) -> bytes:
    start, word = _place(data, rng), WORDS[rng.integers(len(WORDS))]
    return data[:start] + word + data[start + (len(word) if rng.random() < 0.7 else 0) :]


def _swap(data: bytes, rng: np.random.Generator) -> bytes:
    a, c = sorted((_place(data, rng), _place(data, rng)))
    size = min(int(rng.integers(1, 100)), c - a)
    return data[:a] + data[c : c + size] + data[a + size : c] + data[a : a + size] + data[c + size :]


def _digit(data: bytes, rng: np.random.Generator) -> bytes:
    """Another digit or sign in a number that is written as text."""
    places = [i for i in range(min(len(data), 20_000)) if data[i : i + 1].isdigit()]
    if not places:
        return _flip(data, rng)
    i = places[rng.integers(len(places))]
    return data[:i] + b"0123456789-e."[(k := int(rng.integers(13))) : k + 1] + data[i + 1 :]


BREAKS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    _flip, _flip, _truncate, _cut, _double, _overwrite, _word, _swap, _digit,
)  # fmt: skip
