"""One runtime as the poollet sees it: its last lists, what it offers, whether it answers.

Owns the calls that read, and none that changes an object. A list that failed is unknown, never empty; the last lists stay
for display. Any thread may read; one thread calls.

Events are asked for with the lists, and only of a runtime without the Host service: such a runtime, which others wrote, states
reasons nowhere else. Each call asks from the newest known event on. A runtime that has no events is asked again once it was away.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from iri.errors import IRIError, Unimplemented
from iri.host import Offers, RuntimeClasses, RuntimeInfo
from iri.machine import RuntimeMachine
from iri.runtime import Runtime, RuntimeEvent, RuntimeKind
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.runtimes.runtime_lists import ListFailed, Listing, ListKey, RuntimeLists, identify_event

MACHINE_KINDS: tuple[RuntimeKind, ...] = (RuntimeMachine,)
VOLUME_KINDS: tuple[RuntimeKind, ...] = (RuntimeVolume, RuntimeSnapshot)
MOST_EVENTS = 500  # the newest that are kept

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """The last answers of a runtime. With an `error` the runtime does not answer now, and the rest is older.

    `configured_classes` are the classes that the runtime was to offer when it answered; None before the first `live`.
    """

    about: RuntimeInfo | None = None
    offers: Offers | None = None
    error: str = ""
    configured_classes: RuntimeClasses | None = None

    @property
    def is_known(self) -> bool:
        """Whether it has ever answered completely; with an `error` it does not answer now."""
        return self.about is not None and self.offers is not None

    @property
    def is_preliminary(self) -> bool:
        """The runtime answers, but did so before its classes were known: only its next answer counts."""
        return self.is_known and not self.error and self.configured_classes is None


class RuntimeClient:
    """The last answers of one runtime. `kinds` are the lists that are fetched; `now_ms` is a clock that never jumps.

    A probe asks who the runtime is and what it offers, and sets the fleet's classes where it offers
    others. A runtime that cannot be configured keeps its own classes. Each fetch makes new values, so that
    a reader may keep what it got.
    """

    def __init__(
        self, name: str, runtime: Runtime, kinds: tuple[RuntimeKind, ...], now_ms: Callable[[], int]
    ) -> None:
        self.name = name
        self.runtime = runtime
        self.kinds = kinds
        self.needs_probe = True  # the classes changed, or nothing is known yet
        self._now_ms = now_ms
        self._desired: RuntimeClasses | None = None
        self._refused: RuntimeClasses | None = None  # the runtime cannot be configured with these
        self._state = RuntimeState()
        self._lists: dict[ListKey, Listing | ListFailed] = {}
        self._events: tuple[RuntimeEvent, ...] = ()
        self._has_events = True  # as far as it is known
        self._calling = threading.Lock()

    @property
    def state(self) -> RuntimeState:
        """The last answer to a probe. Any thread may read it."""
        return self._state

    @property
    def lists(self) -> RuntimeLists:
        """A snapshot: each fetch makes a new mapping."""
        return self._lists

    @property
    def events(self) -> tuple[RuntimeEvent, ...]:
        """The newest events, oldest first; none of a runtime with the Host service. The same tuple until there are new ones."""
        return self._events

    @property
    def is_answering(self) -> bool:
        """Whether the last probe and all the last lists succeeded."""
        has_failed = any(isinstance(found, ListFailed) for found in self._lists.values())
        return not self._state.error and not has_failed

    def configure(self, classes: RuntimeClasses) -> bool:
        """The classes that the runtime is to offer from the next probe on; whether they changed."""
        is_new, self._desired = classes != self._desired, classes
        self.needs_probe |= is_new
        return is_new

    def probe(self, *, is_brief: bool = False) -> bool:
        """Asks whether the runtime is there and what it offers; whether anything changed. A brief probe asks no more while the
        offers are the same."""
        with self._calling:
            before = self._state
            is_brief &= before.is_known and not before.error and not self.needs_probe
            self.needs_probe = False
            desired = self._desired
            try:
                if not is_brief or self.runtime.offers() != before.offers:
                    about = self.runtime.about()
                    self._state = RuntimeState(about, self._fetch_offers(desired), configured_classes=desired)
            except IRIError as error:
                self._state = replace(before, error=str(error) or type(error).__name__)
                self._has_events = True  # another version may answer next
            return self._state != before

    def fetch_lists(self) -> bool:
        """Lists everything, and the events where they are needed; whether anything changed."""
        with self._calling:
            before = self._lists
            lists: dict[ListKey, Listing | ListFailed] = {}
            for kind in self.kinds:
                # The server of snapshots is that of the volumes, whose list was fetched before.
                of_server = lists.get(ListKey(self.name, RuntimeVolume)) if kind is RuntimeSnapshot else None
                lists[ListKey(self.name, kind)] = self._fetch_list(kind, of_server)
            self._lists = lists
            has_news = self._fetch_events()
            return has_news or any(_differs(before.get(key), found) for key, found in lists.items())

    def _fetch_events(self) -> bool:
        """Asks for what happened since the newest known event; whether anything did. Events are for people: a call that fails is made again
        with the next lists, and does not make the runtime unreachable."""
        about = self._state.about
        if about is None or about.has_host_service or not self._has_events or not self.is_answering:
            return False
        try:
            found = self.runtime.events(max((event.time for event in self._events), default=0))
        except Unimplemented:
            self._has_events = False
            return False
        except IRIError as error:
            log.info("cannot list events runtime=%s error=%s", self.name, error)
            return False
        known = {identify_event(event) for event in self._events}
        new = [event for event in found if identify_event(event) not in known]
        if new:
            self._events = (*self._events, *new)[-MOST_EVENTS:]
        return bool(new)

    def _fetch_list(self, kind: RuntimeKind, of_server: Listing | ListFailed | None) -> Listing | ListFailed:
        """The list of one kind, or ListFailed with the last one. A runtime without snapshots lists none,
        unless it had some before: then it is broken, and they are not gone."""
        known = self._lists.get(ListKey(self.name, kind))
        last = known.last if isinstance(known, ListFailed) else known
        if isinstance(of_server, ListFailed):
            return ListFailed(
                of_server.reason, last
            )  # a second call to a silent server would hang as long again
        started_ms = self._now_ms()
        try:
            found = self.runtime.objects(kind)
        except Unimplemented as error:
            # Many providers have no snapshots. For other kinds the wrong server listens behind the socket.
            if kind is not RuntimeSnapshot or (last is not None and last.objects):
                return ListFailed(str(error) or type(error).__name__, last)
            found = {}
        except IRIError as error:
            return ListFailed(str(error) or type(error).__name__, last)
        return Listing(last.number + 1 if last else 1, started_ms, found)

    def _fetch_offers(self, desired: RuntimeClasses | None) -> Offers:
        """What the runtime offers, after it was given the desired classes where it offers others. Classes
        that it refused are not set again until they change."""
        offers = self.runtime.offers()
        if desired is None or desired == self._refused or _are_offered(desired, offers):
            return offers
        try:
            self.runtime.set_classes(desired)
        except Unimplemented:
            self._refused = desired
            return offers
        return self.runtime.offers()


def _differs(before: Listing | ListFailed | None, now: Listing | ListFailed) -> bool:
    """Whether the agent has something new to decide. A list that failed again differs in nothing."""
    if isinstance(before, Listing) and isinstance(now, Listing):
        return before.objects != now.objects
    return type(before) is not type(now)


def _are_offered(desired: RuntimeClasses, offers: Offers) -> bool:
    """Exactly these, and no others. Classes that the host is too small for are not offered, so they are set with each full probe."""
    machines = {offer.machine_class.name: offer.machine_class for offer in offers.machines}
    volumes = {offer.volume_class.name: offer.volume_class for offer in offers.volumes}
    return machines == {one.name: one for one in desired.machines} and volumes == {
        one.name: one for one in desired.volumes
    }
