"""What a robot makes of its pressures: found again where it is known, by scans with holes and by markers with gaps."""

from itertools import product

import numpy as np
import pytest

from soft_twin.errors import ConvergenceError

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
import jax
import jax.numpy as jnp

from soft_twin.learning.input_fit import fit_inputs
from soft_twin.learning.input_map import Filling, InputMap
from soft_twin.learning.layer import grid, unit
from soft_twin.learning.losses import Cloud
from soft_twin.learning.matching import MarkerMatch, ScanMatch
from soft_twin.learning.samples import Inflation

UV = jnp.asarray(grid(225), jnp.float32)
MIDDLES = jnp.array([[0.3, 0.5], [0.7, 0.5]])
PATCH = 4.0  # [mm]
FRAMES = 16
SHARES = np.random.default_rng(1).uniform(-1.0, 1.0, (FRAMES, 2))
HELD = np.random.default_rng(6).uniform(5.0, 120.0, FRAMES)
TRIED = np.array(list(product([-1.0, -0.3, 0.6, 1.0], repeat=2)))

STRAIGHT = Filling.straight(2)

# powers of both pressures and of time; what they do to either chamber
PARABOLAS = [((0, 0, 0), 0.12, -0.13), ((1, 0, 0), 0.20, 0.0), ((0, 1, 0), 0.0, 0.10), ((2, 0, 0), 0.03, 0.0)]
CUBIC = [((3, 0, 0), 0.06, 0.0), ((0, 3, 0), 0.0, 0.06)]
CROSSED = [((0, 1, 0), 0.12, 0.0), ((1, 0, 0), 0.0, 0.12)]
PRODUCT = [((1, 1, 0), 0.10, 0.10)]
TWINS = [((2, 0, 0), 0.2, 0.0), ((0, 2, 0), 0.0, 0.2)]
CREEP = [((0, 0, 1), 0.15, 0.15), ((1, 0, 1), 0.10, 0.0), ((0, 1, 1), 0.0, 0.10)]
REFERENCE = float(np.median(HELD))


def known(terms):
    """The map of terms (degrees, coefficients)."""
    degrees, *coefficients = zip(*terms, strict=True)
    return InputMap(jnp.array(degrees), jnp.array(coefficients).T, STRAIGHT, REFERENCE)


def at(uv, inputs):
    """(3,) of a sheet of 100 mm with a bump over each half."""
    height = (jnp.exp(-((uv - MIDDLES) ** 2).sum(axis=1) / 0.04) * 10.0 * (1.0 + inputs)).sum()
    return jnp.array([100.0 * uv[0], 100.0 * uv[1], height])


def surface(inputs, uv=UV):
    points = jax.vmap(lambda each: at(each, inputs))(uv)
    along = jax.vmap(jax.jacfwd(lambda each: at(each, inputs)))(uv)
    return points, unit(jnp.cross(along[:, :, 0], along[:, :, 1]))


SURFACES = jax.jit(jax.vmap(surface))


def clouds(true, random, holes=False, held=HELD):
    """Of the true surfaces, elsewhere than where they are compared; nothing is seen near a corner."""
    uv = random.uniform(0.0, 1.0, (FRAMES, 300, 2)).astype(np.float32)
    points, normals = SURFACES(SHARES + moved(true, SHARES, held), uv)
    there = ~holes | (np.linalg.norm(uv, axis=2) > 0.3)
    return Cloud(points, normals, jnp.asarray(there, jnp.float32))


def moved(found, shares, held):
    """(f, a) what a map adds to shares (f, a), which are pressures, held for so long (f,) [s]; of numbers, without
    compiling anything."""
    degrees, coefficients = np.asarray(found.degrees), np.asarray(found.coefficients, float)
    time = 0.0 if found.reference is None else np.log1p(np.asarray(held) / found.reference) - np.log(2.0)
    powers = shares ** degrees[:, None, :-1]
    return (powers.prod(axis=2) * np.where(degrees[:, -1:] > 0, time, 1.0)).T @ coefficients


