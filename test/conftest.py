"""What tests of several folders use."""

import pytest

import soft_twin
from soft_twin.emulation.ports import PseudoTerminal


@pytest.fixture
def port():
    """A device's end of a pseudo-terminal."""
    port = PseudoTerminal()
    yield port
    port.close()


@pytest.fixture(scope="session")
def slender():
    """The robot whose twin is tested."""
    return soft_twin.load_robot("slender")
