"""Learns what addresses running guests have: often right after they began, then now and then. Asking may take a while,
so nobody waits for it.
"""

from __future__ import annotations

import logging
import threading
import time

from msgspec.structs import replace

from iri.errors import IRIError
from iri.libvirt.machines.site import Site

log = logging.getLogger(__name__)
FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0
SLOWER = 1.5


class Addresses:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._due: dict[str, tuple[float, float]] = {}  # when, and how long until the next
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name="libvirt-addresses", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def expect(self, id: str) -> None:
        """Its interfaces may have changed. A machine that has no addresses yet is asked often."""
        guest = self._site.roster.find(id)
        if guest is None or guest.seen.live is None or not guest.seen.live.nics:
            return
        macs = guest.seen.live.nics.values()
        with self._changed:
            if id not in self._due or not all(mac in guest.addresses for mac in macs):
                _, step = self._due.get(id, (0.0, FIRST_SECONDS))
                self._due[id] = (time.monotonic() + min(step, FIRST_SECONDS), FIRST_SECONDS)
                self._changed.notify()

    def _work(self) -> None:
        while (id := self._next()) is not None:
            try:
                self._ask(id)
            except IRIError as error:
                log.info("addresses are unknown id=%s error=%s", id, error)

    def _next(self) -> str | None:
        with self._changed:
            while not self._is_closed:
                id = min(self._due, key=lambda id: self._due[id], default=None)
                wait = self._due[id][0] - time.monotonic() if id is not None else None
                if id is not None and wait is not None and wait <= 0:
                    _, step = self._due[id]
                    slower = min(step * SLOWER, LONGEST_SECONDS)
                    self._due[id] = (time.monotonic() + step, slower)
                    return id
                self._changed.wait(wait)
            return None

    def _ask(self, id: str) -> None:
        guest = self._site.roster.find(id)
        if guest is None or guest.seen.live is None or not guest.seen.live.nics:
            with self._changed:
                self._due.pop(id, None)
            return
        macs = tuple(guest.seen.live.nics.values())
        found = self._site.parts.interfaces.addresses(id, macs)
        addresses = {mac: tuple(ips) for mac, ips in found.items() if ips}
        self._site.roster.update(
            id, lambda known: replace(known, addresses=addresses) if known.seen.is_on else known
        )
