"""libvirt's event loop: one for the process, on its own thread, started before the first connection and never ended."""

from __future__ import annotations

import logging
import threading

import libvirt

log = logging.getLogger(__name__)
_starting = threading.Lock()
_threads: list[threading.Thread] = []


def ensure_running() -> None:
    """Idempotent. libvirt requires the loop to be registered before the first connection of the process."""
    with _starting:
        if _threads:
            return
        libvirt.registerErrorHandler(ignore_error, None)  # it would print every error that is also raised
        libvirt.virEventRegisterDefaultImpl()
        thread = threading.Thread(target=_run, name="libvirt-events", daemon=True)
        _threads.append(thread)
        thread.start()


def ignore_error(context: object, error: object) -> None:
    del context, error


def _run() -> None:
    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except libvirt.libvirtError as error:
            log.error("event loop failed error=%s", error)
