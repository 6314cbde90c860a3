"""Any message of any type, from its descriptor alone: for round trips and for fuzzing."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st

TEXTS = st.text(max_size=12) | st.sampled_from(["", "oda", "10.0.0.1", "small", "a/b", "é\n", "x" * 300])
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1, 2**40])
SMALL = st.integers(-(2**31), 2**31 - 1) | st.integers(0, 6)
BLOBS = st.binary(max_size=12)
SCALARS = {
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: BLOBS,
    FieldDescriptor.TYPE_INT64: NUMBERS,
    FieldDescriptor.TYPE_INT32: SMALL,
    FieldDescriptor.TYPE_ENUM: SMALL,
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_DOUBLE: st.floats(allow_nan=False),
}
DEEPEST = 6
# Field 900 of any message, length-delimited, then varint: what a newer peer might send.
UNKNOWN = st.sampled_from([b"", b"", b"\xa2\x38\x03new", b"\xa0\x38\x07"])


@cache
def messages(descriptor: Descriptor, with_unknown: bool = True) -> st.SearchStrategy[Message]:
    return st.builds(
        build,
        st.just(message_factory.GetMessageClass(descriptor)),
        st.fixed_dictionaries(
            {}, optional={field.name: values(field, with_unknown) for field in descriptor.fields}
        ),
        UNKNOWN if with_unknown else st.just(b""),
    )


def values(field: FieldDescriptor, with_unknown: bool) -> st.SearchStrategy[Any]:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        key, value = inner.fields_by_name["key"], inner.fields_by_name["value"]
        return st.dictionaries(SCALARS[key.type], SCALARS[value.type], max_size=3)
    one = messages(inner, with_unknown) if inner is not None else SCALARS[field.type]
    return st.lists(one, max_size=3) if field.is_repeated else one


def build(kind: type[Message], fields: dict[str, Any], unknown: bytes) -> Message:
    message = kind(**fields)
    message.MergeFromString(unknown)
    return message
