"""The tensegrity arm, straight and in its cases: fixtures of several folders."""

import numpy as np
import pytest

import soft_twin
from soft_twin.twins.tensegrity.cases import load_cases


@pytest.fixture(scope="session")
def arm():
    return soft_twin.load_robot("tm40")


@pytest.fixture(scope="session")
def straight_pressures(arm):
    return np.full(arm.model.cylinder_count, 600e3)


@pytest.fixture(scope="session")
def straight(arm, straight_pressures):
    return arm.forward(straight_pressures)


@pytest.fixture(scope="session")
def cases(arm):
    return {case.name: case for case in load_cases(arm.model)}
