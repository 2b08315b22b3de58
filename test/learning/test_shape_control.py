"""Shape control on networks that are a closed form: pressures, pose and limits are known; slopes beside differences."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_flattening import sheet

from soft_twin.errors import InputError
from soft_twin.learning.samples import Inflation
from soft_twin.learning.surfaces import SurfaceFit

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import jax
import jax.numpy as jnp

from soft_twin.learning.correction import Correction, ShapeModel
from soft_twin.learning.input_map import InputMap
from soft_twin.learning.layer import grid
from soft_twin.learning.networks import Folded
from soft_twin.learning.shape_control import FIXED, FREE, RigidMotion, ShapeControl
from soft_twin.learning.shape_target import ShapeTarget

PLANE, TRIANGLES = sheet(13, 13)  # of 1 x 1, in its middle 0
SIZE, HIGHEST, RISE = 0.1, 3000.0, 20.0  # [m], [Pa], [mm] that the reality's bumps rise further than the twin's
PRESSURES = HIGHEST * np.linspace(0.0, 1.0, 6)
INFLATION = Inflation(*(np.column_stack([each, each]) for each in (PRESSURES, np.sqrt(PRESSURES))))
TURN = Rotation.from_rotvec([0.1, -0.15, 0.2]).as_matrix()
SHIFT = np.array([0.05, -0.02, 0.08])


def middle():
    return PLANE[:, :2].min(axis=0) + 0.5 * np.ptp(PLANE[:, :2], axis=0)


def bumps(xy):
    """(n, 2) two bumps over places (n, 2) of the plane: unlike ones, so that a turned sheet is another."""
    places = middle() + np.array([[-0.2, -0.1], [0.25, 0.15]])
    return np.exp(-((xy[:, None] - places) ** 2).sum(axis=2) / [0.04, 0.08])


def model(gain=1.0, hidden=None):
    """Networks that are linear in the shares; a warp that lifts everything `RISE` mm times its height over 100 mm."""
    fit = SurfaceFit.at_rest(PLANE, TRIANGLES, (14, 14))
    lift = np.zeros((2, len(PLANE), 3))
    lift[:, :, 2] = 15.0 * gain * bumps(PLANE[:, :2]).T  # [mm] for each share of 1, −1…1
    flat = fit.fit(1e3 * SIZE * PLANE)
    modes = fit.fit(lift)
    first = np.eye(2) if hidden is None else hidden
    network = Folded(
        [jnp.asarray(first, jnp.float32), jnp.asarray(modes.reshape(2, -1).T, jnp.float32)],
        [jnp.ones(len(first)), jnp.zeros(flat.size)],
    )  # relu(share + 1) is 0…2
    if hidden is not None:
        network = Folded(
            [network.weights[0], jnp.asarray(np.tile(modes.reshape(2, -1).T, (1, len(first) // 2)), jnp.float32)],
            network.biases,
        )
    return ShapeModel(INFLATION, network, flat.astype(np.float32), 1.0, fit.knots)


def corrected(shapes, random=None):
    """With a warp that raises by z · RISE / 100 mm; or a random one that depends on the shape."""
    kernels = grid(16)
    outputs, inputs = 3 * (len(kernels) + 4), shapes.mean.size
    constant = np.zeros((len(kernels) + 4, 3))
    constant[3, 2] = RISE * shapes.size / 100.0
    weights = np.zeros((outputs, inputs))
    if random is not None:
        weights, constant = 0.002 * random.normal(size=weights.shape), random.normal(size=constant.shape)
    warp = Folded([jnp.asarray(weights, jnp.float32)], [jnp.asarray(constant.ravel(), jnp.float32)])
    inputs = InputMap.none(2)
    if random is not None:
        degrees, own = (
            [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 3, 0]],
            [[0.02, -0.03], [0.05, 0.1], [0.04, 0.0], [0.0, 0.1]],
        )
        inputs = InputMap(jnp.array(degrees), jnp.array(own), shapes.filling)
    return Correction("two bumps", shapes, inputs, warp, kernels, 4e-3, "", "")


@pytest.fixture(scope="module")
def control():
    return ShapeControl(corrected(model()), 400, ["left", "right"])


def cloud(pressures, count=3000, seed=0, gain=1.2):
    """(k, 3) points [m] of the reality, drawn evenly over the plane."""
    low, high = PLANE[:, :2].min(axis=0), PLANE[:, :2].max(axis=0)
    xy = np.random.default_rng(seed).uniform(low, high, (count, 2))
    filled = [np.interp(p, PRESSURES, np.sqrt(PRESSURES)) / np.sqrt(HIGHEST) for p in pressures]
    return np.column_stack([SIZE * xy, 0.030 * gain * bumps(xy) @ filled])


def moved(points):
    return points @ TURN.T + SHIFT


def test_slopes_of_surface_and_distance_are_those_of_differences():
    random = np.random.default_rng(2)
    function = corrected(model(hidden=random.normal(size=(6, 2))), random).surface(grid(50))
    target = ShapeTarget.of(cloud([900.0, 2000.0]))
    shares, step = np.array([0.13, -0.37]), 1e-6
    with jax.enable_x64(True):
        surface = jax.jit(function)
        slopes = np.asarray(jax.jit(jax.jacfwd(function))(shares))
        ends = [[np.asarray(surface(shares + sign * step * to)) for sign in (1, -1)] for to in np.eye(2)]
        here = np.asarray(surface(shares))
    assert np.abs(slopes).max() > 1.0
    for i, (ahead, back) in enumerate(ends):
        np.testing.assert_allclose(slopes[..., i], (ahead - back) / (2 * step), atol=1e-5)
    gradient = 2.0 * np.einsum("nd,nda->a", target.feet(here).away, slopes)  # eq. 16
    for i, pair in enumerate(ends):
        values = [(target.feet(points).away ** 2).sum() for points in pair]
        assert gradient[i] == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("pressures", [[700.0, 2100.0], [2600.0, 300.0]])
def test_pressures_and_pose_of_a_moved_cloud_are_found(control, pressures):
    found = control.solve(ShapeTarget.of(moved(cloud(pressures)), whole=True))
    assert found.converged and found.iterations <= 20 and found.active_limits == ()
    np.testing.assert_allclose(found.pressures, pressures, rtol=0.03)
    assert 1e3 * found.mean < 0.3 and 1e3 * found.largest < 2.5
    back = moved(cloud(pressures)) @ found.pose.rotation.T + found.pose.translation
    apart = 1e3 * (back - cloud(pressures))
    assert np.abs(apart[:, 2]).mean() < 0.3
    assert np.linalg.norm(apart, axis=1).mean() < 2.5  # a sheet's turn in its plane is felt within its points' spacing
    assert set(found.seconds) == {"forward", "gradient", "icp", "step", "start"}
    assert all(len(found.seconds[part]) == found.iterations for part in ("forward", "gradient", "icp", "step"))


def test_without_the_correction_the_same_cloud_asks_for_more(control):
    target = ShapeTarget.of(cloud([900.0, 1200.0]))
    plain = ShapeControl(model(), 400).solve(target, FIXED)
    known = control.solve(target, FIXED)
    np.testing.assert_allclose(known.pressures, [900.0, 1200.0], rtol=0.03)
    assert (plain.pressures > 1.2 * known.pressures).all()


def test_a_target_that_is_no_shape_of_the_surface_is_far_from_it(control):
    directions = np.random.default_rng(1).normal(size=(3000, 3))
    sphere = 0.07 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    for other in (sphere, cloud([900.0, 1500.0]) * [1.0, 1.0, -1.0]):
        assert control.solve(ShapeTarget.of(other)).far
    noise = 1e-3 * np.random.default_rng(2).normal(size=(3000, 3))
    for own in (cloud([900.0, 1500.0]) + noise, cloud([0.0, 0.0]), cloud([2800.0, 1000.0], gain=1.6)):
        assert not control.solve(ShapeTarget.of(own)).far


def test_what_is_fixed_is_not_moved(control):
    lifted = cloud([900.0, 1200.0]) + [0.0, 0.0, 0.004]
    found = control.solve(ShapeTarget.of(lifted), FIXED)
    np.testing.assert_array_equal(found.pose.rotation, np.eye(3))
    assert 1e3 * found.mean > 1.0
    assert 1e3 * control.solve(ShapeTarget.of(lifted)).mean < 0.3


def test_limits_bind_and_are_named(control):
    found = control.solve(ShapeTarget.of(cloud([HIGHEST, 1000.0], gain=1.6)))
    assert found.active_limits == ("left pressure max",)
    assert found.pressures[0] == HIGHEST and found.converged
    assert 1e3 * found.largest > 3.0


def test_holes_do_not_pull(control):
    points = cloud([1800.0, 1500.0])
    hole = np.linalg.norm(points[:, :2] - SIZE * (middle() + [0.25, 0.15]), axis=1) < 0.012
    found = control.solve(ShapeTarget.of(moved(points[~hole])))
    assert np.isnan(found.distances).sum() > 5
    np.testing.assert_allclose(found.pressures, [1800.0, 1500.0], rtol=0.05)


@pytest.mark.parametrize("pose", [FREE, FIXED])
@pytest.mark.parametrize("count", [400, 3000])
def test_what_was_not_seen_on_one_side_does_not_pull(control, pose, count):
    """A scan that ends across the sheet: samples beyond its end, be they near, would draw pose and pressures there."""
    points = cloud([1800.0, 1500.0], count)
    seen = points[points[:, 1] < SIZE * (middle()[1] + 0.2)]
    found = control.solve(ShapeTarget.of(moved(seen) if pose == FREE else seen), pose)
    np.testing.assert_allclose(found.pressures, [1800.0, 1500.0], rtol=0.06)
    back = moved(seen) @ found.pose.rotation.T + found.pose.translation if pose == FREE else seen
    assert 1e3 * np.linalg.norm(back - seen, axis=1).mean() < 2.0


def test_who_begins_at_the_solution_is_there_at_once(control):
    target = ShapeTarget.of(moved(cloud([700.0, 2100.0])))
    first = control.solve(target)
    second = control.solve(target, pressures=first.pressures, at=first.pose)
    assert second.iterations < first.iterations
    np.testing.assert_allclose(second.pressures, first.pressures, rtol=0.01)


def test_points_stand_for_discs_with_the_normals_of_their_surface():
    random = np.random.default_rng(3)
    directions = random.normal(size=(4000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    target = ShapeTarget.of(0.05 * directions)
    assert np.abs((target.normals * directions).sum(axis=1)).min() > 0.98
    assert target.spacing == pytest.approx(np.sqrt(4 * np.pi * 50.0**2 / 4000), rel=0.15)
    given = ShapeTarget.of(0.05 * directions, 7.0 * directions)
    np.testing.assert_allclose(given.normals, directions)
    feet = given.feet(52.0 * directions[:50] + random.normal(0.0, 0.3, (50, 3)))
    np.testing.assert_allclose(np.linalg.norm(feet.away, axis=1), 2.0, atol=1.0)
    square = ShapeTarget.of(np.column_stack([grid(900), np.zeros(900)]))
    assert square.spacing == pytest.approx(1e3 / 30, rel=1e-6)
    beyond = square.feet(np.array([[1500.0, 500.0, 30.0], [500.0, 500.0, 30.0]]))
    np.testing.assert_allclose(beyond.beside, [500.0 + (0.5 - 0.75) * 1e3 / 30, 0.0], rtol=0.05)
    np.testing.assert_allclose(beyond.away[1], [0.0, 0.0, 30.0], atol=1e-9)


@pytest.mark.parametrize(
    ("points", "told"),
    [
        (cloud([900.0, 900.0])[:20], "30 or more points"),
        (np.zeros((50, 2)), "30 or more points"),
        (np.full((50, 3), np.nan), "50 of its 50 points are not finite"),
        ("abc", r"expected 30 or more points \(k, 3\), found 'abc'"),
        (np.ones((50, 3)), "the same few"),
        (1e200 * cloud([900.0, 900.0]), "its 3000 points are further apart than can be computed"),
        (np.linspace(0.0, 0.1, 100)[:, None] * [1.0, 2.0, 0.5], "100 points on a line"),
    ],
)
def test_what_is_no_target_is_told(points, told):
    with pytest.raises(InputError, match=told):
        ShapeTarget.of(points)


@pytest.mark.parametrize("pose", [FREE, FIXED])
@pytest.mark.parametrize(
    ("scale", "told"),
    [
        (1e3, r"is it in millimetres\?"),
        (100.0, r"is it in centimetres\?"),
        (39.4, r"is it in inches\?"),
        (0.1, "is it of something else"),
        (8.0, "is it of something else"),
    ],
)
def test_a_target_of_another_size_is_told_whatever_its_pose(control, pose, scale, told):
    """In millimetres it is centred and matched as well as any other: the body knows its size."""
    target = ShapeTarget.of(scale * cloud([900.0, 900.0]))
    with pytest.raises(InputError, match=told):
        control.solve(target, pose)


@pytest.mark.parametrize("shift", [[0.07, 0.0, 0.0], [0.0, 0.09, 0.0], [-0.03, 0.03, 0.03], [0.0, 0.0, 0.06]])
def test_a_fixed_target_that_the_surface_never_comes_to_is_told(control, shift):
    """The sheet is 100 mm large and rises by 45 mm; half of a target that is 70 mm aside is opposite it."""
    target = ShapeTarget.of(cloud([900.0, 900.0]) + shift)
    with pytest.raises(InputError, match="% of its points are more than 0.01 m from wherever the surface comes"):
        control.solve(target, FIXED)
    assert 1e3 * control.solve(target).mean < 0.4
    at = RigidMotion(np.eye(3), -np.array(shift))
    assert 1e3 * control.solve(target, FIXED, at=at).mean < 0.4


def test_a_fixed_target_that_is_hardly_out_of_reach_is_met_as_near_as_can_be(control):
    found = control.solve(ShapeTarget.of(cloud([HIGHEST, HIGHEST], gain=1.9)), FIXED)
    assert found.active_limits == ("left pressure max", "right pressure max")


def test_normals_that_are_none_are_told():
    points = cloud([900.0, 900.0])
    with pytest.raises(InputError, match="3000 points, but normals"):
        ShapeTarget.of(points, points[:5])
    with pytest.raises(InputError, match=r"expected normals \(k, 3\), found 'abc'"):
        ShapeTarget.of(points, "abc")
    with pytest.raises(InputError, match="3000 of its 3000 normals have no direction"):
        ShapeTarget.of(points, np.full(points.shape, 1e200))
    with pytest.raises(InputError, match="3000 of its 3000 normals have no direction"):
        ShapeTarget.of(points, 0.0 * points)


def test_searches_that_cannot_begin_are_told(control):
    target = ShapeTarget.of(cloud([900.0, 900.0]))
    with pytest.raises(InputError, match="pressure 1: 4000 Pa is outside 0…3000 Pa"):
        control.solve(target, pressures=[4000.0, 0.0])
    with pytest.raises(InputError, match="expected 'free' or 'fixed'"):
        control.solve(target, "loose")
    with pytest.raises(InputError, match="no point of it is near the body"):
        control.solve(target, at=RigidMotion(np.eye(3), np.array([0.0, 0.0, 2.0])))


@pytest.mark.parametrize("target", [cloud([900.0, 900.0]), "x.stl", None])
def test_only_targets_are_searched_for(control, target):
    with pytest.raises(InputError, match=r"target: expected a ShapeTarget, .* or read_target\(FILE\), found"):
        control.solve(target)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"at": np.eye(4)}, r"at: expected a RigidMotion\(.*\), found an array of shape \(4, 4\)"),
        ({"at": RigidMotion(2.0 * np.eye(3), np.zeros(3))}, "rotation: expected a rotation's matrix"),
        ({"at": RigidMotion(np.diag([1.0, 1.0, -1.0]), np.zeros(3))}, "rotation: expected a rotation's matrix"),
        ({"at": RigidMotion("x", np.zeros(3))}, "rotation: expected a matrix"),
        ({"at": RigidMotion(np.eye(3), [0.0, 0.0])}, "translation .*: expected 3 numbers"),
        ({"most": 0}, "most: 0: expected 1 or more"),
        ({"most": -1}, "most: -1: expected 1 or more"),
        ({"most": "3"}, "most: '3': expected 1 or more"),
        ({"pose": None}, "pose None: expected 'free' or 'fixed'"),
        ({"pose": np.eye(3)}, "pose an array of shape .*: expected 'free' or 'fixed'"),
        ({"pressures": "a"}, "pressures: expected 2 numbers, found 'a'"),
    ],
)
def test_what_a_search_is_asked_wrongly_is_told(control, asked, told):
    with pytest.raises(InputError, match=told):
        control.solve(ShapeTarget.of(cloud([900.0, 900.0])), **asked)


@pytest.mark.parametrize("pose", [FREE, FIXED])
def test_distances_at_pressures_are_those_of_a_solution_there(control, pose):
    target = ShapeTarget.of(cloud([700.0, 2100.0]))
    found = control.solve(target, pose)
    there = control.distances(target, found.pressures, found.pose, pose)
    assert np.nanmean(there) == pytest.approx(found.mean, rel=0.05)
    elsewhere = control.distances(target, [2100.0, 700.0], found.pose, pose)
    assert np.nanmean(elsewhere) > 3.0 * found.mean


def test_what_is_no_model_or_has_other_chambers_is_told():
    with pytest.raises(InputError, match=r"model: expected a correction, as soft_twin.learning.load\(FILE\).*'file'"):
        ShapeControl("file")
    with pytest.raises(InputError, match="samples: 0: expected 1 or more"):
        ShapeControl(model(), 0)
    with pytest.raises(InputError, match="names: 1 of them, of 2 chambers"):
        ShapeControl(model(), names=["left"])
