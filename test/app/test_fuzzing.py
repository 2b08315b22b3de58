"""Broken, odd and false files of every kind end in their content or in one named error: a seeded sample."""

import subprocess
import sys
import time
from copy import deepcopy

import numpy as np
import pytest
import yaml

from soft_twin.app.fuzzing import cases, descriptions, judge, workers
from soft_twin.app.fuzzing.breaking import broken
from soft_twin.errors import DescriptionError, InputError

IN_PROCESS, IN_CHILDREN = range(200, 400), 30  # seeds that make every kind more than once; how many


def told(outcomes):
    return [f"case {one.seed}: {one.kind}: {one.fault}: {one.detail[-300:]}" for one in outcomes if one.fault]


def test_no_file_ends_in_a_traceback_or_nonsense():
    outcomes = [judge.judge(seed) for seed in IN_PROCESS]
    assert told(outcomes) == []
    assert {one.kind for one in outcomes} == set(cases.KINDS)
    assert sum(one.refused for one in outcomes) > 0.8 * len(IN_PROCESS)


def test_nor_in_processes_of_bounded_memory():
    outcomes = list(workers.judged(range(10_000, 10_000 + IN_CHILDREN), 1))  # which warms up once
    assert told(outcomes) == []
    assert sorted(one.seed for one in outcomes) == list(range(10_000, 10_000 + IN_CHILDREN))


def test_good_files_are_read_without_complaint(tmp_path):
    for kind, path in cases.good_files(tmp_path).items():
        assert cases.KINDS[kind].read(path) == "", kind


@pytest.mark.parametrize("kind", cases.KINDS)
def test_a_seed_is_always_the_same_case(kind, tmp_path):
    contents = []
    for _ in range(2):
        work = tmp_path / str(len(contents))
        work.mkdir()
        case = cases.KINDS[kind].make(np.random.default_rng(5), work)
        files = sorted(path for path in work.rglob("*") if path.is_file() and not path.is_symlink())
        contents.append([case.story, *(path.read_bytes() for path in files)])
    assert contents[0] == contents[1]


def test_bytes_are_broken_in_every_way_and_never_left_as_they_were():
    good = bytes(range(256)) * 10
    changed = [broken(good, np.random.default_rng(seed)) for seed in range(200)]
    assert sum(data != good for data in changed) > 190
    assert {len(data) < len(good) for data in changed} == {True, False}
    assert broken(b"", np.random.default_rng(0)) is not None


@pytest.fixture
def judged_as(monkeypatch):
    """What a reader that does `act` is judged to be."""
    judge.warm_up()

    def judged(act, **case):
        kind = cases.Kind(1.0, lambda rng, work: cases.Case("made", work / "file", **case), lambda path: act())
        monkeypatch.setattr(judge, "KINDS", {"made": kind})
        monkeypatch.setattr(cases, "KINDS", {"made": kind})
        return judge.judge(0)

    return judged


def raising(error):
    def act():
        raise error

    return act


def test_the_judge_knows_the_faults(judged_as, monkeypatch):
    def busy():
        while True:
            time.process_time()

    def large():
        np.ones(20_000_000)  # 160 MB
        return ""

    assert judged_as(raising(KeyError("x"))).fault == "traceback"
    assert judged_as(raising(MemoryError())).fault == "memory"
    assert judged_as(raising(InputError("two\nlines"))).fault == "nonsense"
    assert judged_as(lambda: "a robot of 1e9 m").fault == "nonsense"
    assert judged_as(lambda: "", must_fail=True).fault == "nonsense"
    assert judged_as(large).fault == ""
    monkeypatch.setattr(judge, "MOST_MEMORY", 100_000_000)
    assert judged_as(large).fault == "memory"
    monkeypatch.setattr(judge, "PATIENCE", 0.1)
    assert judged_as(busy).fault == "hang"
    monkeypatch.undo()
    assert judged_as(raising(InputError("it is named"))).refused
    assert judged_as(lambda: "").fault == ""


@pytest.mark.parametrize("name", descriptions.ROBOTS)
def test_every_robot_s_mesh_can_be_made_too_large_and_is_refused(name, tmp_path):
    content = deepcopy(descriptions._good(name))
    assert descriptions._huge_mesh(content, np.random.default_rng(0))
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(DescriptionError, match=r"cells|strut_lengths"):
        cases.KINDS["description"].read(path)


def test_a_process_that_a_file_kills_is_replaced():
    program = (
        "import os\n"
        "from soft_twin.app.fuzzing import workers\n"
        "def judge(seed):\n"
        "    if seed == 3: os.kill(os.getpid(), 11)\n"
        "    return workers.Outcome(seed, 'made')\n"
        "workers.judge, workers.warm_up = judge, lambda: None\n"
        "workers.multiprocessing.get_context = lambda kind: __import__('multiprocessing').context.ForkContext()\n"
        "print(sorted((one.seed, one.fault) for one in workers.judged(range(6), 2)))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    expected = [(seed, "traceback" if seed == 3 else "") for seed in range(6)]
    assert result.stdout.strip() == str(expected), result.stderr
