"""Many cases in processes, stored as they end; a run that is killed goes on."""

import argparse
import contextlib
import fcntl
import math
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from soft_twin import parallel
from soft_twin.errors import InputError, RunError, UsageError
from soft_twin.parallel import LOCAL, Progress, Workers, compute_all, compute_each, compute_here

# A function of a module of its own; in its first life, the fourth case kills the process that hands out the work.
SQUARES = """
import os, signal, sys
from pathlib import Path
from soft_twin.parallel import Workers, compute_each

def square(case):
    if case == 3 and not Path(sys.argv[1]).exists():
        os.kill(os.getppid(), signal.SIGKILL)
    return {"square": case**2}

if __name__ == "__main__":
    store = Path(sys.argv[1]).with_name("store")
    for index, result in compute_each(square, range(6), Workers(2), store, say=print):
        print(index, int(result["square"]), flush=True)
"""

# Likewise, with results that are no arrays; the fourth case comes late.
WORDS = """
import os, signal, sys, time
from pathlib import Path
from soft_twin.parallel import compute_here

def word(case):
    folder, number = case
    if number == 3 and not Path(sys.argv[1]).exists():
        time.sleep(1.0)
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(1)
    with open(Path(folder) / "done", "a") as done:
        done.write(f"{number} ")
    return f"a{number}", {"number": number}

if __name__ == "__main__":
    folder = str(Path(sys.argv[1]).parent)
    for name, found in compute_here(word, [(folder, number) for number in range(4)], "words"):
        assert name == f"a{found['number']}"
        print(name)
"""

SLEEPERS = """
import fcntl, os, sys, time
from soft_twin import parallel

def sleep(case):
    file = open(f"{sys.argv[1]}/{os.getpid()}.pid", "a")
    fcntl.flock(file, fcntl.LOCK_EX)
    time.sleep(600.0)

if __name__ == "__main__":
    parallel.compute_all(sleep, range(8), parallel.Workers(2))
"""

# Likewise, as a study of the command line.
STUDY = (
    SLEEPERS.partition("if __name__")[0]
    + """
if __name__ == "__main__":
    from soft_twin.app.cli import main
    from soft_twin.studies import poke
    poke.run = lambda folder, data: str(parallel.compute_here(sleep, range(8), "naps"))
    sys.exit(main(["validate", "poke", "--workers", "2", "--out", sys.argv[1]]))
"""
)


@pytest.mark.parametrize("workers", [Workers(), Workers(2)], ids=["here", "joblib"])
def test_every_case_has_its_result(workers):
    assert compute_all(math.sqrt, [4.0, 9.0, 16.0], workers) == [2.0, 3.0, 4.0]
    assert compute_all(math.sqrt, [], workers) == []


def test_a_cluster_is_one_option():
    pytest.importorskip("distributed")
    assert compute_all(math.factorial, range(9), Workers(1, LOCAL)) == [math.factorial(n) for n in range(9)]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("quatsch", "--cluster quatsch: expected tcp://host:port, or 'local'"),
        ("tcp://127.0.0.1", "--cluster tcp://127.0.0.1: expected tcp://host:port, or 'local'"),
        ("tcp://127.0.0.1:99999", "--cluster tcp://127.0.0.1:99999: expected tcp://host:port, or 'local'"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
    ],
)
def test_a_cluster_that_is_not_there_is_told_when_it_is_asked_for(monkeypatch, capsys, address, told):
    pytest.importorskip("distributed")
    monkeypatch.setattr(parallel, "SCHEDULER_PATIENCE", 0.2, raising=False)
    with pytest.raises(UsageError, match=told):
        Workers.of(argparse.Namespace(workers=0, cluster=address))
    waits = f"waiting for the Dask scheduler at '{address}'\n" if address.endswith(":9") else ""
    assert capsys.readouterr().err == waits


def test_a_scheduler_that_answers_is_taken():
    with _scheduler(0) as cluster:
        address = cluster.scheduler_address
        assert Workers.of(argparse.Namespace(workers=0, cluster=address)) == Workers(0, address)


