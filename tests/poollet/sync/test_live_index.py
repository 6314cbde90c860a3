"""`live` followed step by step: whatever the steps, it holds what a reading of the last commit alone would hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poollet.sync.live_index import LiveIndex
from poollet.sync.live_view import OrphanOrder, PoolGrant
from reconciler.gitstore.errors import DamageError
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import FileChange, Refs
from schemas.kinds import Key, Kind
from schemas.model import Machine, MachineClass
from tests.poollet.fleet import SETTINGS, Fleet, machine, machine_class, uid

SNAPSHOT = (
    "apiVersion: storage.ironcore.dev/v1alpha1\nkind: VolumeSnapshot\n"
    "metadata: {name: s1}\nspec: {volumeRef: {name: data}}\n"
)
DATA = (
    "apiVersion: storage.ironcore.dev/v1alpha1\nkind: Volume\nmetadata: {name: data}\n"
    "spec: {volumeClassRef: {name: standard}, resources: {storage: 1Gi}}\nstatus: {access: {driver: rbd, handle: h}}\n"
)
ENDING = ".gitvirt/deleting/MachinePool/a.yaml"
NEW_POOL = "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\nmetadata: {name: a}\n"
POOLS = [(Kind.MACHINE_POOL, "a"), (Kind.MACHINE_POOL, "b")]
WEB = Key(Kind.MACHINE, "default", "web")


class Counting:
    """A repo that counts what is read of it, and may be damaged."""

    def __init__(self, fleet: Fleet) -> None:
        self.repo = fleet.client(Refs())
        self.reads = 0
        self.breaks_at = 0

    def read(self, id: ObjectId) -> bytes:
        self.reads += 1
        if self.reads == self.breaks_at:
            raise DamageError("gone")
        return self.repo.read(id)

    def diff(self, old: ObjectId | None, new: ObjectId | None) -> Iterator[FileChange]:
        return self.repo.diff(old, new)


def describe(live: LiveIndex) -> dict[str, object]:
    """All that a reader can see of it."""
    view = live.view(POOLS)
    assert view is not None
    assert isinstance(view.objects, Mapping)
    mine = {(each.path, each.object.key, each.object.metadata.uid) for each in view.mine}
    classes = {found.name for found in live.all(MachineClass)}
    return {
        "objects": dict(view.objects),
        "mine": mine,
        "grants": dict(view.grants),
        "orphans": set(view.orphan_orders),
        "unread": set(view.unread),
        "settings": live.settings,
        "classes": classes,
        "volume users": deepcopy(vars(view.volume_users)),
    }


def granted_pool(name: str, host: str, epoch: int) -> str:
    return (
        NEW_POOL.replace("{name: a}", f"{{name: {name}}}")
        + f"status: {{host: {{id: {host}}}, epoch: {epoch}}}\n"
    )


def names(live: LiveIndex, pool: str) -> list[str]:
    view = live.view([(Kind.MACHINE_POOL, pool)])
    assert view is not None
    return sorted(each.object.name for each in view.mine)


def test_a_step_reads_only_what_changed() -> None:
    fleet = Fleet(
        {
            f"machines/m{number}.yaml": machine(f"m{number}", "a", uid(number), uid(number))
            for number in range(50)
        }
    )
    repo, live = Counting(fleet), LiveIndex()
    assert live.advance(repo, fleet.head())
    assert len(names(live, "a")) == 50
    repo.reads = 0
    assert live.advance(repo, fleet.commit({"machines/m7.yaml": machine("m7", "b", uid(7), uid(8))}))
    assert repo.reads == 1
    assert names(live, "b") == ["m7"]
    assert not live.advance(repo, fleet.head())
    assert repo.reads == 1


def test_an_object_in_the_deleting_folder_is_an_order_and_hides_no_other() -> None:
    old = machine("web", "a", uid(1), uid(11), more="  deletionTimestamp: '2026-05-04T12:00:00Z'\n")
    fleet = Fleet(
        {"web.yaml": machine("web", "a", uid(2), uid(12)), ".gitvirt/deleting/Machine/default/web.yaml": old}
    )
    live = LiveIndex()
    live.advance(Counting(fleet), fleet.head())
    found = live.get(WEB)
    assert isinstance(found, Machine)
    assert found.metadata.uid == uid(2)
    view = live.view(POOLS)
    assert view is not None
    assert {each.object.metadata.uid for each in view.mine} == {uid(1), uid(2)}


def test_a_kept_object_in_the_deleting_folder_hides_no_declared_one() -> None:
    """Another machine of its name waits for its end: that one has no uid yet."""
    path = ".gitvirt/deleting/Machine/default/web.yaml"
    fleet = Fleet({"web.yaml": machine("web"), path: machine("web", "a", uid(1), uid(11))})
    live = LiveIndex()
    live.advance(Counting(fleet), fleet.head())
    declared = live.get(WEB)
    assert declared is not None
    assert not declared.metadata.uid
    live.advance(Counting(fleet), fleet.commit({"web.yaml": None}))
    kept = live.get(WEB)
    assert kept is not None
    assert kept.metadata.uid == uid(1)


def test_a_pool_whose_deletion_is_ordered_keeps_its_grant_where_its_file_has_other_objects_now() -> None:
    """Without it, its host would delete nothing, and the pool would wait for that for ever."""
    fleet = Fleet(
        {ENDING: granted_pool("a", "h1", 2), "pools.yaml": granted_pool("b", "h2", 1) + "---\n" + NEW_POOL}
    )
    repo, live = Counting(fleet), LiveIndex()
    live.advance(repo, fleet.head())
    view = live.view(POOLS)
    assert view is not None
    assert view.grants == {
        (Kind.MACHINE_POOL, "a"): PoolGrant("h1", 2),
        (Kind.MACHINE_POOL, "b"): PoolGrant("h2", 1),
    }
    live.advance(repo, fleet.commit({ENDING: None}))
    view = live.view(POOLS)
    assert view is not None
    assert view.grants == {(Kind.MACHINE_POOL, "b"): PoolGrant("h2", 1)}


def test_a_file_that_no_longer_reads_keeps_its_last_good_state() -> None:
    fleet = Fleet({"web.yaml": machine("web", "a", uid(1), uid(11))})
    repo, live = Counting(fleet), LiveIndex()
    live.advance(repo, fleet.head())
    live.advance(repo, fleet.commit({"web.yaml": "kind: [\n", "gitvirt.yaml": "fleet: 1\n"}))
    assert live.get(WEB) is not None
    assert set(live.unreadable_files) == {"web.yaml", "gitvirt.yaml"}
    assert live.settings is not None
    live.advance(repo, fleet.commit({"web.yaml": machine("web"), "gitvirt.yaml": SETTINGS}))
    assert not live.unreadable_files
    assert not names(live, "a")


def test_a_step_that_cannot_be_read_whole_changes_nothing() -> None:
    fleet = Fleet({"web.yaml": machine("web", "a", uid(1), uid(11))})
    repo, live = Counting(fleet), LiveIndex()
    live.advance(repo, fleet.head())
    before, known = describe(live), live.commit
    head = fleet.commit(
        {"web.yaml": machine("web"), "more.yaml": machine("more"), "gitvirt.yaml": SETTINGS + "\n"}
    )
    repo.breaks_at = repo.reads + 2
    with pytest.raises(DamageError):
        live.advance(repo, head)
    assert describe(live) == before
    assert live.commit == known
    assert live.advance(repo, head)
    assert live.get(Key(Kind.MACHINE, "default", "more")) is not None


def test_what_is_ignored_counts_only_where_it_was_taken_up_before() -> None:
    fleet = Fleet({"try/web.yaml": machine("web"), "try/db.yaml": machine("db", "a", uid(1), uid(11))})
    repo, live = Counting(fleet), LiveIndex()
    live.advance(repo, fleet.head())
    assert live.get(WEB) is not None
    repo.reads = 0
    live.advance(repo, fleet.commit({".gitvirtignore": "try/\n"}))
    assert repo.reads == 1
    assert live.get(WEB) is None
    assert names(live, "a") == ["db"]
    live.advance(repo, fleet.commit({".gitvirtignore": None}))
    assert live.get(WEB) is not None


def test_of_two_documents_of_one_key_the_one_taken_up_counts() -> None:
    fleet = Fleet(
        {
            "a.yaml": machine_class(cpu="2"),
            "b.yaml": machine("web"),
            "c.yaml": machine("web", "a", uid(1), uid(2)),
        }
    )
    live = LiveIndex()
    live.advance(Counting(fleet), fleet.head())
    found = live.get(WEB)
    assert found is not None
    assert found.metadata.uid == uid(1)
    assert [each.name for each in live.all(MachineClass)] == ["small"]


def test_people_say_which_orphan_may_go() -> None:
    fleet = Fleet(
        {f".gitvirt/orphans/{uid(1)}.yaml": "pool: a\n", f".gitvirt/orphans/{uid(2)}.yaml": "yes\n"}
    )
    repo, live = Counting(fleet), LiveIndex()
    live.advance(repo, fleet.head())
    view = live.view(POOLS)
    assert view is not None
    assert view.orphan_orders == (OrphanOrder(uid(1), "a"),)
    assert not view.unread
    live.advance(repo, fleet.commit({f".gitvirt/orphans/{uid(1)}.yaml": None}))
    view = live.view(POOLS)
    assert view is not None
    assert not view.orphan_orders


FILES = (
    "a.yaml",
    "b.yaml",
    "x/c.yaml",
    ".gitvirt/deleting/Machine/default/web.yaml",
    ".gitvirtignore",
    ENDING,
)
TEXTS = (
    None,
    machine("web", "a", uid(1), uid(11)),
    machine("web", "b", uid(2), uid(12)),
    machine("db"),
    machine("db", spec="  volumes: [{name: data, volumeRef: {name: data}}]\n"),
    DATA,
    DATA.replace("handle: h", "handle: g"),
    granted_pool("a", "h1", 2),
    granted_pool("a", "h1", 2).replace("{name: a}", "{name: a, deletionTimestamp: '2026-05-04T12:00:00Z'}"),
    machine_class() + "---\n" + SNAPSHOT,
    "x/\n",
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(FILES), st.sampled_from(TEXTS), min_size=1), max_size=6))
def test_any_steps_lead_to_what_a_reading_of_the_last_commit_finds(
    steps: list[dict[str, str | None]],
) -> None:
    fleet = Fleet()
    repo, live = Counting(fleet), LiveIndex()
    live.advance(repo, fleet.head())
    for number, step in enumerate(steps):
        live.advance(repo, fleet.commit({**step, "README.md": str(number)}))
    fresh = LiveIndex()
    fresh.advance(repo, fleet.head())
    assert describe(live) == describe(fresh)
