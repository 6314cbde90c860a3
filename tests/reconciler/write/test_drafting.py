"""Which bytes end up where on the target branch."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from reconciler.gitstore.repo import ExistingBlob
from reconciler.plan.types import Action, Change
from reconciler.world.record import NOTHING, Record
from schemas.edit.fields import Value
from schemas.kinds import Key, Kind
from schemas.model import Assignment, MachineStatus
from tests.reconciler.write.site import Site

PLACED = Record(
    uid="u-1",
    pool="rack-a1",
    status=MachineStatus(assignment=Assignment(pool="rack-a1", id="a-1"), state="Running"),
)
ORDERED = msgspec.structs.replace(PLACED, deletion_timestamp="2030-01-01T00:00:00Z")


def key(name: str, kind: Kind = Kind.MACHINE) -> Key:
    return Key(kind, "default", name)


def machine(name: str, *, pool: str = "", status: str = "", uid: str = "", gone: str = "") -> str:
    lines = [
        "apiVersion: compute.ironcore.dev/v1alpha1",
        "kind: Machine",
        "metadata:",
        f"  name: {name} # mine",
    ]
    lines += [f"  uid: {uid}"] * bool(uid) + [f'  deletionTimestamp: "{gone}"'] * bool(gone)
    lines += ["spec:", "  machineClassRef: {name: small}"]
    lines += ["  machinePoolRef:", f"    name: {pool}"] * bool(pool)
    return "\n".join(lines) + "\n" + status


STATUS = "status:\n  state: Running\n  assignment:\n    pool: rack-a1\n    id: a-1\n"
LIVE = machine("web", pool="rack-a1", status=STATUS, uid="u-1")
LEAVING = machine("web", pool="rack-a1", status=STATUS, uid="u-1", gone="2030-01-01T00:00:00Z")
GENERATED = ".gitvirt/generated/Volume/default/web-root.yaml"
VOLUME: dict[str, Value] = {
    "apiVersion": "storage.ironcore.dev/v1alpha1",
    "kind": "Volume",
    "metadata": {"name": "web-root", "namespace": "default"},
    "spec": {"volumeClassRef": {"name": "fast"}, "resources": {"storage": "10Gi"}},
}


def test_a_placed_machine_keeps_what_people_wrote() -> None:
    site = Site({"m/web.yaml": machine("web")}, {})
    change = Change(key("web"), Action.SCHEDULE, None, PLACED)
    assert site.live_after(change) == {"m/web.yaml": LIVE}
    assert Site({"m/web.yaml": machine("web")}, {"m/web.yaml": LIVE}).write().draft is None


def test_only_paths_that_are_concerned_are_looked_at() -> None:
    site = Site({"m/web.yaml": machine("web"), "m/other.yaml": machine("other")}, {})
    written = site.write(Change(key("web"), Action.SCHEDULE, None, PLACED), paths=())
    assert written.draft is not None
    assert set(written.draft.edits) == {"m/web.yaml"}


def test_what_people_changed_is_taken_over_with_what_is_kept_about_it() -> None:
    edited = machine("web").replace("# mine", "# yours")
    site = Site({"m/web.yaml": edited}, {"m/web.yaml": LIVE})
    assert site.live_after() == {"m/web.yaml": LIVE.replace("# mine", "# yours")}


def test_status_that_people_write_is_replaced() -> None:
    site = Site({"m/web.yaml": machine("web", status="status:\n  state: Terminated\n")}, {})
    assert site.live_after(Change(key("web"), Action.SYNC, None, Record(uid="u"))) == {
        "m/web.yaml": machine("web", uid="u")
    }


def test_a_pin_stays_and_a_reference_of_ours_goes() -> None:
    cleared = Record(uid="u-1", status=MachineStatus())
    pinned = Site({"m/web.yaml": machine("web", pool="rack-a1")}, {"m/web.yaml": LIVE})
    assert pinned.live_after(Change(key("web"), Action.WITHDRAW, PLACED, cleared)) == {
        "m/web.yaml": machine("web", pool="rack-a1", uid="u-1")
    }
    free = Site({"m/web.yaml": machine("web")}, {"m/web.yaml": LIVE})
    assert free.live_after(Change(key("web"), Action.WITHDRAW, PLACED, cleared)) == {
        "m/web.yaml": machine("web", uid="u-1")
    }


def test_a_malformed_file_leaves_the_last_good_text_where_status_goes_on() -> None:
    site = Site({"m/web.yaml": machine("web")}, {"m/web.yaml": LIVE}, frozen=frozenset({"m/web.yaml"}))
    assert site.write().draft is None
    stopped = msgspec.structs.replace(
        PLACED, status=MachineStatus(state="Shutdown", assignment=PLACED.assignment)
    )
    after = site.live_after(Change(key("web"), Action.STATUS, PLACED, stopped))
    assert after == {"m/web.yaml": LIVE.replace("Running", "Shutdown")}


def test_a_malformed_file_that_is_new_is_not_taken_over() -> None:
    site = Site({"m/web.yaml": "a: [", "m/ok.yaml": machine("ok")}, {}, frozen=frozenset({"m/web.yaml"}))
    assert set(site.live_after()) == {"m/ok.yaml"}


def test_an_object_that_left_stays_at_its_path_until_it_is_gone() -> None:
    site = Site({}, {"m/web.yaml": LIVE})
    assert site.write().draft is None
    assert site.live_after(Change(key("web"), Action.MARK_DELETED, PLACED, ORDERED)) == {
        "m/web.yaml": LEAVING
    }
    assert (
        Site({}, {"m/web.yaml": LEAVING}).live_after(Change(key("web"), Action.REMOVE, ORDERED, None)) == {}
    )


@pytest.mark.parametrize(
    ("source", "path"),
    [
        pytest.param({"m/web.yaml": machine("other")}, "m/web.yaml", id="another object there"),
        pytest.param({"m/web.yaml/x.yaml": machine("other")}, "m/web.yaml/x.yaml", id="a folder there"),
        pytest.param({"m": "text"}, "m", id="a file in place of its folder"),
    ],
)
def test_an_object_that_left_makes_room_for_what_takes_its_path(source: dict[str, str], path: str) -> None:
    site = Site(source, {"m/web.yaml": LIVE})
    after = site.live_after(Change(key("web"), Action.MARK_DELETED, PLACED, ORDERED))
    assert after == {path: source[path], ".gitvirt/deleting/Machine/default/web.yaml": LEAVING}


def test_what_is_declared_again_waits_until_its_old_self_is_gone() -> None:
    site = Site(
        {"m/web.yaml": machine("web") + "---\n" + machine("b")},
        {"m/web.yaml": LEAVING},
        ordered=frozenset({key("web")}),
    )
    assert site.live_after() == {
        "m/web.yaml": "---\n" + machine("b"),
        ".gitvirt/deleting/Machine/default/web.yaml": LEAVING,
    }


def test_a_document_that_leaves_a_file_that_stays_goes_to_a_file_of_its_own() -> None:
    live = LIVE + "---\n" + machine("b", uid="u-2")
    site = Site({"m/all.yaml": machine("b")}, {"m/all.yaml": live})
    assert site.live_after(Change(key("web"), Action.MARK_DELETED, PLACED, ORDERED)) == {
        "m/all.yaml": machine("b", uid="u-2"),
        ".gitvirt/deleting/Machine/default/web.yaml": LEAVING,
    }


def test_one_of_two_that_left_together_goes_first() -> None:
    live = LEAVING + "---\n" + LEAVING.replace("name: web", "name: b").replace("u-1", "u-2")
    site = Site({}, {"m/all.yaml": live})
    after = site.live_after(Change(key("web"), Action.REMOVE, ORDERED, None))
    assert after == {"m/all.yaml": "---\n" + LEAVING.replace("name: web", "name: b").replace("u-1", "u-2")}


def test_an_object_that_moved_to_another_file_takes_what_is_kept_along() -> None:
    site = Site({"n/web.yaml": machine("web")}, {"m/web.yaml": LIVE})
    assert site.live_after() == {"n/web.yaml": LIVE}


def test_an_object_that_cannot_be_written_into_its_new_file_stays_in_its_old_one() -> None:
    metadata = "{name: web, annotations: {a: '" + "x" * (1 << 20) + "'}}"
    head = "{apiVersion: compute.ironcore.dev/v1alpha1, kind: Machine, metadata: "
    hard = f"{head}{metadata}, spec: {{machineClassRef: {{name: small}}}}}}\n"
    site = Site({"n/web.yaml": hard, "n/b.yaml": machine("b")}, {"m/web.yaml": LIVE})
    written = site.write()
    assert [problem.code for problem in written.problems] == ["GV706"]
    assert site.live_after() == {"m/web.yaml": LIVE, "n/b.yaml": machine("b")}


def test_other_files_are_taken_over_unread_and_go_when_they_go() -> None:
    site = Site({"README.md": "hello", ".gitvirt/orphans/x.yaml": "uid: x"}, {"old.txt": "old"})
    written = site.write()
    assert written.draft is not None
    assert {path: isinstance(edit, ExistingBlob) for path, edit in written.draft.edits.items()} == {
        "README.md": True,
        ".gitvirt/orphans/x.yaml": True,
        "old.txt": False,
    }


def test_people_write_nothing_into_the_reconcilers_own_folder() -> None:
    assert Site({".gitvirt/pools/evil.yaml": "a: 1"}, {}).write().draft is None


def test_generated_objects_have_files_of_their_own() -> None:
    site = Site({}, {})
    change = Change(key("web-root", Kind.VOLUME), Action.GENERATE, None, Record(uid="u-2"), body=VOLUME)
    after = site.live_after(change)
    assert list(after) == [GENERATED]
    assert "  uid: u-2\n" in after[GENERATED]
    again = Site({}, after)
    assert again.write().draft is None
    assert again.live_after(Change(change.key, Action.REMOVE, Record(uid="u-2"), None)) == {}


def test_two_pools_of_one_name_share_a_file() -> None:
    bodies: dict[Kind, dict[str, Value]] = {
        kind: {
            "apiVersion": f"{group}.ironcore.dev/v1alpha1",
            "kind": kind.value,
            "metadata": {"name": "host-1"},
            "spec": {},
        }
        for kind, group in ((Kind.MACHINE_POOL, "compute"), (Kind.VOLUME_POOL, "storage"))
    }
    changes = [
        Change(Key(kind, "", "host-1"), Action.ANNOUNCE, None, NOTHING, body=body)
        for kind, body in bodies.items()
    ]
    after = Site({}, {}).live_after(*changes)
    assert list(after) == [".gitvirt/pools/host-1.yaml"]
    assert [key.kind for _, key in Site({}, after).live.documents(".gitvirt/pools/host-1.yaml")] == list(
        bodies
    )


def test_a_retained_volume_moves_with_all_that_was_written() -> None:
    text = "apiVersion: storage.ironcore.dev/v1alpha1\nkind: Volume\nmetadata:\n  name: data # keep\nspec:\n  volumeClassRef: {name: fast}\n  resources: {storage: 1Gi}\n"
    site = Site({}, {"v/data.yaml": text})
    after = site.live_after(Change(key("data", Kind.VOLUME), Action.RETAIN, NOTHING, NOTHING))
    assert after == {".gitvirt/retained/Volume/default/data.yaml": text}


def test_a_commit_of_people_is_recorded_even_if_it_changes_nothing() -> None:
    site = Site({"m/web.yaml": machine("web")}, {"m/web.yaml": LIVE})
    written = site.write(is_news=True)
    assert written.draft is not None
    assert (written.draft.edits, written.draft.even_if_unchanged, written.draft.message) == (
        {},
        True,
        "sync main",
    )
    assert dataclasses.replace(written.draft, time=written.draft.time).source == site.source_commit


def test_what_others_changed_on_live_is_left_behind_by_drafting_on_the_last_own_commit() -> None:
    site = Site({}, {"web.yaml": machine("web")}, head="8" * 40, foreign_edits=("web.yaml",))
    found = site.write(paths=()).draft
    assert found is not None
    assert (found.base, found.expected, found.edits) == ("7" * 40, "8" * 40, {})
    assert found.message == "put back web.yaml, which Mallory changed in 8888888888"
