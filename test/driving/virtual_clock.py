"""Time that passes when a test tells it to."""

from soft_twin.driving.clock import Clock


class VirtualClock(Clock):
    """Time that passes when it is told to."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def time(self):
        return 1e9 + self.now

    def sleep(self, seconds):
        self.now += seconds
