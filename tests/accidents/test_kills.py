"""Processes that the kernel ends at any moment, and processes that get no more memory: what they were about comes about once."""

from __future__ import annotations

import random
import resource
from functools import partial
from pathlib import Path

import pytest

from tests.accidents.fleet import Fleet, Member, fleet, machine, pinned, volume, with_volume

pytestmark = pytest.mark.early
KILLS = 8
FILES = {
    **{f"machines/web-{number}.yaml": machine(f"web-{number}") for number in range(4)},
    "machines/db.yaml": machine("db", pinned("a") + with_volume("data")),
    "volumes/data.yaml": volume("data"),
}
NAMES = tuple(Path(path).stem for path in FILES if path.startswith("machines/"))


def count_events(found: Fleet) -> int:
    """Calls of hosts, and commits on live: the moments at which something happens."""
    calls = sum(sum(host.server.faults.calls().values()) for host in found.hosts.values())
    return calls + len(found.words_since("").splitlines())


def let_happen(found: Fleet, events: int) -> None:
    start = count_events(found)
    found.until(lambda: count_events(found) >= start + events, "events")


def restart(found: Fleet, name: str) -> None:
    """As the kernel ends it, and its supervisor starts it again."""
    if name in found.hosts:
        member = found.hosts[name].poollet
        assert member is not None
        member.kill()
        found.start_poollet(name)
    else:
        found.reconcilers[name].kill()
        found.start_reconciler(name)


def test_what_is_killed_at_any_moment_goes_on_where_it_was() -> None:
    chance = random.Random(5)
    with fleet("a", "b") as found:
        found.commit("all", FILES)
        for _ in range(KILLS):
            let_happen(found, chance.randrange(1, 12))
            restart(found, chance.choice(("a", "b", "control")))
        found.until(lambda: found.is_running(*NAMES), "all machines")
        boots = [one.detail.boots for host in found.hosts.values() for one in host.machines.values()]
        assert boots == [1] * len(NAMES)
        found.may_end |= {found.uid_of("web-0"), found.uid_of("web-1")}
        removed = {"machines/web-0.yaml": None, "machines/web-1.yaml": None}
        found.commit("two fewer", removed)
        for _ in range(KILLS):
            let_happen(found, chance.randrange(1, 12))
            restart(found, chance.choice(("a", "b", "control")))
        found.until(lambda: not any(map(found.live, removed)), "the end of two")
        found.until(lambda: found.is_running(*NAMES[2:]), "the others")
        assert sum(len(host.machines) for host in found.hosts.values()) == len(NAMES) - 2


def size_of(member: Member) -> int:
    pages = int(Path(f"/proc/{member.process.pid}/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def suffers(member: Member, since: int) -> bool:
    """It has ended, or said in its log what it could not do."""
    return member.process.poll() is not None or " warning " in member.log_text[since:]


def test_a_process_without_memory_ends_or_goes_on_once_it_has_some() -> None:
    """Each in turn may get no byte more while it has work."""
    with fleet("a", "b") as found:
        found.run_machine("before", pinned("a"))
        for name in ("a", "control"):
            member = found.hosts[name].poollet if name in found.hosts else found.reconcilers[name]
            assert member is not None
            limit = resource.RLIMIT_AS
            _, most = resource.prlimit(member.process.pid, limit)
            resource.prlimit(member.process.pid, limit, (size_of(member), most))
            many = {f"machines/{name}-{number}.yaml": machine(f"{name}-{number}") for number in range(20)}
            found.commit("work", many)
            found.until(partial(suffers, member, len(member.log_text)), "what the lack of memory does")
            if member.process.poll() is None:
                resource.prlimit(member.process.pid, limit, (most, most))
            else:
                restart(found, name)
            found.until(partial(found.is_running, *(Path(one).stem for one in many)), f"work of {name}")
        assert found.is_running("before")
