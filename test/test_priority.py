import ctypes
import os
import subprocess
import sys
import threading
import time

import pytest

from soft_twin.priority import (
    FEW,
    MANY,
    Preference,
    Strangers,
    prefer_all_threads,
    prefer_this_process,
    prefer_this_thread,
)

PR_CAPBSET_DROP, CAP_SYS_ADMIN, CAP_SYS_NICE = 24, 21, 23  # of prctl, from Linux's headers


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


PREFER_SESSION = """
from soft_twin.priority import NICENESS, SESSION, prefer_this_process
import os, threading, time
threading.Thread(target=time.sleep, args=(600.0,), daemon=True).start()
granted = prefer_this_process()
niceness = max(os.getpriority(os.PRIO_PROCESS, int(thread)) for thread in os.listdir("/proc/self/task"))
session = int(SESSION.read_text().split()[-1]) if SESSION.exists() else niceness
print(granted, niceness <= NICENESS, session <= NICENESS)
"""


def _preferred(*without):
    """In a session of its own, with all rights of this user but these."""
    libc = ctypes.CDLL(None)

    def give_up():
        for right in without:
            libc.prctl(PR_CAPBSET_DROP, right, 0, 0, 0)

    return subprocess.Popen(
        [sys.executable, "-c", PREFER_SESSION],
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=give_up,
    )


def test_a_process_is_preferred_with_its_session_or_it_is_told_that_it_is_not():
    """Niceness alone counts within a session."""
    granted, *preferred = _preferred().communicate()[0].split()
    assert granted == str(preferred == ["True", "True"])


PREFER_FOR_A_WHILE = """
from soft_twin.priority import SESSION, prefer_no_more, prefer_this_process
import os
def session():
    return SESSION.read_text().split()[-1:] if SESSION.exists() else []
before, granted = session(), prefer_this_process()
waits, wakes = os.pipe()
other = os.fork()  # it is preferred, too
if not other:
    os.read(waits, 1)
    prefer_no_more()
    os._exit(0)
during = session()
prefer_no_more()
left = session()
os.write(wakes, b".")
os.waitpid(other, 0)
print(left == during, session() == before, not granted or not before or during != before)
"""


