"""Whose libvirtd this is: of one runtime, which libvirt itself remembers by its folder.

Two runtimes with folders of their own would each take the other's machines, networks and secrets for theirs. The note is a
libvirt secret, since a libvirtd refuses a second one of the same usage: of two who come at once one is refused. There is
nothing secret about it. It must not decide what becomes of machines.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from pathlib import Path

from iri.errors import IRIError, StartupError, Unavailable
from iri.libvirt.connect.storage import LibvirtSecrets
from iri.libvirt.folder_lock import CURE, LockHeldError, lock_holder
from iri.libvirt.xml import child, element, text

USAGE = "gitvirt/runtime"
PREFIX = "of the gitvirt runtime at "
TRIES = 5


class LibvirtdOwner:
    """`machines` are all that are in libvirt, whoever made them."""

    def __init__(
        self, secrets: LibvirtSecrets, folder: Path, machines: Callable[[], Collection[str]]
    ) -> None:
        self._secrets = secrets
        self._folder = folder.resolve()
        self._machines = machines

    def acquire(self) -> None:
        """Taken when another runtime is at work here, NotStarted when its machines are. Its folder must be claimed already."""
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
        raise Unavailable("other runtimes begin at this libvirt at the same time")

    def _try_record(self) -> bool:
        try:
            self._secrets.define(_owner_secret(self._folder))
        except IRIError:
            if self._secrets.find_by_usage(USAGE) is None:
                raise
            return False  # another was faster
        return True

    def _refuse(self, folder: Path, id: str) -> None:
        if (pid := lock_holder(folder)) is not None:
            who = f" (pid {pid})" if pid else ""
            raise LockHeldError(f"this libvirt is in use by the runtime at {folder}{who}", CURE)
        if there := len(self._machines()):
            machines = "1 machine" if there == 1 else f"{there} machines"
            raise StartupError(
                f"this libvirt has {machines} of the runtime at {folder}, not of the one at {self._folder}",
                f"start with `folder: {folder}`, where their disks and consoles are; if that runtime is given up for good, "
                f"`virsh secret-undefine {id}` leaves them to this one",
            )


def _owner_secret(folder: Path) -> str:
    root = element("secret", ephemeral="no", private="no")
    child(root, "uuid", str(uuid.uuid4()))
    child(root, "description", f"{PREFIX}{folder}")
    child(child(root, "usage", type="volume"), "volume", USAGE)
    return text(root)
