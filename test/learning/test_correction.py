"""A robot that is learned: networks on a closed form, a reality that is known, files, and what is refused."""

import copy
import errno
import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import identity
from small_membrane import small_sizes, two_rooms
from test_flattening import sheet

from soft_twin.errors import InputError, RecordingError, UsageError
from soft_twin.learning.evaluation import surface_distances
from soft_twin.learning.frames import Recording, Scan
from soft_twin.learning.knots import Knots
from soft_twin.learning.samples import Inflation, inflation_shares, random_shares
from soft_twin.learning.simulations import Simulations, SurfaceMesh
from soft_twin.robots import load_robot

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import jax
import jax.numpy as jnp
from safetensors import safe_open

import soft_twin.learning
from soft_twin.learning import storage
from soft_twin.learning.confidence import Confidence
from soft_twin.learning.layer import grid
from soft_twin.learning.storage import save
from soft_twin.learning.teaching import clouds_of, learn_shapes, learn_warp
from soft_twin.learning.training import WarpTraining, Weights, train_shapes
from soft_twin.studies.learning.ablations import on_shapes, shape_errors

PLANE, TRIANGLES = sheet(13, 13)
PRESSURES = np.linspace(0.0, 3000.0, 5)
INFLATION = Inflation(*2 * [np.column_stack([PRESSURES, PRESSURES])])


