"""A valve terminal on Modbus TCP that is not there. Its messages are packed by hand, to check the driver's library."""

import contextlib
import socket
import struct

import numpy as np

from soft_twin.emulation.chambers import ChamberParameters, Chambers

READ_HOLDING, READ_INPUT, WRITE_HOLDING = 3, 4, 16
ILLEGAL_FUNCTION, ILLEGAL_ADDRESS = 1, 2
MILLIBAR = 100.0  # [Pa]
VALVES = ChamberParameters(supply=1.1e6)  # for all that a terminal can be told, 1 MPa
TIMEOUT = 0.5  # [s] without a write, and the valves are relaxed
_HEADER = struct.Struct(">HHHBB")  # transaction, protocol, length, unit, function


class EmulatedModbusTerminal:
    """Valves behind a TCP port of this machine, which only this machine can reach.

    Attributes:
        address: host:port for the driver.
        chambers: what the valves fill.
        channels_each: how many valves a chamber has.
        silent: fault: requests are not answered.
    """

    channels_each = 1

    def __init__(self, count: int = 16, seed: int = 0, parameters: ChamberParameters = VALVES, vacuum: bool = False):
        """`vacuum`: its registers are int16, for pressures below ambient, not uint16."""
        self._type = ">i2" if vacuum else ">u2"
        self.chambers = Chambers(count, parameters, seed)
        self.silent = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        self.address = "{}:{}".format(*self._server.getsockname())
        self._clients: list[socket.socket] = []
        self._buffers: dict[socket.socket, bytes] = {}
        self._since_write = 0.0

    def step(self, dt: float) -> None:
        """Answer the requests that came, let `dt` seconds pass."""
        self._since_write += dt
        self.stand_still(dt)
        if self._since_write > TIMEOUT:
            self.chambers.targets[:] = 0.0
        self.chambers.step(dt)

    def stand_still(self, dt: float) -> None:
        """Answer the requests that came; the pressures stay, however long."""
        with contextlib.suppress(BlockingIOError):
            client, _ = self._server.accept()
            client.setblocking(False)
            self._clients.append(client)
            self._buffers[client] = b""
        for client in list(self._clients):
            self._serve(client)

    def close(self) -> None:
        """Unplug it."""
        for client in self._clients:
            client.close()
        self._server.close()

    def _serve(self, client: socket.socket) -> None:
        try:
            data = client.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._clients.remove(client)
            client.close()
            return
        self._buffers[client] += data
        while (message := self._next_message(client)) is not None:
            answer = self.answer(message)
            if not self.silent:
                with contextlib.suppress(OSError):
                    client.sendall(answer)

    def _next_message(self, client: socket.socket) -> bytes | None:
        buffer = self._buffers[client]
        if len(buffer) < _HEADER.size:
            return None
        end = 6 + _HEADER.unpack_from(buffer)[2]
        if len(buffer) < end:
            return None
        self._buffers[client] = buffer[end:]
        return buffer[:end]

    def answer(self, message: bytes) -> bytes:
        """What the terminal says to a message."""
        transaction, _, _, unit, function = _HEADER.unpack_from(message)
        content = self._content(function, message[_HEADER.size :])
        if isinstance(content, int):
            function, content = function | 0x80, bytes([content])
        return _HEADER.pack(transaction, 0, 2 + len(content), unit, function) + content

    def _content(self, function: int, request: bytes) -> bytes | int:
        """The answer's content, or the code of an exception."""
        if function not in (READ_HOLDING, READ_INPUT, WRITE_HOLDING):
            return ILLEGAL_FUNCTION
        first, count = struct.unpack_from(">HH", request)
        if first + count > len(self.chambers.targets):
            return ILLEGAL_ADDRESS
        if function != WRITE_HOLDING:
            pressures = self.chambers.measured() if function == READ_INPUT else self.chambers.targets
            limits = np.iinfo(self._type)
            registers = np.rint(pressures[first : first + count] / MILLIBAR)
            return bytes([2 * count]) + np.clip(registers, limits.min, limits.max).astype(self._type).tobytes()
        self.chambers.targets[first : first + count] = np.frombuffer(request, self._type, count, 5) * MILLIBAR
        self._since_write = 0.0
        return request[:4]
