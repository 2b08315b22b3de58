"""The robot whose twin is tested."""

import pytest

import soft_twin


@pytest.fixture(scope="session")
def slender():
    return soft_twin.load_robot("slender")