def shape(pressures, gain=1.0):
    """A sheet of 100 mm with a bump over each half, as high as its pressure says; the reality's rise further."""
    heights = 0.03 * np.asarray(pressures) / 3000.0
    middles = np.array([[0.3, 0.5], [0.7, 0.5]])
    bumps = np.exp(-((PLANE[:, None, :2] - middles) ** 2).sum(axis=2) / 0.03)
    return 0.1 * PLANE + gain * np.outer(bumps @ heights, [0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def sizes():
    with small_sizes():
        yield


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return two_rooms(tmp_path_factory.mktemp("robot"))


@pytest.fixture(scope="module")
def learned(robot, sizes):
    pressures = INFLATION.pressures_of(inflation_shares(2, 120))
    points = np.array([shape(each) for each in pressures])
    simulations = Simulations(pressures, points, np.zeros(120, bool), {})
    shapes, error = learn_shapes(simulations, SurfaceMesh(identity(169), 0.1 * PLANE, TRIANGLES), INFLATION, 2)
    random = np.random.default_rng(0)
    seen = INFLATION.pressures_of(random_shares(2, 8, random))
    up = np.tile([0.0, 0.0, 1.0], (169, 1))
    scans = [Scan(shape(each, 1.25)[random.permutation(169)[:160]], up[:160]) for each in seen]
    recording = Recording(seen, scans, "digest")
    return error, learn_warp(shapes, recording, robot, WarpTraining(25, 2, 24, 1e-3, epochs=60))


def distances(points, pressures):
    return 1e3 * surface_distances(points, shape(pressures, 1.25), TRIANGLES).mean()


def test_shapes_that_were_not_trained_on_are_met(learned):
    assert learned[0] < 0.6  # [mm], of 30 mm
    pressures = np.array([1000.0, 2200.0])
    found = surface_distances(learned[1].simulated(pressures), shape(pressures), TRIANGLES)
    assert 1e3 * found.mean() < 0.6


def test_errors_of_shapes_are_distances_of_the_same_points(learned):
    """Of simulations, and of simulations that are 5 mm higher."""
    pressures, surface = np.array([[1000.0, 2200.0], [3000.0, 0.0]]), SurfaceMesh(identity(169), 0.1 * PLANE, TRIANGLES)
    points = np.array([shape(each) for each in pressures])
    assert shape_errors(learned[1].shapes, surface, pressures, points)[:, 0].max() < 0.6
    lifted = shape_errors(learned[1].shapes, surface, pressures, points + [0.0, 0.0, 0.005])
    np.testing.assert_allclose(lifted[:, 0], 5.0, atol=0.3)


def test_beyond_what_was_simulated_shapes_go_on_straight(learned):
    """To 1.5 times the highest pressures, where the bumps' closed form is linear."""
    shapes = learned[1].shapes
    inputs = 2.0 * np.array([[1.5, 0.3], [0.6, 1.5], [1.5, 1.5]]) - 1.0
    for each in inputs:
        points = np.asarray(shapes.surface(grid(400))(jnp.asarray(each, jnp.float32)), float) / 1e3
        pressures = 1500.0 * (each + 1.0)
        assert 1e3 * surface_distances(points, shape(pressures), TRIANGLES).mean() < 0.6
    last, one, two = (np.asarray(shapes.control_of(jnp.array([share, 0.2]))) for share in (1.0, 1.25, 1.5))
    np.testing.assert_allclose(two - one, one - last, atol=1e-3)


def test_pressures_beyond_their_limits_are_shares_that_go_on(learned):
    """Of a chamber that fills evenly: as simulations by volume may need them; none is taken for the limit."""
    shapes = learned[1].shapes
    found = np.asarray(shapes.inputs_of(np.array([[-600.0, 3900.0], [0.0, 3000.0]])))
    np.testing.assert_allclose(found, [[-1.4, 1.6], [-1.0, 1.0]], atol=1e-5)


def test_surfaces_that_are_given_are_warped_as_those_of_the_network_are(learned):
    _, correction = learned
    pressures, uv = np.array([1000.0, 2200.0]), np.random.default_rng(1).uniform(size=(50, 2))
    inputs = correction.inputs(correction.shapes.inputs(jnp.asarray(pressures)))
    control = np.asarray(correction.shapes.control_of(inputs))
    np.testing.assert_allclose(on_shapes(correction, control, uv), correction(pressures, uv), atol=1e-6)


def test_a_reality_that_rises_further_is_learned_from_scans(learned):
    before, after = [], []
    for pressures in INFLATION.pressures_of(random_shares(2, 5, np.random.default_rng(7))):
        before.append(distances(learned[1].simulated(pressures), pressures))
        after.append(distances(learned[1](pressures), pressures))
    assert np.mean(after) < 0.5 * np.mean(before)


def test_scans_of_more_points_than_are_needed_are_thinned_always_alike():
    random = np.random.default_rng(0)
    scans = [Scan(random.normal(size=(count, 3)), random.normal(size=(count, 3))) for count in (700, 30_000, 5000)]
    first, again = (clouds_of(Recording(np.zeros((3, 2)), scans)) for _ in range(2))
    np.testing.assert_array_equal(first.there.sum(axis=1), [700, 1000, 1000])
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    rows = np.flatnonzero(((1e3 * scans[1].points).astype(np.float32) == np.asarray(first.points)[1, 7]).all(axis=1))
    assert len(rows) == 1
    np.testing.assert_allclose(first.normals[1, 7], scans[1].normals[rows[0]], rtol=1e-6)


def test_how_long_a_pressure_stood_counts_where_frames_told_it(learned, robot, tmp_path):
    """A reality that rises by a fifth with each e-fold of time; its weights, stored and loaded, know."""
    random = np.random.default_rng(3)
    seen, held = INFLATION.pressures_of(random_shares(2, 16, random)), random.uniform(5.0, 120.0, 16)
    up = np.tile([0.0, 0.0, 1.0], (169, 1))

    def rise(seconds):
        return 1.0 + 0.2 * np.log((60.0 + seconds) / 120.0)

    scans = [Scan(shape(each, rise(seconds)), up) for each, seconds in zip(seen, held, strict=True)]
    recording = Recording(seen, scans, "digest", held)
    training = WarpTraining(25, 2, 24, 1e-3, Weights(confidence=None), epochs=0)
    found = learn_warp(learned[1].shapes, recording, robot, training)
    save(found, tmp_path / "mine.safetensors")
    loaded = soft_twin.learning.load(tmp_path / "mine.safetensors")
    assert loaded.inputs.reference == np.median(held) and loaded.shapes.symmetries == found.shapes.symmetries
    pressures = np.array([2500.0, 1800.0])
    for seconds in (5.0, 10.0):
        true = shape(pressures, rise(seconds))
        told = loaded(pressures, held=seconds)
        away = [surface_distances(points, true, TRIANGLES).mean() for points in (told, loaded(pressures))]
        assert away[0] < 0.5 * away[1]
        surface = found.surface(grid(1024), seconds)(found.shapes.inputs(jnp.asarray(pressures)))
        np.testing.assert_allclose(1e-3 * np.asarray(surface), told, atol=1e-6)
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="held: .* s is not 0 or more"):
            loaded(pressures, held=wrong)
    with pytest.raises(InputError, match="held: expected seconds, 0 or more, found 'x'"):
        loaded(pressures, held="x")
    with pytest.raises(InputError, match="did not tell how long pressures had stood"):
        learned[1](pressures, held=10.0)


def test_the_correction_is_differentiated_by_pressures(learned):
    function = learned[1].function(np.array([[0.3, 0.5], [0.6, 0.4]]))
    pressures, step = jnp.array([1200.0, 700.0]), 4.0

    def value(p):
        return function(p)[1].sum()

    value_of, slope = jax.jit(value), jax.jit(jax.grad(value))(pressures)
    for i in range(2):
        to = jnp.zeros(2).at[i].set(step)
        difference = (value_of(pressures + to) - value_of(pressures - to)) / (2.0 * step)
        assert slope[i] == pytest.approx(float(difference), rel=0.05, abs=1e-4)


def test_a_stored_correction_says_the_same_and_whose_it_is(learned, robot, tmp_path):
    path = tmp_path / "weights" / "mine.safetensors"
    save(learned[1], path)
    assert [each.name for each in path.parent.iterdir()] == ["mine.safetensors"]
    loaded = soft_twin.learning.load(path)
    pressures = np.array([1500.0, 300.0])
    np.testing.assert_allclose(loaded(pressures), learned[1](pressures), atol=1e-7)
    assert loaded.data == "digest" and loaded(pressures).shape == (1024, 3)
    loaded.check(robot)
    with pytest.raises(UsageError, match="another description of 'two_rooms'"):
        loaded.check(two_rooms(tmp_path, highest=2000.0))
    with pytest.raises(UsageError, match="than that of 'slender'"):
        loaded.check(load_robot("slender"))


def test_weights_that_cannot_be_written_leave_nothing_behind(learned, tmp_path, monkeypatch):
    folder = tmp_path / "mine.safetensors"
    folder.mkdir()
    with pytest.raises(UsageError, match="it is a folder"):
        save(learned[1], folder)
    with pytest.raises(UsageError, match="cannot write the weights '/proc/x.safetensors'"):
        save(learned[1], Path("/proc/x.safetensors"))

    def full(path, data):
        with path.open("wb") as stream:
            stream.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match="cannot write the weights .*No space left"):
        save(learned[1], tmp_path / "other.safetensors")
    assert [each.name for each in tmp_path.iterdir()] == ["mine.safetensors"] and not list(folder.iterdir())


