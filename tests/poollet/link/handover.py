"""One host, its servers and Git on a virtual clock: both ends' own code for heartbeats, and a network that a test makes bad.

The network is worse than gRPC's: messages are delayed, repeated and reordered, and a stream may end at any time. Git works, as slowly as a test
says: every push lands. So a host that lives must never count as lost.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from poollet.link.link_state import LinkState
from reconciler.world.reports.heartbeat import EVER, Heartbeat, HeartbeatSeen, LinkSign
from schemas.settings.duration import milliseconds
from schemas.settings.fleet import heartbeat_timeout_milliseconds, linked_interval
from schemas.signs_of_life import SignsOfLife

STEP_MS = 250
LINK_MS = 2000
INTERVAL = "15s"
HEARTBEAT_AT = 0.8
ZERO = datetime(2026, 1, 1, tzinfo=UTC)


def date(ms: int) -> datetime:
    return ZERO + timedelta(milliseconds=ms)


def timeout(interval: str) -> timedelta:
    return timedelta(milliseconds=heartbeat_timeout_milliseconds(interval))


@dataclass(frozen=True)
class Fault:
    """From `at_ms` on, for `for_ms`. `down` ends every stream and begins none; `slow` delays, repeats and reorders; `flap` ends the stream again and
    again. `moved`: another process serves the address from then on, and the former one goes on without hosts."""

    kind: str
    server: int
    at_ms: int
    for_ms: int

    def holds(self, now_ms: int) -> bool:
        return self.at_ms <= now_ms < self.at_ms + self.for_ms


@dataclass
class Git:
    """The report ref: its commits by the time at which a reconciler can read them, each with the interval that it names."""

    push_ms: int
    commits: list[tuple[int, str]] = field(default_factory=list)

    def head(self, now_ms: int) -> tuple[int, str] | None:
        landed = [(number, each) for number, each in enumerate(self.commits) if each[0] <= now_ms]
        return (landed[-1][0], landed[-1][1][1]) if landed else None


@dataclass
class ModelHost:
    """What poollet_link.py and report_publisher.py do, without threads."""

    git: Git
    addresses: tuple[str, ...]
    state: LinkState = field(default_factory=LinkState)
    named: str = ""  # in the newest report
    pushed_ms: int = -10_000_000
    next_beat_ms: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state.follow(self.addresses, 0)

    @property
    def commit(self) -> int:
        return len(self.git.commits) - 1

    def turn(self, now_ms: int) -> None:
        """Push what is due: news at once, a heartbeat before its interval is over. One push at a time."""
        if self.git.commits and now_ms < self.git.commits[-1][0]:
            return
        interval = linked_interval(INTERVAL) if self.state.is_steady(now_ms) else INTERVAL
        is_due = now_ms >= self.pushed_ms + milliseconds(interval) * HEARTBEAT_AT
        if interval != self.named or is_due:
            self.git.commits.append((now_ms + self.git.push_ms, interval))
            self.named, self.pushed_ms = interval, now_ms


@dataclass
class ModelServer:
    """A reconciler that polls Git and serves the link; without an address, one that polls only."""

    address: str
    poll_ms: int
    signs: SignsOfLife[datetime] | None = None
    sign: LinkSign | None = None
    seen: HeartbeatSeen | None = None
    seen_commit: int = -1
    looked_ms: int = -10_000_000

    def take(self, now_ms: int, number: int, answers: int, commit: int | None) -> tuple[int, int]:
        assert self.signs is not None
        at = self.signs.take(number, answers)
        if at is not None and commit is not None:
            self.sign = LinkSign(str(commit), at, timeout(INTERVAL))
        return self.signs.ask(date(now_ms)), self.signs.received

    def look(self, git: Git, now_ms: int) -> Heartbeat | None:
        """A tick, if one is due: the refs are read, then what the link knows is taken."""
        if now_ms < self.looked_ms + self.poll_ms:
            return None
        self.looked_ms = now_ms
        if (head := git.head(now_ms)) is None:
            return None
        number, interval = head
        before = self.seen or HeartbeatSeen("", date(now_ms), timeout=timeout(interval))
        written = EVER if number == 0 else date(number)
        seen = before.at(str(number), written, date(now_ms), timeout(interval))
        self.seen = seen if self.sign is None else seen.with_sign(self.sign)
        return self.seen.heartbeat(date(now_ms))


@dataclass
class Network:
    """Both directions of each stream. `chance` draws delays."""

    host: ModelHost
    servers: dict[str, ModelServer]
    faults: tuple[Fault, ...]
    chance: random.Random
    former: list[ModelServer] = field(default_factory=list)
    to_server: list[tuple[int, str, int, int, int | None]] = field(default_factory=list)
    to_host: list[tuple[int, str, int, int]] = field(default_factory=list)

    def is_down(self, address: str, now_ms: int) -> bool:
        number = int(address)
        flaps = now_ms // 3000 % 2 == 0
        return any(
            each.server == number
            and each.holds(now_ms)
            and (each.kind == "down" or (each.kind == "flap" and flaps))
            for each in self.faults
        )

    def delays(self, address: str, now_ms: int) -> list[int]:
        """When a message arrives, once for each copy."""
        number = int(address)
        if any(each.kind == "slow" and each.server == number and each.holds(now_ms) for each in self.faults):
            return [self.chance.randrange(0, 20_000) for _ in range(self.chance.choice((0, 1, 1, 2)))]
        return [self.chance.randrange(0, 100)]

    def turn(self, now_ms: int) -> None:
        for address in self.host.addresses:
            self._move(address, now_ms)
            self._connect(address, now_ms)
        self._deliver(now_ms)
        for address in self.host.addresses:
            self._beat(address, now_ms)

    def _move(self, address: str, now_ms: int) -> None:
        for each in self.faults:
            if (
                each.kind == "moved"
                and each.server == int(address)
                and each.at_ms <= now_ms < each.at_ms + STEP_MS
            ):
                self.former.append(self.servers[address])
                self._end(address, now_ms)
                self.servers[address] = ModelServer(address, 10_000)

    def _end(self, address: str, now_ms: int) -> None:
        self.servers[address].signs = None
        self.to_server = [each for each in self.to_server if each[1] != address]
        self.to_host = [each for each in self.to_host if each[1] != address]
        self.host.state.end(address, now_ms)

    def _connect(self, address: str, now_ms: int) -> None:
        server, state = self.servers[address], self.host.state
        if self.is_down(address, now_ms):
            if server.signs is not None:
                self._end(address, now_ms)
        elif server.signs is None:
            server.signs = SignsOfLife()
            state.begin(address, LINK_MS, server.signs.ask(date(now_ms)), now_ms)
            self.host.next_beat_ms[address] = now_ms

    def _beat(self, address: str, now_ms: int) -> None:
        if self.servers[address].signs is None or now_ms < self.host.next_beat_ms[address]:
            return
        self.host.next_beat_ms[address] = now_ms + LINK_MS
        number, answers = self.host.state.ask(address, now_ms)
        stands = self.host.commit if self.host.state.advance(now_ms) else None
        for delay in self.delays(address, now_ms):
            self.to_server.append((now_ms + delay, address, number, answers, stands))

    def _deliver(self, now_ms: int) -> None:
        arrived = sorted(each for each in self.to_server if each[0] <= now_ms)
        self.to_server = [each for each in self.to_server if each[0] > now_ms]
        for _, address, number, answers, commit in arrived:
            found, received = self.servers[address].take(now_ms, number, answers, commit)
            for delay in self.delays(address, now_ms):
                self.to_host.append((now_ms + delay, address, found, received))
        answered = sorted(each for each in self.to_host if each[0] <= now_ms)
        self.to_host = [each for each in self.to_host if each[0] > now_ms]
        for _, address, number, answers in answered:
            self.host.state.take(address, number, answers, now_ms)
