"""Spec values and messages: irictl's files are understood, errors are named, and no value is lost or leaked."""

from __future__ import annotations

import base64
import contextlib

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.cli.iri.messages import HIDDEN, SpecError, parse_message, render_message
from iri.proto.machine.v1alpha1 import api_pb2 as machine_pb
from iri.proto.volume.v1alpha1 import api_pb2 as volume_pb

# As in IronCore's own samples: snake_case, enums by number, bytes as base64.
STOCK = {
    "metadata": {"labels": {"machinepoollet.ironcore.dev/machine-uid": "uid-1"}, "annotations": {"a": "b"}},
    "spec": {
        "power": 1,
        "class": "t3-small",
        "ignition_data": "aGVsbG8=",
        "volumes": [
            {
                "name": "root",
                "device": "oda",
                "connection": {
                    "driver": "ceph",
                    "handle": "wwn",
                    "attributes": {"monitors": "10.0.0.1:6789"},
                    "secret_data": {"userKey": "c2VjcmV0"},
                    "effective_storage_bytes": 10737418240,
                },
            },
            {"name": "tmp", "device": "odb", "local_disk": {"size_bytes": 1, "image": {"image": "debian"}}},
        ],
        "network_interfaces": [{"name": "nic", "network_id": "net", "ips": ["10.0.0.5", "fe80::1"]}],
        "guest_config": {"hostname": "web-1"},
    },
}


def test_a_stock_file_becomes_its_message() -> None:
    machine = parse_message(STOCK, machine_pb.Machine)
    assert machine.spec.power == machine_pb.POWER_OFF
    assert getattr(machine.spec, "class") == "t3-small"
    assert machine.spec.ignition_data == b"hello"
    assert machine.spec.volumes[0].connection.secret_data["userKey"] == b"secret"
    assert machine.spec.volumes[0].connection.effective_storage_bytes == 10 << 30
    assert machine.spec.volumes[1].local_disk.image.image == "debian"
    assert list(machine.spec.network_interfaces[0].ips) == ["10.0.0.5", "fe80::1"]
    assert machine.spec.guest_config.hostname == "web-1"


def test_a_message_becomes_the_file_again() -> None:
    assert render_message(parse_message(STOCK, machine_pb.Machine), with_secrets=True) == STOCK


@pytest.mark.parametrize("power", [1, "off", "OFF", "POWER_OFF", "power_off"])
def test_an_enum_is_written_by_number_or_name(power: object) -> None:
    assert parse_message({"power": power}, machine_pb.MachineSpec).power == machine_pb.POWER_OFF


def test_null_is_the_same_as_unset() -> None:
    assert parse_message({"power": None, "volumes": None}, machine_pb.MachineSpec) == machine_pb.MachineSpec()
    has = parse_message({"guest_config": {}}, machine_pb.MachineSpec)
    assert has.HasField("guest_config")


