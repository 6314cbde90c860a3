"""Whether a file from outside may become a disk. Reads headers and tables, and trusts nothing in them.

A qcow2 header can name a backing file or a data file: any file of the host, which the guest would then read. Such images are
refused, and so are those that are cut off, marked corrupt, or use features that QEMU here may not know.

The checks follow the file as QEMU reads it: header, header extensions, first table, second tables. Offsets and sizes come from the
file, so each is compared with the file's size before anything is read there, and tables are limited to what QEMU accepts. Data
clusters are not read: content is the guest's matter.

Must never happen: a file of this host other than the image is opened because the image names it; a format is guessed from the
content of a disk that a guest has written to.
"""

from __future__ import annotations

import struct
from array import array
from pathlib import Path
from sys import byteorder
from typing import BinaryIO

import msgspec

from iri.errors import FailedPrecondition, InvalidArgument

MAGIC = b"QFI\xfb"
HEADER = struct.Struct(">4sIQIIQIIQQIIQ")  # version 2; version 3 goes on with FEATURES
FEATURES = struct.Struct(">QQQII")
DIRTY, CORRUPT, DATA_FILE, COMPRESSION, EXTENDED_L2 = 1, 2, 4, 8, 16
KNOWN = DIRTY | COMPRESSION | EXTENDED_L2
DATA_FILE_NAME = 0x44415441
OFFSET_MASK = 0x00FF_FFFF_FFFF_FE00
COMPRESSED = 1 << 62
SEPARATE_DATA = "the qcow2 image keeps its data in another file: an image must be one complete file"
LARGEST_BYTES = 1 << 50
LARGEST_L1 = 32 << 20  # bytes; what QEMU takes
OTHER_FORMATS = (
    (0, b"KDMV", "vmdk"),
    (0, b"QED\0", "qed"),
    (0, b"conectix", "vhd"),
    (0, b"vhdxfile", "vhdx"),
    (64, b"\x7f\x10\xda\xbe", "vdi"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"BZh", "bzip2"),
    (0, b"LUKS\xba\xbe", "luks"),
)


class ImageFormat(msgspec.Struct, frozen=True):
    """`name`: the format to open the file as. It is never probed again: a guest can write a header."""

    name: str  # "qcow2" or "raw"
    virtual_bytes: int


