"""The study of other realities: each seed is another robot, and rows are of what was not trained on."""

import matplotlib.image
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.learning.simulations import learnable
from soft_twin.studies.learning import prediction, realities
from soft_twin.studies.learning.realities import BEST, INPUTS, PLAIN, UNSEEN, draw, table, told


def found(before, after):
    """Of one reality, whose errors rise over its unseen pressures."""
    rise = np.linspace(0.5, 1.5, UNSEEN)[:, None] * [1.0, 4.0]
    rows = {PLAIN: before * rise, INPUTS: 2.0 * after * rise, BEST: after * rise}
    return rows | {"surrogate": np.array(0.3), "seconds": np.array([4.0, 38.0])}


TRIED = []


def tried_on(folder, digest, path, count, seed):
    """Interrupted at the first try of seed 8."""
    TRIED.append(seed)
    if TRIED == [7, 8]:
        raise KeyboardInterrupt
    return found(5.0, 0.1 * seed)


def test_rows_are_means_over_unseen_pressures_and_changes_of_the_same_reality(tmp_path):
    every = [found(5.0, 1.0), found(4.0, 1.0)]
    content = {"robot": "sheet", "realities": {str(seed): told(each) for seed, each in zip((1, 2), every, strict=True)}}
    first, second = (content["realities"][seed]["rows"] for seed in ("1", "2"))
    assert first[BEST] == pytest.approx(
        {"mean_mm": 1.0, "largest_mm": 4.0, "mean_change": -0.8, "largest_change": -0.8}
    )
    assert second[BEST]["mean_change"] == pytest.approx(-0.75) and first[PLAIN]["mean_change"] == 0.0
    text = table(content)
    assert "20 unseen pressures" in text and "0.30 mm" in text and "inputs 4 s, warp 38 s" in text
    assert "-80 %" in text and "-75 %" in text
    draw(tmp_path, "sheet", range(1, 3), every)
    assert np.ptp(matplotlib.image.imread(tmp_path / "realities.png")) > 0.5


def test_another_seed_is_another_reality(monkeypatch):
    monkeypatch.setattr(prediction, "SurfaceReality", lambda robot, learning: learning.seed)
    path = str(learnable("manipulator")[0].path)
    own, learning = prediction.reality_of(path, "digest")
    other, changed = prediction.reality_of(path, "digest", own + 1)
    assert own == learning.seed and other == changed.seed == own + 1


def test_what_was_found_of_a_reality_is_kept_where_the_next_is_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr(realities, "tried_on", tried_on)
    TRIED.clear()
    with pytest.raises(KeyboardInterrupt):
        realities.run(tmp_path, tmp_path, seed=7, seeds=2)
    told = realities.run(tmp_path, tmp_path, seed=7, seeds=2)
    assert TRIED == [7, 8, 8]
    assert "-86 %" in told and "-84 %" in told and (tmp_path / "table.json").is_file()
