"""Only regular files of a bounded size are read, and others' readers get no more memory than they are given."""

import os

import numpy as np
import pytest

from soft_twin.errors import RecordingError, UsageError
from soft_twin.files import (
    bounded_memory,
    checked_file,
    checked_output,
    is_missing,
    one_line,
    output_file,
    parse_json,
    whole_file,
)
from soft_twin.private_folder import private_folder


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda path: path.mkdir(), "it is a folder"),
        (os.mkfifo, "it is a pipe"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a device"),
        (lambda path: path.symlink_to(path), "symbolic links"),
        (lambda path: None, "No such file"),
        (lambda path: path.write_bytes(b"12345"), "larger than 4 bytes"),
    ],
)
def test_what_is_no_file_is_named_and_not_opened(tmp_path, make, found):
    make(tmp_path / "x")
    with pytest.raises(RecordingError, match=found):
        checked_file(tmp_path / "x", "recording", 4, RecordingError)


def test_what_may_not_be_looked_at_is_not_taken_for_missing(tmp_path):
    (tmp_path / "file").touch()
    assert is_missing(tmp_path / "no" / "file") and is_missing(tmp_path / "file" / "below") and is_missing("")
    assert not (is_missing(tmp_path) or is_missing(tmp_path / "file"))
    assert not (is_missing(tmp_path / (300 * "x")) or is_missing("a\0b"))


def test_a_name_with_a_zero_byte_is_no_traceback():
    with pytest.raises(UsageError, match="no robot description"):
        checked_file("a\0b", "robot description", 4, UsageError)


def test_a_file_is_returned_as_a_path(tmp_path):
    (tmp_path / "x").write_bytes(b"1234")
    assert checked_file(str(tmp_path / "x"), "recording", 4, RecordingError) == tmp_path / "x"


@pytest.mark.parametrize(("path", "found"), [(None, "None"), (3, "int"), ([], "list")])
def test_what_is_no_path_is_told(path, found):
    with pytest.raises(RecordingError, match=f"^recording: expected the path of a file, found {found}$"):
        checked_file(path, "recording", 4, RecordingError)
    with pytest.raises(UsageError, match=f"^weights: expected the path of a file, found {found}$"):
        output_file(path, "weights")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell its processes' sizes")
def test_memory_is_bounded_while_the_block_lasts():
    with bounded_memory(50_000_000):
        assert len(np.ones(1000)) == 1000
        with pytest.raises(MemoryError):
            np.empty(20_000_000)
    assert np.empty(20_000_000).nbytes == 160_000_000


def test_what_cannot_be_written_is_told_before_there_is_anything_to_write(tmp_path):
    path = tmp_path / "new" / "deep" / "x"
    assert output_file(path, "weights") == path
    assert path.parent.is_dir() and not list(path.parent.iterdir())
    path.write_bytes(b"1234")
    assert output_file(str(path), "weights") == path and path.read_bytes() == b"1234"
    with pytest.raises(UsageError, match="cannot write the weights '.*deep': it is a folder, say a file"):
        output_file(path.parent, "weights")
    with pytest.raises(UsageError, match="cannot write the weights '/dev/null': it is a device"):
        output_file("/dev/null", "weights")
    for wrong in (path / "y", "/proc/x", "a\0b"):
        with pytest.raises(UsageError, match="cannot write the weights"):
            output_file(wrong, "weights")


def test_a_look_whether_a_file_can_be_written_leaves_nothing_behind(tmp_path):
    path = tmp_path / "new" / "deep" / "x"
    assert checked_output(str(path), "weights") == path and not list(tmp_path.iterdir())
    (tmp_path / "new").mkdir()
    assert checked_output(path, "weights") == path and not list((tmp_path / "new").iterdir())
    (tmp_path / "new" / "file").touch()
    with pytest.raises(UsageError, match="cannot write the weights"):
        checked_output(tmp_path / "new" / "file" / "x", "weights")
    assert checked_output(tmp_path / "new" / "x", "weights").parent.is_dir()


def test_others_messages_become_one_line():
    assert one_line(ValueError("a\n  b\x00")) == "a b?"
    assert one_line(KeyError()) == "KeyError"
    assert len(one_line("x" * 10_000)) < 400


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, "{", ""])
def test_json_that_is_none_is_a_value_error_however_deep(text):
    with pytest.raises(ValueError):
        parse_json(text)
    assert parse_json('{"a": [1.5]}') == {"a": [1.5]}


def test_the_private_folder_is_this_users_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = private_folder()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert private_folder().stat().st_mode & 0o777 == 0o700


def test_a_link_or_file_in_its_place_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = tmp_path / f"soft_twin-{os.getuid()}"
    place.symlink_to(elsewhere)
    with pytest.raises(UsageError, match="is not a folder of yours"):
        private_folder()
    place.unlink()
    place.touch()
    with pytest.raises(UsageError, match="cannot be made"):
        private_folder()


def test_a_file_is_replaced_as_a_whole_or_stays(tmp_path):
    path = tmp_path / "result"
    for content in ("first", "second"):
        with whole_file(path) as partial:
            partial.write_text(content)
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == content
    with pytest.raises(RuntimeError), whole_file(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert path.read_text() == "second" and list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_where_a_link_leads_and_what_is_no_file_is_written_into(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "there.txt")
    with whole_file(tmp_path / "link") as partial:
        assert partial.suffix == ".txt"
        partial.write_text("it")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "there.txt").read_text() == "it"
    (tmp_path / "null").symlink_to(os.devnull)
    with whole_file(tmp_path / "null") as partial:
        partial.write_text("it")
    assert (tmp_path / "null").is_symlink() and os.path.exists(os.devnull) and not os.path.isfile(os.devnull)
