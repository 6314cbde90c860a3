"""The small parts: clock, random numbers, timer queue, address ranges, faults."""

from __future__ import annotations

import ipaddress
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iri import errors
from iri.machine import RuntimeMachine
from iri.simulated.clock import SECOND_NS, SimulatedClock
from iri.simulated.faults.fault_rules import FaultEffect, FaultRule, FaultRules
from iri.simulated.seeded_random import DurationRange, SeededRandom
from iri.simulated.state.addresses import AddressRange
from iri.timer_queue import TimerQueue
from tests.iri.simulated.world import World, interface, machine

pytestmark = pytest.mark.clock


class Real:
    def __init__(self) -> None:
        self.now_ns = 100 * SECOND_NS

    def __call__(self) -> int:
        return self.now_ns


def test_a_clock_follows_real_time_until_its_rate_changes() -> None:
    real = Real()
    clock = SimulatedClock(real)
    real.now_ns += SECOND_NS
    assert clock.now_ns() == 101 * SECOND_NS
    clock.advance(9 * SECOND_NS)
    real.now_ns += SECOND_NS
    assert clock.now_ns() == 111 * SECOND_NS
    clock.run(0)
    real.now_ns += SECOND_NS
    assert clock.now_ns() == 111 * SECOND_NS
    assert clock.real_seconds_until(112 * SECOND_NS) is None
    clock.run(60)
    real.now_ns += SECOND_NS
    assert clock.now_ns() == 171 * SECOND_NS
    assert clock.real_seconds_until(231 * SECOND_NS) == 1.0
    assert clock.real_seconds_until(0) == 0.0


def test_a_clock_never_goes_back() -> None:
    real = Real()
    clock = SimulatedClock(real)
    assert clock.now_ns() == 100 * SECOND_NS
    real.now_ns -= 50 * SECOND_NS
    assert clock.now_ns() == 100 * SECOND_NS
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)


def test_a_clock_resumes_as_if_it_had_gone_on() -> None:
    real = Real()
    clock = SimulatedClock(real)
    clock.run(10)
    real.now_ns += SECOND_NS
    other = SimulatedClock(real)
    other.resume(clock.state)
    real.now_ns += SECOND_NS
    assert other.now_ns() == clock.now_ns() == 120 * SECOND_NS


spans = st.tuples(st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1e3)).map(
    lambda three: DurationRange(*sorted(three))
)


@given(spans, st.floats(0, 1, exclude_max=True))
def test_a_duration_is_within_its_range(span: DurationRange, share: float) -> None:
    seconds = span.sample_ns(share) / SECOND_NS
    assert span.least - 1e-6 <= seconds <= span.most + 1e-6


def test_a_duration_is_around_its_usual_value() -> None:
    span, chance = DurationRange(1, 2, 9), SeededRandom(7)
    draws = [span.sample_ns(chance.share("boot", str(number))) / SECOND_NS for number in range(2000)]
    assert 3.7 < sum(draws) / len(draws) < 4.3  # the mean of that triangle is 4
    assert min(draws) < 1.2
    assert max(draws) > 8


@pytest.mark.parametrize("wrong", [(2, 1, 3), (-1, 0, 1), (0, 2, 1)])
def test_an_invalid_duration_is_refused(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="a duration needs"):
        DurationRange(*wrong)


def test_random_numbers_depend_on_purpose_and_seed_alone() -> None:
    one, other = SeededRandom(1), SeededRandom(1)
    first = one.share("boot", "m1")
    other.share("boot", "m2")
    assert other.share("boot", "m1") == first
    assert one.share("boot", "m2") != first
    assert SeededRandom(2).share("boot", "m1") != first
    assert one.uuid("id", 1) == other.uuid("id", 1) != one.uuid("id", 2)


@given(st.lists(st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(0, 50)))), st.integers(0, 50))
def test_the_timer_queue_yields_each_due_key_once_and_in_order(
    puts: list[tuple[int, int | None]], now: int
) -> None:
    agenda: TimerQueue[tuple[str, str], int] = TimerQueue()
    wanted: dict[str, int] = {}
    for number, due in puts:
        if due is None:
            agenda.drop(("thing", str(number)))
            wanted.pop(str(number), None)
        else:
            agenda.put(("thing", str(number)), due)
            wanted[str(number)] = due
    taken = [(due, thing[1]) for due, thing in agenda.take_due(now)]
    assert sorted(taken) == sorted((due, number) for number, due in wanted.items() if due <= now)
    assert [due for due, _ in taken] == sorted(due for due, _ in taken)
    rest = [due for due in wanted.values() if due > now]
    assert agenda.next_due() == (min(rest) if rest else None)
    assert len(agenda) == len(rest)


def test_the_timer_queue_drops_entries_that_were_put_off() -> None:
    agenda: TimerQueue[tuple[str, str], int] = TimerQueue()
    for due in range(100_000):
        agenda.put(("thing", "1"), due)
    assert len(agenda._heap) < 1000


