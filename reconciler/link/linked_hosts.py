"""The hosts that are connected now, by the name of their poollet: the one thing that ticks and streams share.

    join     a stream said Hello: the newest of a name takes the place of an older one, which is returned to be closed
    sign     a heartbeat counts: from the first one on the host is connected again
    leave    a stream ended; only the newest of a name matters

`ended` is kept for names whose newest stream ended after it gave a sign, until another one gives one. It is what the
scheduler skips pools by, and is empty after a start: a process knows nothing of connections to the one before it.

The lock is held for a few assignments, never while anything is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import ServerMessage
from reconciler.world.reports.heartbeat import LinkInput, LinkSign


class HostStream(Protocol):
    """One end of a Connect stream, and who is at the other."""

    @property
    def host_id(self) -> str: ...

    def send(self, message: ServerMessage) -> None:
        """Queues it, from any thread."""


@dataclass(slots=True)
class _LinkedHost:
    stream: HostStream
    has_signed: bool = False


class LinkedHosts:
    """For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hosts: dict[str, _LinkedHost] = {}
        self._signs: dict[str, LinkSign] = {}
        self._ended: dict[str, datetime] = {}

    def join(self, name: str, stream: HostStream) -> HostStream | None:
        """Returns the older stream of the name, if there is one."""
        with self._lock:
            before = self._hosts.get(name)
            self._hosts[name] = _LinkedHost(stream, before is not None and before.has_signed)
        return before.stream if before is not None else None

    def sign(self, name: str, stream: HostStream, sign: LinkSign) -> bool:
        """Whether it is the first one since the last stream of the host ended, or at all."""
        with self._lock:
            host = self._hosts.get(name)
            if host is None or host.stream is not stream:
                return False
            is_back = not host.has_signed
            host.has_signed = True
            self._signs[name] = sign
            self._ended.pop(name, None)
        return is_back

    def leave(self, name: str, stream: HostStream, at: datetime) -> bool:
        """Whether that was the newest stream of the name."""
        with self._lock:
            host = self._hosts.get(name)
            if host is None or host.stream is not stream:
                return False
            del self._hosts[name]
            if host.has_signed:
                self._ended[name] = at
        return True

    def forget_others(self, names: Collection[str]) -> None:
        """Keeps what is known of these names alone: the settings list no others."""
        with self._lock:
            self._signs = {name: sign for name, sign in self._signs.items() if name in names}
            self._ended = {name: at for name, at in self._ended.items() if name in names}

    def is_connected(self, name: str) -> bool:
        with self._lock:
            return name in self._hosts

    def find_stream(self, name: str) -> HostStream | None:
        """The newest one; None while the host is not connected."""
        with self._lock:
            host = self._hosts.get(name)
        return host.stream if host is not None else None

    def is_newest(self, name: str, stream: HostStream) -> bool:
        """Whether no newer stream of the name took the place of this one."""
        return self.find_stream(name) is stream

    def signed_at(self, name: str) -> datetime | None:
        """When the host gave its newest sign of life over this link, if it did."""
        with self._lock:
            found = self._signs.get(name)
        return found.at if found is not None else None

    def read(self) -> LinkInput:
        with self._lock:
            return LinkInput(True, dict(self._signs), dict(self._ended))

    def send(self, message: ServerMessage, names: Collection[str] | None = None) -> int:
        """To these hosts, or to all; to how many of them. One that is not connected is none of them."""
        with self._lock:
            chosen = self._hosts.keys() if names is None else self._hosts.keys() & set(names)
            streams = [self._hosts[name].stream for name in chosen]
        for stream in streams:
            stream.send(message)
        return len(streams)

    def count(self) -> int:
        with self._lock:
            return len(self._hosts)
