"""Services may not have heard of who calls them: then their first answer is lost."""

import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from std_srvs.srv import Trigger

from soft_twin.errors import RunError
from soft_twin_ros.calls import demand

PATIENCE = 0.2  # [s]


class Client:
    """Answers the requests of these numbers alone, the first being 1."""

    def __init__(self, answered, success=True, ready=True):
        self.asked, self.ready, self._answered, self._success = 0, ready, answered, success

    def service_is_ready(self):
        return self.ready

    def call_async(self, request):
        self.asked += 1
        answer = Future()
        if self.asked in self._answered:
            answer.set_result(Trigger.Response(success=self._success, message="no"))
        return answer


@pytest.fixture
def ask():
    """A service of a client, asked for with little patience; what was destroyed then."""

    def wait(done, patience, what):
        deadline = time.monotonic() + patience
        while not done():
            if time.monotonic() > deadline:
                raise RunError(f"{what()} after {patience:g} s")

    def asked(client):
        destroyed = []
        node = SimpleNamespace(create_client=lambda kind, name: client, destroy_client=destroyed.append)
        try:
            demand(node, Trigger, "/finger/play", Trigger.Request(), wait, PATIENCE)
        finally:
            assert destroyed == [client]

    return asked


def test_an_answer_that_was_lost_is_asked_for_again(ask):
    client = Client(answered=(2,))
    ask(client)
    assert client.asked == 2


def test_who_answers_is_asked_once(ask):
    client = Client(answered=(1,))
    ask(client)
    assert client.asked == 1


def test_silence_absence_and_refusals_are_told(ask):
    with pytest.raises(RunError, match="the service /finger/play does not answer after 0.2 s"):
        ask(Client(answered=()))
    with pytest.raises(RunError, match="the service /finger/play is not there after 0.2 s"):
        ask(Client(answered=(1,), ready=False))
    with pytest.raises(RunError, match="/finger/play: no"):
        ask(Client(answered=(1,), success=False))
