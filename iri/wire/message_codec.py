"""Frozen structs to messages and back, field by field and by name.

Theory of operation. For each pair of struct class and message type a MessageCodec is computed once: a list of (field,
read, write), from the struct's type hints and the message's descriptor. A field has the same name in both; PATHS has
the exceptions.

    freeze: message in -> struct out        fill: struct in -> message changed in place

    hint of the field        in the message        missing in the message
    a struct                 a message             an empty struct
    a struct | None          a message             None
    tuple of structs         repeated message      ()
    Mapping                  map                   {}
    IntEnum                  enum                  the member 0; an unknown number is UNKNOWN, and is not kept
    StrEnum                  string                the first member
    anything else            scalar                its default

What a message carries beyond the known fields is kept, encoded, in `unknown`. So fill(freeze(message)) is the message
again, and a spec from a newer caller comes back to it whole. Must never happen: a field is dropped in one direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, IntEnum, StrEnum
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from iri.change import AttachInterface, AttachVolume, Resize, UpdateVolume
from iri.host import RuntimeMachineClass, RuntimeVolumeClass
from iri.machine import RuntimeMachine, RuntimeMachineSpec, RuntimeMachineStatus
from iri.runtime import RuntimeEvent
from iri.volume import RuntimeSnapshot, RuntimeVolume, RuntimeVolumeSpec

AnyStruct = TypeVar("AnyStruct", bound=msgspec.Struct)
AnyEnum = TypeVar("AnyEnum", bound=Enum)
AnyMessage = TypeVar("AnyMessage", bound=Message)
Struct = type[msgspec.Struct]
Read = Callable[[Any], Any]
Write = Callable[[Any, Any], None]

METADATA = {
    name: f"metadata.{name}"
    for name in ("id", "labels", "annotations", "generation", "created_at", "deleted_at")
}
# The path of a struct's field in the message, dotted, where it is not under its own name. None: the message has no such field.
PATHS: Mapping[Struct, Mapping[str, str | None]] = {
    RuntimeMachine: METADATA | {"detail": None},
    RuntimeVolume: METADATA | {"detail": None},
    RuntimeSnapshot: METADATA,
    RuntimeMachineSpec: {"class_name": "class"},
    RuntimeMachineStatus: {"conditions": "machine_conditions"},
    RuntimeVolumeSpec: {"class_name": "class"},
    RuntimeMachineClass: {"resources": "capabilities.resources"},
    RuntimeVolumeClass: {"tps": "capabilities.tps", "iops": "capabilities.iops"},
    RuntimeEvent: {
        "kind": None,
        "id": "spec.involved_object_meta.id",
        "labels": "spec.involved_object_meta.labels",
        "time": "spec.event_time",
        **{name: f"spec.{name}" for name in ("type", "reason", "action", "message")},
    },
    Resize: {"class_name": "class"},
    AttachVolume: {"disk": "volume"},
    UpdateVolume: {"disk": "volume"},
    AttachInterface: {"interface": "network_interface"},
}


def freeze(struct: type[AnyStruct], message: Message, **others: object) -> AnyStruct:
    """The struct of a message; `others` are fields that the message does not have."""
    codec = codec_of(struct, message.DESCRIPTOR)
    return struct(**codec.values(message), **others)


def encode(message_type: type[AnyMessage], value: msgspec.Struct) -> AnyMessage:
    """The message of a struct."""
    message = message_type()
    fill(message, value)
    return message


def fill(message: Message, value: msgspec.Struct) -> None:
    """Writes `value` into a message whose fields are unset."""
    codec_of(type(value), message.DESCRIPTOR).fill(message, value)


class MessageCodec:
    """One struct and one message type: how each field is read and written."""

    def __init__(self, struct: Struct, descriptor: Descriptor) -> None:
        self.struct = struct
        self.fields: list[tuple[str, Read, Write]] = []
        hints = get_type_hints(struct)
        paths = PATHS.get(struct, {})
        for name in struct.__struct_fields__:
            path = paths.get(name, name)
            if name != "unknown" and path is not None:
                self.fields.append((name, *resolve_path(descriptor, path, hints[name])))
        self.keeps_unknown = "unknown" in struct.__struct_fields__

    def values(self, message: Message) -> dict[str, Any]:
        """Arguments for the struct's constructor."""
        values = {name: read(message) for name, read, _ in self.fields}
        if self.keeps_unknown and len(UnknownFieldSet(message)):
            values["unknown"] = encode_unknown(message)
        return values

    def freeze(self, message: Message) -> Any:
        return self.struct(**self.values(message))

    def fill(self, message: Message, value: Any) -> None:
        """Unknown fields are merged last, as they were encoded."""
        for name, _, write in self.fields:
            write(message, getattr(value, name))
        if self.keeps_unknown and value.unknown:
            message.MergeFromString(value.unknown)