def inspect(path: Path) -> ImageFormat:
    """The format of the file. Raises InvalidArgument with the reason when it may not be used."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(512)
        if head.startswith(MAGIC):
            return ImageFormat("qcow2", _check_header(file, head, size))
    if not size:
        raise InvalidArgument("the image is empty")
    for offset, magic, name in OTHER_FORMATS:
        if head[offset : offset + len(magic)] == magic:
            raise InvalidArgument(f"the image is {name}: only raw and qcow2 are used")
    return ImageFormat("raw", size)


def virtual_bytes(path: Path) -> int:
    """The size that a guest sees, by the header of a qcow2 disk that this runtime created. FailedPrecondition when the header is not that of
    a qcow2 disk any more."""
    with path.open("rb") as file:
        head = file.read(HEADER.size)
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise FailedPrecondition(f"{path.name} is not a qcow2 disk any more: it is cut off or overwritten")
    return int(HEADER.unpack(head)[5])


def _check_header(file: BinaryIO, head: bytes, size: int) -> int:
    """Offsets follow the qcow2 specification. Each check names what a broken or hostile header could do."""
    if len(head) < 104 or size < 512:
        raise InvalidArgument("the qcow2 image is cut off in its header")
    (_, version, backing, _, cluster_bits, virtual, encryption, l1_size, l1_offset, refcounts, refcount_clusters, _, _) = (
        HEADER.unpack_from(head)
    )  # fmt: skip
    if version not in (2, 3):
        raise InvalidArgument(f"the image is qcow2 of version {version}: only 2 and 3 are used")
    if backing:
        raise InvalidArgument("the qcow2 image names a backing file: an image must be one complete file")
    if encryption:
        raise InvalidArgument("the qcow2 image is encrypted: encryption is a volume's, not an image's")
    if not 9 <= cluster_bits <= 21:
        raise InvalidArgument(
            f"the qcow2 image has clusters of 2^{cluster_bits} bytes: 2^9 to 2^21 are allowed"
        )
    if not 0 < virtual <= LARGEST_BYTES:
        raise InvalidArgument(f"the qcow2 image says it is {virtual} bytes large")
    features = _refuse_features(head) if version == 3 else 0
    cluster = 1 << cluster_bits
    _refuse_extensions(
        file, cluster, FEATURES.unpack_from(head, HEADER.size)[4] if version == 3 else HEADER.size
    )
    if (
        refcounts + refcount_clusters * cluster > size
        or l1_size * 8 > LARGEST_L1
        or l1_offset + l1_size * 8 > size
    ):
        raise InvalidArgument("the qcow2 image is cut off: its tables lie beyond its end")
    entry = 16 if features & EXTENDED_L2 else 8
    if l1_size < -(-virtual // (cluster * (cluster // entry))):
        raise InvalidArgument("the qcow2 image's first table is too small for its size")
    _refuse_cut_off(file, (l1_offset, l1_size), (cluster_bits, entry), size)
    return int(virtual)


def _refuse_features(head: bytes) -> int:
    """Of a version 3 header. A bit that is unknown here may change the meaning of the rest of the file. Returns the known ones."""
    incompatible = FEATURES.unpack_from(head, HEADER.size)[0]
    if incompatible & DATA_FILE:
        raise InvalidArgument(SEPARATE_DATA)
    if incompatible & CORRUPT:
        raise InvalidArgument("the qcow2 image is marked corrupt")
    if incompatible & ~KNOWN:
        raise InvalidArgument(f"the qcow2 image uses features unknown here: {incompatible & ~KNOWN:#x}")
    return int(incompatible)


def _refuse_extensions(file: BinaryIO, cluster: int, offset: int) -> None:
    """Extensions end with type 0, within the first cluster."""
    file.seek(0)
    head = file.read(cluster)
    while offset + 8 <= len(head):
        kind, length = struct.unpack_from(">II", head, offset)
        if kind == 0:
            return
        if kind == DATA_FILE_NAME:
            raise InvalidArgument(SEPARATE_DATA)
        offset += 8 + -(-length // 8) * 8


def _refuse_cut_off(file: BinaryIO, l1: tuple[int, int], shape: tuple[int, int], size: int) -> None:
    """Checks that every cluster in the tables is within the file."""
    l1_offset, l1_size = l1
    cluster_bits, entry = shape
    cluster = 1 << cluster_bits
    tables = [entry & OFFSET_MASK for entry in _table(file, l1_offset, l1_size) if entry & OFFSET_MASK]
    if len(set(tables)) < len(tables):
        raise InvalidArgument("the qcow2 image uses a table twice")
    for at in tables:
        if at + cluster > size:
            raise InvalidArgument("the qcow2 image is cut off: a table lies beyond its end")
        for index, data in enumerate(_table(file, at, cluster // 8)):
            if entry == 16 and index % 2:
                continue  # bitmaps of the extended entries
            if _data_offset(data, cluster_bits) >= size:
                raise InvalidArgument("the qcow2 image is cut off: data lies beyond its end")


def _data_offset(entry: int, cluster_bits: int) -> int:
    """Where the cluster of a table entry begins; 0 for one that holds nothing."""
    if entry & COMPRESSED:
        return int(entry & ((1 << (62 - (cluster_bits - 8))) - 1))
    return int(entry & OFFSET_MASK)


def _table(file: BinaryIO, offset: int, entries: int) -> array[int]:
    """Entries are big-endian, 8 bytes each. A table at the end of a file that is cut off is shorter."""
    file.seek(offset)
    table = array("Q", file.read(entries * 8))
    if byteorder == "little":
        table.byteswap()
    return table
