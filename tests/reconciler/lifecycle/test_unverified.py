"""What leaves the source in a way that may not be meant: it is held for as long as the doubt lasts, not for one tick."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.gitstore.objects.tree import FileMode
from reconciler.gitstore.repo import ExistingBlob
from reconciler.loop.outcome import NoChange
from reconciler.world.record import DELETION_HELD
from schemas.kinds import Key, Kind
from schemas.model import MachinePool
from schemas.report import Report, objects
from tests.reconciler.lifecycle.hosts import Fleet, Host
from tests.reconciler.lifecycle.test_lives import EPHEMERAL, OFFICE, OTHERS, WEB, fleet
from tests.reconciler.world.scene import MAIN, SETTINGS, SMALL, machine, pool, using, volume

JSON = '{"kind": "Machine", "metadata": {"name": "web"}}\n'
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
LISTED = "- apiVersion: compute.ironcore.dev/v1alpha1\n  kind: Machine\n  metadata: {name: web}\n"
COMMENTED = "".join(f"# {line}\n" for line in machine("web").splitlines())
FOREIGN = "apiVersion: kubevirt.io/v1\nkind: VM\nmetadata: {name: another}\n"


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({".gitvirtignore": "web.yaml\n"}, id="newly ignored"),
        pytest.param({"web.yaml": POINTER}, id="a pointer to a large file"),
        pytest.param({"web.yaml": LISTED}, id="a list"),
        pytest.param({"web.yaml": FOREIGN}, id="of another kind and name"),
        pytest.param({"web.yaml": ""}, id="empty"),
        pytest.param({"web.yaml": " \n\n"}, id="only whitespace"),
        pytest.param({"web.yaml": "\ufeff"}, id="only a byte order mark"),
        pytest.param({"web.yaml": "---\n"}, id="only a separator"),
        pytest.param({"web.yaml": "---\n---\n...\n"}, id="only separators"),
        pytest.param({"web.yaml": "null\n"}, id="null"),
        pytest.param({"web.yaml": "[]\n"}, id="an empty list"),
        pytest.param({"web.yaml": "{}\n"}, id="an empty mapping"),
        pytest.param({"web.yaml": COMMENTED}, id="commented out"),
    ],
)
def test_a_file_that_says_something_else_now_deletes_nothing(files: dict[str, str]) -> None:
    world = fleet(web=machine("web"))
    before = world.machine("web")
    world.source(files)
    world.settle()
    held = world.machine("web")
    assert not held.metadata.is_deleting
    assert (held.metadata.uid, held.status.assignment) == (before.metadata.uid, before.status.assignment)
    assert "AbsenceUnverified" in {each.reason for each in held.status.conditions}
    world.reconciler = world.another()
    assert isinstance(world.tick(), NoChange)
    # Nothing but to remove the file says that it is meant.
    world.source({"web.yaml": None})
    world.settle()
    assert WEB not in world.objects()


def test_an_emptied_file_holds_through_other_commits_and_a_restart() -> None:
    world = fleet(web=f"{machine('web')}---\n{machine('db')}")
    world.source({"web.yaml": ""})
    world.settle()
    world.reconciler = world.another()
    world.source({"new.yaml": machine("new")})
    world.settle()
    (held,) = world.plans[-1].pending_approvals
    assert {key.name for key in held.keys} == {"web", "db"}
    assert held.reason == (
        "web.yaml still exists, but declares nothing; put its documents back, or delete the file to confirm the removal"
    )
    assert not any(each.metadata.is_deleting for each in world.objects().values())
    world.source({"web.yaml": machine("web")})
    world.settle()
    assert "db" not in {key.name for key in world.objects()}
    assert DELETION_HELD not in {each.type for each in world.machine("web").status.conditions}


def test_a_document_that_left_a_file_with_others_is_deleted() -> None:
    world = fleet(web=f"{machine('web')}---\n{machine('db')}")
    world.source({"web.yaml": machine("db")})
    world.settle()
    assert WEB not in world.objects()


RENAMED = [
    pytest.param("web.yaml.gpg", "\x85\x01\x0c", id="encrypted"),
    pytest.param("web.yaml.bak", machine("web"), id="a backup"),
    pytest.param("web.yaml.disabled", machine("web"), id="disabled"),
    pytest.param("web.yaml~", "", id="an editor's backup"),
    pytest.param("web.yaml_off", machine("web"), id="a suffix without a dot"),
    pytest.param("web.gpg", "\x85\x01\x0c", id="encrypted under another ending"),
    pytest.param(".web.yaml", machine("web"), id="hidden"),
    pytest.param("attic/old.txt", machine("web"), id="a name that is not read"),
    pytest.param("attic/old.json.txt", JSON, id="JSON under a name that is not read"),
    pytest.param(".attic/web.yaml", machine("web"), id="a folder that is not read"),
    pytest.param("attic/web.yaml", machine("web"), id="an ignored folder"),
    pytest.param("all.yaml", COMMENTED, id="renamed and commented out"),
    pytest.param("all.yaml", "", id="renamed and emptied"),
    pytest.param("all.yaml", "[]\n", id="renamed and an empty list"),
]


@pytest.mark.parametrize(("path", "text"), RENAMED)
def test_a_file_that_is_renamed_to_one_that_declares_nothing_deletes_nothing(path: str, text: str) -> None:
    world = fleet(web=machine("web"))
    world.source({".gitvirtignore": "/attic/*.yaml\n"})
    world.settle()
    world.source({"web.yaml": None, path: text, "new.yaml": machine("new")})
    world.settle()
    world.reconciler = world.another()
    world.source({"db.yaml": machine("db"), "other0.yaml": None})
    world.settle()
    assert "other0.yaml" not in world.texts()
    assert not world.machine("web").metadata.is_deleting
    (held,) = world.plans[-1].pending_approvals
    assert held.keys == (WEB,)
    assert held.reason == (
        f"web.yaml is gone, but {path} may be what became of it; put web.yaml back, or delete {path} too to confirm the removal"
    )
    world.reconciler = world.another()
    assert isinstance(world.tick(), NoChange)
    world.source({path: None})
    world.settle()
    assert WEB not in world.objects()


@pytest.mark.parametrize(("path", "text"), RENAMED)
def test_a_renamed_file_that_is_put_back_goes_on(path: str, text: str) -> None:
    world = fleet(web=machine("web"))
    before = world.machine("web")
    world.source({"web.yaml": None, path: text, ".gitvirtignore": "/attic/*.yaml\n"})
    world.settle()
    world.reconciler = world.another()
    world.source({"web.yaml": machine("web")})
    world.settle()
    assert world.machine("web").metadata.uid == before.metadata.uid
    assert world.machine("web").status.conditions == before.status.conditions
    assert world.texts()[path] == text


SUFFIXED = [each for each in RENAMED if str(each.values[0]).startswith("web.yaml")]


@pytest.mark.parametrize(("path", "text"), SUFFIXED)
def test_a_backup_that_was_there_before_holds_no_deletion(path: str, text: str) -> None:
    world = fleet(web=machine("web"))
    world.source({path: text})
    world.settle()
    assert world.texts()[path] == text
    world.source({"new.yaml": machine("new")})
    world.settle()
    world.source({"web.yaml": None})
    world.settle()
    assert WEB not in world.objects()


def test_a_backup_that_was_there_before_holds_no_deletion_of_what_has_no_conditions() -> None:
    world = fleet(small=SMALL.replace("name: small", "name: unused"))
    world.source({"small.yaml.bak": SMALL})
    world.settle()
    world.source({"small.yaml": None})
    world.settle()
    assert "small.yaml" not in world.texts()


@pytest.mark.parametrize(("path", "text"), SUFFIXED)
def test_a_backup_that_changes_with_the_removal_deletes_nothing(path: str, text: str) -> None:
    world = fleet(web=machine("web"))
    world.source({path: "before"})
    world.settle()
    world.source({path: text, "web.yaml": None})
    world.settle()
    assert not world.machine("web").metadata.is_deleting
    assert world.texts()[path] == "before"
    world.reconciler = world.another()
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert not world.machine("web").metadata.is_deleting
    world.source({"web.yaml": machine("web")})
    world.settle()
    assert world.texts()[path] == text


def test_a_new_file_about_something_else_does_not_hold_a_deletion() -> None:
    world = fleet(web=machine("web"))
    others = {
        "README.md": "the machine web is gone: kind regards\n",
        "chart.yaml": FOREIGN,
        "db.yaml": machine("db"),
    }
    world.source({"web.yaml": None, **others})
    world.settle()
    assert WEB not in world.objects()


def test_what_was_unverified_and_is_declared_again_goes_on() -> None:
    world = fleet(web=machine("web"))
    before = world.machine("web")
    world.source({"web.yaml": POINTER})
    world.settle()
    world.source({"web.yaml": machine("web", "  priority: 3\n")})
    world.settle()
    after = world.machine("web")
    assert after.spec.priority == 3
    assert (after.metadata.uid, after.status.assignment) == (before.metadata.uid, before.status.assignment)
    assert after.status.conditions == before.status.conditions


def test_what_was_unverified_may_move_to_another_file() -> None:
    world = fleet(web=machine("web"))
    before = world.machine("web")
    world.source({"web.yaml": POINTER})
    world.settle()
    world.source({"moved.yaml": machine("web")})
    world.settle()
    assert world.texts()["web.yaml"] == POINTER
    assert world.machine("web").metadata.uid == before.metadata.uid


def test_a_folder_that_becomes_a_link_deletes_nothing() -> None:
    world = Fleet({**OTHERS, "team/web.yaml": machine("web"), "to": "elsewhere"}, Host("a"), Host("b"))
    world.settle()
    (target,) = [file.id for file in world.store.files(world.heads[MAIN]) if file.path == "to"]
    world._commit(MAIN, {"team/web.yaml": None, "team": ExistingBlob(FileMode.LINK, target)}, {})
    world.settle()
    assert WEB in world.objects()
    assert not world.machine("web").metadata.is_deleting
    world.source({"team": None})
    world.settle()
    assert WEB not in world.objects()


def test_a_paused_machine_keeps_what_it_brought_along() -> None:
    paused = '  annotations: {gitvirt.dev/paused: "true"}\n'
    more = {f"data{number}.yaml": volume(f"data{number}") for number in range(4)}
    world = Fleet({**OTHERS, **more, "web.yaml": machine("web", EPHEMERAL), "office.yaml": OFFICE}, Host("a"))
    world.settle()
    world.source({"web.yaml": machine("web", "", paused)})
    world.settle()
    assert not world.volume("web-data").metadata.is_deleting
    world.source({"web.yaml": machine("web")})
    world.settle()
    assert world.volume("web-data").metadata.is_deleting


def test_a_machine_does_not_leave_its_pool_for_one_that_is_full() -> None:
    files = {**OTHERS, "web.yaml": machine("web", "  machinePoolRef:\n    name: a\n")}
    world = Fleet(files, Host("a"), Host("b", machines=1), Host("c"))
    world.source({"last.yaml": machine("last", "  machinePoolRef:\n    name: b\n")})
    world.settle()
    assert world.pool_of("last") == "b"
    world.source({"web.yaml": machine("web", "  machinePoolRef:\n    name: b\n")})
    world.settle()
    assert world.pool_of("web") == "a"
    assert world.machine("web").status.state == "Running"
    world.source({"last.yaml": None})
    world.settle()
    world.settle(seconds=11)
    assert world.pool_of("web") == "b"


CORDON = "spec:\n  unschedulable: true\n"
TAINT = "spec:\n  taints:\n    - {key: repair, effect: NoSchedule}\n"
NOT_BLUE = "  machinePoolSelector: {zone: blue}\n"


@pytest.mark.parametrize(
    ("spec", "labels", "wants"),
    [
        pytest.param(CORDON, "{}", "", id="a cordon"),
        pytest.param(TAINT, "{}", "", id="a taint"),
        pytest.param("", "{zone: red}", NOT_BLUE, id="a label in place of the host's"),
    ],
)
@pytest.mark.parametrize(
    "moved",
    [
        pytest.param({"pools.yaml": None, "infra.yaml": "a: [\n"}, id="to a file that cannot be read"),
        pytest.param({"pools.yaml": None, "pools.yaml.gpg": "\x85\x01\x0c"}, id="to an encrypted file"),
        pytest.param({"pools.yaml": "---\n"}, id="from a file that is empty now"),
        pytest.param({".gitvirtignore": "pools.yaml\n"}, id="to the ignored files"),
    ],
)
def test_a_pool_that_may_still_be_declared_is_as_it_was_declared(
    moved: dict[str, str | None], spec: str, labels: str, wants: str
) -> None:
    """Its host announces it, and that is enough for a pool; but not to lift what people said of it."""
    hosts = [Host(name, labels={"zone": "blue"}) for name in ("a", "b")]
    declared = "---\n".join(pool(host.name, spec, labels) for host in hosts)
    world = Fleet({**OTHERS, "small.yaml": SMALL, "pools.yaml": declared}, *hosts)
    world.settle()
    before = pools_of(world)
    world.source({**moved, "web.yaml": machine("web", wants)})
    world.tick()
    assert world.pool_of("web") == ""
    (held,) = world.plans[-1].pending_approvals
    assert held.keys == tuple(before)
    world.reconciler = world.another()
    world.settle()
    world.source({"new.yaml": machine("new", wants)})  # another commit, which changes nothing about that
    world.settle()
    assert (world.pool_of("web"), world.pool_of("new")) == ("", "")
    for key, found in pools_of(world).items():
        assert (found.spec, found.metadata.labels) == (before[key].spec, before[key].metadata.labels)
        shown = {each.type: each for each in found.status.conditions}
        assert (shown[DELETION_HELD].reason, shown[DELETION_HELD].message) == (
            "AbsenceUnverified",
            held.reason,
        )
        assert (shown["Ready"].status, shown["Ready"].message) == (
            "False",
            f"it may still be declared: {held.reason}",
        )
    # A host that falls silent meanwhile is shown so, and one that comes back.
    world.silent.add("a")
    world.settle(seconds=40)
    assert {key.name: ready_of(found) for key, found in pools_of(world).items()} == {
        "a": "Unknown",
        "b": "False",
    }
    (why,) = [
        each.message
        for each in pools_of(world)[Key(Kind.MACHINE_POOL, "", "a")].status.conditions
        if each.type == "Ready"
    ]
    assert "has not changed within the heartbeat timeout" in why
    world.silent.clear()
    world.settle()
    # Once it is sure that no file declares them, they are as their hosts announce them, in that very tick.
    gone = dict.fromkeys(each for each in moved if each not in ("pools.yaml", ".gitvirtignore"))
    world.source({**gone, "pools.yaml": None})
    world.tick()
    assert world.pool_of("web") != ""
    for found in pools_of(world).values():
        assert found.metadata.labels == {"zone": "blue"}
        assert not found.spec.unschedulable
        assert not found.spec.taints
        assert ready_of(found) == "True"
        assert DELETION_HELD not in {each.type for each in found.status.conditions}


def test_a_pool_that_was_unverified_and_is_declared_again_goes_on() -> None:
    world = Fleet({**OTHERS, "a.yaml": pool("a", CORDON)}, Host("a"))
    world.settle()
    before = pools_of(world)
    world.source({"a.yaml": None, "infra.yaml": "a: [\n"})
    world.settle()
    world.source({"infra.yaml": pool("a")})
    world.settle()
    (after,), (cordoned,) = pools_of(world).values(), before.values()
    assert (after.metadata.uid, after.status.host) == (cordoned.metadata.uid, cordoned.status.host)
    assert after.status.epoch == cordoned.status.epoch
    assert not after.spec.unschedulable
    assert ready_of(after) == "True"


def pools_of(world: Fleet) -> dict[Key, MachinePool]:
    return {key: found for _, key, found in world.documents() if isinstance(found, MachinePool)}


def ready_of(found: MachinePool) -> str:
    (ready,) = [each.status for each in found.status.conditions if each.type == "Ready"]
    return ready


@pytest.mark.parametrize("text", ["fleet: [\n", None])
def test_settings_that_cannot_be_read_stay_as_they_were_and_stop_nothing(text: str | None) -> None:
    world = fleet(web=machine("web"))
    world.source({"gitvirt.yaml": text})
    world.settle()
    assert world.texts()["gitvirt.yaml"] == SETTINGS
    world.reconciler = world.another()
    world.settle()
    world.source({"new.yaml": machine("new")})
    world.settle()
    assert world.machine("new").status.state == "Running"
    assert "GV601" in {problem.code for problem in world.plans[-1].problems} or text
    world.source({"gitvirt.yaml": SETTINGS + "pools: declared\n"})
    world.settle()
    assert world.texts()["gitvirt.yaml"] == SETTINGS + "pools: declared\n"


def test_a_volume_that_may_have_been_made_unseen_is_not_deleted_for_it() -> None:
    more = {f"more{number}.yaml": volume(f"more{number}") for number in range(4)}
    world = Fleet({**OTHERS, **more}, Host("a"))
    world.settle()
    world.source({"data.yaml": volume("data")})
    world.tick()
    world.hosts["a"].act(world.objects())  # which makes it, and cannot say so
    world.silent.add("a")
    world.settle(seconds=40)
    world.settle(seconds=40)
    world.source({"data.yaml": None})
    world.settle()
    assert not world.volume("data").metadata.is_deleting
    world.silent.clear()
    world.settle()
    assert ".gitvirt/retained/Volume/default/data.yaml" in world.texts()
    assert "data" in {key.name for key in world.hosts["a"].has}


def test_a_volume_that_is_declared_smaller_takes_what_it_has() -> None:
    world = Fleet({**OTHERS, "data.yaml": volume("data", size="20Gi")}, Host("a"))
    world.settle()
    uid = world.volume("data").metadata.uid
    world.hosts["a"].sizes[uid] = "20Gi"
    world.settle()
    world.source({"data.yaml": volume("data", size="5Gi")})
    world.settle()
    pool_key = Key(Kind.VOLUME_POOL, "", "a")
    assert world.reconciler.world.ledger.usage(pool_key)["storage"] == 20 * 2**30


def test_what_is_frozen_says_why_as_it_is_now() -> None:
    world = fleet(web=machine("web"))
    for text, word in (
        (machine("web").replace("kind: Machine\n", ""), "no kind"),
        ("a: [\n", "bracket"),
        (machine("web", "  powr: On\n"), "powr"),
    ):
        world.source({"web.yaml": text})
        world.settle()
        (why,) = [each for each in world.machine("web").status.conditions if each.type == "Accepted"]
        assert (why.status, why.reason) == ("False", "Frozen")
        assert word in why.message


class Keeper(Host):
    """Reports what it keeps for a retained volume by the volume's name, as poollets do."""

    retained: objects.VolumeReport | None = None

    def report(self, live: object) -> Report:
        found = super().report(live)  # type: ignore[arg-type]
        if self.retained is None:
            return found
        return replace(found, volumes={**found.volumes, ("default", "data"): self.retained}, orphans=())