def test_a_session_is_preferred_until_the_last_process_that_asked_for_it_ends():
    words = [sys.executable, "-c", PREFER_FOR_A_WHILE]
    said = subprocess.run(words, start_new_session=True, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["True"] * 3


@pytest.mark.parametrize("said", ["", "\n", None])
def test_where_sessions_share_nothing_niceness_is_all(tmp_path, monkeypatch, said):
    """Linux says nothing of the session that it began with, as containers and their first processes are in it."""
    session = tmp_path / "autogroup"
    if said is not None:
        session.write_text(said)
    asked = []
    monkeypatch.setattr("soft_twin.priority.SESSION", session)
    monkeypatch.setattr(os, "setpriority", lambda *request: asked.append(request))
    assert prefer_this_process() and asked
    assert said is None or session.read_text() == said


@pytest.mark.skipif(os.getuid() != 0, reason="only root may be preferred everywhere")
def test_sessions_that_ask_at_once_are_preferred():
    """The kernel takes one a tenth of a second of those who may do this and no more."""
    processes = [_preferred(CAP_SYS_ADMIN) for _ in range(4)]
    said = [process.communicate()[0].split() for process in processes]
    assert said == [["True"] * 3] * 4


@pytest.mark.skipif(os.getuid() != 0, reason="others may be granted it by their limits")
def test_a_process_that_may_not_be_preferred_is_told_so():
    assert _preferred(CAP_SYS_ADMIN, CAP_SYS_NICE).communicate()[0].split()[0] == "False"


SESSIONS = {100: 0, 101: 0, 200: 1, 201: 1, 900: 2}  # of processes: this one, one of a node and what it starts, …


class Host:
    """What Linux would tell of a host, in a folder."""

    def __init__(self, proc):
        self._proc, self._tick = proc, os.sysconf("SC_CLK_TCK") * os.cpu_count()
        self._all = self._busy = 0
        self._spent, self._began = dict.fromkeys(SESSIONS, 0), dict.fromkeys(SESSIONS, 1)
        self.live(0.0, 0.0)

    def begin(self, process, words):
        """A new process has this number, and was started with these words."""
        self._spent[process], self._began[process] = 0, self._began[process] + 1
        (self._proc / str(process) / "cmdline").write_bytes(words)

    def live(self, own, strangers, seconds=2.0, started=True):
        """Time passes in which so large shares of it are taken; `started`: their words are told anew."""
        ticks = round(seconds * self._tick)
        spent = {100: 0.5 * own, 101: 0.2 * own, 200: 0.2 * own, 201: 0.1 * own, 900: strangers}
        spent = {process: round(share * ticks) for process, share in spent.items()}
        self._all, self._busy = self._all + ticks, self._busy + sum(spent.values())
        idle = self._all - self._busy
        (self._proc / "stat").write_text(f"cpu  {self._busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2 3 4\n")
        for process, more in spent.items():
            self._spent[process] += more
            session = os.getsid(0) + SESSIONS[process]
            (self._proc / str(process)).mkdir(exist_ok=True)
            of_children = self._spent[process] // 2  # that have ended
            words = f"S 1 1 {session} 0 -1 0 0 0 0 0 {self._spent[process] - of_children} 0 {of_children} 0 20 0 1 0"
            words += f" {self._began[process]}"
            (self._proc / str(process) / "stat").write_text(f"{process} (a (b) c) {words}")
            if started:
                words = b"python3\0imu_to_gravity\0--ros-args\0-r\0__ns:=/a\0" if process == 200 else b"python3\0x\0"
                (self._proc / str(process) / "cmdline").write_bytes(words)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


@pytest.mark.parametrize(("own", "others"), [(0.8, 0.0), (0.0, 0.9), (0.3, 0.6), (0.1, 0.05)])
def test_strangers_are_those_of_sessions_without_nodes(host, tmp_path, own, others):
    strangers = Strangers(tmp_path)
    host.live(own, others)
    assert strangers.share() == pytest.approx(others, abs=0.01)
    host.live(others, own)
    assert strangers.share() == pytest.approx(own, abs=0.01)


def test_a_share_is_taken_over_a_while(host, tmp_path):
    strangers = Strangers(tmp_path)
    host.live(0.0, 1.0, seconds=0.4)
    assert strangers.share() is None
    host.live(0.0, 0.5, seconds=1.6)
    assert strangers.share() == pytest.approx(0.6, abs=0.01)


def test_where_nobody_tells_nothing_is_known(tmp_path):
    assert Strangers(tmp_path).share() is None


def test_who_was_just_started_may_become_a_node(host, tmp_path):
    """Between fork and exec it has the words of who starts it."""
    strangers = Strangers(tmp_path)
    (tmp_path / "900" / "cmdline").write_bytes(b"python3\0gravity_to_cables\0--ros-args\0")
    host.live(0.1, 0.8, started=False)
    assert strangers.share() == pytest.approx(0.0, abs=0.01)


def test_a_number_that_is_given_again_is_another_process(host, tmp_path):
    strangers = Strangers(tmp_path)
    for _ in range(3):
        host.live(0.1, 0.8)
        assert strangers.share() == pytest.approx(0.8, abs=0.01)
    host.begin(900, b"python3\0gravity_to_cables\0--ros-args\0")
    host.live(0.1, 0.8, started=False)
    strangers.share()
    host.live(0.1, 0.8, started=False)
    assert strangers.share() == pytest.approx(0.0, abs=0.01)


@pytest.fixture
def asked(monkeypatch):
    asked = []
    monkeypatch.setattr("soft_twin.priority.prefer_this_process", lambda: asked.append("more"))
    monkeypatch.setattr("soft_twin.priority.prefer_no_more", lambda: asked.append("no more"))
    return asked


def test_a_process_is_preferred_while_strangers_keep_the_host_busy(host, tmp_path, asked):
    preference = Preference(Strangers(tmp_path))
    for own, others in [(0.9, 0.0), (0.2, MANY - 0.1), (0.3, MANY + 0.1), (0.8, FEW + 0.1), (0.8, FEW - 0.04)]:
        host.live(own, others)
        preference.look()
    assert asked == ["more", "no more"]
    assert not preference.asked


def test_strangers_that_get_no_more_than_nodes_leave_them_count(host, tmp_path, asked):
    """Four busy programs beside a robot on two cores: either gets half, and the robot's commands were 60 ms late."""
    preference = Preference(Strangers(tmp_path))
    host.live(0.55, 0.45)
    preference.look()
    assert asked == ["more"]


def test_strangers_are_looked_at_until_it_ends(host, tmp_path, asked):
    preference = Preference(Strangers(tmp_path), period=0.01)
    preference.start()
    host.live(0.0, 0.9)
    patience = time.monotonic() + 10.0
    while not asked and time.monotonic() < patience:
        time.sleep(0.01)
    preference.close()
    assert asked == ["more", "no more"]
    host.live(0.0, 0.0)
    time.sleep(0.1)
    assert asked == ["more", "no more"]
