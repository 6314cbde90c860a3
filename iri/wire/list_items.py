"""Lists whose items stay encoded. On the wire a repeated message is a repeated field of bytes, so a response can be taken
apart and put together without touching the items, and items seen before need no work at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool


def define_list() -> FileDescriptorProto:
    file = FileDescriptorProto(name="entries.proto", package="gitvirt.wire", syntax="proto3")
    field = file.message_type.add(name="Entries").field.add(name="items", number=1)
    field.label = FieldDescriptorProto.LABEL_REPEATED
    field.type = FieldDescriptorProto.TYPE_BYTES
    return file


POOL = DescriptorPool()
POOL.Add(define_list())
ItemList = message_factory.GetMessageClass(POOL.FindMessageTypeByName("gitvirt.wire.Entries"))


def join_items(items: Iterable[bytes]) -> bytes:
    """The message whose field 1 is these, as all list responses are built."""
    data: bytes = ItemList(items=items).SerializeToString()
    return data


def split_items(response: bytes) -> Sequence[bytes]:
    """Field 1 of a message. Raises google.protobuf.message.DecodeError."""
    items: Sequence[bytes] = ItemList.FromString(response).items  # type: ignore[attr-defined]
    return items
