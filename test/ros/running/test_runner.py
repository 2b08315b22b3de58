"""What leads a run asks services of nodes that may not hear it at first."""

from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace

import pytest
from std_srvs.srv import Trigger

from soft_twin.errors import RunError
from soft_twin_ros.running import runner
from soft_twin_ros.running.runner import Runner


class Client:
    """Answers the requests of these numbers alone, the first being 1."""

    def __init__(self, answered, success=True):
        self.asked, self._answered, self._success = 0, answered, success

    def service_is_ready(self):
        return True

    def call_async(self, request):
        self.asked += 1
        answer = Future()
        if self.asked in self._answered:
            answer.set_result(Trigger.Response(success=self._success, message="no"))
        return answer


@pytest.fixture
def ask(monkeypatch):
    """A service of a client, asked for with little patience."""
    monkeypatch.setattr(runner, "ANSWER_PATIENCE", 0.2)

    def asked(client):
        leader = SimpleNamespace(
            _prefixes={"robot": "/finger/"},
            _pace=lambda: 1.0,
            _listen=lambda: None,
            _progress=SimpleNamespace(now=lambda words: None),
            create_client=lambda kind, name: client,
            destroy_client=lambda client: None,
        )
        leader._wait = partial(Runner._wait, leader)
        Runner._ask(leader, Trigger, "play", "robot", Trigger.Request())

    return asked


def test_an_answer_that_was_lost_is_asked_for_again(ask):
    client = Client(answered=(2,))
    ask(client)
    assert client.asked == 2


def test_who_answers_is_asked_once(ask):
    client = Client(answered=(1,))
    ask(client)
    assert client.asked == 1


def test_silence_and_refusals_end_the_run(ask):
    with pytest.raises(RunError, match="/finger/play does not answer after 0.2 s"):
        ask(Client(answered=()))
    with pytest.raises(RunError, match="/finger/play: no"):
        ask(Client(answered=(1,), success=False))