def test_knots_are_placed_by_simulations_and_stored(learned, tmp_path):
    fine, triangles = sheet(41, 41)
    pressures = INFLATION.pressures_of(inflation_shares(2, 12))
    creased = np.maximum(0.05 - np.abs(fine[:, 0] - 0.47), 0.0)
    points = np.array([0.1 * fine + np.outer(each[0] / 3000.0 * creased, [0.0, 0.0, 1.0]) for each in pressures])
    simulations = Simulations(pressures, points, np.zeros(12, bool), {})
    surface = SurfaceMesh(identity(len(fine)), 0.1 * fine, triangles)
    shapes, _ = learn_shapes(simulations, surface, INFLATION, 2, epochs=1)
    spans = np.diff(shapes.knots.u[3:-3])
    assert spans.min() < 0.6 * spans.max()
    path = tmp_path / "mine.safetensors"
    save(replace(learned[1], shapes=replace(learned[1].shapes, knots=shapes.knots)), path)
    loaded = soft_twin.learning.load(path)
    for own, other in zip(loaded.shapes.knots, shapes.knots, strict=True):
        np.testing.assert_array_equal(own, other)
    pressures = np.array([1500.0, 300.0])
    assert np.abs(loaded(pressures) - learned[1](pressures)).max() > 1e-5
    with pytest.raises(InputError, match="knots of \\(8, 8\\) control points for a surface of \\(12, 12\\)"):
        replace(shapes, knots=Knots.uniform((8, 8)))


