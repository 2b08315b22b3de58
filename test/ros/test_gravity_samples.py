"""Which gravity is refused, and what is said of it."""

from types import SimpleNamespace

import pytest

from soft_twin_ros.conversions import vector_message
from soft_twin_ros.gravity_samples import GravitySamples


@pytest.fixture
def hear():
    """Hears of gravity with this stamp at this time of the node's clock; the samples."""
    callbacks, clock = [], SimpleNamespace(now=0.0)
    node = SimpleNamespace(
        active=True,
        parameters=SimpleNamespace(stale_after=0.2),
        now=lambda: clock.now,
        steady_now=lambda: 0.0,
        listen=lambda kind, topic, callback, qos: callbacks.append(callback),
    )
    samples = GravitySamples(node, "gravity", "base_link")

    def hear(stamp, now):
        clock.now = now
        callbacks[0](vector_message(stamp, "base_link", (0.0, 0.0, -9.81)))
        return samples

    return hear


@pytest.mark.parametrize(
    ("stamp", "now", "told"),
    [
        (100.0, 100.5, "gravity stamped 0.50 s ago: expected within 0.2 s"),
        (103.0, 100.0, "gravity stamped 3.00 s ahead of the clock: set the clocks in step"),
        (0.0, 1.7e9, "gravity without a stamp: say when it was measured"),
        (1.7e9, 0.0, "no time on /clock yet: publish it (`ros2 bag play --clock`), or leave use_sim_time out"),
    ],
)
def test_a_sample_of_another_time_says_what_to_do(hear, stamp, now, told):
    samples = hear(stamp, now)
    assert (samples.waiting, samples.refusal, samples.refused["stale"]) == (None, told, 1)
    assert hear(100.1, 100.0).waiting is not None and samples.refusal == ""
