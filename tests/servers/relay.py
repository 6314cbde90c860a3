"""A TCP relay in front of a real server, to make the network bad on purpose: gone, silent, or cut in mid-push."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from enum import Enum, auto

from tests.servers.daemon import free_port


class Weather(Enum):
    FINE = auto()
    SILENT = auto()  # connections are taken, and nothing is ever said
    GONE = auto()  # no server listens


class Relay:
    """`cut_after` ends a connection, without a word, once that many bytes went from the client to the server on any;
    `cut_answer_after` the same for the other direction."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self.target = target
        self._limits: dict[bool, int | None] = {True: None, False: None}
        self._carried = {True: 0, False: 0}
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

    @property
    def cut_after(self) -> int | None:
        return self._limits[True]

    @cut_after.setter
    def cut_after(self, count: int | None) -> None:
        self._limits[True], self._carried[True] = count, 0

    @property
    def cut_answer_after(self) -> int | None:
        return self._limits[False]

    @cut_answer_after.setter
    def cut_answer_after(self, count: int | None) -> None:
        self._limits[False], self._carried[False] = count, 0

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

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
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
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.target)) as server:
                shuttle(client, server, self._stop, self._may_pass)

    def _may_pass(self, is_from_client: bool, count: int) -> bool:
        self._carried[is_from_client] += count
        if self._weather is not Weather.FINE:
            return False
        limit = self._limits[is_from_client]
        return limit is None or self._carried[is_from_client] <= limit


def shuttle(
    client: socket.socket, server: socket.socket, stop: threading.Event, may_pass: Callable[[bool, int], bool]
) -> None:
    """Carries bytes both ways until either side ends, or `may_pass(is from the client, bytes)` says no."""
    other = {client: server, server: client}
    with selectors.DefaultSelector() as selector:
        for side in other:
            selector.register(side, selectors.EVENT_READ)
        while not stop.is_set():
            for key, _ in selector.select(0.1):
                side = client if key.fileobj is client else server
                with contextlib.suppress(OSError):
                    chunk = side.recv(1 << 16)
                    if chunk and may_pass(side is client, len(chunk)):
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
