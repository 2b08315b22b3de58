"""The study of what is missing: what is taken away of scans and markers, and how rows are summed."""

import json
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.learning.frames import MarkerRecording, Scan
from soft_twin.learning.simulations import learnable
from soft_twin.studies.learning import missing
from soft_twin.studies.learning.missing import (
    all_markers,
    draw,
    recordings,
    summed,
    table,
    whole_scans,
    with_gaps,
    with_holes,
)

SQUARE = np.array([[-0.1, -0.1, 0.0], [0.1, -0.1, 0.0], [0.1, 0.1, 0.0], [-0.1, 0.1, 0.0]])
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]])
LEARNING = SimpleNamespace(
    seed=5, scanner=SimpleNamespace(points=2000, noise=0.0005), markers=SimpleNamespace(count=30, noise=0.0002)
)
FRAMES = [
    {"points": SQUARE + [0.0, 0.0, height], "triangles": TRIANGLES, "pressures": np.full(2, height), "held": 5.0}
    for height in (0.0, 0.05)
]


def test_whole_scans_are_all_over_the_surface_with_the_scanners_noise():
    scans = whole_scans(FRAMES, LEARNING)
    for scan, height in zip(scans, (0.0, 0.05), strict=True):
        assert scan.points.shape == (2000, 3)
        assert np.std(scan.points[:, 2] - height) == pytest.approx(0.0005, rel=0.1)
        counts, _, _ = np.histogram2d(*scan.points[:, :2].T, bins=4, range=2 * [[-0.1, 0.1]])
        assert counts.min() > 80
    assert not np.allclose(scans[0].points[:, :2], scans[1].points[:, :2])


def test_a_hole_is_round_and_as_large_as_it_shall_be():
    scans = whole_scans(FRAMES, LEARNING)
    for whole, scan in zip(scans, with_holes(scans, 0.2, [1]), strict=True):
        assert len(scan.points) == len(scan.normals) == 1600
        left = set(map(tuple, scan.points))
        gone = np.array([point for point in whole.points if tuple(point) not in left])
        middle = gone.mean(axis=0)
        inside = np.linalg.norm(scan.points - middle, axis=1) < 0.5 * np.linalg.norm(gone - middle, axis=1).max()
        assert not inside.any()
    np.testing.assert_array_equal(with_holes(scans, 0.0, [1])[1].points, scans[1].points)


def test_markers_are_all_there_and_then_some_are_not():
    at_rest = {"points": SQUARE, "triangles": TRIANGLES}
    recording = all_markers(FRAMES, at_rest, LEARNING)
    assert isinstance(recording, MarkerRecording) and recording.markers.shape == (2, 30, 3)
    np.testing.assert_allclose(recording.markers[1] - recording.rest, np.tile([0.0, 0.0, 0.05], (30, 1)), atol=0.0015)
    np.testing.assert_array_equal(recording.held, [5.0, 5.0])
    many = MarkerRecording(np.zeros((100, 2)), np.zeros((100, 30, 3)), recording.rest)
    gaps = np.isnan(with_gaps(many, 0.1, [1]).markers)
    assert (gaps.any(axis=2) == gaps.all(axis=2)).all() and gaps.mean() == pytest.approx(0.1, abs=0.02)


def test_each_share_is_drawn_several_times_and_nothing_missing_once():
    frames = [each | {"scan": each["points"], "normals": each["points"]} for each in FRAMES]
    found = list(recordings(frames, {"points": SQUARE, "triangles": TRIANGLES}, LEARNING))
    kinds = [case[:2] for case, _ in found]
    assert [kinds.count(("scans", share)) for share in (0.0, 0.2, 0.4)] == [1, 3, 3]
    assert [kinds.count(("markers", share)) for share in (0.0, 0.1, 0.3)] == [1, 3, 3]
    seen = {kind: own for kind, (_, own) in zip(kinds, found, strict=True)}
    assert [len(seen["scans", share].scans[1].points) for share in (0.0, 0.2, 0.4)] == [2000, 1600, 1200]
    assert len(seen["scans as its eyes see it", 0.0].scans[1].points) == 4
    assert not np.isnan(seen["markers", 0.0].markers).any() and np.isnan(seen["markers", 0.3].markers).any()
    one, other = (own.scans[0].points for case, own in found if case in {("scans", 0.2, 0), ("scans", 0.2, 1)})
    assert not np.array_equal(one, other)


def test_an_interrupted_study_keeps_its_trainings(tmp_path, monkeypatch):
    frames = [each | {"scan": each["points"], "normals": each["points"]} for each in FRAMES]
    found = dict(recordings(frames, {"points": SQUARE, "triangles": TRIANGLES}, LEARNING))
    robot, learning = learnable("manipulator")
    monkeypatch.setattr(missing, "_known", lambda *_: missing._Known(robot, learning, None, found, []))
    learned = []

    def learn(shapes, recording, robot, training, say):
        if len(learned) == 3:
            raise KeyboardInterrupt
        learned.append(recording)

    monkeypatch.setattr(missing, "learn_warp", learn)
    monkeypatch.setattr(missing, "learn_warp_by_markers", learn)
    monkeypatch.setattr(missing, "errors_of", lambda *_: np.array([[len(learned), 10.0]]))
    with pytest.raises(KeyboardInterrupt):
        missing.run(tmp_path, tmp_path)
    before, learned[:] = list(learned), [None, None, None, None]
    missing.run(tmp_path, tmp_path)
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert len(before) == 3 and len(learned) == 4 + len(found) - 3
    assert [row["mean_mm"] for row in rows[:4]] == [1.0, 2.0, 3.0, 5.0]
    assert [(row["name"], row["missing"], row["draw"]) for row in rows] == list(found)


def test_rows_are_means_over_draws_beside_what_was_complete(tmp_path):
    errors = [("scans", 0.0, 1.0), ("scans", 0.2, 1.1), ("scans", 0.2, 1.3), ("scans as its eyes see it", 0.0, 0.9)]
    errors += [("markers", 0.0, 2.0), ("markers", 0.1, 1.9)]
    content = [
        {"name": name, "missing": share, "draw": 0, "mean_mm": mean, "largest_mm": 3.0 * mean, "seconds": 1.0}
        for name, share, mean in errors
    ]
    found = {row[:2]: row[2:] for row in summed(content)}
    assert found["scans", 0.2] == pytest.approx((1.2, 3.6, 0.2)) and found["markers", 0.1][2] == pytest.approx(-0.05)
    assert found["scans as its eyes see it", 0.0][2] == pytest.approx(-0.1)
    assert "20 %       1.20           3.6     20 %" in table(content)
    draw(tmp_path, content)
    assert np.ptp(matplotlib.image.imread(tmp_path / "missing.png")) > 0.5


def test_scans_keep_their_normals():
    scan = Scan(np.arange(30.0).reshape(10, 3), np.arange(30.0).reshape(10, 3) + 0.5)
    (left,) = with_holes([scan], 0.3, [2])
    np.testing.assert_array_equal(left.normals - left.points, 0.5)
    assert len(left.points) == 7
