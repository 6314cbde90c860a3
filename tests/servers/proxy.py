"""A forward proxy on loopback: CONNECT for https, whole addresses for http, a password if wanted."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

from tests.servers.relay import shuttle


class Proxy:
    """`asked` holds the first line of every request that was let through. `always_to` is where it leads, whoever was
    asked for: a name server that lies."""

    def __init__(self, user: str = "", password: str = "", always_to: str = "") -> None:
        self._always_to = always_to
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        self.asked: list[str] = []
        self._wanted = base64.b64encode(f"{user}:{password}".encode()).decode() if user else ""
        self._stop = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._stop.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                if not (chunk := client.recv(1 << 16)):
                    return
                head += chunk
            first = head.split(b"\r\n")[0].decode()
            if self._wanted and f"Proxy-Authorization: Basic {self._wanted}".encode() not in head:
                client.sendall(
                    b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                    b'Proxy-Authenticate: Basic realm="p"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
                )
                return
            self.asked.append(first)
            method, target, _ = first.split(" ")
            place = urlsplit(f"//{target}" if method == "CONNECT" else target)
            with socket.create_connection((self._always_to or place.hostname, place.port or 80)) as server:
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    server.sendall(head)
                shuttle(client, server, self._stop, lambda is_from_client, count: True)


@contextlib.contextmanager
def proxy(user: str = "", password: str = "", always_to: str = "") -> Iterator[Proxy]:
    made = Proxy(user, password, always_to)
    try:
        yield made
    finally:
        made.close()
