"""A peer that is built from the hand-written table and one that is built from our .proto files understand each other:
every message, to the last field, those included that neither of them knows."""

from __future__ import annotations

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.iri.proto.messages import messages
from tests.iri.proto.table import MESSAGES, file_descriptor
from tests.iri.proto.test_table import FILES

POOL = DescriptorPool()
for _package in MESSAGES:
    POOL.Add(file_descriptor(_package))
OURS: dict[str, Descriptor] = {
    f"{package}.{name}": FILES[package].message_types_by_name[name]
    for package, names in MESSAGES.items()
    for name in names
}
THEIRS = {name: POOL.FindMessageTypeByName(name) for name in OURS}


def as_read_by(descriptor: Descriptor, message: Message) -> Message:
    return message_factory.GetMessageClass(descriptor).FromString(message.SerializeToString())


def content(message: Message) -> object:
    return MessageToDict(message, preserving_proto_field_name=True)


@pytest.mark.parametrize("name", OURS)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_message_travels_both_ways_without_loss(name: str, data: st.DataObject) -> None:
    for sender, receiver in ((OURS[name], THEIRS[name]), (THEIRS[name], OURS[name])):
        sent = data.draw(messages(sender))
        received = as_read_by(receiver, sent)
        assert content(received) == content(sent)
        assert as_read_by(sender, received) == sent, "unknown fields were lost"