def test_weights_of_another_version_are_refused(learned, tmp_path, monkeypatch):
    path = tmp_path / "old.safetensors"
    monkeypatch.setattr(storage, "VERSION", "2")
    save(learned[1], path)
    monkeypatch.undo()
    with pytest.raises(RecordingError, match=f"weights of version 2, expected {storage.VERSION}"):
        soft_twin.learning.load(path)


def test_pressures_beyond_their_limits_are_refused(learned):
    with pytest.raises(InputError, match="pressure 2: 3500 Pa is outside 0…3000 Pa"):
        learned[1](np.array([0.0, 3500.0]))
    with pytest.raises(InputError, match="pressures"):
        learned[1](np.zeros(3))


@pytest.mark.parametrize(
    ("uv", "message"),
    [
        ([0.5, 0.5], r"uv: expected parameters \(p, 2\), found an array of shape \(2,\)"),
        ([[0.5, 0.5, 0.5]], r"uv: expected parameters \(p, 2\), found an array of shape \(1, 3\)"),
        ([], r"uv: expected parameters \(p, 2\), found an array of shape \(0,\)"),
        ("middle", r"uv: expected parameters \(p, 2\), found 'middle'"),
        ([[0.5, 0.5], [1.5, 0.5]], r"uv: 1 of 2 are outside 0…1, the first at \(1.5, 0.5\)"),
        ([[np.nan, 0.5]], r"uv: 1 of 1 are outside 0…1, the first at \(nan, 0.5\)"),
    ],
)
def test_parameters_outside_the_unit_square_are_refused(learned, uv, message):
    for asked in (learned[1], learned[1].simulated, learned[1].confidence_at):
        with pytest.raises(InputError, match=message):
            asked([1000.0, 2200.0], uv)


def test_a_correction_that_was_called_is_pickled(learned):
    pressures = [1000.0, 2200.0]
    expected = learned[1](pressures)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(learned[1]))(pressures), expected)
    np.testing.assert_array_equal(copy.deepcopy(learned[1])(pressures), expected)


def test_threads_that_ask_for_other_parameters_get_their_own(learned):
    pressures, asked = [1000.0, 2200.0], [np.array([[0.2, 0.5]]), np.array([[0.9, 0.1]])]
    correction = replace(learned[1])
    expected = [correction(pressures, uv) for uv in asked]

    class Interrupted(dict):
        """Another thread asks between two looks at what is kept."""

        def get(self, *args):
            found = super().get(*args)
            if not self.pop("asked", False):
                self["asked"] = True
                correction(pressures, asked[0])
            return found

    vars(correction)["_kept"] = Interrupted(correction._kept)
    np.testing.assert_array_equal(correction(pressures, asked[1]), expected[1])


def test_only_robots_are_checked(learned):
    with pytest.raises(InputError, match=r"robot: expected a robot, as load_robot\(NAME\) gives it, found 'sheet'"):
        learned[1].check("sheet")


def seen_in_part(correction, robot, epochs):
    """Taught by scans that end at three fifths of the sheet."""
    random, half = np.random.default_rng(5), PLANE[:, 0] < 0.6
    seen = INFLATION.pressures_of(random_shares(2, 8, random))
    scans = [Scan(shape(each, 1.25)[half], np.tile([0.0, 0.0, 1.0], (half.sum(), 1))) for each in seen]
    weights = Weights(patch=correction.shapes.patch)
    training = WarpTraining(25, 2, 24, 1e-3, weights, epochs=epochs)
    return learn_warp(correction.shapes, Recording(seen, scans, ""), robot, training, correction.inputs)


