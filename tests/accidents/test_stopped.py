"""Processes that stand still and go on, machines that are suspended, and clocks that are set: nothing runs twice, and nothing is lost.

The time of a timeout does not pass in these tests: the clocks of a process move on while it is frozen (`clocks.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.accidents.fleet import TIMEOUT_SECONDS, Fleet, fleet, machine, pinned

pytestmark = pytest.mark.early
HOUR_SECONDS = 3600.0
YEAR_SECONDS = 365 * 86400.0


@pytest.fixture
def hosts() -> Iterator[Fleet]:
    """One for each test: a test sets clocks, and the next one would see them."""
    with fleet("a", "b") as found:
        yield found


def expire(found: Fleet, *alive: str) -> None:
    """The heartbeat timeout is over for the reconciler, which was frozen meanwhile, and only these hosts reported."""
    control = found.reconcilers["control"]
    control.freeze()
    before = {name: found.head(f"refs/poollets/{name}") for name in alive}
    found.until(lambda: all(found.head(f"refs/poollets/{name}") != head for name, head in before.items()))
    control.clocks.pass_time(TIMEOUT_SECONDS + 10)
    control.thaw()


def test_a_poollet_that_stood_still_does_what_it_missed(hosts: Fleet) -> None:
    """Its heartbeat expires, and meanwhile people move one of its machines, and delete one."""
    names = ("stay", "move", "end")
    hosts.commit("three", {f"machines/{name}.yaml": machine(name, pinned("a")) for name in names})
    hosts.until(lambda: hosts.is_running(*names), "three machines")
    uids = {name: hosts.uid_of(name) for name in names}
    frozen = hosts.hosts["a"].poollet
    assert frozen is not None
    frozen.freeze()
    expire(hosts, "b")
    hosts.until(lambda: "reason: PoolLost" in hosts.live("machines/stay.yaml"), "unknown")
    assert "no heartbeat from pool a within its timeout" in hosts.live("machines/stay.yaml")
    hosts.may_end |= {uids["move"], uids["end"]}
    hosts.commit("move", {"machines/move.yaml": machine("move", pinned("b")), "machines/end.yaml": None})
    hosts.until(lambda: "deletionTimestamp" in hosts.live("machines/end.yaml"))
    hosts.run_machine("meanwhile")
    assert hosts.host_of("meanwhile") == ["b"]
    assert hosts.host_of("move") == ["a"]
    frozen.clocks.pass_time(TIMEOUT_SECONDS + 10)
    frozen.thaw()
    hosts.until(lambda: not hosts.live("machines/end.yaml"), "the end")
    # Host a reports the machine that it is to lose as running before it stops it.
    hosts.until(lambda: hosts.host_of("move") == ["b"], "moved")
    hosts.until(lambda: hosts.is_running("stay", "move"), "running again")
    assert (hosts.host_of("stay"), hosts.host_of("move")) == (["a"], ["b"])
    assert hosts.hosts["a"].machines[uids["stay"]].detail.boots == 1


def test_a_reconciler_that_stood_still_moves_nothing(hosts: Fleet) -> None:
    hosts.run_machine("quiet", pinned("b"))
    before = hosts.head("refs/heads/live")
    expire(hosts, "a", "b")
    hosts.run_machine("after-the-freeze")
    assert hosts.is_running("quiet")
    assert "Unknown" not in hosts.words_since(before)


def test_an_outage_of_the_git_server_is_not_taken_for_the_silence_of_hosts(hosts: Fleet) -> None:
    """The reconciler reaches it first, and people have stated that a host is destroyed, because they could not see it."""
    hosts.run_machine("calm", pinned("a"))
    before, control = hosts.head("refs/heads/live"), hosts.reconcilers["control"]
    poollets = [one.poollet for one in hosts.hosts.values() if one.poollet]
    for poollet in poollets:
        poollet.freeze()
    # A tick that reads this has read all that they pushed: else it would be taken for a report after the outage.
    last = hosts.commit("the hosts stand still", {"README.md": "still"})
    hosts.until(lambda: last in hosts.words_since(before), "a tick")
    away, since = hosts.repo.with_name("away.git"), len(control.log_text)
    hosts.repo.rename(away)
    hosts.until(lambda: "cannot reconcile" in control.log_text[since:], "what the reconciler says")
    control.clocks.pass_time(TIMEOUT_SECONDS + 10)
    away.rename(hosts.repo)
    hosts.commit("a is gone, I think", {}, "Pool-Destroyed: a=id-a")
    answer = "WaitingForHeartbeatTimeout"
    hosts.until(lambda: answer in hosts.live(".gitvirt/pools/a.yaml"), "the wait for host a")
    for poollet in poollets:
        poollet.thaw()
    hosts.until(lambda: "HostStillReporting" in hosts.live(".gitvirt/pools/a.yaml"), "the answer")
    hosts.run_machine("after-the-outage", pinned("a"))
    assert hosts.is_running("calm")
    assert "FENCE" not in hosts.words_since(before)
    assert "Unknown" not in hosts.words_since(before)


def test_machines_that_were_suspended_together_go_on(hosts: Fleet) -> None:
    """CLOCK_MONOTONIC stood still on all of them; the time of day went on."""
    hosts.run_machine("asleep", pinned("a"))
    before = hosts.head("refs/heads/live")
    members = [*hosts.reconcilers.values(), *(one.poollet for one in hosts.hosts.values() if one.poollet)]
    for one in members:
        one.freeze()
    for one in members:
        one.clocks.suspend(8 * HOUR_SECONDS)
        one.thaw()  # the reconciler first
    hosts.run_machine("after-the-night")
    assert hosts.is_running("asleep")
    assert "Unknown" not in hosts.words_since(before)


@pytest.mark.parametrize("seconds", [YEAR_SECONDS, -2 * YEAR_SECONDS], ids=["forward", "back"])
def test_a_host_whose_clock_is_wrong_stays_alive(hosts: Fleet, seconds: float) -> None:
    """A wrong statement that it was destroyed has no effect either, whatever its clock says."""
    way = "forward" if seconds > 0 else "back"
    poollet = hosts.hosts["a"].poollet
    assert poollet is not None
    poollet.clocks.set_time(seconds)
    hosts.run_machine(f"wrong-{way}", pinned("a"))
    assert abs(hosts.report_time("a") - poollet.clocks.time()) < HOUR_SECONDS < abs(seconds)
    uid = hosts.uid_of(f"wrong-{way}")
    hosts.commit("a is gone", {}, "Pool-Destroyed: a=id-a")
    hosts.until(lambda: "HostStillReporting" in hosts.live(".gitvirt/pools/a.yaml"), "the answer")
    assert hosts.is_running(f"wrong-{way}")
    poollet.clocks.set_time(-seconds)
    hosts.run_machine(f"right-{way}", pinned("a"))
    assert hosts.hosts["a"].machines[uid].detail.boots == 1


@pytest.mark.parametrize("seconds", [HOUR_SECONDS, -HOUR_SECONDS], ids=["forward", "back"])
def test_a_reconciler_whose_clock_is_set_goes_on(hosts: Fleet, seconds: float) -> None:
    way = "forward" if seconds > 0 else "back"
    clocks = hosts.reconcilers["control"].clocks
    before = hosts.head("refs/heads/live")
    clocks.set_time(seconds)
    hosts.run_machine(f"set-{way}", pinned("b"))
    clocks.set_time(-seconds)
    hosts.run_machine(f"set-{way}-again", pinned("a"))
    assert "Unknown" not in hosts.words_since(before)