def worst(found, true, held=None):
    """Largest error of a share."""
    seconds = [np.full(len(TRIED), each.reference if held is None else held, float) for each in (found, true)]
    return np.abs(moved(found, TRIED, seconds[0]) - moved(true, TRIED, seconds[1])).max()


def test_terms_are_powers_of_pressures_times_the_logarithm_of_time():
    degrees, coefficients = [[1, 3, 0], [2, 0, 1]], np.array([[0.3, 0.0], [0.0, 0.7]])
    found = InputMap(jnp.array(degrees), jnp.array(coefficients), STRAIGHT, 40.0)
    x, y = -0.35, 0.8
    time = np.log(1.0 + 100.0 / 40.0) - np.log(2.0)
    np.testing.assert_allclose(found(jnp.array([x, y]), 100.0), [x + 0.3 * x * y**3, y + 0.7 * x**2 * time], rtol=1e-6)
    np.testing.assert_allclose(found(jnp.array([x, y])), found(jnp.array([x, y]), 40.0), atol=1e-7)
    np.testing.assert_allclose(found(jnp.array([x, y])), [x + 0.3 * x * y**3, y], atol=1e-6)


def test_what_stands_for_longer_than_any_frame_counts_as_the_longest_of_them():
    told = fit_inputs(surface, SHARES, ScanMatch(clouds(known(CREEP), np.random.default_rng(1)), PATCH), STRAIGHT, HELD)
    assert told.longest == HELD.max() and not np.isfinite(known(CREEP).longest)
    longest, beyond, before = (told(jnp.array([0.5, 0.2]), s) for s in (HELD.max(), 1e6, 0.5 * HELD.max()))
    np.testing.assert_array_equal(longest, beyond)
    assert np.abs(longest - before).max() > 1e-3


def test_a_factor_of_pressures_leads_to_the_shares_of_those():
    """Chambers that fill by the square of what is between −10 and 40, and 0 and 20 kPa."""
    shares = np.linspace(0.0, 1.0, 201)[:, None] * np.ones(2)
    low, high = np.array([-1e4, 0.0]), np.array([4e4, 2e4])
    inflation = Inflation(low + (high - low) * np.sqrt(shares), shares)
    filling = Filling.of(inflation)
    found = InputMap(jnp.array([[1, 0, 0], [0, 1, 0]]), jnp.array([[0.2, 0.0], [0.0, -0.1]]), filling)

    def filled(pressures):
        return 2.0 * ((pressures - low) / (high - low)) ** 2 - 1.0

    told, made = np.array([1.5e4, 1.2e4]), np.array([1.8e4, 1.08e4])
    np.testing.assert_allclose(found(jnp.asarray(filled(told))), filled(made), atol=1e-3)
    assert (filling.pressures_of(jnp.array([1.0, 1.0])) == 1.0).all()
    beyond = filling.shares_of(jnp.array([1.1, 1.2]))  # straight on, by 5 kPa of a range of 50, and 4 of 20
    np.testing.assert_allclose(beyond, [1.0 + 2.0 * 2.0 * 4.0 / 50.0, 1.0 + 2.0 * 2.0 * 4.0 / 20.0], rtol=0.01)
    np.testing.assert_allclose(filling.pressures_of(beyond), [1.1, 1.2], rtol=1e-4)


def test_times_that_are_always_the_same_or_nought_do_no_harm():
    true = known(PARABOLAS)
    match = ScanMatch(clouds(true, np.random.default_rng(2)), PATCH)
    assert fit_inputs(surface, SHARES, match, STRAIGHT, np.full(FRAMES, 30.0)).reference is None
    some = np.where(np.arange(FRAMES) < 10, 0.0, 40.0)
    found = fit_inputs(surface, SHARES, match, STRAIGHT, some)
    assert found.reference == 40.0 and worst(found, true, 0.0) < 0.02


@pytest.mark.parametrize("holes", [False, True])
def test_it_is_found_by_scans(holes):
    true = known(PARABOLAS)
    found = fit_inputs(surface, SHARES, ScanMatch(clouds(true, np.random.default_rng(2), holes), PATCH), STRAIGHT)
    assert worst(InputMap.none(2), true) > 0.3 and worst(found, true) < 0.02