def test_a_volume_that_is_declared_again_gets_its_retained_data_back() -> None:
    keeper = Keeper("a")
    more = {f"more{number}.yaml": volume(f"more{number}") for number in range(4)}
    world = Fleet({**OTHERS, **more, "data.yaml": volume("data")}, keeper)
    world.settle()
    before = world.volume("data")
    world.source({"data.yaml": None})
    world.settle()
    assert before.status.assignment is not None
    made = objects.ReportedVolumeStatus(volume_id="sim://data", state="Available")
    keeper.retained = objects.VolumeReport(
        before.metadata.uid, before.status.assignment.id, "present", "a", status=made
    )
    world.settle()
    world.source({"data.yaml": volume("data")})
    world.tick()
    again = world.volume("data")
    assert again.metadata.uid == before.metadata.uid
    assert again.status.assignment == before.status.assignment
    assert ".gitvirt/retained/Volume/default/data.yaml" not in world.texts()
    uids = [each.metadata.uid for _, key, each in world.documents() if key.kind is Kind.VOLUME]
    assert len(uids) == len(set(uids)) == 5


def test_a_revert_brings_a_machine_and_its_data_back_together() -> None:
    keepers = Keeper("a"), Host("b")
    more = {f"more{number}.yaml": volume(f"more{number}") for number in range(4)}
    holder = machine("db", using("data"))
    world = Fleet({**OTHERS, **more, "data.yaml": volume("data"), "db.yaml": holder}, *keepers)
    world.settle()
    before = world.volume("data")
    assert world.machine("db").status.state == "Running"
    world.source({"db.yaml": None})
    world.settle()
    world.source({"data.yaml": None})
    world.settle()
    assert ".gitvirt/retained/Volume/default/data.yaml" in world.texts()
    world.source({"data.yaml": volume("data"), "db.yaml": holder})
    world.settle()
    again = world.volume("data")
    assert again.metadata.uid == before.metadata.uid
    assert again.status.assignment == before.status.assignment
    assert world.machine("db").status.state == "Running"
    assert ".gitvirt/retained/Volume/default/data.yaml" not in world.texts()


