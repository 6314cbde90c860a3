"""Promise 1 for any possible device: a list returns what was sent, byte for byte for a client that is built from the
hand-written table and has none of our code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from hypothesis import given, settings
from hypothesis import strategies as st

from iri.simulated.profile import Profile
from iri.simulated.runtime import SimulatedRuntime
from tests.iri.proto.messages import UNKNOWN
from tests.iri.proto.table import MESSAGES, file_descriptor
from tests.iri.quick_host import CLASSES, TIMES, quick_host
from tests.iri.server.raw_client import Raw, raw

POOL = DescriptorPool()
for _package in MESSAGES:
    POOL.Add(file_descriptor(_package))
SERVICE = POOL.FindServiceByName("machine.v1alpha1.MachineRuntime")
ROOM = {"cpu": 1 << 20, "memory": 1 << 50, "storage": 1 << 60}

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,10}[a-z0-9])?", fullmatch=True)
TEXTS = st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=8), max_size=3)
SECRETS = st.dictionaries(st.text(min_size=1, max_size=8), st.binary(max_size=8), max_size=2)
SIZES = st.integers(0, 2**40)
LOCAL = st.fixed_dictionaries(
    {}, optional={"size_bytes": SIZES, "image": st.fixed_dictionaries({"image": NAMES})}
)
CONNECTION = st.fixed_dictionaries(
    {"driver": NAMES},
    optional={
        "handle": NAMES,
        "attributes": TEXTS,
        "secret_data": SECRETS,
        "encryption_data": SECRETS,
        "effective_storage_bytes": SIZES,
    },
)
DISKS = st.lists(
    st.tuples(
        NAMES, st.one_of(LOCAL.map(lambda x: {"local_disk": x}), CONNECTION.map(lambda x: {"connection": x}))
    ),
    max_size=3,
    unique_by=lambda disk: disk[0],
)
INTERFACES = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "network_id": NAMES,
            "ips": st.lists(st.ip_addresses().map(str), max_size=3),
            "attributes": TEXTS,
        },
    ),
    max_size=2,
    unique_by=lambda interface: str(interface["name"]),
)


@pytest.fixture(scope="module")
def client() -> Iterator[Raw]:
    host = quick_host(Profile(classes=CLASSES, times=TIMES, capacity=ROOM))
    with (
        tempfile.TemporaryDirectory(prefix="iri") as directory,
        raw(SimulatedRuntime(host), Path(directory) / "s") as connected,
    ):
        yield connected


def answer(client: Raw, name: str, request: Any) -> Any:
    method = SERVICE.methods_by_name[name]
    code, answer, data = client.send(method, request.SerializeToString())
    assert code is grpc.StatusCode.OK, answer
    return message_factory.GetMessageClass(method.output_type).FromString(data)


def request(name: str) -> Any:
    return message_factory.GetMessageClass(SERVICE.methods_by_name[name].input_type)()


@settings(max_examples=60, deadline=None)
@given(disks=DISKS, interfaces=INTERFACES, labels=TEXTS, annotations=TEXTS, unknown=UNKNOWN)
def test_devices_labels_and_annotations_come_back_equal(
    client: Raw, disks: Any, interfaces: Any, labels: Any, annotations: Any, unknown: bytes
) -> None:
    create = request("CreateMachine")
    wanted = create.machine
    wanted.metadata.labels.update(labels)
    wanted.metadata.annotations.update(annotations)
    setattr(wanted.spec, "class", "small")
    for number, (name, source) in enumerate(disks):
        wanted.spec.volumes.add(name=name, device=f"od{chr(97 + number)}", **source).MergeFromString(unknown)
    for interface in interfaces:
        wanted.spec.network_interfaces.add(**interface).MergeFromString(unknown)
    created = answer(client, "CreateMachine", create).machine
    listing = request("ListMachines")
    listing.filter.id = created.metadata.id
    (listed,) = answer(client, "ListMachines", listing).machines
    for found in (created, listed):
        assert list(found.spec.volumes) == list(wanted.spec.volumes)
        assert list(found.spec.network_interfaces) == list(wanted.spec.network_interfaces)
        assert found.metadata.labels == wanted.metadata.labels
        assert found.metadata.annotations == wanted.metadata.annotations
