"""`gitvirt secret`: what people see, what is committed, and who can open it afterwards."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from iri.memory_mounts import is_in_memory
from reconciler.cli.exits import Exit
from schemas.encryption.age_armor import Identities, parse_identities, public_half
from schemas.encryption.open_secret import open_secret
from schemas.encryption.sealed_error import SealedError
from schemas.encryption.sops_text import read_body
from tests.reconciler.cli.verbs.conftest import CLASS, gitvirt, machine
from tests.reconciler.gitstore.git import commit, git
from tests.schemas.encryption.keys import HOST_KEY, seal_with_document

HOSTS = ("rack-a1", "rack-a2", "rack-b1")
ZONES = {"rack-a1": "a", "rack-a2": "a", "rack-b1": "b"}
VALUE = "correct horse battery staple"


class Keys:
    """A private key for each host and the admin, as files."""

    def __init__(self, folder: Path) -> None:
        self.files = {name: folder / f"{name}.key" for name in (*HOSTS, "ann")}
        for name, file in self.files.items():
            if name == "ann":
                subprocess.run(["age-keygen", "-o", file], check=True, capture_output=True)
            else:
                subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)

    def public(self, name: str) -> str:
        (found,) = public_half(self.files[name].read_bytes())
        return found

    def identities(self, name: str) -> Identities:
        return parse_identities(self.files[name].read_bytes())

    def opens(self, name: str, text: str) -> bool:
        try:
            return bool(open_secret((read_body(text),), 0, self.identities(name)))
        except SealedError:
            return False


def settings(keys: Keys, hosts: tuple[str, ...] = HOSTS) -> bytes:
    entries = "".join(f'  {name}: {{age: ["{keys.public(name)}"]}}\n' for name in hosts)
    return (
        "fleet: {id: 6f1c1f0e-0d0f-4b5e-9b3e-5a1f6f0f7a11}\npools: declared\n"
        f'secrets: {{admins: ["{keys.public("ann")}"]}}\npoollets:\n{entries}'
    ).encode()


def pool(name: str) -> bytes:
    return (
        "apiVersion: compute.ironcore.dev/v1alpha1\nkind: MachinePool\n"
        f"metadata: {{name: {name}, labels: {{zone: {ZONES[name]}}}}}\n"
    ).encode()


def user(name: str, secret: str, selector: str = "", pin: str = "") -> bytes:
    """A machine that boots with a Secret."""
    more = f"  ignitionRef: {{name: {secret}}}\n"
    more += f"  machinePoolSelector: {{zone: {selector}}}\n" if selector else ""
    more += f"  machinePoolRef: {{name: {pin}}}\n" if pin else ""
    return machine(name) + more.encode()


@pytest.fixture
def keys(tmp_path: Path, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> Keys:
    made = Keys(tmp_path)
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(made.files["ann"]))
    files = {f"pools/{name}.yaml": pool(name) for name in HOSTS}
    # Amended: a Secret in plain text in the history would be one of which everyone knows the value.
    git(fleet, "rm", "-q", "secret.yaml")
    git(fleet, "commit", "-q", "--amend", "--no-edit")
    git(fleet, "push", "-q", "--force", "origin", "main")
    git(fleet, "rm", "-q", "pools/rack-a.yaml")
    push(fleet, {"gitvirt.yaml": settings(made), "classes/small.yaml": CLASS, **files}, "hosts")
    return made


def push(fleet: Path, files: dict[str, bytes], message: str) -> None:
    commit(fleet, files, message)
    git(fleet, "push", "-q", "origin", "main")


def pull(fleet: Path) -> None:
    git(fleet, "pull", "-q", "origin", "main")


def secret_text(fleet: Path, name: str) -> str:
    pull(fleet)
    return (fleet / f"secrets/default/{name}.yaml").read_text()


def create(name: str, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    with stdin(VALUE.encode() + b"\n", monkeypatch):
        return gitvirt("secret", "create", name, "--from-stdin", "ignition.yaml", *more)


class stdin:  # noqa: N801
    """Standard input with these bytes."""

    def __init__(self, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        self.data, self.monkeypatch = data, monkeypatch

    def __enter__(self) -> None:
        reader, writer = os.pipe()
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(self.data)
        self.before, self.file = sys.stdin, os.fdopen(reader, "r")
        self.monkeypatch.setattr(sys, "stdin", self.file)

    def __exit__(self, *_: object) -> None:
        self.monkeypatch.setattr(sys, "stdin", self.before)
        self.file.close()


def readers(keys: Keys, text: str) -> set[str]:
    return {name for name in keys.files if keys.opens(name, text)}


@pytest.fixture
def watching_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An editor that notes which file it got and what was in it."""
    seen = tmp_path / "seen"
    script = tmp_path / "editor"
    script.write_text(
        f'#!/bin/sh\nls -ld "$(dirname "$1")" > {seen}\necho "$1" >> {seen}\ncat "$1" >> {seen}\n'
    )
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(script))
    yield seen
    seen.unlink(missing_ok=True)


