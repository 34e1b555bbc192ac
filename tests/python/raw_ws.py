"""A WebSocket with raw frames, for behaviour that libraries prevent: ignoring pings, not reading, sending
invalid UTF-8, binary or fragmented frames. Implements only RFC 6455."""

import asyncio
import base64
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Refused(AssertionError):
    """The response to the upgrade was not 101."""

    def __init__(self, status: int, head: str):
        super().__init__(f"upgrade refused with {status}: {head}")
        self.status = status


class RawSocket:
    """An upgraded connection."""

    def __init__(self, reader, writer, head: str):
        self.reader, self.writer, self.head = reader, writer, head

    @classmethod
    async def open(cls, gw, path: str, headers: dict | None = None, receive_buffer: int | None = None):
        """Connects and upgrades. A small `receive_buffer` (bytes) makes missing reads noticeable sooner."""
        sock = socket.socket()
        sock.setblocking(False)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        await asyncio.get_running_loop().sock_connect(sock, gw.address)
        # A small limit: the stream stops reading from the kernel when its buffer is full.
        reader, writer = await asyncio.open_connection(sock=sock, limit=4096)
        lines = {
            "Host": "%s:%d" % gw.address,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            "Sec-WebSocket-Version": "13",
            **(headers or {}),
        }
        text = f"GET {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n"
        writer.write(text.encode())
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode("latin-1")
        status = int(head.split()[1])
        if status != 101:
            writer.close()
            raise Refused(status, head)
        return cls(reader, writer, head)

    def write(self, opcode: int, payload: bytes, final: bool = True) -> None:
        """Queues one masked frame."""
        first = (0x80 if final else 0) | opcode
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", first, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", first, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", first, 0x80 | 127, size)
        # A mask of zeros is a valid mask and leaves the payload readable in a capture.
        self.writer.write(head + b"\0\0\0\0" + payload)

    async def send(self, opcode: int, payload: bytes, final: bool = True) -> None:
        """Sends one frame; a closed peer is not an error here."""
        try:
            self.write(opcode, payload, final)
            await asyncio.wait_for(self.writer.drain(), 10)
        except (TimeoutError, ConnectionError):
            pass

    async def frame(self, timeout: float = 5.0) -> tuple[int, bytes] | None:
        """Returns the next frame (opcode, payload); None at the end of the stream."""
        try:
            return await asyncio.wait_for(self._frame(), timeout)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def _frame(self):
        first, second = await self.reader.readexactly(2)
        assert not second & 0x80, "a server must not mask"
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await self.reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await self.reader.readexactly(8))
        return first & 0x0F, await self.reader.readexactly(size)

    async def until_close(self, timeout: float = 5.0) -> tuple[int | None, str]:
        """Reads to the close frame or the end. Returns the close code and reason."""

        async def read():
            while True:
                frame = await self.frame(timeout)
                if frame is None:
                    return None, ""
                if frame[0] == CLOSE:
                    code = struct.unpack("!H", frame[1][:2])[0] if len(frame[1]) >= 2 else 1005
                    return code, frame[1][2:].decode()

        return await asyncio.wait_for(read(), timeout)

    def abort(self) -> None:
        """Drops the connection without a close frame."""
        self.writer.transport.abort()
