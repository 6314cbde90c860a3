"""A TCP relay in front of a real server, to make the network bad on purpose: gone, silent, or cut in mid-push."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from enum import Enum, auto

from tests.servers.daemon import free_port


class Weather(Enum):
    FINE = auto()
    SILENT = auto()  # connections are taken, and nothing is ever said
    GONE = auto()  # nobody listens


class Relay:
    """`cut_after` ends a connection, without a word, once that many bytes went from the client to the server."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self.cut_after: int | None = None
        self.carried = 0
        self._target = target
        self._weather = Weather.FINE
        self._stop = threading.Event()
        self._listener: socket.socket | None = None
        self._threads: list[threading.Thread] = []
        self._listen()

    @property
    def weather(self) -> Weather:
        return self._weather

    @weather.setter
    def weather(self, weather: Weather) -> None:
        was, self._weather = self._weather, weather
        if weather is Weather.GONE:
            self._hang_up()
        elif was is Weather.GONE:
            self._listen()

    def close(self) -> None:
        self._stop.set()
        self._hang_up()
        for thread in self._threads:
            thread.join(5)

    def _listen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=64)
        self._start(self._accept, self._listener)

    def _hang_up(self) -> None:
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None

    def _start(self, work: object, *arguments: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self._start(self._carry, client)

    def _carry(self, client: socket.socket) -> None:
        with client:
            while self._weather is Weather.SILENT:
                if self._stop.wait(0.02):
                    return
            with socket.create_connection(("127.0.0.1", self._target)) as server:
                shuttle(client, server, self._stop, self._may_pass)

    def _may_pass(self, count: int) -> bool:
        self.carried += count
        if self._weather is not Weather.FINE:
            return False
        return self.cut_after is None or self.carried <= self.cut_after


def shuttle(client: socket.socket, server: socket.socket, stop: threading.Event, may_pass: object) -> None:
    """Carries bytes both ways until either side ends, or `may_pass(bytes from the client)` says no."""
    assert callable(may_pass)
    other = {client: server, server: client}
    with selectors.DefaultSelector() as selector:
        for side in other:
            selector.register(side, selectors.EVENT_READ)
        while not stop.is_set():
            for key, _ in selector.select(0.1):
                side = client if key.fileobj is client else server
                with contextlib.suppress(OSError):
                    chunk = side.recv(1 << 16)
                    if chunk and (side is server or may_pass(len(chunk))):
                        other[side].sendall(chunk)
                        continue
                return


@contextlib.contextmanager
def relay(target: int) -> Iterator[Relay]:
    made = Relay(target)
    try:
        yield made
    finally:
        made.close()
