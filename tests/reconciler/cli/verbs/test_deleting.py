"""Verbs that switch machines on and off, and the one that deletes: what is committed, what is asked, and what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import SECRET, gitvirt, machine
from tests.reconciler.cli.verbs.test_mutate import Capture, announce, at
from tests.reconciler.gitstore.git import commit, git


def remote(fleet: Path) -> str:
    return git(fleet, "ls-remote", "origin")


class Keyboard(io.StringIO):
    """A terminal at which a person has typed."""

    def isatty(self) -> bool:
        return True


def test_stop_and_start_commit_the_power(fleet: Path, capsys: Capture) -> None:
    before = at(fleet, "origin/main", "machines/web-1.yaml")
    assert gitvirt("stop", "web-1") == Exit.OK
    assert 'power: "Off"' in at(fleet, "origin/main", "machines/web-1.yaml")
    assert git(fleet, "log", "-1", "--format=%s", "origin/main") == "stop Machine/default/web-1"
    assert "gitvirt wait Machine/default/web-1 --for state=Shutdown" in capsys.readouterr().out
    assert gitvirt("start", "web-1") == Exit.OK
    assert 'power: "On"' in at(fleet, "origin/main", "machines/web-1.yaml")
    assert before.splitlines()[0] in at(fleet, "origin/main", "machines/web-1.yaml")
    assert gitvirt("validate", "--rev", "origin/main") == Exit.OK


def test_a_machine_that_is_on_is_not_started(fleet: Path, capsys: Capture) -> None:
    before = remote(fleet)
    assert gitvirt("start", "web-1", "web-2") == Exit.OK
    assert capsys.readouterr().out.count("is already on: nothing to change") == 2
    assert remote(fleet) == before


@pytest.mark.parametrize("verb", ["start", "stop"])
def test_a_paused_machine_is_neither_started_nor_stopped(fleet: Path, capsys: Capture, verb: str) -> None:
    assert gitvirt("pause", "web-1") == Exit.OK
    assert gitvirt(verb, "web-1") == Exit.FAILED
    assert "`gitvirt resume Machine/default/web-1`" in capsys.readouterr().err


def test_delete_removes_the_file_and_names_what_is_destroyed(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("delete", "web-1", "--yes") == Exit.OK
    printed = capsys.readouterr()
    assert "DESTROYS local disk root of web-1, 5Gi" in printed.err
    assert "gitvirt wait Machine/default/web-1 --for deleted" in printed.out
    git(fleet, "fetch", "-q", "origin")
    subject, _, *body = git(fleet, "log", "-1", "--format=%B", "origin/main").strip().split("\n")
    assert subject == "DELETE Machine/default/web-1: DESTROYS 1 disk"
    assert body == ["- DESTROYS local disk root of web-1, 5Gi"]
    assert git(fleet, "diff", "--name-status", "main", "origin/main") == "D\tmachines/web-1.yaml"


def test_a_message_of_the_person_keeps_the_words_for_what_is_destroyed(fleet: Path) -> None:
    assert gitvirt("delete", "web-1", "--yes", "-m", "spring cleaning\n\nas agreed") == Exit.OK
    git(fleet, "fetch", "-q", "origin")
    subject, _, *body = git(fleet, "log", "-1", "--format=%B", "origin/main").strip().split("\n")
    assert subject == "DELETE: spring cleaning"
    assert body == ["as agreed", "- DESTROYS local disk root of web-1, 5Gi"]


def test_a_message_about_something_harmless_stays_as_it_is(fleet: Path) -> None:
    assert gitvirt("stop", "web-1", "-m", "saves power") == Exit.OK
    git(fleet, "fetch", "-q", "origin")
    assert git(fleet, "log", "-1", "--format=%B", "origin/main").strip() == "saves power"


def test_delete_says_how_long_it_can_be_undone(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("delete", "web-1", "--yes") == Exit.OK
    assert (
        "Machine/default/web-1: stopped first; its data is DESTROYED 10m after the merge; git revert until then"
        in capsys.readouterr().err
    )


def test_replace_names_the_assignment_that_ends_and_what_is_destroyed(fleet: Path, capsys: Capture) -> None:
    assert gitvirt("replace", "web-1", "--yes") == Exit.OK
    printed = capsys.readouterr()
    assert "DESTROYS local disk root of web-1, 5Gi" in printed.err
    assert "Machine/default/web-1 will be RECREATED" in printed.out
    text = at(fleet, "origin/main", "machines/web-1.yaml")
    assert "gitvirt.dev/recreate: 11111111-1111-4111-8111-111111111111" in text
    subject, _, *body = git(fleet, "log", "-1", "--format=%B", "origin/main").strip().split("\n")
    assert subject == "RECREATE Machine/default/web-1: DESTROYS 1 disk"
    assert body == ["- DESTROYS local disk root of web-1, 5Gi"]
    assert gitvirt("validate", "--rev", "origin/main") == Exit.OK
    assert gitvirt("replace", "web-1", "--yes") == Exit.OK
    assert "is being recreated already: nothing to change" in capsys.readouterr().out


def test_replace_refuses_a_machine_that_could_not_be_created_again(fleet: Path, capsys: Capture) -> None:
    path = fleet / "machines" / "web-1.yaml"
    path.write_text(
        path.read_text().replace("machineClassRef: {name: small}", "machineClassRef: {name: smal}")
    )
    assert "smal}" in path.read_text()
    git(fleet, "commit", "-qam", "typo")
    git(fleet, "push", "-q", "origin", "main")
    before = remote(fleet)
    assert gitvirt("replace", "web-1", "--yes") == Exit.UNPLACEABLE
    assert "default/web-1 could not be created again: GV310" in capsys.readouterr().err
    assert remote(fleet) == before


def test_replace_asks_and_refuses_what_cannot_be_recreated(
    fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = remote(fleet)
    monkeypatch.setattr("sys.stdin", Keyboard("no\n"))
    assert gitvirt("replace", "web-1") == Exit.FAILED
    assert "replace Machine/default/web-1? Type yes:" in capsys.readouterr().err
    assert gitvirt("replace", "web-2", "--yes") == Exit.FAILED
    assert "default/web-2 is on no pool, so there is nothing to replace" in capsys.readouterr().err
    assert remote(fleet) == before
    assert gitvirt("pause", "web-1") == Exit.OK
    assert gitvirt("replace", "web-1", "--yes") == Exit.FAILED
    assert "is paused" in capsys.readouterr().err


def test_move_takes_the_kind_in_front_as_other_verbs_do(fleet: Path, capsys: Capture) -> None:
    for words in ("machine web-1 rack-a", "m default/web-1 rack-a", "machine/web-1 rack-a", "web-1 rack-a"):
        assert gitvirt("move", *words.split(), "--yes") == Exit.USAGE
        assert "default/web-1 is on rack-a already" in capsys.readouterr().err
    assert gitvirt("move", "machine", "web-1", "--yes") == Exit.UNPLACEABLE
    assert "default/web-1 does not fit on any other pool" in capsys.readouterr().err
    assert gitvirt("move", "web-1", "rack-a", "rack-b") == Exit.USAGE
    assert "unrecognized arguments: rack-b" in capsys.readouterr().err


def test_move_commits_nothing_where_the_machine_does_not_fit(fleet: Path, capsys: Capture) -> None:
    announce(fleet)
    before = remote(fleet)
    assert gitvirt("move", "web-1", "rack-a", "--yes") == Exit.USAGE
    assert "default/web-1 is on rack-a already" in capsys.readouterr().err
    assert gitvirt("move", "web-1", "rack-b", "--yes") == Exit.UNPLACEABLE
    assert "default/web-1 does not fit on rack-b: " in capsys.readouterr().err
    assert gitvirt("move", "web-1", "--yes") == Exit.UNPLACEABLE
    assert "default/web-1 does not fit on any other pool: " in capsys.readouterr().err
    assert gitvirt("move", "web-2", "rack-a", "--yes") == Exit.FAILED
    assert "is on no pool" in capsys.readouterr().err
    assert remote(fleet) == before


def volume(name: str, policy: str) -> bytes:
    return f"""apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata:
  name: {name}
