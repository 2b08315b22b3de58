"""The adapter's side of slcan (Lawicel's protocol): CAN frames as lines of text on a serial port.

Lines end with a carriage return. From the host: `S8` bit rate 1 Mbit/s, `O` open, `L` open listening, `C` close,
`V` version, `N` serial number, `tIIILDD…` a standard frame (id and data in hex, length one digit). Answers: a
carriage return for done, a bell for refused.
"""

from soft_twin.emulation.line_faults import Port

DONE = b"\r"
REFUSED = b"\a"
ANSWERS = {b"V": b"V1013\r", b"N": b"NSOFT\r", b"S": DONE, b"s": DONE, b"Y": DONE, b"": DONE}
MAX_LINE = 32  # [bytes] longer lines are garbage


class SlcanAdapter:
    """A CAN adapter on a serial port; frames pass in both directions while the host has the channel open.

    Attributes:
        is_open: whether the host has opened the channel.
        refused: number of lines that were no command.
    """

    def __init__(self, port: Port):
        self._port = port
        self._line = b""
        self.is_open = False
        self.refused = 0

    def receive(self) -> list[tuple[int, bytes]]:
        """The frames (id, data) that the host has sent since the last call; its other commands are answered."""
        *lines, self._line = (self._line + self._port.read()).split(b"\r")
        self._line = self._line[-MAX_LINE:]
        frames: list[tuple[int, bytes]] = []
        if lines:
            self._port.write(b"".join(self._answer(line, frames) for line in lines))
        return frames

    def send(self, can_id: int, data: bytes) -> None:
        """Pass a frame to the host, if it has the channel open."""
        self.send_all([(can_id, data)])

    def send_all(self, frames: list[tuple[int, bytes]]) -> None:
        """Pass frames to the host in one write, if it has the channel open."""
        if self.is_open and frames:
            self._port.write("".join(encode_frame(can_id, data) for can_id, data in frames).encode("ascii"))

    def _answer(self, line: bytes, frames: list[tuple[int, bytes]]) -> bytes:
        if line[:1] == b"t":
            return self._take_frame(line, frames)
        if line in (b"O", b"L", b"C"):
            self.is_open = line != b"C"
            return DONE
        if line[:1] in ANSWERS:
            return ANSWERS[line[:1]]
        self.refused += 1
        return REFUSED

    def _take_frame(self, line: bytes, frames: list[tuple[int, bytes]]) -> bytes:
        frame = decode_frame(line)
        if frame is None or not self.is_open:
            self.refused += 1
            return REFUSED
        frames.append(frame)
        return DONE


def encode_frame(can_id: int, data: bytes) -> str:
    """A standard frame as a line, its end included."""
    return f"t{can_id:03X}{len(data)}{data.hex().upper()}\r"


def decode_frame(line: bytes) -> tuple[int, bytes] | None:
    """(id, data) of a line `tIIILDD…` without its end; None if it is not one."""
    try:
        can_id, length, data = int(line[1:4], 16), int(line[4:5]), bytes.fromhex(line[5:].decode("ascii"))
    except ValueError:
        return None
    return (can_id, data) if line[:1] == b"t" and len(data) == length <= 8 else None
