"""A small ISO 9660 image of a few files in its root folder. Pure: the same files give the same bytes.

Names are written twice: in the primary volume descriptor, in capitals, which Linux shows in small letters; and in Joliet's, in
Unicode, which other systems read. There are no times, which would make equal images differ.

    sectors   content
    0-15      empty, for boot loaders
    16-18     volume descriptors: primary, Joliet, end of the list
    19-22     path tables: primary and Joliet, each in both byte orders
    23, 24    the root folder, with primary and with Joliet names
    25...     the files, each from the start of a sector

Both sets of names lead to the same files. Numbers are written in both byte orders, as the standard requires.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

SECTOR = 2048
SYSTEM_SECTORS = 16
# The sectors: three descriptors, then two path tables and one folder for each of the two sets of names.
PRIMARY_TABLES, JOLIET_TABLES, PRIMARY_FOLDER, JOLIET_FOLDER, FIRST_FILE = 19, 21, 23, 24, 25
NO_TIME = b"\0" * 7
NO_LONG_TIME = b"0" * 16 + b"\0"
JOLIET_LEVEL_3 = b"%/E"
FOLDER_FLAG = 2
ROOT, PARENT = b"\0", b"\1"


def iso9660_image(label: str, files: Mapping[str, bytes]) -> bytes:
    """`label` and names are short and ASCII. All names fit into one sector."""
    extents = _extents(files)
    end = FIRST_FILE + sum(_sectors(len(data)) for data in files.values())
    primary = {f"{name.upper()};1".encode("ascii"): extent for name, extent in extents.items()}
    joliet = {name.encode("utf-16-be"): extent for name, extent in extents.items()}
    parts = [
        b"\0" * (SECTOR * SYSTEM_SECTORS),
        _descriptor(1, label.encode("ascii").ljust(32), b"", end, PRIMARY_TABLES, PRIMARY_FOLDER),
        _descriptor(
            2,
            label.ljust(16).encode("utf-16-be"),
            JOLIET_LEVEL_3,
            end,
            JOLIET_TABLES,
            JOLIET_FOLDER,
        ),
        _sector(b"\xffCD001\x01"),
        _sector(_path_table("<", PRIMARY_FOLDER)),
        _sector(_path_table(">", PRIMARY_FOLDER)),
        _sector(_path_table("<", JOLIET_FOLDER)),
        _sector(_path_table(">", JOLIET_FOLDER)),
        _folder(PRIMARY_FOLDER, primary),
        _folder(JOLIET_FOLDER, joliet),
        *(_pad(data) for data in files.values()),
    ]
    return b"".join(parts)


def _extents(files: Mapping[str, bytes]) -> dict[str, tuple[int, int]]:
    """The first sector and the size in bytes, by name."""
    found, sector = {}, FIRST_FILE
    for name, data in files.items():
        found[name] = (sector, len(data))
        sector += _sectors(len(data))
    return found


def _descriptor(type_: int, label: bytes, escapes: bytes, sectors: int, tables: int, folder: int) -> bytes:
    """A volume descriptor. Joliet's differs by its escape sequence and by names in UTF-16."""
    blank = " ".encode("utf-16-be") if escapes else b" "
    head = struct.pack("<B5sBB", type_, b"CD001", 1, 0) + blank * (32 // len(blank)) + label
    head += b"\0" * 8 + _both32(sectors) + escapes.ljust(32, b"\0")
    head += _both16(1) + _both16(1) + _both16(SECTOR) + _both32(len(_path_table("<", folder)))
    head += struct.pack("<II", tables, 0) + struct.pack(">II", tables + 1, 0)
    head += _record(ROOT, folder, SECTOR, FOLDER_FLAG)
    texts = 128 * 4 + 37 * 3  # set, publisher, preparer, application, and three file names
    head += (blank * texts)[:texts]
    return _sector(head + NO_LONG_TIME * 4 + b"\1")


def _path_table(order: str, folder: int) -> bytes:
    """One entry, the root, in the byte order that `order` names."""
    return struct.pack(f"{order}BBIH", 1, 0, folder, 1) + ROOT + b"\0"


def _folder(sector: int, files: Mapping[bytes, tuple[int, int]]) -> bytes:
    """The root's entries for itself and its parent, then the files by name, as the standard demands."""
    records = [_record(ROOT, sector, SECTOR, FOLDER_FLAG), _record(PARENT, sector, SECTOR, FOLDER_FLAG)]
    records += [_record(name, *files[name], 0) for name in sorted(files)]
    return _sector(b"".join(records))


def _record(name: bytes, sector: int, size: int, flags: int) -> bytes:
    """A folder's entry for one file or folder."""
    body = b"\0" + _both32(sector) + _both32(size) + NO_TIME + struct.pack("<BBB", flags, 0, 0)
    body += _both16(1) + struct.pack("<B", len(name)) + name
    if len(body) % 2 == 0:
        body += b"\0"  # with the length before it, each record is of even size
    return struct.pack("<B", len(body) + 1) + body


def _both16(value: int) -> bytes:
    return struct.pack("<H", value) + struct.pack(">H", value)


def _both32(value: int) -> bytes:
    return struct.pack("<I", value) + struct.pack(">I", value)


def _sector(data: bytes) -> bytes:
    """One whole sector. Raises ValueError when the data does not fit."""
    if len(data) > SECTOR:
        raise ValueError("more names than one sector holds")
    return data.ljust(SECTOR, b"\0")


def _pad(data: bytes) -> bytes:
    return data.ljust(_sectors(len(data)) * SECTOR, b"\0")


def _sectors(size: int) -> int:
    return -(-size // SECTOR)
