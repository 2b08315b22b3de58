import os
import subprocess
import sys
import threading

from soft_twin.priority import prefer_all_threads, prefer_this_thread


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


def test_all_threads_are_preferred_or_it_is_told_that_they_are_not():
    """In a process of its own: the others of this one shall stay as they are."""
    script = """
import os, threading
from soft_twin.priority import prefer_all_threads
done = threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
granted = prefer_all_threads()
policies = {os.sched_getscheduler(t) & ~os.SCHED_RESET_ON_FORK for t in (0, thread.native_id)}
done.set()
assert policies == {os.SCHED_RR if granted else os.SCHED_OTHER}, (granted, policies)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_threads_that_may_not_be_preferred_are_no_error(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert not prefer_all_threads()
