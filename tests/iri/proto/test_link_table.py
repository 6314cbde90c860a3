"""Every service, method, message, field, number, type and enum value of the link is the one of the table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, ServiceDescriptor

from iri.proto.gitvirt.link.v1alpha1 import agent_pb2, controller_pb2
from tests.iri.proto.link_table import AGENT_MESSAGES, CONTROLLER_MESSAGES, ENUMS, SERVICES

PACKAGE = "gitvirt.link.v1alpha1"
FILES = {"agent": (agent_pb2, AGENT_MESSAGES), "controller": (controller_pb2, CONTROLLER_MESSAGES)}
SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT64: "uint64",
}


def short(name: str) -> str:
    return name.removeprefix(PACKAGE + ".")


def type_of(field: FieldDescriptor) -> str:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        key, value = message.fields
        return f"{type_of(key)}>{type_of(value)}"
    name = (
        short((message or field.enum_type).full_name) if message or field.enum_type else SCALARS[field.type]
    )
    return f"{'*' * field.is_repeated}{'?' * is_optional(field)}{name}"


def is_optional(field: FieldDescriptor) -> bool:
    """Whether its absence differs from its default: protobuf makes a group of its own of it."""
    return field.containing_oneof is not None and field.containing_oneof.name.startswith("_")


def row(message: Descriptor) -> str:
    """As in the table, but for line breaks."""
    words, group = [], ""
    for field in sorted(message.fields, key=lambda one: one.number):
        of = field.containing_oneof.name if field.containing_oneof and not is_optional(field) else ""
        if group and of != group:
            words[-1] += " ."
        words.append(f"{f'{of}: ' if of and of != group else ''}{field.number} {field.name} {type_of(field)}")
        group = of
    return "; ".join(words) + (" ." if group else "")


def enums(messages: Iterator[Descriptor]) -> Iterator[EnumDescriptor]:
    for message in messages:
        yield from message.enum_types


def signatures(service: ServiceDescriptor) -> dict[str, str]:
    return {
        method.name: f"{'*' * method.client_streaming}{short(method.input_type.full_name)} -> "
        f"{'*' * method.server_streaming}{short(method.output_type.full_name)}"
        for method in service.methods
    }


@pytest.mark.parametrize("name", FILES)
def test_messages_are_those_of_the_table(name: str) -> None:
    module, messages = FILES[name]
    found = {key: row(each) for key, each in module.DESCRIPTOR.message_types_by_name.items()}
    assert found == messages
    assert module.DESCRIPTOR.package == PACKAGE


def test_enums_are_those_of_the_table() -> None:
    found = {}
    for module, _ in FILES.values():
        file = module.DESCRIPTOR
        for each in (*file.enum_types_by_name.values(), *enums(iter(file.message_types_by_name.values()))):
            found[short(each.full_name)] = " ".join(value.name for value in each.values)
            assert [value.number for value in each.values] == list(range(len(each.values)))
    assert found == ENUMS


def test_services_are_those_of_the_table() -> None:
    found = {
        name: signatures(service)
        for module, _ in FILES.values()
        for name, service in module.DESCRIPTOR.services_by_name.items()
    }
    assert found == SERVICES