@cache
def codec_of(struct: Struct, descriptor: Descriptor) -> MessageCodec:
    return MessageCodec(struct, descriptor)


def resolve_path(descriptor: Descriptor, path: str, hint: Any) -> tuple[Read, Write]:
    """How to read and how to write the field at a dotted path of a message; computed once for each codec, never in a call.

    `hint` is the type of the struct's field. A path that the message lacks is a mistake in `PATHS`: KeyError or AssertionError when
    the codec is made. Writing expects the field unset and sets its parents too; reading below an unset parent gives defaults.
    """
    *parents, name = path.split(".")
    for parent in parents:
        inner = descriptor.fields_by_name[parent].message_type
        assert inner is not None, f"{parent} of {descriptor.full_name} is not a message"
        descriptor = inner
    read, write = resolve_field(descriptor.fields_by_name[name], hint)
    if not parents:
        return read, write
    into = attrgetter(".".join(parents))
    return lambda message: read(into(message)), lambda message, value: write(into(message), value)


def resolve_field(field: FieldDescriptor, hint: Any) -> tuple[Read, Write]:
    """By the table above."""
    struct = next((part for part in (hint, *get_args(hint)) if is_struct(part)), None)
    get = attrgetter(field.name)
    if field.is_repeated and field.message_type is not None and field.message_type.GetOptions().map_entry:
        return lambda message: dict(get(message)), lambda message, value: get(message).update(value)
    if field.is_repeated and struct:
        return resolve_repeated(field, struct)
    if field.is_repeated:
        return lambda message: tuple(get(message)), lambda message, value: get(message).extend(value)
    if struct:
        return resolve_message(field, struct, is_optional=type(None) in get_args(hint))
    name = field.name

    def write(message: Any, value: Any) -> None:
        setattr(message, name, value)

    if isinstance(hint, type) and issubclass(hint, IntEnum | StrEnum):
        return lambda message: decode_enum(hint, get(message)), write
    return get, write


def resolve_repeated(field: FieldDescriptor, struct: Struct) -> tuple[Read, Write]:
    """Items are added in place: protobuf has no assignment for repeated messages."""
    codec, get = codec_of(struct, field.message_type), attrgetter(field.name)

    def write(message: Any, values: Any) -> None:
        items = get(message)
        for value in values:
            codec.fill(items.add(), value)

    return lambda message: tuple(codec.freeze(item) for item in get(message)), write


def resolve_message(field: FieldDescriptor, struct: Struct, *, is_optional: bool) -> tuple[Read, Write]:
    """A field of message type: None where it is missing and the hint allows None, else an empty struct."""
    codec, get, name = codec_of(struct, field.message_type), attrgetter(field.name), field.name

    def read(message: Any) -> Any:
        if is_optional and not message.HasField(name):
            return None
        return codec.freeze(get(message))

    def write(message: Any, value: Any) -> None:
        if value is not None:
            part = get(message)
            part.SetInParent()
            codec.fill(part, value)

    return read, write


def is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def decode_enum(enum: type[AnyEnum], value: object) -> AnyEnum:
    """The first member for a value that we do not know: UNKNOWN, where the enum has it."""
    try:
        return enum(value)
    except ValueError:
        return next(iter(enum))


def encode_unknown(message: Message) -> bytes:
    """The fields that the message's type does not know, encoded."""
    rest = type(message)()
    rest.CopyFrom(message)
    for field, _ in rest.ListFields():
        rest.ClearField(field.name)
    return rest.SerializeToString()