def test_it_is_found_by_markers_with_gaps():
    random, true = np.random.default_rng(3), known(PARABOLAS)
    points, _ = SURFACES(SHARES + moved(true, SHARES, REFERENCE), jnp.tile(UV, (FRAMES, 1, 1)))
    there = jnp.asarray(random.uniform(size=points.shape[:2]) > 0.3, jnp.float32)
    gone = jnp.where(there[..., None] > 0.0, points, 1e3)
    found = fit_inputs(surface, SHARES, MarkerMatch(Cloud(gone, jnp.zeros_like(gone), there)), STRAIGHT)
    assert worst(found, true) < 0.01


@pytest.mark.parametrize("more", [CUBIC, CROSSED, PRODUCT], ids=["cubic", "the other chamber", "product"])
def test_whatever_else_the_frames_show_is_found(more):
    true = known(PARABOLAS + more)
    found = fit_inputs(surface, SHARES, ScanMatch(clouds(true, np.random.default_rng(2)), PATCH), STRAIGHT)
    assert worst(InputMap.none(2), known(more)) > 0.05 and worst(found, true) < 0.02


def test_parabolas_are_enough_where_there_is_nothing_else_and_where_frames_are_few():
    true = known(PARABOLAS)
    seen = clouds(true, np.random.default_rng(2))
    found = fit_inputs(surface, SHARES, ScanMatch(seen, PATCH), STRAIGHT, HELD)
    for seconds in (5.0, 120.0):
        assert worst(found, true, seconds) < 0.02
    few = fit_inputs(surface, SHARES[:9], ScanMatch(Cloud(*(each[:9] for each in seen)), PATCH), STRAIGHT, HELD[:9])
    assert len(few.degrees) == 5 and worst(few, true) < 0.02


def test_few_frames_of_robots_that_are_off_by_a_constant_find_no_more():
    true = known([((0, 0, 0), 0.12, -0.13)])
    seen = clouds(true, np.random.default_rng(2))
    few = fit_inputs(surface, SHARES[:3], ScanMatch(Cloud(*(each[:3] for each in seen)), PATCH), STRAIGHT)
    np.testing.assert_array_equal(few.degrees, [[0, 0, 0]])
    assert worst(few, true) < 0.02


def test_what_time_under_pressure_does_is_found_where_it_is_told():
    true = known(PARABOLAS + CREEP)
    match = ScanMatch(clouds(true, np.random.default_rng(2)), PATCH)
    told, untold = fit_inputs(surface, SHARES, match, STRAIGHT, HELD), fit_inputs(surface, SHARES, match, STRAIGHT)
    assert told.reference == REFERENCE and untold.reference is None
    for seconds in (5.0, 120.0):
        assert worst(told, true, seconds) < 0.03
        assert worst(untold, true, seconds) > 0.15


def test_what_chambers_that_symmetries_exchange_show_is_believed_of_each_other():
    """Frames show what the first chamber does, of the second only the middle."""
    shares = SHARES * np.array([1.0, 0.05])
    points, normals = SURFACES(shares + moved(known(TWINS), shares, REFERENCE), jnp.tile(UV, (FRAMES, 1, 1)))
    match = ScanMatch(Cloud(points, normals, jnp.ones(points.shape[:2])), PATCH)
    alike, alone = (fit_inputs(surface, shares, match, STRAIGHT, symmetries=each) for each in ([(1, 0)], []))
    assert worst(alike, known(TWINS)) < 0.03 < 0.1 < worst(alone, known(TWINS))


def test_frames_whose_pressures_are_off_by_chance_teach_nothing():
    off = np.random.default_rng(12).choice([-0.2, 0.2], SHARES.shape)
    assert not len(off_by(*(off - off.mean(axis=0))).degrees)


