"""Which boot of the host the machines may start in: a file with the boot's id, in the runtime's folder.

Theory of operation. libvirt starts no guest by itself (autostart is off); this runtime does. A poollet that wants to look at `live` first calls
HoldStarts once, and then:

    the file                       at the runtime's start
    is missing                     HoldStarts was never called: machines start
    names this boot of the host    the runtime restarted, the host did not: nothing is held
    names another boot             each machine that is to run and is off gets `is_held`, then the file names this boot

`is_held` is in the machine's record, so it outlives the runtime. Its power, ordered On or Off, ends it, and so does a release.

Must never happen: after a boot, a machine starts before the file was read; the file names a boot whose machines were not held yet.
"""

from __future__ import annotations

import threading
from pathlib import Path

from msgspec.structs import replace

from iri.libvirt.machines.machine_store import MachineStore
from iri.libvirt.whole_files import replace_file

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class HeldStarts:
    """Thread-safe. `boot_id` is a file that has another content after each boot of the host."""

    def __init__(self, store: MachineStore, path: Path, boot_id: Path = BOOT_ID) -> None:
        self._store, self._path, self._boot_id = store, path, boot_id
        self._lock = threading.Lock()

    def hold_after_boot(self) -> None:
        """Call once, with all machines known and none of them reconciled."""
        boot = self._boot_id.read_text("ascii").strip()
        if not self._path.exists() or self._path.read_text("ascii").strip() == boot:
            return
        for guest in self._store.guests():
            if guest.is_desired_on and not guest.observed.is_on and not guest.record.deleted_at:
                self._store.edit_record(guest.id, lambda record: replace(record, is_held=True))
        replace_file(self._path, boot.encode())

    def hold_next(self) -> None:
        """From the next boot on. On disk when it returns."""
        boot = self._boot_id.read_bytes().strip()
        with self._lock:
            if not self._path.exists() or self._path.read_bytes().strip() != boot:
                replace_file(self._path, boot)

    def release(self) -> tuple[str, ...]:
        """The ids of the machines that may start now."""
        held = tuple(guest.id for guest in self._store.guests() if guest.record.is_held)
        for id in held:
            self._store.edit_record(id, lambda record: replace(record, is_held=False))
        return held