def test_a_file_that_is_never_fixed_holds_what_left_with_it_and_nothing_else() -> None:
    world = fleet(web=machine("web"), db=machine("db"))
    # web left its file in the very commit that brought one which cannot be read.
    world.source({"web.yaml": None, "broken.yaml": "a: ["})
    world.settle()
    world.source({"db.yaml": None})
    world.settle()
    assert Key(Kind.MACHINE, "default", "db") not in world.objects()
    assert not world.machine("web").metadata.is_deleting
    (held,) = world.plans[-1].pending_approvals
    assert held.keys == (WEB,)
    assert (
        held.reason
        == "broken.yaml cannot be read and may declare it; fix the file, or delete it to confirm the removal. "
        "To delete the file removes all that it declares"
    )
    world.reconciler = world.another()
    world.settle()
    assert not world.machine("web").metadata.is_deleting
    world.source({"broken.yaml": None})
    world.settle()
    assert WEB not in world.objects()


def test_what_else_goes_with_a_file_that_cannot_be_read_is_named() -> None:
    world = fleet(web=machine("web"), pair=f"{machine('db')}---\n{machine('cache')}")
    world.source({"web.yaml": None, "pair.yaml": "a: ["})
    world.settle()
    reasons = {key.name: held.reason for held in world.plans[-1].pending_approvals for key in held.keys}
    assert reasons["web"].endswith(
        "To delete the file removes all that it declares (on `live`: Machine/default/db, Machine/default/cache)"
    )
    assert not world.machine("db").metadata.is_deleting
