"""The study of shape control: what it measures, on surfaces whose distance is known."""

from contextlib import nullcontext
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.errors import UsageError
from soft_twin.learning.shape_control import registered
from soft_twin.learning.shape_target import ShapeTarget
from soft_twin.studies.learning import shape
from soft_twin.studies.learning.prediction import recorded
from soft_twin.studies.learning.shape import CORRECTED, PLAIN, deviations, learned, moved_targets


def surface(n=25):
    """A sheet of 200 mm with a bump, (n², 3) [m], and its triangles."""
    ticks = np.linspace(-0.1, 0.1, n)
    x, y = (each.ravel() for each in np.meshgrid(ticks, ticks, indexing="ij"))
    points = np.column_stack([x, y, 0.03 * np.exp(-((x - 0.02) ** 2 + y**2) / 0.002)])
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    quads = np.column_stack([corner, corner + n, corner + n + 1, corner + 1])
    return points, np.vstack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def test_deviations_are_in_base_link_and_of_the_shape_alone():
    points, triangles = surface()
    frame = {"points": points, "triangles": triangles}
    own, lifted = deviations(points, frame, 1), deviations(points + [0.0, 0.0, 0.002], frame, 1)
    assert own["in_base"].max() < 0.05 and own["shape"].mean() < 0.1
    assert np.median(lifted["in_base"]) == pytest.approx(2.0, rel=0.05)
    assert lifted["shape"].mean() < 0.1
    higher = deviations(points * [1.0, 1.0, 1.2], frame, 1)
    assert higher["in_base"].max() > 3.0 and higher["shape"].mean() > 3.0 * own["shape"].mean()


def test_a_moved_target_is_found_where_it_was():
    points, _ = surface(40)
    turn, shift = Rotation.from_rotvec([0.05, -0.08, 0.03]).as_matrix(), np.array([0.004, -0.003, 0.01])
    target = ShapeTarget.of(points @ turn.T + shift, whole=True)
    pose, distances = registered(target, points, 100)
    assert 1e3 * distances.mean() < 0.15
    back = (points @ turn.T + shift) @ pose.rotation.T + pose.translation
    assert 1e3 * np.linalg.norm(back - points, axis=1).mean() < 3.0


def test_weights_that_were_trained_on_other_frames_are_refused(tmp_path, monkeypatch):
    points, _ = surface(10)
    frame = {"scan": points, "normals": np.tile([0.0, 0.0, 1.0], (100, 1)), "pressures": np.array([2e3]), "held": 5.0}
    robot = SimpleNamespace(name="sheet", chamber_names=("cell",), path="sheet.yaml")
    shapes = SimpleNamespace(limits=np.array([[0.0, 4e3]]), size=200.0)
    known = SimpleNamespace(
        check=lambda _: None, shapes=shapes, data=recorded(robot, [frame], shapes, tmp_path / "scans").digest
    )
    doubles = {"inflation_of": lambda *_: None, "load": lambda _: known, "frame_cases": lambda *_: []}
    for name, double in doubles.items():
        monkeypatch.setattr(shape, name, double)
    (tmp_path / "sheet.safetensors").touch()
    for lift, said in ((0.0, None), (0.001, "'.*sheet.safetensors' was trained on other frames .* sheet.yaml")):
        seen = frame | {"scan": points + [0.0, 0.0, lift]}
        monkeypatch.setattr(shape, "scanned", lambda *_, seen=seen: [seen, frame])
        with nullcontext() if said is None else pytest.raises(UsageError, match=said):
            assert learned(robot, SimpleNamespace(frames=1, unseen=1), tmp_path)[0] is known


def test_targets_are_moved_the_same_every_time():
    points, _ = surface()
    frames = [{"scan": points, "normals": np.tile([0.0, 0.0, 1.0], (len(points), 1))}] * 2
    first, again = (moved_targets(frames, 7) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.points, other.points)
    assert np.abs(first[0].points - first[1].points).max() > 5.0
    sides = [np.sort(np.linalg.svd(each.points - each.points.mean(axis=0))[1]) for each in first]
    np.testing.assert_allclose(sides[0], sides[1])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_picture_shows_as_many_targets_as_there_are(count, tmp_path, monkeypatch):
    points, _ = surface()
    maps = [{"points": points, "shape": 10.0 * points[:, 2]}] * count
    drawn = []
    monkeypatch.setattr(shape, "write_picture", lambda path, figure, **_: drawn.append(figure))
    shape.draw(tmp_path, {PLAIN: maps, CORRECTED: maps})
    drawn[0].draw_without_rendering()
    titles = [each.title.get_window_extent() for each in drawn[0].axes[:-1]]  # the last is the colour bar's
    assert len(titles) == 2 * min(count, 3)
    assert not any(one.overlaps(other) for one, other in combinations(titles, 2))
