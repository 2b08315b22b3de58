"""Pictures of studies."""

import signal

import pytest

from soft_twin.studies.results import write_picture


class Figure:
    """As one that is drawn by a library in C, which makes another error of an interruption."""

    def savefig(self, path):
        try:
            signal.raise_signal(signal.SIGINT)
            path.write_text("drawn")
        except KeyboardInterrupt:
            raise RuntimeError("interrupted in C") from None


def test_a_picture_that_is_interrupted_is_drawn_to_its_end(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_picture(tmp_path / "picture.png", Figure())
    assert (tmp_path / "picture.png").read_text() == "drawn"