def test_addresses_are_given_lowest_first_and_come_back() -> None:
    addresses = AddressRange(ipaddress.IPv4Network("192.168.1.0/29"))
    given_out = []
    while (address := addresses.find_free()) is not None:
        assert addresses.take(address)
        given_out.append(str(ipaddress.IPv4Address(address)))
    assert given_out == [f"192.168.1.{last}" for last in range(2, 7)]
    addresses.release(int(ipaddress.IPv4Address("192.168.1.3")))
    lowest = addresses.find_free()
    assert lowest == int(ipaddress.IPv4Address("192.168.1.3"))


@pytest.mark.parametrize("cidr", ["10.0.0.0/30", "10.0.0.0/31", "10.0.0.0/32"])
def test_a_full_network_assigns_no_address(cidr: str) -> None:
    addresses = AddressRange(ipaddress.IPv4Network(cidr))
    first = addresses.find_free()
    if first is not None:
        addresses.take(first)
    assert addresses.find_free() is None


def test_unused_networks_are_dropped() -> None:
    world = World()
    for number in range(20):
        made = world.running(machine(f"m{number}", interface("nic", f"net-{number}")))
        world.runtime.remove(RuntimeMachine, made.id)
        world.pass_seconds(10)
    world.host.run_due()
    assert world.host.state.networks._ranges == {}


def test_an_address_used_twice_is_free_after_both_released_it() -> None:
    addresses = AddressRange(ipaddress.IPv4Network("10.0.0.0/24"))
    address = addresses.find_free()
    assert address is not None
    assert addresses.take(address)
    assert not addresses.take(address)
    addresses.release(address)
    assert addresses.find_free() != address
    addresses.release(address)
    assert addresses.find_free() == address
    addresses.release(address)


def call_through(faults: FaultRules, call: str, effects: list[str]) -> str:
    try:
        with faults.wrap(call):
            effects.append(call)
    except errors.IRIError as error:
        return type(error).__name__
    return "fine"


def test_a_fault_hits_before_or_after_the_effect_of_a_call() -> None:
    faults = FaultRules(SeededRandom(1))
    faults.add(FaultRule(call="CreateMachine", code="UNAVAILABLE", times=1))
    faults.add(FaultRule(call="DeleteMachine", effect=FaultEffect.AFTER, code="DEADLINE_EXCEEDED", times=1))
    effects: list[str] = []
    assert call_through(faults, "CreateMachine", effects) == "Unavailable"
    assert effects == []
    assert call_through(faults, "DeleteMachine", effects) == "TimedOut"
    assert effects == ["DeleteMachine"]
    assert call_through(faults, "CreateMachine", effects) == "fine"
    assert faults.list_rules() == ()
    assert faults.calls() == {"CreateMachine": 2, "DeleteMachine": 1}


def test_a_fault_skips_and_hits_as_often_as_it_says() -> None:
    faults = FaultRules(SeededRandom(1))
    faults.add(FaultRule(call="*", code="INTERNAL", skip=2, times=3))
    answer = [call_through(faults, "Status", []) for _ in range(7)]
    assert answer == ["fine"] * 2 + ["Internal"] * 3 + ["fine"] * 2


def test_a_fault_hits_with_its_probability_and_the_same_way_for_a_seed() -> None:
    def run(seed: int) -> list[str]:
        faults = FaultRules(SeededRandom(seed))
        faults.add(FaultRule(code="UNAVAILABLE", probability=0.3))
        return [call_through(faults, "Status", []) for _ in range(500)]

    assert run(1) == run(1) != run(2)
    assert 100 < run(1).count("Unavailable") < 200


def test_a_slow_call_is_slow_and_waits_no_longer_once_released() -> None:
    faults = FaultRules(SeededRandom(1))
    faults.add(FaultRule(call="Status", delay_nanoseconds=50_000_000, times=1))
    start = time.monotonic()
    assert call_through(faults, "Status", []) == "fine"
    assert time.monotonic() - start >= 0.05
    faults.add(FaultRule(call="Status", delay_nanoseconds=3600 * SECOND_NS))
    faults.release()
    assert call_through(faults, "Status", []) == "fine"


@pytest.mark.parametrize(
    "wrong",
    [{"code": "TEAPOT"}, {"skip": -1}, {"times": -1}, {"delay_nanoseconds": -1}, {"probability": 1.5}],
)
def test_an_invalid_fault_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        FaultRule(**wrong)  # type: ignore[arg-type]


def test_a_fault_is_cleared_by_name_or_with_all() -> None:
    faults = FaultRules(SeededRandom(1))
    first = faults.add(FaultRule(code="INTERNAL"))
    faults.add(FaultRule(code="UNAVAILABLE"))
    faults.clear(first.id)
    assert call_through(faults, "Status", []) == "Unavailable"
    with pytest.raises(errors.NotFound):
        faults.clear(first.id)
    faults.clear()
    assert call_through(faults, "Status", []) == "fine"
