"""Lists whose items stay encoded.

On the wire, a repeated message looks exactly like a repeated field of bytes. So the two functions here take a list
response apart and put it together without decoding an item, and both ends keep the encoding of each item that they have
seen: a list of thousands of unchanged objects costs a lookup per object.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool


def define_list() -> FileDescriptorProto:
    """The type of a message with one repeated field of bytes, by which a list's items travel as they were encoded."""
    file = FileDescriptorProto(name="entries.proto", package="gitvirt.wire", syntax="proto3")
    field = file.message_type.add(name="Entries").field.add(name="items", number=1)
    field.label = FieldDescriptorProto.LABEL_REPEATED
    field.type = FieldDescriptorProto.TYPE_BYTES
    return file


POOL = DescriptorPool()
POOL.Add(define_list())
ItemList = message_factory.GetMessageClass(POOL.FindMessageTypeByName("gitvirt.wire.Entries"))


def join_items(items: Iterable[bytes]) -> bytes:
    """An encoded list response: all of them have their items in field 1."""
    data: bytes = ItemList(items=items).SerializeToString()
    return data


def split_items(response: bytes) -> Sequence[bytes]:
    """The encoded items of a list response. Raises google.protobuf.message.DecodeError."""
    items: Sequence[bytes] = ItemList.FromString(response).items  # type: ignore[attr-defined]
    return items
