"""Whether this host is connected to all servers of the link, and since when: this decides who hears its heartbeats. Pure.

Theory of operation
-------------------
A reconciler that knows nothing of a link must be able to judge every host by its report ref, and two reconcilers must not judge differently for
long. So heartbeats move from Git to the link only while *every* server hears them, and come back at once:

    state        while                                           report names         heartbeats to Git
    ---------    ---------------------------------------------   ------------------   ----------------------------------
    apart        a listed server does not answer                 interval (15s)       each 0.8 of the interval
    connected    all answer, for less than STEADY (30 s)         interval (15s)       each 0.8 of the interval
    steady       all have answered for STEADY without a break    5m, or interval      each 4 minutes, once a report that
                                                                 if that is longer    names 5m has landed

    from        to          when                                                      then
    ---------   ---------   -------------------------------------------------------   --------------------------------
    apart       connected   the last server answers                                   heartbeats over the link count
    connected   steady      STEADY later                                              a report that names 5m is pushed
    any         apart       a stream ends, or no answer to a heartbeat of the last    a report that names 15s is pushed
                            3.5 link intervals (7 s), or another server is listed     at once

A server counts as answering while it has answered a heartbeat that was sent less than 3.5 intervals ago, however late the answer comes
(schemas/signs_of_life.py). The times that make an early expiry impossible while the host lives and can push:

    the host            its last heartbeat was answered -> apart: 7.5 s, and half a second until it looks -> pushed: at once
    the reconciler      last heartbeat over the link -> expired: 50 s or more (world/reports/heartbeat.py)
                        a report that names 5m -> expired: 25 minutes
                        a report that names 15s -> expired: 50 s

A reconciler that was never connected sees 5m in the report before pushes become rare, and 15s as soon as they are frequent again.
One whose own stream ended expects the next push within 50 s, and the host makes it within 8 s. The host names 5m again only after
STEADY, so a reconciler can tell a push of before the break from one of a host that is connected to others.

Must never happen: 5m is named while a listed server does not answer; a break that is shorter than the look at it goes unnoticed
(each `end` is one, whatever comes after it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.settings.fleet import LINK_MISSED_HEARTBEATS, LINK_STEADY_MILLISECONDS
from schemas.signs_of_life import SignsOfLife


@dataclass
class _Server:
    interval_ms: int = 0
    signs: SignsOfLife[int] | None = None  # None while there is no stream

    def answers(self, now_ms: int) -> bool:
        """Whether it has answered a heartbeat of a moment ago; when the answer came does not count."""
        if self.signs is None or self.signs.alive_at is None:
            return False
        return now_ms - self.signs.alive_at <= self.patience_ms

    @property
    def patience_ms(self) -> int:
        """Three heartbeats, and half of one for the way."""
        return self.interval_ms * LINK_MISSED_HEARTBEATS + self.interval_ms // 2


@dataclass
class LinkState:
    """Of one poollet. `now_ms` is a clock that never jumps; it must not go back. Not for two threads at once."""

    _servers: dict[str, _Server] = field(default_factory=dict)
    _all_since_ms: int | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(self._servers)

    def follow(self, addresses: Iterable[str], now_ms: int) -> None:
        """These are listed now. A new one does not answer yet."""
        self._servers = {each: self._servers.get(each) or _Server() for each in addresses}
        self.advance(now_ms)

    def begin(self, address: str, interval_ms: int, number: int, now_ms: int) -> None:
        """Welcome came, with the server's first number. It has not answered a heartbeat yet."""
        if (server := self._servers.get(address)) is not None:
            server.interval_ms, server.signs = interval_ms, SignsOfLife()
            server.signs.take(number, 0)
        self.advance(now_ms)

    def ask(self, address: str, now_ms: int) -> tuple[int, int]:
        """Number and answer of the next heartbeat to that server."""
        self.advance(now_ms)
        server = self._servers.get(address)
        if server is None or server.signs is None:
            return 0, 0
        return server.signs.ask(now_ms), server.signs.received

    def take(self, address: str, number: int, answers: int, now_ms: int) -> bool:
        """A heartbeat of that server. Whether all answer from now on. What happened before is judged first."""
        was = self.advance(now_ms)
        server = self._servers.get(address)
        if server is not None and server.signs is not None:
            server.signs.take(number, answers)
        return not was and self.advance(now_ms)

    def end(self, address: str, now_ms: int) -> None:
        """The stream to that server ended."""
        if (server := self._servers.get(address)) is not None:
            server.signs = None
        self.advance(now_ms)

    def advance(self, now_ms: int) -> bool:
        """Whether all answer. To be called at least once in a link interval, because a server falls silent by time alone."""
        is_all = bool(self._servers) and all(each.answers(now_ms) for each in self._servers.values())
        if not is_all:
            self._all_since_ms = None
        elif self._all_since_ms is None:
            self._all_since_ms = now_ms
        return is_all

    def is_steady(self, now_ms: int) -> bool:
        is_all = self.advance(now_ms)
        return (
            is_all
            and self._all_since_ms is not None
            and now_ms - self._all_since_ms >= LINK_STEADY_MILLISECONDS
        )

    def is_lost(self, address: str, now_ms: int, since_ms: int) -> bool:
        """Whether a stream that began then should be given up: the server does not answer any more, or never did."""
        server = self._servers.get(address)
        if server is None or server.signs is None:
            return True
        return not server.answers(now_ms) and now_ms - since_ms > server.patience_ms

    def count_connected(self, now_ms: int) -> int:
        return sum(each.answers(now_ms) for each in self._servers.values())