spec:
  volumeClassRef: {{name: fast}}
  resources: {{storage: 1Gi}}
  {policy}
""".encode()


@pytest.mark.parametrize("policy", ["deletionPolicy: Retain", ""])
def test_delete_of_a_volume_that_is_retained_says_so_and_does_not_ask(
    fleet: Path, capsys: Capture, policy: str
) -> None:
    commit(fleet, {"volumes/data.yaml": volume("data", policy)}, "a volume")
    git(fleet, "push", "-q", "origin", "main")
    assert gitvirt("delete", "volume/data") == Exit.OK
    printed = capsys.readouterr().err
    assert "keeps volume data, 1Gi: its data is retained" in printed
    assert "DESTROYS" not in printed


def test_delete_of_a_volume_whose_policy_deletes_its_data_asks(fleet: Path, capsys: Capture) -> None:
    commit(fleet, {"volumes/data.yaml": volume("data", "deletionPolicy: Delete")}, "a volume")
    git(fleet, "push", "-q", "origin", "main")
    before = remote(fleet)
    assert gitvirt("delete", "volume/data") == Exit.USAGE
    assert "DESTROYS volume data, 1Gi" in capsys.readouterr().err
    assert remote(fleet) == before


@pytest.mark.parametrize(
    ("names", "left"),
    [(["a"], {"b", "c"}), (["b"], {"a", "c"}), (["c", "a"], {"b"}), (["a", "b", "c"], set())],
)
def test_delete_leaves_the_other_documents_of_a_file_as_they_are(
    fleet: Path, names: list[str], left: set[str]
) -> None:
    commit(fleet, {"machines/all.yaml": b"---\n".join(machine(name) for name in "abc")}, "three in one")
    git(fleet, "push", "-q", "origin", "main")
    assert gitvirt("delete", *names, "--yes") == Exit.OK
    git(fleet, "fetch", "-q", "origin")
    files = git(fleet, "ls-tree", "-r", "--name-only", "origin/main").split()
    assert ("machines/all.yaml" in files) is bool(left)
    text = git(fleet, "show", "origin/main:machines/all.yaml") if left else ""
    assert {name for name in "abc" if f"  name: {name}\n" in text} == left
    assert all(machine(name).decode().strip() in text for name in left)


@pytest.mark.parametrize(
    ("typed", "code"), [("yes\n", Exit.OK), ("y\n", Exit.FAILED), ("\n", Exit.FAILED), ("", Exit.FAILED)]
)
def test_delete_asks_and_only_yes_is_yes(
    fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, typed: str, code: Exit
) -> None:
    before = remote(fleet)
    monkeypatch.setattr("sys.stdin", Keyboard(typed))
    assert gitvirt("delete", "web-1", "web-2") == code
    question = capsys.readouterr().err
    assert "local disk root of web-1" in question
    assert "local disk root of web-2" in question
    assert "delete Machine/default/web-1, Machine/default/web-2? Type yes:" in question
    assert (remote(fleet) == before) is (code != Exit.OK)


def test_without_a_terminal_data_is_destroyed_only_with_yes(
    fleet: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = remote(fleet)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert gitvirt("delete", "web-1") == Exit.USAGE
    assert "add --yes" in capsys.readouterr().err
    assert remote(fleet) == before


def test_what_destroys_no_data_needs_no_yes(fleet: Path) -> None:
    assert gitvirt("delete", "secret/seed") == Exit.OK
    assert git(fleet, "ls-remote", "origin", "main") != git(fleet, "rev-parse", "main")
    git(fleet, "fetch", "-q", "origin")
    assert git(fleet, "log", "-1", "--format=%s", "origin/main") == "DELETE Secret/default/seed"


def test_a_dry_run_of_a_deletion_is_a_patch_that_removes_the_file(fleet: Path, capsys: Capture) -> None:
    before = remote(fleet)
    assert gitvirt("delete", "web-1", "--dry-run") == Exit.OK
    printed = capsys.readouterr()
    assert "DESTROYS local disk root of web-1" in printed.err
    git(fleet, "apply", "-", data=printed.out.encode())
    assert not (fleet / "machines/web-1.yaml").exists()
    assert remote(fleet) == before


def test_a_deletion_for_review_needs_no_yes(fleet: Path) -> None:
    assert gitvirt("delete", "web-1", "--branch", "no-web-1") == Exit.OK
    git(fleet, "fetch", "-q", "origin")
    assert git(fleet, "diff", "--name-status", "origin/main", "origin/no-web-1") == "D\tmachines/web-1.yaml"


def test_what_no_file_declares_cannot_be_deleted(fleet: Path, capsys: Capture) -> None:
    announce(fleet)
    before = remote(fleet)
    assert gitvirt("delete", "pool/rack-b") == Exit.FAILED
    assert "there is no MachinePool rack-b" in capsys.readouterr().err
    assert remote(fleet) == before


NETWORK = b"""apiVersion: networking.ironcore.dev/v1alpha1
kind: Network
metadata: {name: lan}
spec: {}
"""
VOLUME = b"""apiVersion: storage.ironcore.dev/v1alpha1
kind: Volume
metadata: {name: data}
spec: {volumeClassRef: {name: fast}, resources: {storage: 1Gi}}
"""
VOLUME_CLASS = b"""apiVersion: storage.ironcore.dev/v1alpha1
kind: VolumeClass
metadata: {name: fast}
capabilities: {tps: 1Mi, iops: 100}
"""
USES = (
    "  ignitionRef: {name: seed, key: password}\n"
    "  networkInterfaces: [{name: nic, ephemeral: {networkInterfaceTemplate: {spec: {networkRef: {name: lan}}}}}]\n"
)


@pytest.fixture
def fleet_in_use(fleet: Path) -> Path:
    """web-3 uses a class, a volume, a secret and a network; the target branch has all of them."""
    web_3 = (
        machine("web-3").replace(b"localDisk: {sizeLimit: 5Gi}", b"volumeRef: {name: data}") + USES.encode()
    )
    files = {
        "lan.yaml": NETWORK,
        "data.yaml": VOLUME,
        "fast.yaml": VOLUME_CLASS,
        "machines/web-3.yaml": web_3,
    }
    commit(fleet, files, "add web-3")
    source = git(fleet, "rev-parse", "main")
    git(fleet, "checkout", "-q", "live")
    commit(fleet, {**files, "secret.yaml": SECRET}, f"sync\n\nSource-Commit: {source}")
    git(fleet, "checkout", "-q", "main")
    git(fleet, "push", "-q", "origin", "main", "live")
    return fleet


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("machineclass/small", "MachineClass"),
        ("volume/data", "Volume"),
        ("secret/seed", "Secret"),
        ("network/lan", "Network"),
    ],
)
def test_what_is_in_use_stays_and_delete_names_the_users(
    fleet_in_use: Path, capsys: Capture, name: str, kind: str
) -> None:
    assert gitvirt("delete", name, "--yes", "-o", "json") == Exit.OK
    captured = capsys.readouterr()
    value = json.loads(captured.out)
    assert value["held"].startswith("stays for now: still used by Machine/default/")
    assert value["held"].endswith(f"it is deleted once they are deleted, or use another {kind}")
    assert f"{value['object']} {value['held']}\n" in captured.err


def test_what_is_in_use_by_what_goes_too_is_deleted(fleet_in_use: Path, capsys: Capture) -> None:
    assert gitvirt("delete", "secret/seed", "web-3", "--dry-run", "-o", "json") == Exit.OK
    assert all("stays for now" not in each.get("held", "") for each in json.loads(capsys.readouterr().out))


def test_a_deletion_that_awaits_approval_says_so(fleet_in_use: Path, capsys: Capture) -> None:
    assert gitvirt("delete", "machines", "-A", "-l", "!x", "--yes") == Exit.OK
    printed = capsys.readouterr()
    assert (
        "Machine/default/web-1 awaits approval: 4 of 4 would be deleted: all of them; `gitvirt approve "
        in printed.err
    )
    assert "Machine/default/web-1 is removed from its file, and its deletion waits for that: " in printed.out
    assert "will be deleted" not in printed.out
