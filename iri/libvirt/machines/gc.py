"""Tries again, now and then, to remove what nobody needs any more, and finds what nobody knows: what failed when its time was,
or was done and never said, is not lost.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from iri.errors import IRIError, NotFound
from iri.libvirt.machines.deps import MachineDeps

log = logging.getLogger(__name__)
SECONDS = 15.0


class GarbageCollector:
    """`wake(id)` tends a machine."""

    def __init__(self, site: MachineDeps, wake: Callable[[str], None]) -> None:
        self._site, self._wake = site, wake
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="libvirt-sweep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while not self._closing.wait(SECONDS):
            try:
                self._site.parts.interfaces.prune(self._site.wanted_interfaces)
                self._site.parts.disks.let_go()
                for id in self._site.roster.recover():
                    self._wake(id)
                drop_keys(self._site)
            except IRIError as error:
                log.info("sweep is put off error=%s", error)


def drop_keys(site: MachineDeps) -> None:
    """Of machines that are not there. One that cannot be read is there, and so may be one that nobody knows."""
    for owner in site.vault.owners() - site.roster.ids():
        with site.roster.one(owner):
            if site.roster.find(owner) is None and not is_defined(site, owner):
                site.vault.put(owner, b"")


def is_defined(site: MachineDeps, id: str) -> bool:
    try:
        site.domains.look(id)
    except NotFound:
        return False
    return True
