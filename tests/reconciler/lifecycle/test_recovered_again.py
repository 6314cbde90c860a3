"""A recovery that went wrong, because the source was not restored first: what is left then, and the way back that docs/operations.md has."""

from __future__ import annotations

import pytest

from schemas.kinds import Key, Kind
from tests.reconciler.lifecycle.restored import WEB, Restored, start_fleet
from tests.reconciler.lifecycle.test_rewound_deletions import read_accepted, recover_all
from tests.reconciler.world.scene import LIVE, MAIN, machine, using, volume

DATA = Key(Kind.VOLUME, "default", "data")


def recover_too_early(*, is_live_gone: bool) -> tuple[Restored, str]:
    """Web and its volume are declared after the backup, and people push the newest source only after the recovery. With the head of
    `live` before the recovery."""
    world = start_fleet()
    backup = {"live": world.heads[LIVE], "main": world.heads[MAIN]}
    world.source({"data.yaml": volume("data"), "web.yaml": machine("web", using("data"))})
    world.settle()
    newest = world.heads[MAIN]
    assert world.running("web") == ["a"]
    world.restore(**backup)
    if is_live_gone:
        put_back(world, "")
    world.fresh()
    recover_all(world)
    world.restore(main=newest)
    recover_all(world)
    return world, "" if is_live_gone else backup["live"]


def put_back(world: Restored, live: str) -> None:
    """As an administrator does it, by a forced push or by removing the branch."""
    if live:
        world.restore(live=live)
    else:
        del world.remote.refs[LIVE], world.heads[LIVE]


@pytest.mark.parametrize("is_live_gone", [False, True], ids=["rewound", "gone"])
def test_what_the_source_lacked_is_an_orphan_until_live_is_put_back_and_recovered_again(
    is_live_gone: bool,
) -> None:
    world, before = recover_too_early(is_live_gone=is_live_gone)
    a = world.hosts["a"]
    uids = {key: a.has[key][0] for key in (WEB, DATA)}
    made = {uid for uid, _ in a.made}
    reason, message = read_accepted(world, "web")
    assert reason == "OnAnotherHost"
    assert "docs/operations.md" in message
    assert world.pool_of("web") == ""
    put_back(world, before)
    recover_all(world)
    assert world.running("web") == ["a"]
    assert {key: a.has[key][0] for key in (WEB, DATA)} == uids
    assert world.machine("web").metadata.uid == uids[WEB]
    assert {uid for uid, _ in a.made} == made
