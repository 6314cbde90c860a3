"""Every change has a call."""

from __future__ import annotations

from typing import get_args

from iri.change import RuntimeChange
from iri.server.request_checks import CHANGE_CHECKS
from iri.wire.calls import CHANGE_CALLS, id_field


def test_each_change_has_a_call_and_a_check() -> None:
    assert set(CHANGE_CALLS) == set(CHANGE_CHECKS) == set(get_args(RuntimeChange))


def test_the_request_of_each_change_begins_with_the_object_id() -> None:
    assert {id_field(method) for method in CHANGE_CALLS.values()} == {"machine_id", "volume_id"}
