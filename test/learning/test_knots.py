"""Knots: where lines and surfaces that have creases and layers want them; with any of them flat sheets stay flat."""

import numpy as np
import pytest
from scipy.interpolate import make_lsq_spline
from test_flattening import sheet

from soft_twin.errors import InputError
from soft_twin.learning.knots import Knots, placed_knots, samples
from soft_twin.learning.surfaces import SurfaceFit, design, second_differences

COUNT = 20
AT = samples(COUNT)
UNIFORM = Knots.uniform((COUNT, COUNT)).u


def left_over(line, knots):
    """Root mean square of what least squares leave."""
    return np.sqrt(np.mean((make_lsq_spline(AT, line, knots)(AT) - line) ** 2))


@pytest.mark.parametrize(
    ("line", "better"),
    [(np.abs(AT - 0.43), 4.0), (np.exp(-AT / 0.02), 10.0), (np.tanh((AT - 0.7) / 0.02), 10.0)],
    ids=["crease", "boundary layer", "step"],
)
def test_features_draw_knots(line, better):
    knots = placed_knots(line[:, None], COUNT)
    assert len(knots) == len(UNIFORM)
    assert left_over(line, knots) * better < left_over(line, UNIFORM)


def test_what_has_no_features_leaves_knots_uniform():
    cubic = AT**3 - AT
    np.testing.assert_array_equal(placed_knots(cubic[:, None], COUNT), UNIFORM)
    turn = 2.0 * np.pi * 3.0 * AT[:, None]
    waves = np.hstack([np.cos(turn), np.sin(turn)])  # wherever it begins, a wave is one of their sums
    moved = placed_knots(waves, COUNT)[4:-4] - UNIFORM[4:-4]
    np.testing.assert_allclose(moved[1:-1], 0.0, atol=1e-12)
    assert np.abs(moved).max() < 0.25 / (COUNT - 3)  # ends have no spans beyond them


def test_no_span_is_narrower_than_asked_for():
    line = np.abs(AT - 0.43)[:, None]
    free = np.diff(placed_knots(line, COUNT)[3:-3])
    assert free.min() == pytest.approx(1.0 / 3.0 / (COUNT - 3))
    held = np.diff(placed_knots(line, COUNT, 0.6 / (COUNT - 3))[3:-3])
    assert held.min() >= 0.6 / (COUNT - 3) * (1.0 - 1e-6)
    np.testing.assert_array_equal(placed_knots(line, COUNT, 1.1 / (COUNT - 3)), UNIFORM)


def test_second_differences_are_plain_inside_of_uniform_knots():
    rows = second_differences(UNIFORM).toarray()
    for i in range(3, len(rows) - 3):
        np.testing.assert_allclose(rows[i, i : i + 3], [1.0, -2.0, 1.0], atol=1e-12)


def crease(points):
    """A sheet that is bent sharply along x = 0.37."""
    return np.column_stack([points[:, :2], np.abs(points[:, 0] - 0.37)])


def test_a_creased_sheet_is_fitted_better_and_along_the_crease_as_before():
    points, triangles = sheet(61, 31)
    fit = SurfaceFit.at_rest(points, triangles, (COUNT, 10))
    adapted = fit.adapted(np.stack([crease(points), points]))
    away = [
        np.linalg.norm(each.at_points(each.fit(crease(points))) - crease(points), axis=1) for each in (adapted, fit)
    ]
    assert 3.0 * np.sqrt(np.mean(away[0] ** 2)) < np.sqrt(np.mean(away[1] ** 2))
    inner = adapted.knots.u[4:-4]
    assert (np.abs(inner - 0.37) < 1.0 / (COUNT - 3)).sum() > (np.abs(inner - 0.8) < 1.0 / (COUNT - 3)).sum()
    np.testing.assert_array_equal(adapted.knots.v, fit.knots.v)


def test_flat_sheets_cost_nothing_whatever_the_knots():
    fine, triangles = sheet(61, 61)
    bent = np.column_stack([fine[:, :2], np.abs(fine[:, 0] - 0.37) + np.exp(-fine[:, 1] / 0.02)])
    knots = SurfaceFit.at_rest(fine, triangles).adapted(bent[None]).knots
    assert min(np.ptp(np.diff(each[3:-3])) for each in knots) > 0.01
    points, triangles = sheet(12, 12)
    for own in (knots, Knots.uniform((30, 30))):
        fit = SurfaceFit.at_rest(points, triangles)
        control = SurfaceFit(fit.uv, fit.disc, own).fit(points)
        uv = np.random.default_rng(0).uniform(size=(300, 2))
        np.testing.assert_allclose(design(uv, own) @ control.reshape(-1, 3), np.pad(uv, ((0, 0), (0, 1))), atol=1e-8)


def test_too_few_control_points_are_told():
    with pytest.raises(InputError, match="needs 4"):
        Knots.uniform((3, 9))
