"""A TCP connection whose every failure is a DeviceError that says what to do."""

import contextlib
import socket

from soft_twin.errors import DeviceError
from soft_twin.one_driver import claim_device


class TcpPort:
    """Bytes to and from a host, without waiting for them.

    Args:
        host, port: of the device.
        timeout: for connecting [s].

    Raises:
        DeviceError: nobody answers there, or another driver on this machine talks to it.
    """

    def __init__(self, host: str, port: int, timeout: float):
        self._where = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout)
        except (OSError, OverflowError, UnicodeError) as error:
            raise DeviceError(
                f"nobody answers at '{self._where}' ({error}): check its address, and that TCP port {port} is open"
            ) from error
        try:
            self._claim = claim_device("tcp/{}:{}".format(*self._socket.getpeername()[:2]), self._where)
        except (DeviceError, OSError):
            self._socket.close()
            raise
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)

    def read(self) -> bytes:
        """What has come in.

        Raises:
            DeviceError: the connection is gone.
        """
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise DeviceError(f"the connection to '{self._where}' is gone: {error}") from error
        if not data:
            raise DeviceError(f"'{self._where}' has closed the connection: does another program use it?")
        return data

    def write(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            DeviceError: the connection is gone or takes no bytes.
        """
        try:
            sent = self._socket.send(data)
        except OSError as error:
            raise DeviceError(f"'{self._where}' takes no bytes: {error}") from error
        if sent < len(data):
            raise DeviceError(f"'{self._where}' takes no bytes: {len(data) - sent} of {len(data)} are left")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()
        self._claim.close()
