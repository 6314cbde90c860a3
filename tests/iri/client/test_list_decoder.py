"""What has not changed is decoded once, and is the identical object."""

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


def test_same_bytes_are_the_same_object() -> None:
    decode = Counted()
    decoded = ListDecoder(decode)
    first = decoded.decode(join_items([b"a", b"b"]), is_complete=True)
    second = decoded.decode(join_items([b"b", b"c"]), is_complete=True)
    assert (first, second) == ([["a"], ["b"]], [["b"], ["c"]])
    assert second[0] is first[1]
    assert decode.count == 3


def test_part_of_a_list_does_not_make_the_rest_forgotten() -> None:
    decode = Counted()
    decoded = ListDecoder(decode)
    decoded.decode(join_items([b"a", b"b"]), is_complete=True)
    decoded.decode(join_items([b"b"]), is_complete=False)
    decoded.decode(join_items([b"a", b"b"]), is_complete=True)
    assert decode.count == 2


def test_parts_do_not_add_up_for_ever() -> None:
    decoded = ListDecoder(Counted())
    for number in range(3 * SPARE):
        decoded.decode(join_items([str(number).encode()]), is_complete=False)
    assert len(decoded._known) <= SPARE + 1


def test_fields_of_newer_servers_are_passed_over() -> None:
    assert ListDecoder(Counted()).decode(join_items([b"a"]) + b"\xa0\x38\x07", is_complete=True) == [["a"]]


def test_what_is_no_list_is_a_bug_of_the_runtime() -> None:
    with pytest.raises(Internal):
        ListDecoder(Counted()).decode(b"\x0a\xff", is_complete=True)
