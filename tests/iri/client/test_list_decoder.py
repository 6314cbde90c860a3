"""An unchanged item is decoded once, and is the identical object."""

from __future__ import annotations

import pytest

from iri.client.list_decoder import SPARE, ListDecoder
from iri.errors import Internal
from iri.wire.list_items import join_items


class Counted:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, data: bytes) -> list[str]:
        self.count += 1
        return [data.decode()]


def test_same_bytes_decode_to_the_identical_object() -> None:
    decode = Counted()
    decoded = ListDecoder(decode)
    first = decoded.decode(join_items([b"a", b"b"]), is_complete=True)
    second = decoded.decode(join_items([b"b", b"c"]), is_complete=True)
    assert (first, second) == ([["a"], ["b"]], [["b"], ["c"]])
    assert second[0] is first[1]
    assert decode.count == 3


def test_partial_list_keeps_the_items_of_the_complete_one() -> None:
    decode = Counted()
    decoded = ListDecoder(decode)
    decoded.decode(join_items([b"a", b"b"]), is_complete=True)
    decoded.decode(join_items([b"b"]), is_complete=False)
    decoded.decode(join_items([b"a", b"b"]), is_complete=True)
    assert decode.count == 2


def test_partial_lists_do_not_grow_the_cache_without_limit() -> None:
    decoded = ListDecoder(Counted())
    for number in range(3 * SPARE):
        decoded.decode(join_items([str(number).encode()]), is_complete=False)
    assert len(decoded._known) <= SPARE + 1


def test_fields_of_newer_servers_are_ignored() -> None:
    assert ListDecoder(Counted()).decode(join_items([b"a"]) + b"\xa0\x38\x07", is_complete=True) == [["a"]]


def test_undecodable_list_is_an_internal_error() -> None:
    with pytest.raises(Internal):
        ListDecoder(Counted()).decode(b"\x0a\xff", is_complete=True)
