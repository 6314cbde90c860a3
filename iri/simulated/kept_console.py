"""A console as libvirt-provider has it: it is kept for its session until Ctrl-] is typed there, also when the client is gone.

    what happens                          the console is
    the first session                     kept
    Ctrl-] is typed; the guest ends       free
    the client only disconnects           still kept: every later session is refused

For the quirk `keeps_consoles` alone.
"""

from __future__ import annotations

import threading

from iri.errors import FailedPrecondition
from iri.exec.console_protocol import ESCAPE
from iri.runtime import Console


class KeptConsoles:
    """The machines whose console is kept. Thread-safe."""

    def __init__(self) -> None:
        self._machines: set[str] = set()
        self._lock = threading.Lock()

    def keep(self, machine_id: str) -> None:
        """Raises FailedPrecondition while it is kept already."""
        with self._lock:
            if machine_id in self._machines:
                raise FailedPrecondition("operation failed: active console session exists for this domain")
            self._machines.add(machine_id)

    def free(self, machine_id: str) -> None:
        with self._lock:
            self._machines.discard(machine_id)


class KeptConsole:
    """Implements iri.runtime.Console around another one."""

    def __init__(self, console: Console, machine_id: str, kept: KeptConsoles) -> None:
        self._console = console
        self._machine_id = machine_id
        self._kept = kept
        self._is_closed = False

    def read(self, size: int) -> bytes:
        data = self._console.read(size)
        if not data and not self._is_closed:
            self._kept.free(self._machine_id)
        return data

    def write(self, data: bytes) -> None:
        """Ctrl-] ends the session, and does not reach the guest."""
        keys, escape, _ = data.partition(ESCAPE)
        self._console.write(keys)
        if escape:
            self._kept.free(self._machine_id)
            self.close()

    def resize(self, columns: int, rows: int) -> None:
        self._console.resize(columns, rows)

    def close(self) -> None:
        self._is_closed = True
        self._console.close()

    def exit_status(self) -> int | None:
        return self._console.exit_status()
