"""Learns the addresses of running guests: often right after a start, then less and less often. A query may take seconds, so it has
a thread of its own.

libvirt reports no event when a guest gets an address. So a machine is asked for it 1 s after its interfaces changed, then ever more
slowly up to once a minute, for as long as it runs: a lease can change at any time. Addresses end with the run of the guest.

Limits: nothing is decided by addresses, so a query that fails or comes late only shows an old list.
"""

from __future__ import annotations

import logging

from msgspec.structs import replace

from iri.backoff import ExponentialDelay
from iri.errors import IRIError
from iri.libvirt.machines.deps import MachineDeps
from iri.workqueue import WorkQueue

log = logging.getLogger(__name__)
POLLS = ExponentialDelay(1.0, 60.0, factor=1.5)


class AddressPoller:
    """One thread for all machines: a query of an agent that hangs delays only other queries."""

    def __init__(self, deps: MachineDeps) -> None:
        self._deps = deps
        self._polls: dict[str, int] = {}  # queries by machine, since its interfaces changed last
        self._queue = WorkQueue(self._ask, 1, "libvirt-addresses")

    def start(self) -> None:
        self._queue.start()

    def close(self) -> None:
        self._queue.close()

    def expect(self, id: str) -> None:
        """Call when interfaces may have changed: the guest is asked often until each has an address."""
        macs = self._macs(id)
        if not macs:
            return
        guest = self._deps.store.find(id)
        if id not in self._polls or guest is None or not all(mac in guest.addresses for mac in macs):
            self._polls[id] = 0
            self._queue.wake(id, POLLS.delay(0))

    def _macs(self, id: str) -> tuple[str, ...]:
        """Of the running guest: one that is off has no addresses to learn."""
        guest = self._deps.store.find(id)
        live = guest.observed.live if guest is not None else None
        return tuple(live.nics.values()) if live is not None else ()

    def _ask(self, id: str) -> float | None:
        """Runs on the poller's thread. Keeps the last addresses when a query fails."""
        macs = self._macs(id)
        if not macs:
            self._polls.pop(id, None)
            return None
        self._polls[id] = polls = self._polls.get(id, 0) + 1
        try:
            found = self._deps.addresses.lookup(id, macs)
        except IRIError as error:
            log.info("cannot query addresses id=%s error=%s", id, error)
            return POLLS.delay(polls)
        addresses = {mac: tuple(ips) for mac, ips in found.items() if ips}
        self._deps.store.update(
            id, lambda known: replace(known, addresses=addresses) if known.observed.is_on else known
        )
        return POLLS.delay(polls)
