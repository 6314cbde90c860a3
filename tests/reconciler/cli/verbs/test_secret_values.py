"""Where the values of a new Secret come from: never from arguments, and nothing repeats or shows what a person typed."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from schemas.encryption.open_secret import open_secret
from schemas.encryption.sops_text import read_body
from tests.reconciler.cli.verbs.conftest import GITVIRT, gitvirt
from tests.reconciler.cli.verbs.test_secret import Keys, keys, secret_text, stdin

__all__ = ["keys"]
TYPED = "hunter2"
CREATE = ["create", "shop/db2"]


@pytest.mark.parametrize(
    "words",
    [
        [*CREATE, f"password={TYPED}"],
        [*CREATE, "--from-literal", f"password={TYPED}"],
        [*CREATE, f"--from-literal=password={TYPED}"],
        [*CREATE, "--password", TYPED],
        [*CREATE, f"--from=password={TYPED}"],
        [*CREATE, f"--worktree={TYPED}"],
        [*CREATE, "--generate", f"password={TYPED}"],
        [*CREATE, "--from-stdin", f"password={TYPED}"],
        [*CREATE, "--from-file", f"password={TYPED}"],
        ["create", f"password={TYPED}"],
        ["edit", f"password={TYPED}"],
        ["rekey", f"password={TYPED}"],
        ["set", f"password={TYPED}"],
        [f"password={TYPED}"],
    ],
    ids=" ".join,
)
def test_an_error_repeats_no_value_that_was_an_argument(
    words: list[str], fleet: Path, keys: Keys, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gitvirt("secret", *words) in (Exit.USAGE, Exit.FAILED)
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert TYPED not in shown.err + shown.out


def test_an_unknown_option_keeps_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert gitvirt("secret", *CREATE, "--from-literal", f"password={TYPED}") == Exit.USAGE
    shown = capsys.readouterr().err
    assert "--from-literal is not an option here" in shown
    assert "values never come from arguments: use --from-stdin KEY" in shown


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\r\n"], ids=["nothing", "a line break", "a line break of DOS"]
)
def test_an_empty_value_is_refused(
    data: bytes,
    fleet: Path,
    keys: Keys,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with stdin(data, monkeypatch):
        assert gitvirt("secret", "create", "seed", "--from-stdin", "password") == Exit.FAILED
    assert "the value of password is empty; nothing was created" in capsys.readouterr().err
    (tmp_path / "empty").touch()
    assert gitvirt("secret", "create", "seed", "--from-file", f"password={tmp_path / 'empty'}") == Exit.FAILED
    assert gitvirt("secret", "check", "-o", "name") == Exit.OK
    assert capsys.readouterr().out == ""


def at_terminal(typed: bytes, *words: str) -> tuple[int, bytes]:
    """The exit code, and all that the terminal showed: the call has it as its own. A person types at the prompt."""
    person, terminal = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", *GITVIRT, "secret", *words], stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            read = os.read(person, 4096)
        except OSError:  # Linux says so when the other end is closed
            break
        if not read:
            break
        was_prompt, shown = b"not shown: " in shown, shown + read
        if not was_prompt and b"not shown: " in shown:
            os.write(person, typed)
    os.close(person)
    return process.wait(), shown


def test_at_a_terminal_a_prompt_takes_the_value_and_does_not_show_it(fleet: Path, keys: Keys) -> None:
    code, shown = at_terminal(f"{TYPED}\n".encode(), "create", "seed", "--from-stdin", "password")
    assert code == Exit.OK, shown
    assert b"value of password, which is not shown: " in shown
    assert TYPED.encode() not in shown
    values = open_secret((read_body(secret_text(fleet, "seed")),), 0, keys.identities("ann"))
    assert values == {"password": TYPED.encode()}


@pytest.mark.parametrize("typed", [b"\n", b"\x04"], ids=["Enter", "Ctrl-D"])
def test_at_a_terminal_nothing_typed_is_no_value(typed: bytes, fleet: Path, keys: Keys) -> None:
    code, shown = at_terminal(typed, "create", "seed", "--from-stdin", "password")
    assert code == Exit.FAILED
    assert b"the value of password is empty; nothing was created" in shown
