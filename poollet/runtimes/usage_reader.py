"""What the machines of one poollet and its host use, measured for a reader: the link, or a scrape of the metrics.

    a reader asks, and the newest measurement is     then it gets
    younger than LEAST_MS                            that one, and the runtimes are not asked again
    older, or there is none                          a new one, if the runtimes answer in the time that it waits
    older than MOST_MS, and no runtime answers       nothing

Runtimes are asked in a thread of their own, one at a time: one that hangs holds up no reader for longer than it waits, and is not asked again
meanwhile. A runtime that does not measure, or does not answer, is left out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from iri.errors import IRIError, Unimplemented
from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from iri.usage import RuntimeHostUsage, RuntimeMachineUsage, RuntimeUsage
from poollet.runtimes.runtime_client import RuntimeClient
from poollet.runtimes.runtime_lists import Listing, ListKey

log = logging.getLogger(__name__)

LEAST_MS, MOST_MS = 5_000, 60_000
UID_LABEL = UID_LABELS[RuntimeMachine]
NAMESPACE_LABEL = "machinepoollet.ironcore.dev/machine-namespace"
NAME_LABEL = "machinepoollet.ironcore.dev/machine-name"


@dataclass(frozen=True, slots=True)
class MeasuredMachine:
    """Whose machine it is, by the labels that the poollet gave it."""

    uid: str
    namespace: str
    name: str
    usage: RuntimeMachineUsage


@dataclass(frozen=True, slots=True)
class MeasuredHost:
    """`time_ns` is the wall clock. With several runtimes the host is measured by the first that knows it."""

    time_ns: int
    host: RuntimeHostUsage
    machines: tuple[MeasuredMachine, ...]


class UsageReader:
    """For any thread. `now_ms` is a clock that never jumps."""

    def __init__(self, clients: Mapping[str, RuntimeClient], now_ms: Callable[[], int]) -> None:
        self._clients, self._now_ms = clients, now_ms
        self._lock = threading.Lock()
        self._newest: tuple[int, MeasuredHost] | None = None
        self._measuring: threading.Thread | None = None

    def read(self, seconds: float) -> MeasuredHost | None:
        """Waits at most so long for a new measurement."""
        if self._find(LEAST_MS) is None:
            self._begin().join(seconds)
        return self._find(MOST_MS)

    def _find(self, most_ms: int) -> MeasuredHost | None:
        """The newest one, if it is not older than that."""
        found = self._newest
        return found[1] if found is not None and self._now_ms() - found[0] < most_ms else None

    def _begin(self) -> threading.Thread:
        """The thread that measures: the one that does already, or a new one."""
        with self._lock:
            if self._measuring is None or not self._measuring.is_alive():
                self._measuring = threading.Thread(target=self._measure, name="usage", daemon=True)
                self._measuring.start()
            return self._measuring

    def _measure(self) -> None:
        """Asks each runtime in turn. Dated by when it began: the counters may be newer, never older."""
        at_ms = self._now_ms()
        answers = [
            (client, found)
            for client in self._clients.values()
            if RuntimeMachine in client.kinds and (found := ask(client)) is not None
        ]
        if answers:
            hosts = (found.host for _, found in answers if found.host.cpus)
            machines = tuple(each for client, found in answers for each in name_machines(client, found))
            host = next(hosts, RuntimeHostUsage())
            self._newest = at_ms, MeasuredHost(answers[0][1].time_ns, host, machines)


def ask(client: RuntimeClient) -> RuntimeUsage | None:
    """None where the runtime does not measure, or does not answer now."""
    try:
        return client.runtime.usage()
    except Unimplemented:
        return None
    except IRIError as error:
        log.info("cannot measure runtime=%s error=%s", client.name, error)
        return None


def name_machines(client: RuntimeClient, found: RuntimeUsage) -> tuple[MeasuredMachine, ...]:
    """Those that the last list has, with the uid that the poollet gave them. Others are not machines of the fleet."""
    listing = client.lists.get(ListKey(client.name, RuntimeMachine))
    listed = listing if isinstance(listing, Listing) else getattr(listing, "last", None)
    known = listed.objects if listed is not None else {}
    return tuple(
        MeasuredMachine(labels[UID_LABEL], labels.get(NAMESPACE_LABEL, ""), labels.get(NAME_LABEL, ""), each)
        for each in found.machines
        if each.machine_id in known and UID_LABEL in (labels := known[each.machine_id].labels)
    )
