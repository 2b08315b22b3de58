import pytest
import synthetic
import synthetic_run

from soft_twin import load_robot


@pytest.fixture(scope="session")
def robot():
    return load_robot("slender")


@pytest.fixture
def share(tmp_path):
    return synthetic.share_folder(tmp_path / "share")


@pytest.fixture(scope="session")
def run_path(tmp_path_factory):
    """A whole made-up run of the slender robot."""
    path = tmp_path_factory.mktemp("run") / "run.mcap"
    synthetic_run.write(path)
    return path
