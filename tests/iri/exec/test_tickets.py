"""Tickets: valid once, for a minute, and limited in number."""

from __future__ import annotations

import pytest

from iri.exec.tickets import LIFETIME_SECONDS, Tickets
from iri.runtime import Console

pytestmark = pytest.mark.clock


def nothing() -> Console:
    raise AssertionError("no test opens this console")


def test_a_ticket_is_valid_once() -> None:
    tickets = Tickets()
    token = tickets.issue("m1", nothing, now=0)
    assert token is not None
    ticket = tickets.redeem(token, now=1)
    assert ticket is not None
    assert ticket.machine_id == "m1"
    assert tickets.redeem(token, now=1) is None


def test_a_ticket_is_valid_for_a_minute() -> None:
    tickets = Tickets()
    first = tickets.issue("m1", nothing, now=0)
    second = tickets.issue("m1", nothing, now=0.5)
    assert first is not None
    assert second is not None
    assert tickets.redeem(first, now=LIFETIME_SECONDS) is None
    assert tickets.redeem(second, now=LIFETIME_SECONDS) is not None


def test_an_invented_ticket_is_refused() -> None:
    tickets = Tickets()
    tickets.issue("m1", nothing, now=0)
    assert tickets.redeem("", now=0) is None
    assert tickets.redeem("AAAAAAAAAAAAAAAAAAAAAA", now=0) is None


def test_no_ticket_is_issued_beyond_the_limit_until_some_expire() -> None:
    tickets = Tickets(limit=2)
    assert tickets.issue("m1", nothing, now=0)
    assert tickets.issue("m2", nothing, now=30)
    assert tickets.issue("m3", nothing, now=59) is None
    assert tickets.issue("m3", nothing, now=60)


def test_tokens_do_not_repeat() -> None:
    tickets = Tickets()
    tokens = {tickets.issue("m1", nothing, now=0) for _ in range(500)}
    assert len(tokens) == 500
    assert None not in tokens
    assert all(len(token) >= 20 for token in tokens if token)
