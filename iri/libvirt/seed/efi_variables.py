"""EFI variables as a machine brings them, and the firmware's variable store with them in it. Pure.

A template is a whole flash image: a firmware volume with one variable store. Variables are written into the free space behind
those of the template; nothing in it is changed. Names are limited to what firmware setup shows.

The firmware trusts its store. So the store's header is checked before anything is written, entries are aligned as the firmware reads
them, and a store that has no room is refused instead of being cut off.
"""

from __future__ import annotations

import base64
import binascii
import struct
import uuid

import msgspec

from iri.errors import FailedPrecondition, InvalidArgument

VOLUME_SIGNATURE = b"_FVH"
AUTHENTICATED_STORE = uuid.UUID("aaf32c78-947b-439a-a180-2e144ec37792").bytes_le
STORE_HEADER = struct.Struct("<16sIBBHI")  # kind, size, format, state, reserved
FORMATTED, HEALTHY = 0x5A, 0xFE
# start, state, -, attributes, count, time, key, name size, data size, vendor
VARIABLE = struct.Struct("<HBBIQ16sIII16s")
START, ADDED = 0x55AA, 0x3F
NON_VOLATILE_AND_VISIBLE = 0x1 | 0x2 | 0x4  # persistent, visible to boot services and to the running system
ERASED = b"\xff"
BASE64 = "base64:"
MOST, LONGEST_NAME, LARGEST_VALUE = 64, 256, 16 << 10


class EfiVariable(msgspec.Struct, frozen=True):
    """`uuid` is the vendor's namespace of the name."""

    name: str
    uuid: str
    value: bytes


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable as the annotation has it, before its parts are checked."""

    name: str
    uuid: str
    value: str


def parse_efi_variables(text: str) -> tuple[EfiVariable, ...]:
    """Parses the annotation: JSON with values as text, or as bytes written `base64:...`."""
    if not text:
        return ()
    try:
        written = msgspec.json.decode(text, type=tuple[_Written, ...])
    except msgspec.MsgspecError as error:
        raise InvalidArgument(
            f"the machine's EFI variables must be a list of name, uuid, value: {error}"
        ) from None
    if len(written) > MOST:
        raise InvalidArgument(f"a machine has at most {MOST} EFI variables, not {len(written)}")
    return tuple(_check_variable(one) for one in written)


def _check_variable(one: _Written) -> EfiVariable:
    """Limits keep a spec from filling the store."""
    if not one.name or len(one.name) > LONGEST_NAME or not one.name.isprintable():
        raise InvalidArgument(
            f"the name of an EFI variable must have 1 to {LONGEST_NAME} printable characters"
        )
    try:
        vendor = str(uuid.UUID(one.uuid))
        value = _bytes(one.value)
    except (ValueError, binascii.Error):
        raise InvalidArgument(f"EFI variable {one.name}: invalid uuid, or invalid base64 in value") from None
    if not value or len(value) > LARGEST_VALUE:
        raise InvalidArgument(f"EFI variable {one.name}: the value must have 1 to {LARGEST_VALUE} bytes")
    return EfiVariable(one.name, vendor, value)


def _bytes(value: str) -> bytes:
    """Text as UTF-8; anything else behind `base64:`."""
    if value.startswith(BASE64):
        return base64.b64decode(value.removeprefix(BASE64), validate=True)
    return value.encode()


def add_variables(template: bytes, variables: tuple[EfiVariable, ...]) -> bytes:
    """Raises FailedPrecondition when the template is not a variable store, or is full."""
    start, end = _store(template)
    free = _end_of_variables(template, start, end)
    entries = b"".join(_entry(variable) for variable in variables)
    if free + len(entries) > end:
        raise FailedPrecondition("the firmware's variable store is too small for the machine's EFI variables")
    return template[:free] + entries + template[free + len(entries) :]


def _store(template: bytes) -> tuple[int, int]:
    """Where the variables in a firmware's template begin and where their space ends, in bytes. FailedPrecondition for a template in
    another format."""
    if template[40:44] == VOLUME_SIGNATURE:
        (header,) = struct.unpack_from("<H", template, 48)
        if header + STORE_HEADER.size <= len(template):
            kind, size, format_, state, _, _ = STORE_HEADER.unpack_from(template, header)
            is_store = kind == AUTHENTICATED_STORE and (format_, state) == (FORMATTED, HEALTHY)
            if is_store and header + size <= len(template):
                return header + STORE_HEADER.size, header + size
    raise FailedPrecondition("efiVariables is not a variable store that this runtime can write")


def _end_of_variables(template: bytes, start: int, end: int) -> int:
    """The offset behind the last variable, deleted ones included: where erased space begins."""
    at = start
    while at + VARIABLE.size <= end:
        begin, _, _, _, _, _, _, name_size, data_size, _ = VARIABLE.unpack_from(template, at)
        if begin != START:
            break
        at = _align(at + VARIABLE.size + name_size + data_size)
    return at


def _entry(variable: EfiVariable) -> bytes:
    """Header, name and value of one variable, as the firmware itself would write them."""
    name = (variable.name + "\0").encode("utf-16-le")
    vendor = uuid.UUID(variable.uuid).bytes_le
    sizes = (len(name), len(variable.value), vendor)
    head = VARIABLE.pack(START, ADDED, 0, NON_VOLATILE_AND_VISIBLE, 0, b"\0" * 16, 0, *sizes)
    whole = head + name + variable.value
    return whole.ljust(_align(len(whole)), ERASED)


def _align(offset: int) -> int:
    """Entries begin at multiples of four bytes, or the firmware reads past them."""
    return (offset + 3) & ~3
