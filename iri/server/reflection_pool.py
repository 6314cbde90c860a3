"""The descriptors that reflection sends, each field with its JSON name.

Descriptors of generated Python code leave `json_name` out, because it follows from the field's name. Clients that build themselves from
reflection, such as grpcurl, then print snake_case in place of the JSON names that everyone documents.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import Default, DescriptorPool


def build_reflection_pool(services: Iterable[str]) -> DescriptorPool:
    """The files of these services, and all that they import, in a pool of their own."""
    pool, added = DescriptorPool(), set[str]()
    for service in services:
        _add_file(pool, Default().FindFileContainingSymbol(service), added)
    return pool


def _add_file(pool: DescriptorPool, file: FileDescriptor, added: set[str]) -> None:
    if file.name in added:
        return
    added.add(file.name)
    for needed in file.dependencies:
        _add_file(pool, needed, added)
    message = FileDescriptorProto()
    file.CopyToProto(message)
    for each in message.message_type:
        _name_fields(each, file.message_types_by_name[each.name])
    pool.Add(message)


def _name_fields(message: DescriptorProto, descriptor: Descriptor) -> None:
    for field in message.field:
        field.json_name = descriptor.fields_by_name[field.name].json_name
    for nested in message.nested_type:
        _name_fields(nested, descriptor.nested_types_by_name[nested.name])
