"""Which runtime owns this libvirtd. libvirt itself remembers it, by the runtime's folder.

Theory of operation. Two runtimes with folders of their own on one libvirtd would each take the other's machines, networks and
secrets for theirs. The owner is recorded as a libvirt secret (with nothing secret in it), because libvirtd refuses a second
secret of the same usage: of two runtimes that start at once, one is refused. `acquire` goes by the recorded owner:

    recorded owner          its runtime runs   libvirt has domains   outcome
    none                                       any                   record this runtime
    this runtime's folder                      any                   go on
    another folder          yes                any                   LockHeldError
    another folder          no                 none                  replace the record
    another folder          no                 some                  StartupError: the machines' disks are in that folder

Must never happen: ownership decides what becomes of machines (it only keeps a runtime from starting); a runtime acts on
libvirt before it has acquired. The runtime's own folder must be locked before.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from pathlib import Path

from iri.errors import IRIError, StartupError, Unavailable
from iri.libvirt.connect.storage import LibvirtSecrets, secret_document
from iri.libvirt.folder_lock import CURE, LockHeldError, lock_holder

USAGE = "gitvirt/runtime"
PREFIX = "of the gitvirt runtime at "
TRIES = 5


class LibvirtdOwner:
    """`machines` gives all of libvirt's domains with our metadata, whichever runtime made them."""

    def __init__(
        self, secrets: LibvirtSecrets, folder: Path, machines: Callable[[], Collection[str]]
    ) -> None:
        self._secrets = secrets
        self._folder = folder.resolve()
        self._machines = machines

    def acquire(self) -> None:
        """Raises LockHeldError when another runtime runs here, StartupError when it has left machines here."""
        for _ in range(TRIES):
            found = self._secrets.find_by_usage(USAGE)
            if found is not None:
                id, description = found
                folder = Path(description.removeprefix(PREFIX))
                if folder == self._folder:
                    return
                self._refuse(folder, id)
                self._secrets.drop(id)
            if self._try_record():
                return
        raise Unavailable("another runtime is starting on this libvirtd")

    def _try_record(self) -> bool:
        """Returns False when another runtime was faster; the caller then reads whose record it is."""
        try:
            description = f"{PREFIX}{self._folder}"
            self._secrets.define(secret_document(str(uuid.uuid4()), usage=USAGE, description=description))
        except IRIError:
            if self._secrets.find_by_usage(USAGE) is None:
                raise
            return False  # another runtime was faster
        return True

    def _refuse(self, folder: Path, id: str) -> None:
        """Returns only when the recorded owner neither runs nor has machines here."""
        if (pid := lock_holder(folder)) is not None:
            who = f" (pid {pid})" if pid else ""
            raise LockHeldError(f"this libvirtd is in use by the runtime at {folder}{who}", CURE)
        if count := len(self._machines()):
            machines = "1 machine" if count == 1 else f"{count} machines"
            raise StartupError(
                f"this libvirtd has {machines} of the runtime at {folder}, not of the one at {self._folder}",
                f"start with `folder: {folder}`, where their disks and consoles are; if that runtime will never run again, hand them "
                f"over to this one with `virsh secret-undefine {id}`",
            )