@pytest.mark.parametrize(
    ("value", "where", "hint"),
    [
        ({"sepc": {}}, "sepc: unknown key", "did you mean `spec`?"),
        ({"spec": {"networkInterfaces": []}}, "spec.networkInterfaces: unknown", "`network_interfaces`"),
        ({"spec": {"image": "debian"}}, "spec.image: unknown key", "there are: power, class"),
        ({"spec": {"volumes": [{"empty_disk": {}}]}}, "spec.volumes[0].empty_disk: unknown", ""),
        ({"spec": {"volumes": {}}}, "spec.volumes: a mapping where a list is expected", ""),
        ({"spec": []}, "spec: a list where keys and values are expected", ""),
        ({"spec": {"class": 5}}, "spec.class: a number where text is expected", "quotes"),
        ({"spec": {"power": 7}}, "spec.power: a number that is not one of its values", "0 (on), 1 (off)"),
        ({"spec": {"power": True}}, "spec.power: true or false that is not one", "0 (on), 1 (off)"),
        ({"spec": {"ignition_data": "no base64!"}}, "spec.ignition_data: not base64", "base64 -w0"),
        ({"spec": {"ignition_data": 7}}, "spec.ignition_data: not base64 text", ""),
        (
            {"spec": {"volumes": [{"local_disk": {"size_bytes": "10Gi"}}]}},
            "spec.volumes[0].local_disk.size_bytes: text where a whole number is expected",
            "write it as 10737418240",
        ),
        ({"spec": {"volumes": [{"local_disk": {"size_bytes": 1.5}}]}}, "size_bytes: a fraction", ""),
        ({"spec": {"volumes": [{"local_disk": {"size_bytes": 1 << 63}}]}}, "does not fit", "it holds"),
        ({"spec": {"volumes": [{"local_disk": {"size_bytes": True}}]}}, "true or false where", ""),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels.a: a number where text is expected", "quotes"),
        ({"metadata": {"labels": {1: "a"}}}, "metadata.labels: key 1 is not text", "quotes"),
        ({"metadata": {"labels": ["a"]}}, "metadata.labels: a list where keys and values are expected", ""),
        ({1: 2}, "1: unknown key", "there are: metadata"),
        ("machine", "the document: text where keys and values are expected", ""),
        ([], "the document: a list where", ""),
    ],
)
def test_an_invalid_value_is_named_with_its_place(value: object, where: str, hint: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_message(value, machine_pb.Machine)
    assert where in str(refused.value)
    assert hint in refused.value.hint


def test_an_error_never_quotes_a_secret() -> None:
    wrong = {"spec": {"volumes": [{"connection": {"secret_data": {"key": "hunter2 hunter2"}}}]}}
    with pytest.raises(SpecError) as refused:
        parse_message(wrong, machine_pb.Machine)
    assert "hunter2" not in f"{refused.value} {refused.value.hint}"


def test_secrets_are_hidden_wherever_they_are() -> None:
    machine = parse_message(STOCK, machine_pb.Machine)
    shown = str(render_message(machine))
    assert base64.b64encode(b"secret").decode() not in shown
    assert base64.b64encode(b"hello").decode() not in shown
    assert shown.count(HIDDEN) == 2
    volume = volume_pb.Volume()
    volume.spec.encryption.secret_data["encryptionKey"] = b"key"
    volume.status.access.secret_data["userKey"] = b"key"
    assert render_message(volume) == {
        "spec": {"encryption": {"secret_data": {"encryptionKey": HIDDEN}}},
        "status": {"access": {"secret_data": {"userKey": HIDDEN}}},
    }


texts = st.text(max_size=8)
maps = st.dictionaries(texts, texts, max_size=2)
secrets = st.dictionaries(texts, st.binary(max_size=5), max_size=2)
sizes = st.integers(-(1 << 63), (1 << 63) - 1)
connections = st.builds(
    machine_pb.VolumeConnection,
    driver=texts,
    handle=texts,
    attributes=maps,
    secret_data=secrets,
    encryption_data=secrets,
    effective_storage_bytes=sizes,
)
disks = st.builds(
    machine_pb.Volume,
    name=texts,
    device=texts,
    connection=st.none() | connections,
    local_disk=st.none() | st.builds(machine_pb.LocalDisk, size_bytes=sizes),
)
nics = st.builds(
    machine_pb.NetworkInterface,
    name=texts,
    network_id=texts,
    ips=st.lists(texts, max_size=2),
    attributes=maps,
)
machines = st.builds(
    machine_pb.Machine,
    spec=st.builds(
        machine_pb.MachineSpec,
        power=st.sampled_from([machine_pb.POWER_ON, machine_pb.POWER_OFF]),
        ignition_data=st.binary(max_size=9),
        volumes=st.lists(disks, max_size=2),
        network_interfaces=st.lists(nics, max_size=2),
    ),
)


@given(machines)
@settings(max_examples=50)
def test_rendering_and_parsing_gives_the_same_message(machine: Message) -> None:
    assert parse_message(render_message(machine, with_secrets=True), machine_pb.Machine) == machine


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "metadata", "power", "volumes", "labels", "x"]), inner)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_value_is_a_message_or_a_spec_error(value: object) -> None:
    with contextlib.suppress(SpecError):
        assert isinstance(parse_message(value, machine_pb.Machine), machine_pb.Machine)