@pytest.mark.parametrize("epochs", [0, 40])
def test_points_opposite_what_no_scan_shows_are_not_believed(learned, robot, tmp_path, epochs):
    """Whether there is a warp or none; the map is stored with the weights."""
    found, pressures, uv = seen_in_part(learned[1], robot, epochs), np.array([1500.0, 1000.0]), grid(400)
    save(found, tmp_path / "mine.safetensors")
    believed = soft_twin.learning.load(tmp_path / "mine.safetensors").confidence_at(pressures, uv)
    np.testing.assert_allclose(believed, found.confidence_at(pressures, uv), atol=1e-6)
    x = found.simulated(pressures, uv)[:, 0]
    seen, hidden = believed[x < 0.055].mean(), believed[x > 0.085].mean()
    assert hidden < 0.1 and seen > hidden + (0.5 if epochs else 0.7)
    assert ((believed >= 0.0) & (believed <= 1.0)).all()
    with pytest.raises(InputError, match="no confidence"):
        replace(found, confidence=None).confidence_at(pressures)


def test_a_confidence_that_is_folded_says_what_it_said_in_training():
    random = np.random.default_rng(0)
    points, shapes = (jnp.asarray(random.normal(size=size), jnp.float32) for size in ((6, 30, 3), (6, 40)))
    network = Confidence(40, jax.random.key(1))
    folded = network.folded(points, shapes)
    said = np.array([folded(own, shape) for own, shape in zip(points, shapes, strict=True)])
    np.testing.assert_allclose(said, network(points, shapes), atol=1e-5)


BROKEN = {
    "mean": (lambda a: np.full_like(a, np.nan), "'mean' has entries that are no finite numbers"),
    "shape.weight.1": (lambda a: a[:, :-1], r"'shape.weight.1' has the shape \(128, 127\), expected \('any', 128\)"),
    "shape.weight.0": (lambda a: np.hstack([a, a]), "'shape.weight.0' has the shape"),
    "shape.bias.2": (lambda a: a[:-3], "'shape.bias.2' has the shape"),
    "warp.bias.0": (lambda a: a.astype(bool), "'warp.bias.0' has entries that are no finite numbers"),
    "warp.weight.2": (lambda a: a[:, :, None], "'warp.weight.2' has the shape"),
    "kernels": (lambda a: a[:-1], "network 'warp' has 87 outputs, expected 84"),
    "kernels ": (lambda a: a + 0.5, "'kernels' has parameters outside 0…1"),
    "knots.u": (lambda a: a[::-1].copy(), "'knots.u' do not rise"),
    "knots.v": (lambda a: a[1:], "'knots.v' has the shape"),
    "inflation.volumes": (lambda a: -a, "the volumes of chamber 1 do not rise"),
    "inflation.pressures": (lambda a: a[:, :1], "'inflation.volumes' has the shape"),
    "inputs.degrees": (lambda a: a + 3, "'inputs.degrees' are no whole numbers"),
    "inputs.coefficients": (lambda a: a + np.inf, "'inputs.coefficients' has entries"),
    "inputs.pressures": (lambda a: a[::-1].copy(), "'inputs.pressures' do not rise"),
    "inputs.shares": (lambda a: a[:1], "'inputs.shares' do not rise"),
    "confidence.of_shape": (lambda a: a[:-1], "has 127 rows, expected 128"),
}
WORDS = {
    "spread": (-1.0, "'spread' is -1.0, expected a number above 0"),
    "width": ("wide", "'width' is 'wide'"),
    "reference": (0, "'reference' is 0"),
    "symmetries": ([[0, 0]], "'symmetries' are no exchanges of 2 chambers"),
    "smooth": ({"shape": 1, "warp": False, "confidence": False}, "network 'shape' is smooth or not, found 1"),
}


@pytest.fixture(scope="module")
def stored(learned, tmp_path_factory):
    """Arrays and words of a file of weights."""
    path = tmp_path_factory.mktemp("stored") / "mine.safetensors"
    save(learned[1], path)
    with safe_open(path, "numpy") as stream:
        words = {key: word for key, word in stream.metadata().items() if key not in ("soft_twin", "digest")}
        return {key: stream.get_tensor(key) for key in stream.keys()}, words  # noqa: SIM118


