"""Every package, service, method, message, field name, number, type and enum value is the published one."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from iri.proto.event.v1alpha1 import api_pb2 as event
from iri.proto.machine.v1alpha1 import api_pb2 as machine
from iri.proto.meta.v1alpha1 import api_pb2 as meta
from iri.proto.volume.v1alpha1 import api_pb2 as volume
from tests.iri.proto.table import MESSAGES, file_descriptor

FILES: dict[str, FileDescriptor] = {
    module.DESCRIPTOR.package: module.DESCRIPTOR for module in (meta, event, machine, volume)
}


def ours(package: str) -> FileDescriptorProto:
    descriptor = FileDescriptorProto()
    FILES[package].CopyToProto(descriptor)
    return sort_fields(descriptor)


def sort_fields(file: FileDescriptorProto) -> FileDescriptorProto:
    """Order is for readers; it does not travel."""
    file.dependency.sort()
    for message in file.message_type:
        order_message(message)
    for part in (file.message_type, file.enum_type):
        part.sort(key=lambda item: item.name)
    return file


def order_message(message: DescriptorProto) -> None:
    message.field.sort(key=lambda field: field.number)
    message.nested_type.sort(key=lambda nested: nested.name)


def test_no_package_is_missing() -> None:
    assert set(FILES) == set(MESSAGES)


@pytest.mark.parametrize("package", MESSAGES)
def test_package_is_as_published(package: str) -> None:
    expected = sort_fields(file_descriptor(package))
    for message in expected.message_type:
        for nested in message.nested_type:
            order_message(nested)
    assert str(ours(package)) == str(expected)
