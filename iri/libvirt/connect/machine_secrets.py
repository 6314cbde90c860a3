"""The secrets of machines (keys and Ignition data) as libvirt secrets, which only administrators of libvirt can read.

A libvirt secret holds 64 KiB, so a value takes as many pieces as it needs. Piece number N has the UUID that follows from the machine's
UUID and N, so no list of pieces is kept. A shorter value overwrites the first pieces and removes the rest.

Life of a value: written before the record that refers to it, so that a record never lacks its secrets; removed with the machine;
dropped by the garbage collection when its machine is neither known nor defined.
"""

from __future__ import annotations

import contextlib
import itertools
import uuid
from collections.abc import Iterator

import libvirt

from iri.errors import NotFound
from iri.libvirt.connect.link import LibvirtLink
from iri.libvirt.connect.storage import LibvirtSecrets, secret_document
from iri.libvirt.xml import parse

PIECE_BYTES = 65536
DESCRIPTION = "gitvirt machine "


class MachineSecrets:
    """One value for each machine. Thread-safe for different machines; the caller holds the machine's lock."""

    def __init__(self, link: LibvirtLink) -> None:
        self._link = link
        self._secrets = LibvirtSecrets(link)

    def put(self, id: str, value: bytes) -> None:
        """Replaces the stored value; an empty value removes it."""
        pieces = [value[start : start + PIECE_BYTES] for start in range(0, len(value), PIECE_BYTES)]
        for number, piece in enumerate(pieces):
            document = secret_document(piece_uuid(id, number), description=DESCRIPTION + id)
            self._secrets.put(document, piece)
        number = len(pieces)
        while self._secrets.drop(piece_uuid(id, number)):
            number += 1

    def get(self, id: str) -> bytes:
        """Empty when no value is stored, or its first piece is lost."""
        return b"".join(self._pieces(id))

    def owners(self) -> frozenset[str]:
        """Ids of all machines with a stored value."""

        def list_owners(raw: libvirt.virConnect) -> frozenset[str]:
            found = set()
            for secret in raw.listAllSecrets():
                with contextlib.suppress(libvirt.libvirtError):  # deleted meanwhile
                    text_ = parse(secret.XMLDesc()).findtext("description") or ""
                    if text_.startswith(DESCRIPTION):
                        found.add(text_.removeprefix(DESCRIPTION))
            return frozenset(found)

        return self._link.call(list_owners, "listing the secrets")

    def _pieces(self, id: str) -> Iterator[bytes]:
        """In their order, up to the first number that has none."""
        with contextlib.suppress(NotFound):
            for number in itertools.count():
                yield self._secrets.value(piece_uuid(id, number))


def piece_uuid(id: str, number: int) -> str:
    """Depends on the machine and the number alone, so pieces are found without a list."""
    return str(uuid.uuid5(uuid.UUID(id), f"piece {number}"))
