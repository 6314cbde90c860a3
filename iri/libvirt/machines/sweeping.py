"""Tries again, now and then, to remove what nobody needs any more: a removal that failed when its time was is not lost."""

from __future__ import annotations

import logging
import threading

from iri.errors import IRIError
from iri.libvirt.machines.site import Site

log = logging.getLogger(__name__)
SECONDS = 15.0


class Sweeping:
    def __init__(self, site: Site) -> None:
        self._site = site
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
            except IRIError as error:
                log.info("sweep is put off error=%s", error)
