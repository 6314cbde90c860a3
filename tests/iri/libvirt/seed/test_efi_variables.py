"""EFI variables: what is accepted, and that the firmware's store holds them as its format says."""

from __future__ import annotations

import base64
import json
import uuid
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.errors import FailedPrecondition, InvalidArgument
from iri.libvirt.seed.efi_variables import (
    START,
    VARIABLE,
    EfiVariable,
    add_variables,
    parse_efi_variables,
)
from iri.libvirt.seed.seed import EFI_ANNOTATION
from iri.libvirt.seed.seed_files import SeedWriter
from iri.machine import RuntimeMachine

VENDOR = "2b6a1ee7-5a5a-4a3c-9a8e-000000000001"
TEMPLATE = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")
STORE_START = 72 + 28  # of OVMF's: the volume's header, the store's header


def annotation(*variables: tuple[str, str, bytes]) -> str:
    return json.dumps(
        [{"name": n, "uuid": u, "value": "base64:" + base64.b64encode(v).decode()} for n, u, v in variables]
    )


def entries(store: bytes) -> list[EfiVariable]:
    """Read by the format, not by the code that wrote it."""
    found: list[EfiVariable] = []
    at = STORE_START
    while True:
        begin, state, _, attributes, _, _, _, name_size, data_size, vendor = VARIABLE.unpack_from(store, at)
        if begin != START:
            return found
        assert (state, attributes) == (0x3F, 7)
        name = store[at + 60 : at + 60 + name_size].decode("utf-16-le")
        assert name.endswith("\0")
        value = store[at + 60 + name_size : at + 60 + name_size + data_size]
        found.append(EfiVariable(name[:-1], str(uuid.UUID(bytes_le=vendor)), value))
        at = -(-(at + 60 + name_size + data_size) // 4) * 4


def test_a_value_is_a_text_or_bytes() -> None:
    text, raw = (
        json.dumps([{"name": "a", "uuid": VENDOR, "value": value}]) for value in ("grün", "base64:AP8=")
    )
    assert [one.value for one in parse_efi_variables(text)] == ["grün".encode()]
    assert [one.value for one in parse_efi_variables(raw)] == [b"\x00\xff"]


def test_machine_without_annotation_has_no_variables() -> None:
    assert parse_efi_variables("") == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json", "must be a list"),
        ("{}", "must be a list"),
        ('[{"name": "a", "uuid": "b"}]', "must be a list"),
        (annotation(("", VENDOR, b"x")), "name"),
        (annotation(("a\0b", VENDOR, b"x")), "name"),
        (annotation(("a" * 257, VENDOR, b"x")), "name"),
        (annotation(("a", "nope", b"x")), "invalid uuid"),
        (annotation(("a", VENDOR, b"")), "bytes"),
        (annotation(("a", VENDOR, b"x" * 20_000)), "bytes"),
        (annotation(*[("a", VENDOR, b"x")] * 65), "at most"),
    ],
)
def test_invalid_variables_are_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        parse_efi_variables(text)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.from_regex(r"[A-Za-z]{1,20}", fullmatch=True), st.binary(min_size=1, max_size=300)),
        max_size=8,
    )
)
def test_variables_are_added_to_the_store_and_nothing_else_changes(named: list[tuple[str, bytes]]) -> None:
    template = TEMPLATE.read_bytes()
    wanted = tuple(EfiVariable(name, VENDOR, value) for name, value in named)
    store = add_variables(template, wanted)
    before = entries(template)
    assert entries(store) == before + list(wanted)
    assert len(store) == len(template)
    size = sum(-(-(60 + 2 * len(name) + 2 + len(value)) // 4) * 4 for name, value in named)
    start = next(at for at in range(STORE_START, len(store)) if template[at : at + 4] == b"\xff" * 4)
    assert store[:start] == template[:start]
    assert store[start + size :] == template[start + size :]


def test_full_or_invalid_store_is_refused() -> None:
    template = TEMPLATE.read_bytes()
    many = tuple(EfiVariable(f"v{n}", VENDOR, b"x" * 16_000) for n in range(20))
    with pytest.raises(FailedPrecondition, match="too small"):
        add_variables(template, many)
    for broken in (b"", b"\0" * 4096, template[:80], template[:48] + b"\xff\xff" + template[50:]):
        with pytest.raises(FailedPrecondition, match="not a variable store"):
            add_variables(broken, many)


def test_variables_written_by_the_guest_stay(tmp_path: Path) -> None:
    machine = RuntimeMachine(annotations={EFI_ANNOTATION: annotation(("Vendor", VENDOR, b"hi"))})
    made = SeedWriter(TEMPLATE).write(machine, tmp_path).nvram
    assert made is not None
    assert entries(made.read_bytes())[-1] == EfiVariable("Vendor", VENDOR, b"hi")
    made.write_bytes(b"the firmware's own")
    assert SeedWriter(TEMPLATE).write(machine, tmp_path).nvram == made
    assert made.read_bytes() == b"the firmware's own"
