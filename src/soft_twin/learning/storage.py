"""Corrections as files: safetensors, with what they belong to."""

import json
import os
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from soft_twin.errors import InputError, RecordingError, UsageError
from soft_twin.files import checked_file, one_line, output_file
from soft_twin.learning.correction import Correction, ShapeModel
from soft_twin.learning.input_map import InputMap
from soft_twin.learning.knots import Knots
from soft_twin.learning.networks import Folded
from soft_twin.learning.samples import Inflation

VERSION = "5"
MAX_SIZE = 500_000_000  # [bytes]


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
        **_layers("shape", shapes.network),
        **_layers("warp", correction.warp),
    }
    words = {"robot": correction.robot, "description": correction.description, "data": correction.data}
    smooth = {"shape": shapes.network.smooth, "warp": correction.warp.smooth}
    numbers = {"spread": shapes.spread, "width": correction.width, "smooth": smooth, "symmetries": shapes.symmetries}
    numbers["reference"] = correction.inputs.reference
    partial = output_file(path, "weights").with_name(f".{path.name}.{os.getpid()}")
    try:
        save_file(
            {key: np.ascontiguousarray(each) for key, each in arrays.items()},
            partial,
            {"soft_twin": VERSION, **words, "numbers": json.dumps(numbers)},
        )
        partial.replace(path)
    except (OSError, SafetensorError) as error:
        raise UsageError(f"cannot write the weights '{path}': {one_line(error)}") from error
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | Path) -> Correction:
    """A stored correction.

    Raises:
        UsageError: there is no such file.
        RecordingError: it is none of these, or broken.
    """
    checked_file(path, "file of weights", MAX_SIZE, UsageError)
    try:
        with safe_open(path, "numpy") as stream:
            words = stream.metadata() or {}
            arrays = {key: stream.get_tensor(key) for key in stream.keys()}  # noqa: SIM118 (it is no mapping)
        if words["soft_twin"] != VERSION:
            raise RecordingError(f"{path}: weights of version {words['soft_twin']}, expected {VERSION}: train anew")
        numbers = json.loads(words["numbers"])
        inflation = Inflation(arrays["inflation.pressures"], arrays["inflation.volumes"])
        network, knots = _network("shape", arrays, numbers), Knots(arrays["knots.u"], arrays["knots.v"])
        symmetries = tuple(tuple(int(i) for i in each) for each in numbers["symmetries"])
        spread = float(numbers["spread"])
        shapes = ShapeModel(inflation, network, arrays["mean"], spread, knots, symmetries)
        warp, width = _network("warp", arrays, numbers), float(numbers["width"])
        terms = (jnp.asarray(arrays[f"inputs.{name}"]) for name in ("degrees", "coefficients"))
        inputs = InputMap(*terms, None if numbers["reference"] is None else float(numbers["reference"]))
        return Correction(
            words["robot"], shapes, inputs, warp, arrays["kernels"], width, words["description"], words["data"]
        )
    except (SafetensorError, KeyError, ValueError, TypeError, InputError) as error:
        raise RecordingError(f"{path}: not readable as weights of soft_twin: {one_line(error)}") from error


def _layers(name: str, network: Folded) -> dict[str, np.ndarray]:
    arrays = {f"{name}.weight.{i}": np.asarray(each) for i, each in enumerate(network.weights)}
    return arrays | {f"{name}.bias.{i}": np.asarray(each) for i, each in enumerate(network.biases)}


def _network(name: str, arrays: dict[str, np.ndarray], numbers: dict) -> Folded:
    count = sum(key.startswith(f"{name}.weight.") for key in arrays)
    if not count:
        raise KeyError(f"{name}.weight.0")
    layers = ([jnp.asarray(arrays[f"{name}.{kind}.{i}"]) for i in range(count)] for kind in ("weight", "bias"))
    return Folded(*layers, bool(numbers["smooth"][name]))
