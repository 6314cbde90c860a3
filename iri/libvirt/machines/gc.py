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

    def __init__(self, deps: MachineDeps, wake: Callable[[str], None]) -> None:
        self._deps, self._wake = deps, wake
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
                self._deps.providers.interfaces.prune(self._deps.desired_interfaces)
                self._deps.providers.disks.wake_waiting()
                for id in self._deps.store.recover():
                    self._wake(id)
                drop_orphaned_secrets(self._deps)
            except IRIError as error:
                log.info("sweep is put off error=%s", error)


def drop_orphaned_secrets(deps: MachineDeps) -> None:
    """Of machines that are not there. One that cannot be read is there, and so may be one that nobody knows."""
    for owner in deps.machine_secrets.owners() - deps.store.ids():
        with deps.store.locked(owner):
            if deps.store.find(owner) is None and not is_defined(deps, owner):
                deps.machine_secrets.put(owner, b"")


def is_defined(deps: MachineDeps, id: str) -> bool:
    try:
        deps.domains.observe(id)
    except NotFound:
        return False
    return True
