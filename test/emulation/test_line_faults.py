import pytest

from soft_twin.emulation.line_faults import LINE_FAULTS, LineFaults

WRITES = [b"first\r", b"second\r", b"third\r", b"fourth\r"]


class Memory:
    def __init__(self, incoming=b""):
        self.incoming, self.sent = incoming, []

    def read(self):
        data, self.incoming = self.incoming, b""
        return data

    def write(self, data):
        self.sent.append(data)
        return len(data)


def _through(fault, incoming=b""):
    memory = Memory(incoming)
    line = LineFaults(memory, seed=1)
    line.fault = fault
    for data in WRITES:
        line.write(data)
    return memory, line


def test_without_fault_everything_passes():
    memory, line = _through(None, b"hello")
    assert memory.sent == WRITES
    assert line.read() == b"hello"


def test_silence_is_in_both_directions():
    memory, line = _through("silence", b"hello")
    assert memory.sent == []
    assert line.read() == b""
    line.fault = None
    assert line.read() == b""


def test_duplicates():
    assert _through("duplicates")[0].sent == [2 * data for data in WRITES]


def test_reordered_writes_come_after_the_next():
    assert b"".join(_through("reordered")[0].sent) == b"second\rfirst\rfourth\rthird\r"


def test_half_frames_are_beginnings():
    sent = _through("half frames")[0].sent
    assert all(whole.startswith(part) for whole, part in zip(WRITES, sent, strict=True))
    assert sent != WRITES


def test_garbage_is_the_same_for_the_same_seed():
    assert _through("garbage")[0].sent == _through("garbage")[0].sent != WRITES


@pytest.mark.parametrize("fault", LINE_FAULTS)
def test_a_line_recovers(fault):
    memory, line = _through(fault)
    line.fault = None
    line.write(b"healthy\r")
    line.write(b"again\r")
    assert b"".join(memory.sent).endswith(b"again\r")
