"""Passphrases and Ceph keys in libvirt's secret store, named after their use.

    secret                     private   written                          deleted
    passphrase of a volume     yes (*)   before the volume's record       with the volume
    passphrase of a disk       yes       before the disk is attached      when the machine has detached the disk
    key of a Ceph user         yes       before the disk is attached      when the machine has detached the disk
    key of a Ceph pool         yes       at each start                    when the settings no longer have the pool

(*) In Ceph pools the runtime itself must read it back, until the volume is created. A start drops secrets of names that are not in
use. A new LUKS container is tried several times: QEMU measures how fast the host is, which fails by chance on a busy one.
"""

from __future__ import annotations

from collections.abc import Callable

from iri.errors import FailedPrecondition, IRIError
from iri.libvirt.connect.storage import LibvirtSecrets, secret_document
from iri.libvirt.volumes import names

LUKS_TRIES = 8
LUKS_CHANCE = "accurate CPU usage"


class Passphrases:
    """Names are the runtime's own; ids follow from them, so none has to be kept."""

    def __init__(self, secrets: LibvirtSecrets) -> None:
        self._secrets = secrets

    def put(self, name: str, value: bytes, *, is_private: bool = True) -> str:
        """Stores the value until it is dropped. Returns the secret's id."""
        usage = names.secret_usage(name)
        id = names.secret_id(usage)
        self._secrets.put(secret_document(id, usage=usage, is_private=is_private), value)
        return id

    def put_key(self, name: str, value: bytes) -> str:
        """Stores the key of a Ceph user. Returns the secret's id."""
        usage = names.secret_usage(name)
        id = _key_id(name)
        self._secrets.put(secret_document(id, usage=usage, type="ceph", is_private=True), value)
        return id

    def id(self, name: str) -> str:
        return names.secret_id(names.secret_usage(name))

    def value(self, name: str) -> bytes:
        return self._secrets.value(self.id(name))

    def drop(self, name: str) -> None:
        self._secrets.drop(self.id(name))

    def drop_key(self, name: str) -> None:
        self._secrets.drop(_key_id(name))

    def drop_unused(self, is_used: Callable[[str], bool]) -> None:
        """Drops our secrets whose name is not in use."""
        for id, usage in self._secrets.usages().items():
            match = names.SECRET_USAGE.fullmatch(usage)
            if match is not None and not is_used(match["name"]):
                self._secrets.drop(id)


def _key_id(name: str) -> str:
    return names.secret_id(f"ceph {names.secret_usage(name)}")


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
