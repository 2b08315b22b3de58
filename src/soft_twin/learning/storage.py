"""Corrections as files: safetensors, with what they belong to.

A file is data from others: every array is checked before it is used, so that what was loaded can be called.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as packed

from soft_twin.errors import InputError, RecordingError, UsageError
from soft_twin.files import checked_file, one_line, output_file, whole_file
from soft_twin.learning.confidence import ConfidenceMap
from soft_twin.learning.correction import Correction, ShapeModel
from soft_twin.learning.input_map import HIGHEST, Filling, InputMap
from soft_twin.learning.knots import DEGREE, Knots
from soft_twin.learning.networks import Folded
from soft_twin.learning.samples import MOST_CORNERS, Inflation

VERSION = "6"
MAX_SIZE = 200_000_000  # [bytes]
POINT = 3  # coordinates
MOST_ENTRIES = 10_000_000  # of an array


def save(correction: Correction, path: Path) -> None:
    """Write a correction as one safetensors file, as a whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    shapes, path = correction.shapes, Path(path)
    arrays = {
        "inflation.pressures": shapes.inflation.pressures,
        "inflation.volumes": shapes.inflation.volumes,
        "mean": shapes.mean,
        "knots.u": shapes.knots.u,
        "knots.v": shapes.knots.v,
        "kernels": correction.kernels,
        "inputs.degrees": np.asarray(correction.inputs.degrees),
        "inputs.coefficients": np.asarray(correction.inputs.coefficients),
        "inputs.pressures": np.asarray(correction.inputs.filling.pressures),
        "inputs.shares": np.asarray(correction.inputs.filling.shares),
        **_layers("shape", shapes.network),
        **_layers("warp", correction.warp),
    }
    smooth = {"shape": shapes.network.smooth, "warp": correction.warp.smooth}
    if correction.confidence is not None:
        arrays |= {"confidence.of_shape": np.asarray(correction.confidence.of_shape)}
        arrays |= _layers("confidence", correction.confidence.of_point)
        smooth["confidence"] = correction.confidence.of_point.smooth
    words = {"robot": correction.robot, "description": correction.description, "data": correction.data}
    numbers = {"spread": shapes.spread, "width": correction.width, "smooth": smooth, "symmetries": shapes.symmetries}
    numbers["reference"] = correction.inputs.reference
    if np.isfinite(correction.inputs.longest):
        numbers["longest"] = correction.inputs.longest
    write(arrays, {**words, "numbers": json.dumps(numbers)}, path)


def write(arrays: Mapping[str, np.ndarray], words: Mapping[str, str], path: Path) -> None:
    """Arrays and words as one file of this version, with a digest of both.

    Raises:
        UsageError: it cannot be written.
    """
    contiguous = {key: np.ascontiguousarray(each) for key, each in arrays.items()}
    try:
        with whole_file(output_file(path, "weights")) as partial:
            # safetensors' own files are for their owner alone, whatever the umask
            metadata = {"soft_twin": VERSION, **words, "digest": _digest(contiguous, words)}
            partial.write_bytes(packed(contiguous, metadata))
    except (OSError, SafetensorError) as error:
        raise UsageError(f"cannot write the weights '{path}': {one_line(error)}") from error


def load(path: str | Path) -> Correction:
    """A stored correction.

    Raises:
        UsageError: there is no such file.
        RecordingError: it is none of these, of another version, or broken.
    """
    checked_file(path, "file of weights", MAX_SIZE, UsageError)
    try:
        with safe_open(path, "numpy") as stream:
            words = stream.metadata() or {}
            if words["soft_twin"] != VERSION:
                version = words["soft_twin"][:20]
                raise RecordingError(f"{path}: weights of version {one_line(version)}, expected {VERSION}: train anew")
            arrays = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118 (it is no mapping)
        if words["digest"] != _digest(arrays, words):
            raise InputError("its content is not what was written, by its digest")
        return _correction(_Stored(arrays), words, json.loads(words["numbers"]))
    except (SafetensorError, KeyError, ValueError, TypeError, OverflowError, RecursionError, InputError) as error:
        raise RecordingError(f"{path}: not readable as weights of soft_twin: {one_line(error)}") from error


def _digest(arrays: Mapping[str, np.ndarray], words: Mapping[str, str]) -> str:
    """SHA-256 of everything in a file but its version."""
    digest = hashlib.sha256()
    for key in sorted(arrays):
        digest.update(f"{key} {arrays[key].dtype} {arrays[key].shape}".encode())
        digest.update(arrays[key].tobytes())
    for key in sorted(set(words) - {"soft_twin", "digest"}):
        digest.update(f"{key} {words[key]}".encode())
    return digest.hexdigest()


class _Stored:
    """Arrays of a file, which are as they have to be, or told."""

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        self._arrays = arrays

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def rows(self, key: str) -> int:
        """How many an array has, which may be none.

        Raises:
            KeyError: it is not there.
        """
        return self._arrays[key].shape[0] if self._arrays[key].ndim else 0

    def array(self, key: str, *shape: int | None) -> np.ndarray:
        """Of finite numbers, of this shape; None: any length, 1 or more.

        Raises:
            KeyError: it is not there.
            InputError: it is otherwise.
        """
        found = self._arrays[key]
        expected = tuple("any" if size is None else size for size in shape)
        alike = len(found.shape) == len(shape) and all(
            size is None or size == own for size, own in zip(shape, found.shape, strict=True)
        )
        if not alike or found.size > MOST_ENTRIES or (None in shape and 0 in found.shape):
            raise InputError(f"'{key}' has the shape {found.shape}, expected {expected}")
        if found.dtype.kind not in "fiu" or not np.isfinite(found).all():
            raise InputError(f"'{key}' has entries that are no finite numbers")
        return found

    def network(self, name: str, inputs: int, outputs: int, smooth: Any) -> Folded:
        """Layers one behind the other, from so many inputs to so many outputs.

        Raises:
            KeyError, InputError: they are not.
        """
        weights, biases, width = [], [], inputs
        while f"{name}.weight.{len(weights)}" in self or not weights:
            weights.append(self.array(f"{name}.weight.{len(weights)}", None, width))
            width = len(weights[-1])
            biases.append(self.array(f"{name}.bias.{len(biases)}", width))
        if width != outputs:
            raise InputError(f"network '{name}' has {width} outputs, expected {outputs}")
        if not isinstance(smooth, bool):
            raise InputError(f"network '{name}' is smooth or not, found {smooth!r}")
        layers = ([jnp.asarray(each, jnp.float32) for each in kind] for kind in (weights, biases))
        return Folded(*layers, smooth)