def refused(path, arrays, words, told):
    storage.write(arrays, words, path)
    with pytest.raises(RecordingError, match=f"not readable as weights of soft_twin: .*{told}"):
        soft_twin.learning.load(path)


@pytest.mark.parametrize("key", BROKEN)
def test_arrays_that_are_not_what_they_should_be_are_told(stored, tmp_path, key):
    arrays, words = stored
    change, told = BROKEN[key]
    changed = {key.strip(): np.ascontiguousarray(change(arrays[key.strip()]))}
    refused(tmp_path / "mine.safetensors", arrays | changed, words, told)


@pytest.mark.parametrize("key", WORDS)
def test_numbers_that_are_not_what_they_should_be_are_told(stored, tmp_path, key):
    arrays, words = stored
    value, told = WORDS[key]
    numbers = json.loads(words["numbers"]) | {key: value}
    refused(tmp_path / "mine.safetensors", arrays, words | {"numbers": json.dumps(numbers)}, told)


def test_a_byte_that_is_another_is_told(stored, tmp_path):
    """Of a number that could be one, too."""
    path = tmp_path / "mine.safetensors"
    storage.write(*stored, path)
    data = bytearray(path.read_bytes())
    for place in (-1, -5000, 60_000):
        changed = data.copy()
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(RecordingError, match="its content is not what was written"):
            soft_twin.learning.load(path)


def test_arrays_that_are_missing_are_told(stored, tmp_path):
    arrays, words = stored
    for key in ("mean", "shape.weight.0", "warp.bias.1", "knots.u", "inputs.degrees", "kernels"):
        refused(tmp_path / "mine.safetensors", {k: v for k, v in arrays.items() if k != key}, words, key)
    rest = {k: v for k, v in arrays.items() if k not in ("shape.weight.2", "shape.bias.2")}
    refused(tmp_path / "mine.safetensors", rest, words, "network 'shape' has 128 outputs, expected 432")


def test_files_that_are_no_weights_are_told(tmp_path):
    with pytest.raises(UsageError, match="no file of weights"):
        soft_twin.learning.load(tmp_path / "gone.safetensors")
    with pytest.raises(UsageError, match="file of weights: expected the path of a file, found None"):
        soft_twin.learning.load(None)
    (tmp_path / "broken.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(RecordingError, match="not readable as weights"):
        soft_twin.learning.load(tmp_path / "broken.safetensors")


def test_distances_are_to_the_surface_not_to_its_points():
    random = np.random.default_rng(1)
    points = np.column_stack([random.uniform(0.2, 0.8, (50, 2)), np.full(50, 0.02)])
    np.testing.assert_allclose(surface_distances(points, PLANE, TRIANGLES), 0.02, atol=1e-12)
    beyond = surface_distances(np.array([[1.5, 0.5, 0.0]]), PLANE, TRIANGLES)
    assert beyond[0] == pytest.approx(0.5, abs=0.04)


def test_what_symmetries_say_is_trained_on_and_not_asked_again():
    inputs, random = 2.0 * inflation_shares(2, 40) - 1.0, np.random.default_rng(3)
    outputs = np.column_stack([inputs[:, 0] + inputs[:, 1] ** 2, inputs[:, 1] + inputs[:, 0] ** 2])
    turned = [(inputs[:, ::-1], outputs[:, ::-1])]
    alone, unseen = train_shapes(inputs, outputs, 2, epochs=300)
    network, unknown = train_shapes(inputs, outputs, 2, epochs=300, turned=turned)
    assert len(unseen) == 12
    assert set(unknown) <= set(unseen)
    own = np.setdiff1d(np.arange(40), unseen)
    assert not any((np.abs(inputs[own][:, ::-1] - inputs[row]).max(axis=1) < 1e-6).any() for row in unknown)
    asked = random.uniform(-1.0, 1.0, (200, 2))
    swapped = [
        np.abs(np.asarray(each(asked))[:, ::-1] - np.asarray(each(asked[:, ::-1]))).mean() for each in (alone, network)
    ]
    assert swapped[1] < swapped[0]