def test_a_new_secret_is_encrypted_for_admins_and_for_hosts_that_may_need_it(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed", selector="a")}, "a")
    assert create("seed", monkeypatch) == Exit.OK
    text = secret_text(fleet, "seed")
    assert VALUE not in text
    assert readers(keys, text) == {"ann", "rack-a1", "rack-a2"}
    assert gitvirt("secret", "show", "seed", "ignition.yaml") == Exit.OK
    assert VALUE in capsys.readouterr().out
    assert gitvirt("secret", "check") == Exit.OK
    assert gitvirt("validate") == Exit.OK
    capsys.readouterr()
    assert create("seed", monkeypatch) == Exit.FAILED
    assert "exists already" in capsys.readouterr().err


def test_rekey_opens_for_who_comes_and_closes_for_who_goes(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-a1")}, "a")
    assert create("seed", monkeypatch) == Exit.OK
    first = secret_text(fleet, "seed")
    assert readers(keys, first) == {"ann", "rack-a1"}
    push(fleet, {"machines/a.yaml": user("a", "seed")}, "anywhere")
    capsys.readouterr()
    assert gitvirt("validate", "-o", "json") == Exit.PROBLEMS
    found = json.loads(capsys.readouterr().out)
    assert [(one["code"], "rack-a2" in one["message"]) for one in found["problems"]] == [("GV512", True)]
    assert gitvirt("secret", "rekey") == Exit.OK
    wider = secret_text(fleet, "seed")
    assert readers(keys, wider) == {"ann", *HOSTS}
    assert value_lines(first) == value_lines(wider)
    capsys.readouterr()
    # The host goes: its entry and its pool.
    git(fleet, "rm", "-q", "pools/rack-a1.yaml")
    push(fleet, {"gitvirt.yaml": settings(keys, HOSTS[1:])}, "remove rack-a1")
    assert gitvirt("secret", "check") == Exit.PROBLEMS
    capsys.readouterr()
    assert gitvirt("secret", "rekey") == Exit.OK
    narrower = secret_text(fleet, "seed")
    assert readers(keys, narrower) == {"ann", "rack-a2", "rack-b1"}
    assert value_lines(narrower) != value_lines(wider)
    shown = capsys.readouterr().err
    assert "rotate the value of default/seed: rack-a1 could read it until commit" in shown
    # Git never forgets: the host still opens the old text, and `check` says so until the value changes.
    assert keys.opens("rack-a1", wider)
    assert gitvirt("secret", "check", "-o", "json") == Exit.PROBLEMS
    (row,) = json.loads(capsys.readouterr().out)
    assert [(one["reader"], one["hasSameValue"]) for one in row["formerReaders"]] == [("rack-a1", True)]
    assert row["formerReaders"][0]["until"] == git(fleet, "rev-parse", "HEAD").strip()
    monkeypatch.setenv("EDITOR", "sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    assert gitvirt("secret", "rekey") == Exit.OK
    capsys.readouterr()
    assert gitvirt("secret", "check", "-o", "json") == Exit.OK
    (row,) = json.loads(capsys.readouterr().out)
    assert [one["hasSameValue"] for one in row["formerReaders"]] == [False]


def value_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if "type:str" in line and "mac:" not in line]


def test_the_matrix_of_hosts_and_secrets(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each host's key opens exactly the Secrets of what may run there."""
    users = {
        "anywhere": user("m1", "anywhere"),
        "zone-a": user("m2", "zone-a", selector="a"),
        "zone-b": user("m3", "zone-b", selector="b"),
        "one-host": user("m4", "one-host", pin="rack-a2"),
        "two-users": user("m5", "two-users", pin="rack-a1")
        + b"---\n"
        + user("m6", "two-users", selector="b"),
        "no-place": user("m7", "no-place", selector="c"),
    }
    push(fleet, {f"machines/{name}.yaml": data for name, data in users.items()}, "users")
    want = {
        "anywhere": {*HOSTS},
        "zone-a": {"rack-a1", "rack-a2"},
        "zone-b": {"rack-b1"},
        "one-host": {"rack-a2"},
        "two-users": {"rack-a1", "rack-b1"},
        "no-place": set(),
        "unused": set(),
    }
    for name in want:
        assert create(name, monkeypatch) == Exit.OK
    texts = {name: secret_text(fleet, name) for name in want}
    assert {name: readers(keys, text) - {"ann"} for name, text in texts.items()} == want
    assert all(keys.opens("ann", text) for text in texts.values())
    # A host goes; its key opens nothing that is written from then on.
    git(fleet, "rm", "-q", "pools/rack-a2.yaml")
    push(fleet, {"gitvirt.yaml": settings(keys, ("rack-a1", "rack-b1"))}, "remove rack-a2")
    assert gitvirt("secret", "rekey") == Exit.OK
    after = {name: secret_text(fleet, name) for name in want}
    assert not any(keys.opens("rack-a2", text) for text in after.values())
    assert {name for name, text in texts.items() if keys.opens("rack-a2", text)} == {
        name for name, hosts in want.items() if "rack-a2" in hosts
    }
    capsys.readouterr()
    gitvirt("secret", "check", "-o", "json")
    rows = json.loads(capsys.readouterr().out)
    former = {row["object"].rpartition("/")[2] for row in rows if row["formerReaders"]}
    assert former == {name for name, hosts in want.items() if "rack-a2" in hosts}
    unchanged = {name for name in want if texts[name] == after[name]}
    assert unchanged == {name for name, hosts in want.items() if "rack-a2" not in hosts}


def test_files_of_the_checkout_are_encrypted_in_place(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    head = git(fleet, "rev-parse", "HEAD")
    (fleet / "machines/a.yaml").write_bytes(user("a", "seed", pin="rack-b1"))
    assert create("seed", monkeypatch, "--worktree") == Exit.OK
    path = fleet / "secrets/default/seed.yaml"
    assert readers(keys, path.read_text()) == {"ann", "rack-b1"}
    (fleet / "machines/a.yaml").write_bytes(user("a", "seed", selector="a"))
    assert gitvirt("validate") == Exit.PROBLEMS
    assert "GV512" in capsys.readouterr().out
    assert gitvirt("secret", "rekey", "--worktree", "--dry-run") == Exit.OK
    assert readers(keys, path.read_text()) == {"ann", "rack-b1"}
    assert gitvirt("secret", "rekey", "--worktree") == Exit.OK
    assert readers(keys, path.read_text()) == {"ann", "rack-a1", "rack-a2"}
    assert gitvirt("validate") == Exit.OK
    assert git(fleet, "rev-parse", "HEAD") == head


def test_nothing_is_taken_away_while_a_file_cannot_be_read(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-b1")}, "a")
    assert create("seed", monkeypatch) == Exit.OK
    before = secret_text(fleet, "seed")
    push(fleet, {"machines/a.yaml": b"kind: [\n"}, "break it")
    assert gitvirt("secret", "rekey") == Exit.FAILED
    assert "it is unknown who needs which Secret" in capsys.readouterr().err
    monkeypatch.setenv("EDITOR", "sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    after = secret_text(fleet, "seed")
    assert readers(keys, after) == readers(keys, before) == {"ann", "rack-b1"}


def test_the_editor_gets_the_readable_text_on_tmpfs_and_nothing_remains(
    fleet: Path,
    keys: Keys,
    watching_editor: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert create("seed", monkeypatch) == Exit.OK
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    rights, path, *text = watching_editor.read_text().splitlines()
    assert rights.startswith("drwx------")
    assert any(VALUE in line for line in text)
    kind = subprocess.run(["stat", "-f", "-c", "%T", "/dev/shm"], capture_output=True, text=True, check=True)
    assert kind.stdout.strip() == "tmpfs"
    assert path.startswith(("/dev/shm/", os.environ.get("XDG_RUNTIME_DIR", "/dev/shm/")))
    assert not Path(path).parent.exists()
    assert "nothing to change" in capsys.readouterr().out


REFUSED = {
    "another name": ("s/name: seed/name: other/", "and not Secret/default/seed alone"),
    "another kind": ("s/kind: Secret/kind: Machine/", ""),
    "a value in brackets": ("s/stringData:/stringData: [/", ""),
    "no data": ("s/ignition.yaml.*/'a b': c/", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_text_that_is_not_this_secret_is_refused_without_a_value(
    name: str, fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change, want = REFUSED[name]
    assert create("seed", monkeypatch) == Exit.OK
    before = secret_text(fleet, "seed")
    capsys.readouterr()
    monkeypatch.setenv("EDITOR", f'sed -i "{change}"')
    assert gitvirt("secret", "edit", "seed") == Exit.PROBLEMS
    shown = capsys.readouterr()
    assert want in shown.err
    assert "horse" not in shown.out + shown.err
    assert secret_text(fleet, "seed") == before
    kept = kept_text(shown.err)
    assert is_in_memory(kept)
    assert kept.stat().st_mode & 0o77 == 0 or kept.parent.stat().st_mode & 0o77 == 0
    # The kept text goes into the next edit, corrected.
    monkeypatch.setenv("EDITOR", f"cp {kept}")
    assert gitvirt("secret", "edit", "seed") == Exit.PROBLEMS
    shutil.rmtree(kept_text(capsys.readouterr().err).parent)
    shutil.rmtree(kept.parent)


def kept_text(shown: str) -> Path:
    """The file that a message names."""
    found = re.search(r"your readable text is in (\S+), on tmpfs", shown)
    assert found is not None
    return Path(found[1])


def test_create_says_what_prevents_it_before_the_editor_opens(
    fleet: Path,
    keys: Keys,
    watching_editor: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert create("seed", monkeypatch) == Exit.OK
    capsys.readouterr()
    assert gitvirt("secret", "create", "seed") == Exit.FAILED
    assert "exists already" in capsys.readouterr().err
    assert gitvirt("secret", "create", "new", "--path", "pools/rack-a1.yaml") == Exit.FAILED
    assert "exists already" in capsys.readouterr().err
    pull(fleet)
    no_admin = settings(keys).replace(f'["{keys.public("ann")}"]'.encode(), b"[]", 1)
    push(fleet, {"gitvirt.yaml": no_admin}, "remove ann")
    assert gitvirt("secret", "create", "new") == Exit.FAILED
    assert "gitvirt.yaml has no secrets.admins" in capsys.readouterr().err
    assert not watching_editor.exists()


def test_create_in_the_editor_keeps_a_text_that_would_be_readable(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EDITOR", "sed -i '$a #    password: swordfish'")
    assert gitvirt("secret", "create", "new") == Exit.FAILED
    shown = capsys.readouterr().err
    assert "everyone could read the comment of line" in shown
    kept = kept_text(shown)
    assert "swordfish" in kept.read_text()
    assert "swordfish" not in shown
    monkeypatch.setenv("EDITOR", f"sed 's/^#/    #/' {kept} >")
    assert gitvirt("secret", "create", "new") == Exit.OK
    shutil.rmtree(kept.parent)
    assert "swordfish" not in secret_text(fleet, "new")


def test_without_the_right_key_each_verb_says_which_file_and_why(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-b1")}, "a")
    assert create("seed", monkeypatch) == Exit.OK
    for words in (["show", "seed"], ["edit", "seed"], ["rekey", "seed", "--force"]):
        assert gitvirt("secret", *words, "--key", str(keys.files["rack-a1"])) == Exit.FAILED
        shown = capsys.readouterr().err
        assert "secrets/default/seed.yaml cannot be opened: sops.age" in shown
        assert "none of the private keys opens it" in shown
    monkeypatch.delenv("SOPS_AGE_KEY_FILE")
    assert gitvirt("secret", "show", "seed") == Exit.USAGE
    assert "there is no private key" in capsys.readouterr().err
    assert gitvirt("secret", "check") == Exit.OK  # it needs none


def test_an_edit_names_the_readers_that_it_closes_out(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed")}, "a")
    words = ["--from-file", f"other={keys.files['ann']}"]
    assert create("seed", monkeypatch, *words) == Exit.OK
    pull(fleet)
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-b1")}, "pin it")
    capsys.readouterr()
    monkeypatch.setenv("EDITOR", "sed -i s/correct/wrong/")
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    shown = capsys.readouterr()
    assert "is changed and is closed to rack-a1, rack-a2" in shown.out
    assert "rotate the value of default/seed: rack-a1, rack-a2 could read it until commit" in shown.err
    assert readers(keys, secret_text(fleet, "seed")) == {"ann", "rack-b1"}
    # Where each value is another one, there is nothing to rotate.
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-a1")}, "pin it elsewhere")
    monkeypatch.setenv("EDITOR", "sed -i -e 's/wrong/right/' -e '/other/,/ignition/{/ignition/!d}'")
    assert gitvirt("secret", "edit", "seed") == Exit.OK
    shown = capsys.readouterr()
    assert "is closed to rack-b1" in shown.out
    assert "rotate" not in shown.err


def test_an_edit_closes_out_no_admin_and_no_reader_of_another_tool(
    fleet: Path,
    keys: Keys,
    watching_editor: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert create("seed", monkeypatch) == Exit.OK
    before = secret_text(fleet, "seed")
    no_admin = settings(keys).replace(f'["{keys.public("ann")}"]'.encode(), b"[]", 1)
    push(fleet, {"gitvirt.yaml": no_admin}, "remove ann")
    capsys.readouterr()
    assert gitvirt("secret", "edit", "seed") == Exit.FAILED
    assert "gitvirt.yaml has no secrets.admins" in capsys.readouterr().err
    pgp = '    pgp:\n        - fp: "A1"\n          enc: x\n          created_at: "2026-11-20T00:00:00Z"\n'
    files = {"gitvirt.yaml": settings(keys), "secrets/default/seed.yaml": (before + pgp).encode()}
    push(fleet, files, "add a PGP key")
    assert gitvirt("secret", "edit", "seed") == Exit.FAILED
    assert "is encrypted for pgp too" in capsys.readouterr().err
    assert not watching_editor.exists()


def test_a_secret_among_other_documents_is_shown_and_valid(
    fleet: Path, keys: Keys, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: seed}\nstringData:\n    a: swordfish\n"
    sealed = seal_with_document(text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    push(fleet, {"seed.yaml": f"---\n---\n{sealed}".encode()}, "documents")
    key = tmp_path / "host.key"
    key.write_bytes(HOST_KEY)
    assert gitvirt("secret", "show", "seed", "a", "--key", str(key)) == Exit.OK
    assert capsys.readouterr().out == "swordfish"
    gitvirt("validate", "--key", str(key), "-o", "json")
    assert "GV518" not in capsys.readouterr().out
    gitvirt("secret", "check", "--key", str(key), "-o", "json")
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["error"], row["isVerified"]) == ("", True)


def test_former_readers_are_named_after_the_file_moved(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed")}, "a")
    assert create("seed", monkeypatch) == Exit.OK
    pull(fleet)
    push(fleet, {"machines/a.yaml": user("a", "seed", selector="a")}, "select")
    assert gitvirt("secret", "rekey") == Exit.OK
    closed = secret_text(fleet, "seed")
    git(fleet, "mv", "secrets/default/seed.yaml", "seed.yaml")
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-a1")}, "move")
    git(fleet, "mv", "seed.yaml", "seed-2.yaml")
    push(fleet, {"seed-2.yaml": closed.encode()}, "move again")
    assert gitvirt("secret", "rekey") == Exit.OK
    capsys.readouterr()
    assert gitvirt("secret", "check", "-o", "json") == Exit.PROBLEMS
    (row,) = json.loads(capsys.readouterr().out)
    assert {(one["reader"], one["hasSameValue"]) for one in row["formerReaders"]} == {
        ("rack-a2", True),
        ("rack-b1", True),
    }


def test_a_plain_secret_is_a_problem_unless_the_settings_allow_it(
    fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = b"apiVersion: v1\nkind: Secret\nmetadata: {name: seed}\nstringData: {a: x}\n"
    push(fleet, {"seed.yaml": plain}, "plain")
    assert gitvirt("secret", "check") == Exit.PROBLEMS
    assert "plain text" in capsys.readouterr().out
    push(fleet, {"gitvirt.yaml": settings(keys).replace(b"secrets: {", b"secrets: {plain: allow, ")}, "allow")
    assert gitvirt("secret", "check") == Exit.OK
    assert "plain text, which secrets.plain allows" in capsys.readouterr().out


def test_on_a_terminal_the_editor_opens_again_with_the_text(
    fleet: Path,
    keys: Keys,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert create("seed", monkeypatch) == Exit.OK
    script = tmp_path / "editor"
    script.write_text(
        "#!/bin/sh\nif grep -q 'kind: Pod' \"$1\"; then sed -i 's/kind: Pod/kind: Secret/' \"$1\"\n"
        "else sed -i -e 's/kind: Secret/kind: Pod/' -e s/correct/wrong/ \"$1\"; fi\n"
    )
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(script))
    person, terminal = pty.openpty()
    os.write(person, b"yes\n")
    with os.fdopen(terminal, "r") as reader:
        monkeypatch.setattr(sys, "stdin", reader)
        assert gitvirt("secret", "edit", "seed") == Exit.OK
    os.close(person)
    shown = capsys.readouterr().err
    assert "open the editor again? Type yes: " in shown
    assert "horse" not in shown
    values = open_secret((read_body(secret_text(fleet, "seed")),), 0, keys.identities("ann"))
    assert values["ignition.yaml"].startswith(b"wrong horse")


def test_a_file_with_another_rule_is_left_to_sops(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create("seed", monkeypatch) == Exit.OK
    text = secret_text(fleet, "seed").replace("^(data|stringData)$", "'(stringData|x)+'")
    push(fleet, {"secrets/default/seed.yaml": text.encode()}, "another rule")
    for words in (["edit", "seed"], ["rekey", "--force"]):
        capsys.readouterr()
        assert gitvirt("secret", *words) == Exit.FAILED
        assert "use sops for this file" in capsys.readouterr().err


def test_values_come_from_files_and_random_bytes(
    fleet: Path,
    keys: Keys,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "tls.key").write_bytes(b"-----BEGIN x-----\nline: two\n")
    (tmp_path / "raw").write_bytes(bytes(range(256)))
    words = ["--from-file", str(tmp_path / "tls.key"), "--from-file", f"blob={tmp_path / 'raw'}"]
    assert gitvirt("secret", "create", "lab/tls", *words, "--generate", "password") == Exit.OK
    pull(fleet)
    text = (fleet / "secrets/lab/tls.yaml").read_text()
    values = open_secret((read_body(text),), 0, keys.identities("ann"))
    assert values["tls.key"] == b"-----BEGIN x-----\nline: two\n"
    assert values["blob"] == bytes(range(256))
    assert len(values["password"]) >= 32
    for path in ("/tmp/x.yaml", "../x.yaml", "a/../../x.yaml", "x.txt", ".gitvirt/x.yaml"):
        assert gitvirt("secret", "create", "x", "--generate", "a", "--path", path) == Exit.USAGE
    assert gitvirt("secret", "create", "x", "--generate", "a b") == Exit.USAGE
    assert gitvirt("secret", "create", "x", "--generate", "a", "--generate", "a") == Exit.USAGE
    assert gitvirt("secret", "create", "x", "--from-file", "/nowhere") == Exit.FAILED


def test_a_mac_that_is_wrong_is_found_with_a_key(
    fleet: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    push(fleet, {"machines/a.yaml": user("a", "seed", pin="rack-b1")}, "a")
    assert create("seed", monkeypatch) == Exit.OK
    text = secret_text(fleet, "seed").replace("namespace: default", "namespace: default\n    labels: {a: b}")
    push(fleet, {"secrets/default/seed.yaml": text.encode()}, "by hand")
    capsys.readouterr()
    assert gitvirt("secret", "check", "-o", "json") == Exit.PROBLEMS
    (row,) = json.loads(capsys.readouterr().out)
    assert row["error"].startswith("sops.mac: the MAC differs")
    for key, want in (("ann", ["GV518"]), ("rack-b1", ["GV518"]), ("rack-a1", [])):
        gitvirt("validate", "--key", str(keys.files[key]), "-o", "json")
        found = json.loads(capsys.readouterr().out)["problems"]
        assert [one["code"] for one in found if one["severity"] == "error"] == want
    assert gitvirt("secret", "show", "seed") == Exit.FAILED