def test_what_listens_without_an_answer_is_no_scheduler(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(parallel, "SCHEDULER_PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"what listens at '{address}' does not answer as a Dask scheduler does"):
            Workers.of(argparse.Namespace(workers=0, cluster=address))


def test_a_cluster_without_workers_is_told(monkeypatch):
    monkeypatch.setattr(parallel, "WORKER_PATIENCE", 0.2, raising=False)
    with _scheduler(0) as cluster, pytest.raises(UsageError, match="has no workers: start some, dask worker tcp://"):
        compute_all(math.sqrt, [4.0, 9.0], Workers(0, cluster.scheduler_address))


def test_a_scheduler_that_goes_is_told_and_what_had_ended_is_stored(tmp_path):
    with _scheduler(1) as cluster:
        computed = compute_each(_cube, [1.0, 2.0, 3.0], Workers(1, cluster.scheduler_address), tmp_path)
        next(computed)
        cluster.close()
        with pytest.raises(RunError, match="the Dask scheduler at 'tcp://.*' has gone"):
            list(computed)
    assert list(tmp_path.glob("*.npz"))


def test_a_case_whose_workers_die_is_told():
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    told = pytest.raises(RunError, match="a case ended every worker that computed it")
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), told:
        compute_all(_die, [1], Workers(1, LOCAL))


def test_progress_says_what_is_left():
    lines = []
    compute_all(math.sqrt, [1.0, 2.0], say=lines.append, name="roots")
    assert lines[-1] == "roots: 2 of 2, 0:00 to go"


@pytest.mark.parametrize("shortest", [54.0, 30.0], ids=["nearly in step", "one by one"])
def test_the_time_that_is_left_is_known_from_the_first_result_on(monkeypatch, shortest):
    """16 processes, 64 cases of a minute in the mean: within twice what it takes, until the last ones are begun."""
    random, free, ends, told, now = np.random.default_rng(0), [0.0] * 16, [], [], 0.0
    for _ in range(64):
        ends.append(min(free) + random.uniform(shortest, 120.0 - shortest))
        free[free.index(min(free))] = ends[-1]

    def computed(work, cases, workers):
        nonlocal now
        for end, (index, case) in zip(sorted(ends), cases, strict=True):
            now = end
            yield index, case, 15

    monkeypatch.setattr("soft_twin.parallel.time.monotonic", lambda: now)
    monkeypatch.setattr("soft_twin.parallel._computed", computed)
    compute_all(math.sqrt, range(64), say=lambda line: told.append((now, line)))
    for when, line in told:
        minutes, seconds = map(int, re.search(r"(\d+):(\d\d) to go", line).groups())
        if (true := max(ends) - when) > 120.0 - shortest:
            assert 0.5 * true < 60 * minutes + seconds < 2.0 * true, line
    assert len(told) == 64


def test_no_more_processes_are_started_than_there_are_cases():
    from joblib.externals import loky

    assert compute_all(os.path.basename, ["a/b", "c/d", "e/f"], Workers(5)) == ["b", "d", "f"]
    assert loky.get_reusable_executor(reuse=True)._max_workers == 3


def test_work_whose_first_case_takes_long_is_told_of_meanwhile(monkeypatch):
    monkeypatch.setattr(parallel, "FIRST_WORD", 0.05)
    monkeypatch.setattr(parallel, "AGAIN", 1e3)
    lines, told = [], threading.Event()

    def say(line):
        lines.append(line)
        told.set()

    def wait(case):
        return told.wait(30.0) and case

    assert compute_all(wait, [1, 2], Workers(1), say=say, name="waits") == [1, 2]
    assert lines[0] == "waits: 0 of 2, the first tells how long they take (0:00 so far)"
    assert lines[1].startswith("waits: 1 of 2") and len(lines) == 3


def test_a_case_that_takes_longer_than_those_before_is_told_of_meanwhile_with_more_time_that_is_left(monkeypatch):
    monkeypatch.setattr(parallel, "FIRST_WORD", 0.5)
    monkeypatch.setattr(parallel, "AGAIN", 0.05)
    now, lines, told = 0.0, [], threading.Event()

    def say(line):
        lines.append(line)
        if len(lines) > 1:
            told.set()

    def work(case):
        nonlocal now
        now += 10.0 if case == 1 else 90.0
        return case == 1 or told.wait(30.0)

    monkeypatch.setattr("soft_twin.parallel.time.monotonic", lambda: now)
    assert compute_all(work, [1, 2], Workers(1), say=say, name="waits") == [True, True]
    assert lines[0] == "waits: 1 of 2, 0:10 to go"
    assert lines[1] == "waits: 1 of 2, 1:40 to go"


def test_a_log_is_told_progress_now_and_then(capsys, monkeypatch):
    now = 100.0
    monkeypatch.setattr("soft_twin.parallel.time.monotonic", lambda: now)
    progress = Progress()
    for _ in range(40):
        progress(f"at {now:.0f} s")
        now += 1.0
    progress("")
    assert capsys.readouterr().err.splitlines() == ["at 100 s", "at 115 s", "at 130 s"]


def test_what_a_case_raises_is_told():
    for workers in (Workers(), Workers(2)):
        with pytest.raises(ValueError):
            compute_all(math.sqrt, [1.0, -1.0], workers)


def test_who_takes_no_more_results_is_not_warned_by_joblib(recwarn):
    computed = compute_each(time.sleep, [0.0, 0.0, 0.5, 0.5], Workers(2))
    next(computed)
    computed.close()
    assert not [str(each.message) for each in recwarn if "tasks" in str(each.message)]


def test_who_is_killed_goes_on_where_it_was(tmp_path):
    program, second_life = tmp_path / "squares.py", tmp_path / "second life"
    program.write_text(SQUARES)
    assert _run(program, second_life) < 0
    stored = len(list((tmp_path / "store").glob("*.npz")))
    assert stored < 6
    second_life.touch()
    assert _run(program, second_life) == 0
    lines = (tmp_path / "told").read_text().splitlines()
    assert {f"{case} {case**2}" for case in range(6)} <= set(lines)
    assert sum("to go" in line for line in lines) == 6 - stored


def test_who_is_killed_finds_again_what_was_computed_here(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program, second_life = tmp_path / "words.py", tmp_path / "second life"
    program.write_text(WORDS)
    assert _run(program, second_life) < 0
    kept = [path for path in tmp_path.rglob("unfinished/*") if not path.name.startswith(".")]
    assert 1 <= len(kept) < 4
    second_life.touch()
    assert _run(program, second_life) == 0
    done = (tmp_path / "done").read_text().split()
    assert (tmp_path / "told").read_text().split() == ["a0", "a1", "a2", "a3"]
    assert set(done) == {"0", "1", "2", "3"}
    assert len(done) == 4 + 3 - len(kept)  # what was not kept is done once more
    assert not [path for path in tmp_path.rglob("unfinished/*") if not path.name.startswith(".")]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_who_started_them_in_the_middle_of_their_cases(tmp_path, ending):
    program = tmp_path / "sleepers.py"
    program.write_text(SLEEPERS)
    parent = subprocess.Popen([sys.executable, program, tmp_path])
    try:
        sleepers = _waited_for(lambda: [path for path in tmp_path.glob("*.pid") if _is_held(path)], 2)
        parent.send_signal(ending)
        assert parent.wait() == -ending
        _waited_for(lambda: [path for path in sleepers if not _is_held(path)], 2)
    finally:
        parent.kill()
        for path in tmp_path.glob("*.pid"):
            if _is_held(path):
                os.kill(int(path.stem), signal.SIGKILL)


def test_a_command_that_is_ended_says_what_is_kept_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = tmp_path / "study.py"
    program.write_text(STUDY)
    command = subprocess.Popen([sys.executable, program, tmp_path], stderr=subprocess.PIPE, text=True)
    try:
        sleepers = _waited_for(lambda: [path for path in tmp_path.glob("*.pid") if _is_held(path)], 2)
        command.send_signal(signal.SIGTERM)
        command.send_signal(signal.SIGTERM)  # as `timeout` does, to the process and to its group
        told = command.communicate(timeout=60.0)[1]
        said = [line for line in told.splitlines() if line and not line.startswith("naps: ")]  # which takes its time
        assert said == ["soft-twin: interrupted; 0 of 8 naps are kept, the same again goes on"]
        assert command.returncode == 130
        _waited_for(lambda: [path for path in sleepers if not _is_held(path)], 2)
    finally:
        command.kill()
        for path in tmp_path.glob("*.pid"):
            if _is_held(path):
                os.kill(int(path.stem), signal.SIGKILL)


@contextlib.contextmanager
def _scheduler(workers):
    """A Dask cluster in this process, with so many workers."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "protocol": "tcp", "dashboard_address": None, "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=workers, **options) as cluster:
        yield cluster


def _waited_for(found, count):
    """What is found once it is as many as that."""
    end = time.monotonic() + 60.0
    while len(there := found()) < count:
        assert time.monotonic() < end, there
        time.sleep(0.1)
    return there


def _is_held(path):
    """Whether a process that lives has locked that file."""
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_result_that_is_broken_is_computed_again(tmp_path):
    assert dict(compute_each(_cube, [2.0], store=tmp_path))[0]["cube"] == 8.0
    (stored,) = tmp_path.glob("*.npz")
    stored.write_bytes(stored.read_bytes()[:40])
    assert dict(compute_each(_cube, [2.0], store=tmp_path))[0]["cube"] == 8.0


def test_another_function_or_case_is_another_result(tmp_path):
    compute_all(_cube, [2.0, np.array([1.0, 2.0])], store=tmp_path)
    compute_all(_words, [2.0], store=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 3


@pytest.mark.parametrize("text", [300 * "a", f"{{{300 * 'a'}}}/b", "é" * 200], ids=["long", "with a slash", "bytes"])
def test_a_text_that_can_be_no_files_name_is_a_case_like_others(tmp_path, text):
    assert compute_all(_words, [text], store=tmp_path) == [{"what": text}]
    assert compute_all(_words, [text], store=tmp_path) == [{"what": text}]
    assert len(list(tmp_path.glob("*.npz"))) == 1


def test_what_cannot_be_stored_or_computed_is_refused(tmp_path):
    with pytest.raises(InputError, match="a mapping of names to arrays, not a float"):
        compute_all(math.sqrt, [4.0], store=tmp_path)
    with pytest.raises(InputError, match="result 'what' is no array"):
        compute_all(_words, [object()], store=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot store results in"):
        compute_all(_cube, [1.0], store=tmp_path / "file" / "store")
    with pytest.raises(UsageError, match="workers: -1"):
        Workers(-1)


def _run(program, life):
    """Exit status; what it tells goes into files, which processes of a killed parent may keep open."""
    with open(program.with_name("told"), "w") as told, open(program.with_name("errors"), "w") as errors:
        return subprocess.call([sys.executable, program, life], stdout=told, stderr=errors, timeout=100)


def _die(case):
    os._exit(1)


def _cube(case):
    return {"cube": case**3}


def _words(case):
    return {"what": case}


def test_another_content_of_a_file_that_is_named_is_another_result(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tempfile.tempdir = None  # it remembers
    description, mesh = tmp_path / "robot.yaml", tmp_path / "body.vtu"
    mesh.write_text("coarse")
    description.write_text("mesh: {file: body.vtu}")
    work = partial(_read, [str(description)])
    assert compute_all(work, [0], store=tmp_path / "store") == [{"text": "mesh: {file: body.vtu} coarse"}]
    mesh.write_text("fine")
    assert compute_all(work, [0], store=tmp_path / "store") == [{"text": "mesh: {file: body.vtu} fine"}]
    description.write_text("mesh: { file: body.vtu }")
    assert compute_all(work, [0], store=tmp_path / "store") == [{"text": "mesh: { file: body.vtu } fine"}]
    assert len(list((tmp_path / "store").glob("*.npz"))) == 3
    description.write_text(f"mesh: {{file: body.vtu}}\nmade_by: {300 * 'a'}")
    (told,) = compute_all(work, [0], store=tmp_path / "store")
    assert str(told["text"]).endswith("aa fine")


def test_what_is_kept_of_an_interrupted_run_is_not_mixed_with_a_changed_ones(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tempfile.tempdir = None
    here = lambda work, cases, workers: ((index, work(case), 0) for index, case in cases)  # noqa: E731
    monkeypatch.setattr("soft_twin.parallel._computed", here)
    description = tmp_path / "robot.yaml"
    description.write_text("old")
    work = partial(_read_until, description)
    with pytest.raises(ValueError):
        compute_here(work, ["yes", "no"], "cases")
    assert len(_kept(tmp_path)) == 1
    description.write_text("new")
    assert compute_here(work, ["yes", "again"], "cases") == ["new yes", "new again"]
    assert len(_kept(tmp_path)) == 1  # the old one's, for who goes back to it
    tempfile.tempdir = None


def test_who_interrupts_is_told_what_is_kept(tmp_path):
    with pytest.raises(KeyboardInterrupt, match="interrupted; 2 of 4 squares are kept, the same again goes on"):
        compute_all(_square_until_interrupted, [1, 2, 3, 4], store=tmp_path, name="squares")
    with pytest.raises(KeyboardInterrupt, match="interrupted$"):
        compute_all(_square_until_interrupted, [3])


def _kept(folder):
    return [path for path in folder.rglob("unfinished/*") if not path.name.startswith(".")]


def _read(paths, case):
    (path,) = map(Path, paths)
    return {"text": f"{path.read_text()} {path.with_name('body.vtu').read_text()}"}


def _read_until(path, case):
    if case == "no":
        raise ValueError(case)
    return f"{path.read_text()} {case}"


def _square_until_interrupted(case):
    if case == 3:
        raise KeyboardInterrupt
    return {"square": case**2}
