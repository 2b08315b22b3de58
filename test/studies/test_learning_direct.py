"""The study of learning without simulations: whose errors its picture shows."""

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install soft_twin[learning]")
from soft_twin.studies.learning import direct


def test_a_picture_names_the_robot_that_was_asked_for(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(direct, "write_picture", lambda path, figure, **_: drawn.append(figure))
    direct.draw(
        tmp_path, "bellows", dict.fromkeys(("simulated", "corrected", "few", "many"), np.linspace(0.0, 2.0, 50))
    )
    assert drawn[0].axes[0].get_title() == "bellows, all unseen pressures"
