"""Tells the service manager that a verb is ready and that it ends: sd_notify(3), a datagram to the socket in
NOTIFY_SOCKET.

`gitvirt run` and the poollet call it. Ready means that one tick or one pass ended well, not that the process
started, so systemd starts dependents only when gitvirt works. Without the variable every call does nothing.

Must never happen: a service manager that does not answer stops the service. A failed or slow send is one line in
the log.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import MutableMapping

log = logging.getLogger(__name__)
VARIABLE = "NOTIFY_SOCKET"
SECONDS = 5.0


class ServiceNotifier:
    """Thread-safe. A supervisor that does not listen costs a line in the log and nothing else."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._is_ready = False

    @classmethod
    def of(cls, environment: MutableMapping[str, str]) -> ServiceNotifier:
        """Takes its name out of the environment: no child speaks for us."""
        return cls(environment.pop(VARIABLE, ""))

    def ready(self) -> None:
        """The first time counts."""
        with self._lock:
            is_first, self._is_ready = not self._is_ready, True
        if is_first:
            self._tell("READY=1")

    def stopping(self) -> None:
        """Before the orderly end, so that the manager counts its own time for stopping from here."""
        self._tell("STOPPING=1")

    def _tell(self, state: str) -> None:
        if not self._address:
            return
        # A name that begins with @ is in no file system.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaking:
                speaking.settimeout(SECONDS)
                speaking.sendto(state.encode(), address)
        except OSError as error:
            log.warning("sd_notify failed: state=%s error=%s", state, error)
