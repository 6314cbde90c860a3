"""Addresses of guests: whom to ask, and what to believe."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from iri.errors import FailedPrecondition, TimedOut, Unavailable
from iri.libvirt.networks.guest_addresses import MOST, GuestAddresses, Learned, LearnedFrom, usable

A, B = "52:54:00:00:00:0a", "52:54:00:00:00:0b"


@dataclass
class Answers:
    """A host that has fixed answers."""

    answers: dict[LearnedFrom, Learned | Exception]
    agent: bool = True
    queries: list[LearnedFrom] = field(default_factory=list)

    def has_agent(self, machine_id: str) -> bool:
        return self.agent

    def learn(self, machine_id: str, source: LearnedFrom) -> Learned:
        self.queries.append(source)
        answer = self.answers.get(source, {})
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_agent_is_queried_first_and_other_sources_for_the_rest() -> None:
    answers = Answers(
        {
            LearnedFrom.AGENT: {A: ["10.0.0.1", "fd00::1"]},
            LearnedFrom.LEASE: {A: ["10.0.0.9"], B: ["10.0.0.2"]},
        }
    )
    assert GuestAddresses(answers).lookup("m", (A, B)) == {A: ("10.0.0.1", "fd00::1"), B: ("10.0.0.2",)}
    assert answers.queries == [LearnedFrom.AGENT, LearnedFrom.LEASE]


def test_agent_is_not_queried_when_it_is_not_connected() -> None:
    answers = Answers({LearnedFrom.ARP: {A: ["10.0.0.1"]}}, agent=False)
    assert GuestAddresses(answers).lookup("m", (A,)) == {A: ("10.0.0.1",)}
    assert answers.queries == [LearnedFrom.LEASE, LearnedFrom.ARP]


@pytest.mark.parametrize("trouble", [FailedPrecondition("wrong nlmsg len"), TimedOut("agent")])
def test_source_that_fails_is_skipped(trouble: Exception) -> None:
    answers = Answers(
        {LearnedFrom.AGENT: trouble, LearnedFrom.LEASE: {A: ["10.0.0.1"]}, LearnedFrom.ARP: trouble}
    )
    assert GuestAddresses(answers).lookup("m", (A, B)) == {A: ("10.0.0.1",)}


def test_lookup_is_unavailable_while_libvirt_is_away() -> None:
    with pytest.raises(Unavailable):
        GuestAddresses(Answers({LearnedFrom.LEASE: Unavailable("away")})).lookup("m", (A,))


def test_machine_without_interfaces_is_not_queried() -> None:
    answers = Answers({})
    assert GuestAddresses(answers).lookup("m", ()) == {}
    assert answers.queries == []


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (["10.0.0.1", "10.0.0.1"], ("10.0.0.1",)),
        (["127.0.0.1", "::1", "fe80::1", "169.254.1.1", "0.0.0.0", "224.0.0.1", "nope", ""], ()),
        ([f"10.0.0.{n}" for n in range(1, 100)], tuple(f"10.0.0.{n}" for n in range(1, MOST + 1))),
        (["FD00::0001"], ("fd00::1",)),
    ],
)
def test_addresses_that_nothing_can_reach_are_left_out(text: list[str], want: tuple[str, ...]) -> None:
    assert usable({A.upper(): text, B: ["10.9.9.9"]}, [A]).get(A, ()) == want


def test_addresses_of_unknown_interfaces_are_left_out() -> None:
    assert usable({B: ["10.9.9.9"]}, [A]) == {}
