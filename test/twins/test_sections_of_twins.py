"""Cross sections of a twin may be asked for where its body is, and nowhere else."""

import numpy as np
import pytest

import soft_twin
from soft_twin.errors import InputError
from soft_twin.twins.frames import SectionFrame


@pytest.fixture(scope="module", params=["fem", "rod", "moving"])
def twin(request):
    slender = soft_twin.load_robot("slender")
    return slender.build_dynamic_twin() if request.param == "moving" else slender.build_twin(backend=request.param)


@pytest.mark.parametrize("z", [9.0, -0.02, 0.1001, np.nan, np.inf, "tip"])
def test_a_section_beyond_the_body_is_refused(twin, z):
    asked = [lambda: twin.section(z, twin.points), lambda: SectionFrame(z).position(twin)]
    if hasattr(twin, "sections"):
        asked += [lambda: twin.sections([0.05, z], twin.points), lambda: twin.section_normal(z)]
    words = "expected (a number|numbers)" if z == "tip" else rf"the section z = {z:g} m lies beyond the body, 0…0.1 m"
    for ask in asked:
        with pytest.raises(InputError, match=words):
            ask()


def test_its_ends_are_where_its_body_ends(twin):
    for z in (0.0, 0.1, 0.1 + 5e-7):
        np.testing.assert_allclose(twin.section(z, twin.points), [0.0, 0.0, z], atol=1e-3)
