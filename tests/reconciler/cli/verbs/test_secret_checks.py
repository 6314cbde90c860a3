"""What `gitvirt secret` refuses before it writes, and what `gitvirt secret check` says of what it could not verify."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.verbs.conftest import gitvirt
from tests.reconciler.cli.verbs.test_secret import (
    HOSTS,
    VALUE,
    Keys,
    create,
    kept_text,
    keys,
    pull,
    push,
    readers,
    secret_text,
    settings,
    stdin,
    user,
)
from tests.reconciler.gitstore.git import git

__all__ = ["keys"]
PLAIN = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: seed\nstringData:\n  ignition.yaml: swordfish-7\n"
MIB = 1 << 20


def test_check_says_what_it_did_not_verify_without_a_key(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create("seed", monkeypatch) == Exit.OK
    text = secret_text(fleet, "seed").replace("namespace: default", "namespace: default\n    labels: {a: b}")
    push(fleet, {"secrets/default/seed.yaml": text.encode()}, "by hand")
    other = ["--key", str(keys.files["rack-b1"])]
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")
    for words in ([], other):
        capsys.readouterr()
        assert gitvirt("secret", "check", *words) == Exit.OK
        shown = capsys.readouterr()
        assert "readers ok; not verified: no private key opens it" in shown.out
        assert "for 1 of 1 Secrets, it is unknown whether they were tampered with" in shown.err
    assert gitvirt("secret", "check", "--key", str(keys.files["ann"])) == Exit.PROBLEMS
    shown = capsys.readouterr()
    assert "the MAC differs" in shown.out
    assert "unknown" not in shown.err


def test_check_lists_the_admins_among_the_readers(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def list_readers() -> list[str]:
        capsys.readouterr()
        assert gitvirt("secret", "check", "-o", "json") == Exit.OK
        (row,) = json.loads(capsys.readouterr().out)
        found: list[str] = row["readers"]
        return found

    assert create("seed", monkeypatch) == Exit.OK
    assert list_readers() == ["admins"]
    assert gitvirt("secret", "check") == Exit.OK
    assert "admins" in capsys.readouterr().out
    pull(fleet)
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-b1")}, "a")
    assert gitvirt("secret", "rekey") == Exit.OK
    assert list_readers() == ["admins", "rack-b1"]


def test_a_tampered_file_gets_a_hint_of_its_own(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create("seed", monkeypatch) == Exit.OK
    text = secret_text(fleet, "seed").replace("namespace: default", "namespace: default\n    labels: {a: b}")
    push(fleet, {"secrets/default/seed.yaml": text.encode()}, "by hand")
    for words in (["show", "seed"], ["edit", "seed"], ["rekey", "seed", "--force"]):
        capsys.readouterr()
        assert gitvirt("secret", *words) == Exit.FAILED
        shown = capsys.readouterr().err
        assert "the MAC differs" in shown
        assert "restore the file from its history" in shown
        assert "--key" not in shown


def test_check_names_the_values_that_a_removed_reader_knows(
    fleet: Path,
    keys: Keys,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed")}, "a")
    (tmp_path / "salt").write_text("a grain of salt")
    assert create("seed", monkeypatch, "--from-file", f"salt={tmp_path / 'salt'}") == Exit.OK
    pull(fleet)
    git(fleet, "rm", "-q", "pools/rack-a1.yaml")
    push(fleet, {"gitvirt.yaml": settings(keys, HOSTS[1:])}, "remove rack-a1")
    assert gitvirt("secret", "rekey") == Exit.OK
    capsys.readouterr()
    assert gitvirt("secret", "check") == Exit.PROBLEMS
    assert "rotate salt, ignition.yaml: rack-a1 could read it until " in capsys.readouterr().out
    monkeypatch.setenv("EDITOR", "sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    capsys.readouterr()
    assert gitvirt("secret", "check", "-o", "json") == Exit.PROBLEMS
    (row,) = json.loads(capsys.readouterr().out)
    assert [(one["reader"], one["sameKeys"]) for one in row["formerReaders"]] == [("rack-a1", ["salt"])]
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")
    assert gitvirt("secret", "check") == Exit.PROBLEMS
    shown = capsys.readouterr()
    assert "rotate all values: rack-a1 could read it until " in shown.out
    assert "each value that a former reader could read counts as unchanged" in shown.err


def test_a_secret_in_plain_text_is_encrypted_by_its_name(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"machines/a.yaml": user("a", "seed", pin="rack-b1"), "secrets/default/seed.yaml": PLAIN.encode()}
    push(fleet, files, "plain")
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")  # there is nothing to open
    assert gitvirt("secret", "rekey") == Exit.OK
    shown = capsys.readouterr()
    assert "note: in plain text: default/seed; `gitvirt secret rekey default/seed` encrypts them" in shown.err
    assert secret_text(fleet, "seed") == PLAIN
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(keys.files["ann"]))
    assert gitvirt("secret", "edit", "seed") == Exit.FAILED
    shown = capsys.readouterr()
    assert "is in plain text" in shown.err
    assert "`gitvirt secret rekey default/seed` encrypts it" in shown.err
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")
    assert gitvirt("secret", "rekey", "seed") == Exit.OK
    shown = capsys.readouterr()
    assert "is encrypted for admins, rack-b1; its values stay readable in the history of Git" in shown.out
    assert "rotate the value of default/seed: everyone who can read the repository could read it" in shown.err
    text = secret_text(fleet, "seed")
    assert "swordfish" not in text
    assert readers(keys, text) == {"ann", "rack-b1"}
    assert gitvirt("secret", "rekey", "seed") == Exit.OK
    assert "encrypted for the right readers already" in capsys.readouterr().out
    # Git never forgets: `check` says so until the value changes.
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(keys.files["ann"]))
    assert gitvirt("secret", "check") == Exit.PROBLEMS
    want = "rotate ignition.yaml: everyone who can read the repository could read it until "
    assert want in capsys.readouterr().out
    monkeypatch.setenv("EDITOR", "sed -i s/swordfish/marlin/")
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    assert gitvirt("secret", "check") == Exit.OK


def test_a_value_is_to_be_rotated_that_was_in_plain_text_in_a_removed_file(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"old.yaml": PLAIN.replace("swordfish-7", VALUE).encode()}, "plain")
    git(fleet, "rm", "-q", "old.yaml")
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-b1")}, "remove it")
    assert create("seed", monkeypatch) == Exit.OK
    capsys.readouterr()
    want = "rotate ignition.yaml: everyone who can read the repository could read it until "
    assert gitvirt("secret", "check") == Exit.PROBLEMS
    assert want in capsys.readouterr().out
    assert gitvirt("secret", "check", "-o", "json") == Exit.PROBLEMS
    (row,) = json.loads(capsys.readouterr().out)
    (former,) = row["formerReaders"]
    assert (former["recipient"], former["sameKeys"]) == ("", ["ignition.yaml"])
    # With another value nothing is left to do.
    monkeypatch.setenv("EDITOR", "sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    assert gitvirt("secret", "check") == Exit.OK


@pytest.mark.parametrize("mode", [[], ["--worktree"]], ids=["commit", "worktree"])
def test_a_plain_secret_is_not_closed_to_the_only_host_that_needs_it(
    mode: list[str], fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    without_key = settings(keys, ()) + b"  rack-a1: {}\n"
    files = {"machines/a.yaml": user("a", "seed", pin="rack-a1"), "secrets/default/seed.yaml": PLAIN.encode()}
    push(fleet, {**files, "gitvirt.yaml": without_key}, "plain")
    assert gitvirt("secret", "rekey", "seed", *mode) == Exit.PROBLEMS
    shown = capsys.readouterr()
    assert (
        "no host could open Secret/default/seed for Machine/default/a (rack-a1: no key in gitvirt.yaml)"
        in shown.err
    )
    assert "add poollets.rack-a1.age" in shown.err
    assert secret_text(fleet, "seed") == PLAIN
    # One of two hosts without a key is a note, and the machine can be placed on the other.
    files = {"machines/a.yaml": user("a", "seed", selector="a")}
    some = settings(keys, ("rack-a2",)) + b"  rack-a1: {}\n"
    push(fleet, {**files, "gitvirt.yaml": some}, "two hosts")
    assert gitvirt("secret", "rekey", "seed", *mode) == Exit.OK
    assert (
        "note: rack-a1 has no key in gitvirt.yaml (poollets.NAME.age), and cannot open it"
        in capsys.readouterr().err
    )
    pull(fleet)
    assert readers(keys, (fleet / "secrets/default/seed.yaml").read_text()) == {"ann", "rack-a2"}
    assert gitvirt("validate") == Exit.OK
    # Later calls say it too, where they change who can open it.
    push(
        fleet,
        {
            "gitvirt.yaml": some + f'  rack-b1: {{age: ["{keys.public("rack-b1")}"]}}\n'.encode(),
            "machines/a.yaml": user("a", "seed"),
        },
        "more",
    )
    capsys.readouterr()
    assert gitvirt("secret", "rekey", *mode) == Exit.OK
    assert "note: rack-a1 has no key in gitvirt.yaml" in capsys.readouterr().err


def test_an_edit_says_which_host_has_no_key(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed", selector="a")}, "a")
    assert create("seed", monkeypatch) == Exit.OK
    pull(fleet)
    push(fleet, {"gitvirt.yaml": settings(keys, ("rack-a2",)) + b"  rack-a1: {}\n"}, "two hosts")
    capsys.readouterr()
    monkeypatch.setenv("EDITOR", "sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    assert "note: rack-a1 has no key in gitvirt.yaml" in capsys.readouterr().err


def test_what_another_tool_encrypted_is_not_called_plain_and_not_encrypted_twice(
    fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    pgp = PLAIN.replace(
        "swordfish-7", "|\n    -----BEGIN PGP MESSAGE-----\n    x\n    -----END PGP MESSAGE-----"
    )
    push(fleet, {"secrets/default/seed.yaml": pgp.encode()}, "pgp")
    assert gitvirt("secret", "check") == Exit.PROBLEMS
    assert "it has no value that gitvirt can open" in capsys.readouterr().out
    assert gitvirt("secret", "rekey", "seed") == Exit.OK
    assert "is left as it is" in capsys.readouterr().out
    assert secret_text(fleet, "seed") == pgp


def test_an_edit_that_breaks_a_machine_is_refused_and_its_text_kept(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-b1")}, "a")
    assert create("seed", monkeypatch) == Exit.OK
    before = secret_text(fleet, "seed")
    capsys.readouterr()
    monkeypatch.setenv("EDITOR", "sed -i s/ignition.yaml/ignition.yml/")
    assert gitvirt("secret", "edit", "seed") == Exit.PROBLEMS
    shown = capsys.readouterr().err
    assert 'machines/a.yaml: Secret "seed" has no key "ignition.yaml"' in shown
    shutil.rmtree(kept_text(shown).parent)
    assert secret_text(fleet, "seed") == before
    # An error that was there before prevents no edit of a Secret.
    push(fleet, {"machines/b.yaml": user("b", "nowhere").replace(b"small", b"large")}, "an error")
    monkeypatch.setenv("EDITOR", "sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == Exit.OK


def test_a_text_is_kept_where_the_remote_went_away(
    fleet: Path,
    keys: Keys,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert create("seed", monkeypatch) == Exit.OK
    capsys.readouterr()
    bare = fleet.parent / "fleet.git"
    monkeypatch.setenv("EDITOR", f"mv {bare} {bare}.away; sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == Exit.FAILED
    kept = kept_text(capsys.readouterr().err)
    assert "wrong horse" in kept.read_text()
    shutil.rmtree(kept.parent)


def test_a_new_secret_that_breaks_a_machine_is_refused(
    fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-b1")}, "a")
    assert gitvirt("secret", "create", "seed", "--generate", "password") == Exit.PROBLEMS
    assert 'has no key "ignition.yaml"' in capsys.readouterr().err


def test_create_and_edit_have_one_limit(
    fleet: Path,
    keys: Keys,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"x" * (MIB + 1))
    assert gitvirt("secret", "create", "seed", "--from-file", f"a={large}") == Exit.FAILED
    assert "the value of a is larger than 1 MiB" in capsys.readouterr().err
    large.write_bytes(b"x" * MIB)
    assert gitvirt("secret", "create", "seed", "--from-file", f"a={large}") == Exit.OK
    monkeypatch.setenv("EDITOR", "sed -i s/x$/xx/")
    assert gitvirt("secret", "edit", "seed") == Exit.FAILED
    shown = capsys.readouterr().err
    assert "the value of a is larger than 1 MiB" in shown
    shutil.rmtree(kept_text(shown).parent)


@pytest.mark.parametrize(
    "name",
    ["x" * 300, "shop/" + "x" * 300, "x" * 252, "UPPER", "a..b"],
    ids=["300", "its own", "252", "case", "dots"],
)
def test_a_name_that_cannot_be_is_refused_before_the_editor_opens(
    name: str, fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EDITOR", "touch editor-ran;")
    for words in ([], ["--generate", "a"], ["--generate", "a", "--worktree"]):
        assert gitvirt("secret", "create", name, *words) in (Exit.USAGE, Exit.PROBLEMS)
        assert capsys.readouterr().err.startswith("error: ")
    assert not Path("editor-ran").exists()


def test_no_argument_is_dropped(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with stdin(VALUE.encode(), monkeypatch):
        words = ["--from-stdin", "a", "--from-stdin", "b"]
        assert gitvirt("secret", "create", "x", *words) == Exit.USAGE
    assert "--from-stdin is given twice" in capsys.readouterr().err
    for option, value in (("--repo", str(fleet)), ("--branch", "b"), ("-m", "text")):
        for verb in (["check"], ["rekey"], ["create", "x", "--generate", "a"]):
            assert gitvirt("secret", *verb, "--worktree", option, value) == Exit.USAGE
            assert "--worktree" in capsys.readouterr().err
