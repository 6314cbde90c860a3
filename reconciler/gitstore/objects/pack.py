"""Objects as one pack and its index, as Git keeps them on disk. Two files whatever their number, where loose objects
are one file each.

A pack and its index are plain bytes here; `mirror.mirror` writes them, the pack first and the index last, because Git looks for indexes. The format
is version 2 of both, with SHA-1.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from reconciler.gitstore.objects.database import GitObject

_FAN = struct.Struct(">256I")
_LEVEL = (
    1  # the network and the consolidated pack compress again; level 6 takes twice the time for 5% of the size
)


class Pack(NamedTuple):
    name: str  # the checksum, by which Git names the files
    data: bytes
    idx: bytes


def build_pack(objects: Iterable[GitObject]) -> Pack:
    """Whole objects, no deltas: housekeeping makes those, with the predecessors at hand."""
    unique = {object.id: object for object in objects}
    parts = [b"PACK" + struct.pack(">II", 2, len(unique))]
    rows: list[tuple[bytes, int, int]] = []  # raw id, crc, offset
    offset = len(parts[0])
    for object in unique.values():
        part = _head(object) + zlib.compress(object.data, _LEVEL)
        rows.append((bytes.fromhex(object.id), zlib.crc32(part), offset))
        parts.append(part)
        offset += len(part)
    body = b"".join(parts)
    checksum = hashlib.sha1(body, usedforsecurity=False).digest()
    return Pack(checksum.hex(), body + checksum, _index(sorted(rows), checksum))


def _head(object: GitObject) -> bytes:
    size = len(object.data)
    head = bytearray([object.type << 4 | size & 0x0F])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)


def _index(rows: list[tuple[bytes, int, int]], checksum: bytes) -> bytes:
    """Version 2. Offsets beyond 31 bits go to a table of their own."""
    fan = [0] * 256
    for id, _, _ in rows:
        fan[id[0]] += 1
    for byte in range(1, 256):
        fan[byte] += fan[byte - 1]
    large = [offset for _, _, offset in rows if offset >> 31]
    places = {offset: 0x80000000 | place for place, offset in enumerate(large)}
    body = b"".join(
        [
            b"\xfftOc" + struct.pack(">I", 2) + _FAN.pack(*fan),
            b"".join([id for id, _, _ in rows]),
            struct.pack(f">{len(rows)}I", *(crc for _, crc, _ in rows)),
            struct.pack(f">{len(rows)}I", *(places.get(offset, offset) for _, _, offset in rows)),
            struct.pack(f">{len(large)}Q", *large),
            checksum,
        ]
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def read_index(index: bytes) -> list[str]:
    """The names of the objects in a pack, from its index."""
    count = _FAN.unpack_from(index, 8)[255]
    names = index[8 + _FAN.size : 8 + _FAN.size + 20 * count]
    return [names[place : place + 20].hex() for place in range(0, len(names), 20)]