def test_spheres_that_lie_on_each_other_are_not_apart_wherever_they_were_sampled():
    """Nearest samples of a curved surface are off each other's planes, but not off the mean of both normals."""
    random = np.random.default_rng(4)
    own, other = (v / np.linalg.norm(v, axis=1)[:, None] for v in random.normal(size=(2, 4000, 3)))
    match = ScanMatch(Cloud(50.0 * other[None], other[None], jnp.ones((1, 4000))), 5.0)
    points, normals = jnp.asarray(50.0 * own[None]), jnp.asarray(own[None])
    assert float(match.distances(points, normals)[0]) < 1e-6
    assert float(match.distances(1.02 * points, normals)[0]) == pytest.approx(2.0, rel=0.02)


def test_slopes_of_distances_are_those_of_differences():
    """Where closest points and normals stay: of markers."""
    random = np.random.default_rng(8)
    points = jnp.asarray(random.uniform(0.0, 100.0, (2, len(UV), 3)), jnp.float32)
    match = MarkerMatch(Cloud(points, points, jnp.asarray(random.uniform(size=(2, len(UV))) > 0.5, jnp.float32)))
    linearised = match.linearised(surface)
    shares, step = jnp.asarray(random.uniform(-1.0, 1.0, (2, 2)), jnp.float32), 0.05
    _, slopes, _ = linearised(shares)
    for i in range(2):
        to = jnp.zeros(2).at[i].set(step)
        difference = (linearised(shares + to)[2] - linearised(shares - to)[2]) / (2.0 * step)
        np.testing.assert_allclose(2.0 * slopes[:, i], difference, rtol=2e-2, atol=0.3)


def test_nothing_changes_nothing_and_what_is_not_finite_is_told():
    np.testing.assert_array_equal(InputMap.none(2)(jnp.asarray(SHARES[0])), jnp.asarray(SHARES[0]))
    broken = clouds(InputMap.none(2), np.random.default_rng(5))
    broken = Cloud(broken.points.at[3, 0, 0].set(jnp.nan), broken.normals, broken.there)
    with pytest.raises(ConvergenceError, match="map of the inputs diverged: frame 3 is nan mm² away"):
        fit_inputs(surface, SHARES, ScanMatch(broken, PATCH), STRAIGHT)


def test_one_frame_teaches_nothing():
    assert not np.asarray(off_by(0.3).coefficients).any()


@pytest.mark.parametrize("count", [2, 5])
def test_few_frames_that_say_nothing_of_each_other_change_nothing(count):
    """Each is off by shares of its own: what fits some is wrong for others."""
    off = np.random.default_rng(11).choice([-0.3, 0.3], (count, 2))
    assert not np.asarray(off_by(*(off - off.mean(axis=0))).coefficients).any()


def off_by(*shares):
    """What is found of frames whose shares are off by so much each, (2,) or alike for both."""
    own = SHARES[: len(shares)]
    points, normals = SURFACES(own + np.reshape(shares, (len(own), -1)), jnp.tile(UV, (len(own), 1, 1)))
    return fit_inputs(surface, own, ScanMatch(Cloud(points, normals, jnp.ones(points.shape[:2])), PATCH), STRAIGHT)


def test_a_share_is_taken_of_what_few_frames_agree_upon_in_part():
    """Two chambers of six frames, each off by 0.12 or 0.36: what others say, 0.24 or so, is right in part."""
    by = np.array([[0.36, 0.12], [0.12, 0.36], [0.36, 0.36], [0.12, 0.12], [0.12, 0.36], [0.36, 0.12]])
    found = off_by(*by)
    assert found.degrees.tolist() == [[0, 0, 0]]
    np.testing.assert_allclose(found.coefficients, 0.24, atol=0.08)


def test_few_frames_that_agree_in_the_mean_but_not_surely_change_nothing():
    """Off by 0.2 and 0.8: by a quarter of what the other says both are nearer, but by 0.2 and by 0.05."""
    assert not np.asarray(off_by(0.2, 0.8).coefficients).any()
    found = off_by(0.2, 0.21)
    np.testing.assert_allclose(found.coefficients, 0.205, atol=0.02)
