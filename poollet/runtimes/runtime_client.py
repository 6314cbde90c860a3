"""One runtime as the poollet sees it: what it listed last, what it offers, whether it answers.

Owns the calls that look, and none that changes an object. What did not answer is unknown, and what was known stays to be
shown. Any thread may read; one looks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from iri.errors import IRIError, Unimplemented
from iri.host import Offers, RuntimeClasses, RuntimeInfo
from iri.machine import RuntimeMachine
from iri.runtime import Runtime, RuntimeKind, RuntimeObject
from iri.volume import RuntimeSnapshot, RuntimeVolume
from poollet.runtimes.runtime_lists import ListFailed, Listing, ListKey

MACHINE_KINDS: tuple[RuntimeKind, ...] = (RuntimeMachine,)
VOLUME_KINDS: tuple[RuntimeKind, ...] = (RuntimeVolume, RuntimeSnapshot)
# Which list of the same server comes before.
SERVED_BY: Mapping[RuntimeKind, RuntimeKind] = {
    RuntimeMachine: RuntimeMachine,
    RuntimeVolume: RuntimeVolume,
    RuntimeSnapshot: RuntimeVolume,
}


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """What a runtime has said. `trouble` is why it does not answer now; the rest is then what it said last.

    `told` are the classes that it was to offer when it was asked; None before anybody knew which.
    """

    about: RuntimeInfo | None = None
    offers: Offers | None = None
    trouble: str = ""
    told: RuntimeClasses | None = None

    @property
    def is_known(self) -> bool:
        return self.about is not None and self.offers is not None

    @property
    def is_early(self) -> bool:
        """It answers, and was asked before anybody knew what it is to offer: the next answer is the first that counts."""
        return self.is_known and not self.trouble and self.told is None


class RuntimeClient:
    """`kinds` are what the runtime is asked for; `now_ms` is a clock that never jumps."""

    def __init__(
        self, name: str, runtime: Runtime, kinds: tuple[RuntimeKind, ...], now_ms: Callable[[], int]
    ) -> None:
        self.name = name
        self.runtime = runtime
        self.kinds = kinds
        self._now_ms = now_ms
        self.is_unprobed = True  # something is to be asked, or told, that was not yet
        self._wanted: RuntimeClasses | None = None
        self._refused: RuntimeClasses | None = None  # which the runtime cannot be told
        self._answers = RuntimeState()
        self._lists: dict[ListKey, Listing | ListFailed] = {}
        self._looking = threading.Lock()

    @property
    def answers(self) -> RuntimeState:
        return self._answers

    @property
    def lists(self) -> Mapping[ListKey, Listing | ListFailed]:
        """A snapshot: a new mapping with each look."""
        return self._lists

    @property
    def is_answering(self) -> bool:
        """To all that it was asked last."""
        silent = any(isinstance(found, ListFailed) for found in self._lists.values())
        return not self._answers.trouble and not silent

    def want(self, classes: RuntimeClasses) -> bool:
        """The classes that the runtime is to offer from the next probe on; whether they differ from before."""
        is_new, self._wanted = classes != self._wanted, classes
        self.is_unprobed |= is_new
        return is_new

    def probe(self, *, is_brief: bool = False) -> bool:
        """Asks whether it is there and what it offers; whether anything is different from before. A brief one asks for no more
        as long as it offers the same."""
        with self._looking:
            before = self._answers
            is_brief &= before.is_known and not before.trouble and not self.is_unprobed
            self.is_unprobed = False
            wanted = self._wanted
            try:
                if not is_brief or self.runtime.offers() != before.offers:
                    about = self.runtime.about()
                    self._answers = RuntimeState(about, self._offers(wanted), told=wanted)
            except IRIError as error:
                self._answers = replace(before, trouble=str(error) or type(error).__name__)
            return self._answers != before

    def look(self) -> bool:
        """Lists everything; whether anything is different from before."""
        with self._looking:
            before = self._lists
            lists: dict[ListKey, Listing | ListFailed] = {}
            for kind in self.kinds:
                lists[ListKey(self.name, kind)] = self._listed(
                    kind, lists.get(ListKey(self.name, SERVED_BY[kind]))
                )
            self._lists = lists
            return any(_differs(before.get(place), found) for place, found in lists.items())

    def _listed(self, kind: RuntimeKind, of_server: Listing | ListFailed | None) -> Listing | ListFailed:
        known = self._lists.get(ListKey(self.name, kind))
        last = known.last if isinstance(known, ListFailed) else known
        if isinstance(of_server, ListFailed):
            return ListFailed(of_server.reason, last)  # it would keep us waiting as long again
        begun_ms = self._now_ms()
        try:
            found = list_objects(self.runtime, kind)
        except Unimplemented as error:
            # Many have no snapshots. Of all else it says only that the right one is not behind the socket.
            if kind is not RuntimeSnapshot or (last is not None and last.objects):
                return ListFailed(str(error) or type(error).__name__, last)
            found = {}
        except IRIError as error:
            return ListFailed(str(error) or type(error).__name__, last)
        return Listing(last.number + 1 if last else 1, begun_ms, found)

    def _offers(self, wanted: RuntimeClasses | None) -> Offers:
        offers = self.runtime.offers()
        if wanted is None or wanted == self._refused or _covers(offers, wanted):
            return offers
        try:
            self.runtime.set_classes(wanted)
        except Unimplemented:
            self._refused = wanted
            return offers
        return self.runtime.offers()


def list_objects(runtime: Runtime, kind: RuntimeKind) -> Mapping[str, RuntimeObject]:
    if kind is RuntimeMachine:
        return runtime.objects(RuntimeMachine)
    return runtime.objects(RuntimeVolume) if kind is RuntimeVolume else runtime.objects(RuntimeSnapshot)


def _differs(before: Listing | ListFailed | None, now: Listing | ListFailed) -> bool:
    if isinstance(before, Listing) and isinstance(now, Listing):
        return before.objects != now.objects
    return type(before) is not type(now)


def _covers(offers: Offers, wanted: RuntimeClasses) -> bool:
    """Whether exactly these are offered already. What the host is too small for is not offered, and asked for again."""
    machines = {offer.machine_class.name: offer.machine_class for offer in offers.machines}
    volumes = {offer.volume_class.name: offer.volume_class for offer in offers.volumes}
    return machines == {one.name: one for one in wanted.machines} and volumes == {
        one.name: one for one in wanted.volumes
    }
