"""The bodies that the benchmark of the control tick grows are ones that cables can be led through."""

import runpy

import numpy as np
import pytest

from soft_twin.resources import folder

CONTROL = runpy.run_path(str(folder("bench") / "control.py"))


@pytest.mark.parametrize("along", CONTROL["ALONG"])
def test_a_body_that_grows_is_held(slender, along):
    controller = slender.build_controller(CONTROL["tube_twin"](slender, along))
    sag = np.linalg.norm(controller.twin.equilibrium([0.0, -9.81, 0.0]).tip - slender.target_tip)
    controller.enable(True)
    for _ in range(20):
        tick = controller.update(np.array([0.0, -9.81, 0.0]))
    assert np.linalg.norm(tick.tip - slender.target_tip) < 0.1 * sag
