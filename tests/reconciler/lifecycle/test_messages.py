"""No message is read back: a fleet whose every message is another decides the same, tick by tick."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.rewording import Moment, differing, other_words, reword_moment
from tests.reconciler.lifecycle.test_lives import DRAIN, EPHEMERAL, FORCE, OFFICE
from tests.reconciler.world.scene import machine, pool, using, volume

TOLERANT = "  tolerations:\n    - {key: gitvirt.dev/drain, operator: Exists, tolerationSeconds: 30}\n"
LOCAL = "  volumes:\n    - name: root\n      localDisk: {}\n"
Act = Callable[[Fleet], None]


def put(**files: str | None) -> Act:
    def act(fleet: Fleet) -> None:
        fleet.source({f"{name.replace('_', '-')}.yaml": text for name, text in files.items()})

    return act


def rejecting(*names: str) -> Act:
    def act(fleet: Fleet) -> None:
        for host in fleet.hosts.values():
            host.rejects.update(names)

    return act


def silent(*names: str) -> Act:
    def act(fleet: Fleet) -> None:
        fleet.silent.update(names)

    return act


def fleet_of(**files: str) -> Fleet:
    hosts = (Host("a", machines=2), Host("b", machines=2))
    return Fleet({"office.yaml": OFFICE, **{f"{name}.yaml": text for name, text in files.items()}}, *hosts)


STORIES = {
    "drained within its toleration": (
        put(m=machine("m", TOLERANT, size="small")),
        put(pool_a=pool("a", DRAIN), pool_b=pool("b", DRAIN)),
    ),
    "drained and bound by a local disk": (
        put(m=machine("m", LOCAL)),
        put(pool_a=pool("a", DRAIN), pool_b=pool("b", DRAIN)),
        put(pool_a=pool("a", FORCE), pool_b=pool("b", FORCE)),
    ),
    "rejected by every pool": (rejecting("m", "n"), put(m=machine("m"), n=machine("n"))),
    "too large for any pool": (
        put(m=machine("m"), n=machine("n"), o=machine("o"), p=machine("p"), q=machine("q")),
    ),
    "on a pool without a heartbeat": (put(m=machine("m", EPHEMERAL)), silent("a", "b")),
    "deleted beyond the limit": (put(m=machine("m"), n=machine("n")), put(m=None, n=None)),
    "absent without proof": (put(m=machine("m")), put(m="- a list\n")),
    "blocked by a volume that another machine uses": (
        put(v=volume("v"), m=machine("m", using("v"))),
        put(n=machine("n", using("v"))),
    ),
    "frozen": (put(m=machine("m")), put(m="kind: [\n")),
}


@pytest.mark.parametrize("acts", STORIES.values(), ids=STORIES)
def test_other_messages_change_no_decision(acts: tuple[Act, ...]) -> None:
    fleet, words = fleet_of(), 0
    for act in acts:
        act(fleet)
        for _ in range(6):
            heartbeats_seen = dict(fleet.reconciler.world.reports.heartbeats_seen)
            fleet.tick(15)
            assert fleet.before is not None
            moment = Moment(fleet.store, fleet.before, heartbeats_seen, fleet.now)
            twin = reword_moment(moment)
            assert differing(moment.plan(), twin.plan()) == []
            words += twin.words() != moment.words()
            fleet.hosts_report()
    assert words, "the twin differs"


def test_the_twin_keeps_words_that_code_reads() -> None:
    status = {
        "conditions": [{"type": "Scheduled", "reason": "Placed", "message": "on a"}],
        "evict": {"reason": "it is drained"},
    }
    twin = other_words(status)
    assert twin["conditions"][0]["reason"] == "Placed"
    assert twin["conditions"][0]["message"] != "on a"
    assert twin["evict"]["reason"] != "it is drained"
