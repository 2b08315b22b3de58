"""What the study of planning says of plans whose execution is known: by the surface that planned, or by another."""

import numpy as np
import pytest
from curved_tube import TIP, tube

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from test_planning import BALL, START, STICK

from soft_twin.learning.planning import Planner, Scene
from soft_twin.studies.learning import planning
from soft_twin.studies.learning.planning import CORRECTED, PLAIN, STEPS, draw, judged, table, with_between


def test_shapes_between_lie_on_straight_lines():
    shapes = np.array([[[0.0, 0.0, 0.0]], [[0.8, 0.0, 0.0]], [[0.8, 1.6, 0.0]]])
    found = with_between(shapes)
    assert found.shape == (17, 1, 3)
    np.testing.assert_allclose(found[[0, 8, 16]], shapes)
    np.testing.assert_allclose(found[[2, 12], 0], [[0.2, 0.0, 0.0], [0.8, 0.8, 0.0]])


def test_plans_are_judged_by_the_reality(tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "SCENE", Scene((STICK,), BALL))
    reality, content, executed = tube(1.0), {}, {}
    for name, gain in ((PLAIN, 1.4), (CORRECTED, 1.0)):
        plans = [Planner(tube(gain), TIP, planning.SCENE, seed=seed).plan(START) for seed in range(4)]
        executed[name] = np.array([reality(plan.along(STEPS)) for plan in plans])
        content[name] = judged(tube(gain), plans, executed[name], TIP)
    assert content[PLAIN]["hits"] >= 1 and content[CORRECTED]["hits"] == 0
    assert min(content[PLAIN]["executed_mm"]) <= 0.0 and min(content[PLAIN]["planned_mm"]) > 4.0
    np.testing.assert_allclose(content[CORRECTED]["executed_mm"], content[CORRECTED]["planned_mm"], atol=2.0)
    assert max(content[CORRECTED]["tip_from_ball_mm"]) < 0.0
    told = table(content)
    assert f"{content[PLAIN]['hits']} of 4" in told and "0 of 4" in told
    draw(tmp_path, content, executed)
    assert (tmp_path / "planning.png").stat().st_size > 10_000
