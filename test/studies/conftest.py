"""What studies of the neck's loop share."""

import pytest

from soft_twin.studies import neck_loop


@pytest.fixture(scope="module")
def settled():
    """Filters of boards that rest find gravity within two seconds, not only in the ten of the study."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neck_loop, "SETTLED", 2.0)
        yield