def _correction(stored: _Stored, words: Mapping[str, str], numbers: Mapping[str, Any]) -> Correction:
    pressures = stored.array("inflation.pressures", None, None)
    inflation = Inflation(pressures, stored.array("inflation.volumes", *pressures.shape))
    chambers, mean = pressures.shape[1], stored.array("mean", None, None, POINT)
    if chambers > MOST_CORNERS:
        raise InputError(f"{chambers} chambers, at most {MOST_CORNERS} can be learned of")
    knots, smooth, size = _knots(stored, mean.shape[:2]), numbers["smooth"], mean.size
    network = stored.network("shape", chambers, size, smooth["shape"])
    spread, width = _positive(numbers, "spread"), _positive(numbers, "width")
    exchanges = _exchanges(numbers["symmetries"], chambers)
    shapes = ShapeModel(inflation, network, mean.astype(np.float32), spread, knots, exchanges)
    kernels = stored.array("kernels", None, 2)
    if kernels.min() < 0.0 or kernels.max() > 1.0:
        raise InputError("'kernels' has parameters outside 0…1")
    warp = stored.network("warp", size, POINT * (len(kernels) + 1 + POINT), smooth["warp"])
    inputs, confidence = _inputs(stored, numbers, chambers), None
    if "confidence.of_shape" in stored:
        first = stored.array("confidence.of_shape", None, size)
        of_point = stored.network("confidence", POINT, 1, smooth["confidence"])
        if len(first) != len(of_point.weights[0]):
            raise InputError(f"'confidence.of_shape' has {len(first)} rows, expected {len(of_point.weights[0])}")
        confidence = ConfidenceMap(jnp.asarray(first, jnp.float32), of_point)
    names = (words["description"], words["data"], confidence)
    return Correction(words["robot"], shapes, inputs, warp, kernels.astype(float), width, *names)


def _knots(stored: _Stored, counts: tuple[int, int]) -> Knots:
    """Clamped, 0…1, rising, of so many control points."""
    found = []
    for name, count in zip("uv", counts, strict=True):
        own = stored.array(f"knots.{name}", count + DEGREE + 1)
        inner = own[DEGREE : len(own) - DEGREE]
        clamped = len(inner) > 1 and (own[:DEGREE] == 0.0).all() and (own[len(own) - DEGREE :] == 1.0).all()
        if not clamped or inner[0] != 0.0 or inner[-1] != 1.0 or not (np.diff(inner) > 0.0).all():
            raise InputError(f"'knots.{name}' do not rise from 0 to 1")
        found.append(own.astype(float))
    return Knots(*found)


def _inputs(stored: _Stored, numbers: Mapping[str, Any], chambers: int) -> InputMap:
    reference = None if numbers["reference"] is None else _positive(numbers, "reference")
    longest = _positive(numbers, "longest") if "longest" in numbers else np.inf
    degrees = stored.array("inputs.degrees", stored.rows("inputs.degrees"), chambers + 1)
    highest = np.array([*[HIGHEST] * chambers, 1])
    if degrees.dtype.kind not in "iu" or (degrees < 0).any() or (degrees > highest).any():
        raise InputError(f"'inputs.degrees' are no whole numbers 0…{HIGHEST}, the last 0 or 1")
    coefficients = jnp.asarray(stored.array("inputs.coefficients", len(degrees), chambers), jnp.float32)
    filling = Filling(*(_rising(stored, f"inputs.{name}", chambers) for name in ("pressures", "shares")))
    if filling.pressures.shape != filling.shares.shape:
        raise InputError("'inputs.pressures' are not as many as 'inputs.shares'")
    return InputMap(jnp.asarray(degrees, jnp.int32), coefficients, filling, reference, longest)


def _rising(stored: _Stored, key: str, chambers: int) -> np.ndarray:
    """(k, a), two rows or more."""
    found = stored.array(key, None, chambers).astype(np.float32)
    if len(found) < 2 or not (np.diff(found, axis=0) > 0.0).all():
        raise InputError(f"'{key}' do not rise")
    return found


def _exchanges(found: Any, chambers: int) -> tuple[tuple[int, ...], ...]:
    exchanges = tuple(tuple(int(i) for i in each) for each in found)
    if any(sorted(each) != list(range(chambers)) for each in exchanges):
        raise InputError(f"'symmetries' are no exchanges of {chambers} chambers")
    return exchanges


def _positive(numbers: Mapping[str, Any], name: str) -> float:
    value = numbers[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < np.inf:
        raise InputError(f"'{name}' is {value!r}, expected a number above 0")
    return float(value)


def _layers(name: str, network: Folded) -> dict[str, np.ndarray]:
    arrays = {f"{name}.weight.{i}": np.asarray(each) for i, each in enumerate(network.weights)}
    return arrays | {f"{name}.bias.{i}": np.asarray(each) for i, each in enumerate(network.biases)}
