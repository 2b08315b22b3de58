import os
import threading

from soft_twin.priority import prefer_this_thread


def _scheduler_after(call):
    result = {}

    def run():
        result["granted"] = call()
        result["policy"] = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return result


def test_the_policy_is_what_is_told():
    result = _scheduler_after(prefer_this_thread)
    assert (result["policy"] == os.SCHED_RR) == result["granted"]


def test_a_system_that_refuses_is_no_error(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert _scheduler_after(prefer_this_thread) == {"granted": False, "policy": os.SCHED_OTHER}


def test_other_threads_are_left_alone():
    before = os.sched_getscheduler(0)
    _scheduler_after(prefer_this_thread)
    assert os.sched_getscheduler(0) == before
