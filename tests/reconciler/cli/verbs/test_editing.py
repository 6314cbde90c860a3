"""`gitvirt edit`: an editor, the plan, one commit; and what becomes of a text that cannot be committed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from tests.reconciler.cli.test_drain_progress import Site, site
from tests.reconciler.cli.verbs.conftest import gitvirt, machine
from tests.reconciler.gitstore.git import commit, git

__all__ = ("site",)

Capture = pytest.CaptureFixture[str]
SWITCH_OFF = r"""sed -i 's/^spec:/spec:\n  power: "Off"/'"""
MISTAKE = "sed -i s/machineClassRef/machineClass/"


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without a terminal, and with an editor that changes nothing."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return monkeypatch


def kept_text(error: str) -> Path:
    return Path(error.strip().rpartition("your text is in ")[2].partition(";")[0])


def head(fleet: Path) -> str:
    git(fleet, "fetch", "-q")
    return git(fleet, "rev-parse", "origin/main").strip()


def test_the_change_is_planned_and_committed(
    fleet: Path, capsys: Capture, editor: pytest.MonkeyPatch
) -> None:
    editor.setenv("EDITOR", SWITCH_OFF)
    assert gitvirt("edit", "web-1") == Exit.OK
    shown = capsys.readouterr()
    assert "+ Machine/default/web-1" in shown.err
    assert shown.out.startswith("Machine/default/web-1 is changed: ")
    git(fleet, "pull", "-q", "origin", "main")
    assert 'power: "Off"' in (fleet / "machines/web-1.yaml").read_text()
    assert git(fleet, "log", "-1", "--format=%an %s").strip() == "Ann edit Machine/default/web-1"


def test_the_plan_is_that_of_gitvirt_plan(site: Site, capsys: Capture, editor: pytest.MonkeyPatch) -> None:
    editor.setenv("EDITOR", SWITCH_OFF)
    repo = ("--repo", str(site.world.repo))
    assert gitvirt("edit", "web-1", *repo) == Exit.OK
    shown = capsys.readouterr().err
    assert "power: On -> Off" in shown
    assert "STOPS the machine now" in shown
    assert gitvirt("plan", *repo) == Exit.OK
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("name", ["VISUAL", "EDITOR"])
def test_visual_comes_before_editor(
    fleet: Path, capsys: Capture, editor: pytest.MonkeyPatch, name: str
) -> None:
    editor.setenv("VISUAL", SWITCH_OFF if name == "VISUAL" else "")
    editor.setenv("EDITOR", SWITCH_OFF if name == "EDITOR" else "false")
    assert gitvirt("edit", "web-1", "--dry-run") == Exit.OK
    assert '+  power: "Off"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        pytest.param("true", Exit.OK, "is as it was: nothing to change", id="no change"),
        pytest.param("false", Exit.FAILED, "the editor false ended with 1", id="a broken editor"),
        pytest.param(
            f"{SWITCH_OFF} --dry-run", Exit.FAILED, "nothing was changed", id="a command that is wrong"
        ),
        pytest.param("rm", Exit.FAILED, "cannot read what the editor wrote", id="a lost file"),
    ],
)
def test_nothing_is_committed_without_a_change(
    fleet: Path, capsys: Capture, editor: pytest.MonkeyPatch, command: str, code: Exit, words: str
) -> None:
    before = head(fleet)
    editor.setenv("EDITOR", command)
    assert gitvirt("edit", "web-1") == code
    shown = capsys.readouterr()
    assert words in shown.out + shown.err
    assert head(fleet) == before


def test_a_mistake_is_shown_and_the_text_is_kept(
    fleet: Path, capsys: Capture, editor: pytest.MonkeyPatch
) -> None:
    before = head(fleet)
    editor.setenv("EDITOR", MISTAKE)
    assert gitvirt("edit", "web-1") == Exit.PROBLEMS
    error = capsys.readouterr().err
    assert "machines/web-1.yaml:" in error
    assert "GV2" in error
    assert "machineClass: {name: small}" in kept_text(error).read_text()
    assert head(fleet) == before


def test_what_a_change_destroys_needs_consent(
    fleet: Path, capsys: Capture, editor: pytest.MonkeyPatch
) -> None:
    before = head(fleet)
    editor.setenv("EDITOR", "truncate -s 0")
    assert gitvirt("edit", "web-1") == Exit.USAGE
    error = capsys.readouterr().err
    assert "DELETE" in error
    assert "DESTROYS local disk root of web-1, 5Gi" in error
    assert "there is no terminal to ask on" in error
    assert kept_text(error).exists()
    assert head(fleet) == before
    assert gitvirt("edit", "web-1", "--yes", "-m", "web-1 goes") == Exit.OK
    git(fleet, "pull", "-q", "origin", "main")
    assert not (fleet / "machines/web-1.yaml").exists()
    message = git(fleet, "log", "-1", "--format=%B")
    assert message.startswith("DESTROYS: web-1 goes")
    assert "- DESTROYS local disk root of web-1, 5Gi" in message


def test_a_file_with_errors_can_be_corrected_and_other_errors_are_no_obstacle(
    fleet: Path, capsys: Capture, editor: pytest.MonkeyPatch
) -> None:
    wrong = machine("web-1").replace(b"machineClassRef", b"machineClass")
    commit(fleet, {"machines/web-1.yaml": wrong, "machines/web-3.yaml": b"kind: Machine\n"}, "two mistakes")
    git(fleet, "push", "-q", "origin", "main")
    editor.setenv("EDITOR", "sed -i s/machineClass:/machineClassRef:/")
    assert gitvirt("edit", "machine/web-1") == Exit.OK
    git(fleet, "pull", "-q", "origin", "main")
    assert "machineClassRef" in (fleet / "machines/web-1.yaml").read_text()


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("machines/web-2.yaml", Exit.OK, id="another file"),
        pytest.param("machines/web-1.yaml", Exit.FAILED, id="the same file"),
    ],
)
def test_a_commit_that_came_meanwhile_is_never_overwritten(
    fleet: Path, tmp_path: Path, capsys: Capture, editor: pytest.MonkeyPatch, path: str, code: Exit
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(tmp_path / "fleet.git"), str(other))
    git(other, "config", "user.name", "Bob")
    git(other, "config", "user.email", "bob@example.org")
    script = tmp_path / "editor"
    text = (fleet / path).read_text() + "# a note of Bob\n"
    commit(other, {path: text.encode()}, "a note")
    script.write_text(f'#!/bin/sh\ngit -C {other} push -q origin HEAD:main\n{SWITCH_OFF} "$1"\n')
    script.chmod(0o755)
    editor.setenv("EDITOR", str(script))
    assert gitvirt("edit", "web-1") == code
    git(fleet, "pull", "-q", "origin", "main")
    assert "# a note of Bob" in (fleet / path).read_text()
    if code is Exit.FAILED:
        error = capsys.readouterr().err
        assert "machines/web-1.yaml changed on the source branch meanwhile" in error
        assert 'power: "Off"' in kept_text(error).read_text()


def test_one_file_is_edited_at_a_time(fleet: Path, capsys: Capture, editor: pytest.MonkeyPatch) -> None:
    assert gitvirt("edit", "web-1", "web-2") == Exit.USAGE
    assert "these objects are in 2 files: machines/web-1.yaml, machines/web-2.yaml" in capsys.readouterr().err
