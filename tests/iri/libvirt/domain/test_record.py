"""What a domain's metadata remembers of its machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from iri.libvirt.domain.record import (
    MachineRecord,
    decode_secrets,
    encode_secrets,
    from_metadata,
    merge_secrets,
    split_secrets,
    to_metadata,
)
from iri.libvirt.xml import element, parse, text
from iri.machine import Disk, RuntimeMachineSpec, VolumeConnection

TEXTS = st.dictionaries(st.text(), st.text(), max_size=3)
KEYS = st.dictionaries(st.text(), st.binary(), max_size=2)


def disk(name: str, secret: dict[str, bytes], encryption: dict[str, bytes]) -> Disk:
    return Disk(
        name=name, connection=VolumeConnection(driver="d", secret_data=secret, encryption_data=encryption)
    )


SPECS = st.builds(
    RuntimeMachineSpec,
    class_name=st.text(),
    ignition_data=st.binary(),
    unknown=st.binary(),
    volumes=st.lists(
        st.builds(disk, st.text(), KEYS, KEYS), max_size=3, unique_by=lambda made: made.name
    ).map(tuple),
)


@given(
    st.builds(MachineRecord, labels=TEXTS, annotations=TEXTS, spec=SPECS, generation=st.integers(0, 1 << 60))
)
def test_record_survives_a_round_trip_without_its_secrets(record: MachineRecord) -> None:
    spec, _ = split_secrets(record.spec)
    assert from_metadata(parse(text(to_metadata(record)))) == replace(record, spec=spec)


@given(SPECS)
def test_secrets_are_split_from_a_spec_and_merged_again(spec: RuntimeMachineSpec) -> None:
    bare, seal = split_secrets(spec)
    assert bare.ignition_data == b""
    assert not any(
        volume.connection.secret_data or volume.connection.encryption_data
        for volume in bare.volumes
        if volume.connection
    )
    assert merge_secrets(bare, decode_secrets(encode_secrets(seal))) == spec
    assert bool(seal) == (bare != spec)


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"spec": 5}'])
def test_invalid_metadata_is_refused(content: str | None) -> None:
    with pytest.raises(ValueError, match="invalid machine metadata"):
        from_metadata(element("machine", content))
