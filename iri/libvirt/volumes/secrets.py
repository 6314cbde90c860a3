"""Passphrases and Ceph keys in libvirt's secret store, named after their use.

    secret                     private   written                          deleted
    passphrase of a volume     yes (*)   before the volume's record       with the volume
    passphrase of a disk       yes       before the disk is attached      when the machine has detached the disk
    key of a Ceph user         yes       before the disk is attached      when the machine has detached the disk
    key of a Ceph pool         yes       at each start                    when the settings no longer have the pool

(*) In Ceph pools the runtime itself must read it back, until the volume is created. A start drops secrets of names that are not in
use. Machines on the volume's host open it by the volume's own secret, which nothing overwrites; a disk has one of its own where there is none: in
Ceph, for a copy of a snapshot, and after libvirt has lost its secrets. A new LUKS container is tried several times: QEMU measures how fast the host is, which fails by chance on a busy one.
"""

from __future__ import annotations

from collections.abc import Callable

from iri.errors import FailedPrecondition, IRIError
from iri.libvirt.connect.storage import LibvirtSecrets, SecretType, secret_document
from iri.libvirt.volumes import names

LUKS_TRIES = 8
LUKS_CHANCE = "accurate CPU usage"


class Passphrases:
    """Names are the runtime's own; ids follow from them, so none has to be kept."""

    def __init__(self, secrets: LibvirtSecrets) -> None:
        self._secrets = secrets

    def put(self, name: str, value: bytes, type: SecretType = "volume", *, is_private: bool = True) -> str:
        """Stores a passphrase, or the key of a Ceph user, until it is dropped. Returns the secret's id."""
        id, usage = self.id(name, type), names.secret_usage(name)
        self._secrets.put(secret_document(id, usage=usage, type=type, is_private=is_private), value)
        return id

    def id(self, name: str, type: SecretType = "volume") -> str:
        """A passphrase and a key of one name are two secrets."""
        usage = names.secret_usage(name)
        return names.secret_id(usage if type == "volume" else f"{type} {usage}")

    def value(self, name: str) -> bytes:
        """Only of one that is not private."""
        return self._secrets.value(self.id(name))

    def find(self, name: str) -> str:
        """The id of a passphrase that libvirt has; empty where it has none, or has lost it."""
        found = self._secrets.find_by_usage(names.secret_usage(name))
        return found[0] if found is not None else ""

    def drop(self, name: str, type: SecretType = "volume") -> None:
        self._secrets.drop(self.id(name, type))

    def drop_unused(self, is_used: Callable[[str], bool]) -> None:
        """Removes secrets of this runtime, by the pattern of their usage, whose name is not in use; other programs' secrets stay.

        `is_used` must say yes for whatever it cannot judge: a machine with an unreadable record, a pool that is not open, a name of
        another caller's. The caller keeps new secrets out until this returns; one that no record names yet would be removed too.
        """
        for id, usage in self._secrets.usages().items():
            match = names.SECRET_USAGE.fullmatch(usage)
            if match is not None and not is_used(match["name"]):
                self._secrets.drop(id)


def retry_luks(make: Callable[[], None], undo: Callable[[], None]) -> None:
    """Calls `make`, and again after a failure by that chance. `undo` removes what a failed attempt left."""
    for left in reversed(range(LUKS_TRIES)):
        try:
            make()
        except IRIError as error:
            undo()
            if LUKS_CHANCE not in str(error):
                raise
            if not left:
                reason = f"formatting a LUKS container failed {LUKS_TRIES} times"
                raise FailedPrecondition(f"{reason}: {error}") from None
        else:
            return
