"""`gitvirt link` and `gitvirt client`: key and certificate, their entry in gitvirt.yaml, and both steps of a rotation."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from schemas.settings import fleet as settings
from schemas.settings.certificate import LINK_NAME, Certificate, read_certificate
from schemas.settings.fleet import FleetSettings
from tests.reconciler.cli.verbs.conftest import SETTINGS
from tests.reconciler.gitstore.git import commit, git
from tests.schemas.settings.certificates import DAY, NOW, certificate

Gitvirt = Callable[..., tuple[int, str]]


@pytest.fixture
def gitvirt(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Gitvirt:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def call(*arguments: str) -> tuple[int, str]:
        code = main(arguments)
        found = capsys.readouterr()
        return code, found.out + found.err

    return call


def link(tmp_path: Path, *more: str) -> tuple[str, ...]:
    action, *rest = more
    key, crt = str(tmp_path / "keys" / "server.key"), str(tmp_path / "keys" / "server.crt")
    return ("link", action, "--key", key, "--certificate", crt, *rest)


def on(fleet: Path, branch: str = "main") -> FleetSettings:
    """The settings that the remote has on a branch."""
    git(fleet, "fetch", "--quiet", "origin")
    text = subprocess.run(
        ["git", "show", f"origin/{branch}:gitvirt.yaml"], cwd=fleet, capture_output=True, check=True
    ).stdout
    found = settings.parse(text)
    assert isinstance(found, FleetSettings), found
    return found


def apply(fleet: Path, branch: str = "main") -> None:
    """As a reconciler would: live gets the settings of a branch. Only that file matters here."""
    git(fleet, "fetch", "--quiet", "origin")
    git(fleet, "switch", "--quiet", "-C", "applied", "origin/live")
    git(fleet, "checkout", "--quiet", f"origin/{branch}", "--", "gitvirt.yaml")
    git(fleet, "commit", "--quiet", "--allow-empty", "--message", "sync")
    git(fleet, "push", "--quiet", "origin", "applied:live")


def test_the_link_gets_a_certificate_with_its_name_and_an_entry(
    fleet: Path, gitvirt: Gitvirt, tmp_path: Path
) -> None:
    code, output = gitvirt(*link(tmp_path, "init", "--address", "link.example.org:7443"))
    assert code == Exit.OK, output
    found = on(fleet).link
    assert found.addresses == ("link.example.org:7443",)
    listed = read_certificate(found.certificates[0])
    assert isinstance(listed, Certificate)
    assert listed.names == (LINK_NAME,)
    assert listed.short in output
    key = (tmp_path / "keys" / "server.key").read_text()
    assert not [line for line in key.splitlines()[1:-1] if line in output]
    code, output = gitvirt(*link(tmp_path, "init", "--address", "link.example.org:7443"))
    assert (code, output) == (Exit.OK, "link is listed already\n")
    gitvirt(*link(tmp_path, "init", "--address", "[2001:db8::1]:7443"))
    assert on(fleet).link.addresses == ("link.example.org:7443", "[2001:db8::1]:7443")
    assert len(on(fleet).link.certificates) == 1


def test_a_link_is_proposed_on_a_branch_for_review(fleet: Path, gitvirt: Gitvirt, tmp_path: Path) -> None:
    code, output = gitvirt(*link(tmp_path, "init", "--address", "a:1", "--branch", "link"))
    assert code == Exit.OK
    assert "open a pull request" in output
    assert on(fleet).link.certificates == ()
    assert on(fleet, "link").link.addresses == ("a:1",)


def test_a_dry_run_of_the_link_makes_no_file(fleet: Path, gitvirt: Gitvirt, tmp_path: Path) -> None:
    code, output = gitvirt(*link(tmp_path, "init", "--address", "a:1", "--dry-run"))
    assert code == Exit.FAILED
    assert "a dry run makes none" in output
    assert not (tmp_path / "keys").exists()
    gitvirt(*link(tmp_path, "init", "--address", "a:1", "--branch", "link"))
    code, output = gitvirt(*link(tmp_path, "init", "--address", "a:1", "--dry-run"))
    assert code == Exit.OK
    assert output.startswith(("diff --git a/gitvirt.yaml", "--- a/gitvirt.yaml"))
    assert on(fleet).link.certificates == ()


def test_what_would_make_the_settings_unusable_is_refused_before_the_commit(
    fleet: Path, gitvirt: Gitvirt, tmp_path: Path
) -> None:
    head = git(fleet, "rev-parse", "origin/main")
    assert gitvirt(*link(tmp_path, "init"))[0] == Exit.USAGE  # without an address
    crt = tmp_path / "ci.crt"
    crt.write_text(certificate("ci"))
    words = ("--rights", "read", "--namespaces", "*", "--certificate", str(crt))
    assert gitvirt("client", "join", "ci", *words)[0] == Exit.OK
    code, output = gitvirt("client", "join", "other", *words)
    assert code == Exit.PROBLEMS
    assert "GV608" in output
    git(fleet, "fetch", "--quiet", "origin")
    assert git(fleet, "rev-parse", "origin/main^") == head


def test_a_link_rotates_in_two_steps_and_is_never_without_a_certificate_in_force(
    fleet: Path, gitvirt: Gitvirt, tmp_path: Path
) -> None:
    gitvirt(*link(tmp_path, "init", "--address", "a:1"))
    (old,) = on(fleet).link.certificates
    apply(fleet)
    code, output = gitvirt("link", "rotate", "--key", str(tmp_path / "elsewhere" / "server.key"))
    assert code == Exit.FAILED
    assert "the link has no key" in output
    assert not (tmp_path / "elsewhere").exists()
    code, output = gitvirt(*link(tmp_path, "rotate"))
    assert code == Exit.OK
    assert "valid for more than 30 days" in output
    assert gitvirt(*link(tmp_path, "rotate", "--force"))[0] == Exit.OK
    first, new = on(fleet).link.certificates
    assert first == old
    assert gitvirt(*link(tmp_path, "rotate"))[1] == "link is listed already\n"  # it is not on live yet
    assert (tmp_path / "keys" / "server.crt").read_text() == old
    apply(fleet)
    code, output = gitvirt(*link(tmp_path, "rotate", "--branch", "end"))
    assert code == Exit.OK
    assert "copy both files to each server" in output
    assert on(fleet).link.certificates == (old, new)
    assert on(fleet, "end").link.certificates == (new,)
    assert (tmp_path / "keys" / "server.crt").read_text() == new
    assert git(fleet, "log", "-1", "--format=%s", "origin/end") == "link: REVOKE its former certificate"
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == ["server.crt", "server.key"]


def test_a_client_gets_a_certificate_and_the_rights_that_were_given(
    fleet: Path, gitvirt: Gitvirt, tmp_path: Path
) -> None:
    code, output = gitvirt(
        "client", "join", "ci", "--rights", "read,schedule", "--namespaces", "default,staging"
    )
    assert code == Exit.OK, output
    entry = on(fleet).clients["ci"]
    assert (entry.rights, entry.namespaces) == (("read", "schedule"), ("default", "staging"))
    key = tmp_path / "config" / "gitvirt" / "ci.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.with_name("ci.crt").read_text() == entry.certificates[0]
    gitvirt("client", "join", "ci", "--rights", "read")
    entry = on(fleet).clients["ci"]
    assert (entry.rights, entry.namespaces, len(entry.certificates)) == (("read",), ("default", "staging"), 1)


def test_a_certificate_that_was_another_person_made_is_listed_without_a_key(
    fleet: Path, gitvirt: Gitvirt, tmp_path: Path
) -> None:
    (tmp_path / "ci.crt").write_text(certificate("ci"))
    words = ("--rights", "read", "--namespaces", "*", "--certificate", str(tmp_path / "ci.crt"))
    code, output = gitvirt("client", "join", "ci", *words, "-o", "json")
    assert code == Exit.OK
    printed = json.loads(output)
    assert (printed["owner"], printed["changed"], printed["keyFile"], printed["file"]) == (
        "clients.ci",
        True,
        "",
        "gitvirt.yaml",
    )
    assert on(fleet).clients["ci"].certificates == (certificate("ci"),)
    assert sorted(path.name for path in tmp_path.glob("*.key")) == []


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("ci",), "it needs --rights and --namespaces"),
        (("ci", "--rights", "destory", "--namespaces", "*"), "there is no right 'destory'"),
        (("ci", "--rights", "read", "--namespaces", "Web"), "'Web' is not a namespace"),
        (("CI", "--rights", "read", "--namespaces", "*"), "'CI' is not a name"),
    ],
)
def test_a_client_without_a_name_rights_or_namespaces_is_wrong_usage(
    gitvirt: Gitvirt, words: tuple[str, ...], fault: str
) -> None:
    code, output = gitvirt("client", "join", *words)
    assert code == Exit.USAGE
    assert fault in output


def test_a_client_rotates_as_the_link_does(fleet: Path, gitvirt: Gitvirt, tmp_path: Path) -> None:
    assert "has no key" in gitvirt("client", "rotate", "ci")[1]
    gitvirt("client", "join", "ci", "--rights", "read", "--namespaces", "*")
    (old,) = on(fleet).clients["ci"].certificates
    apply(fleet, "main")
    gitvirt("client", "rotate", "ci", "--force")
    first, new = on(fleet).clients["ci"].certificates
    assert first == old
    apply(fleet, "main")
    assert gitvirt("client", "rotate", "ci", "--dry-run")[0] == Exit.OK
    assert (tmp_path / "config" / "gitvirt" / "ci.crt").read_text() == old
    gitvirt("client", "rotate", "ci")
    assert on(fleet).clients["ci"].certificates == (new,)
    assert on(fleet).clients["ci"].rights == ("read",)
    assert (tmp_path / "config" / "gitvirt" / "ci.crt").read_text() == new


def list_ending(fleet: Path, days: float) -> None:
    """Settings with a host whose certificate ends in that many days from now."""
    end = (datetime.now(UTC) - NOW) / DAY + days
    listed = {"poollets": {"rack-a": {"certificates": [certificate(days=(end - 100, end))]}}}
    text = SETTINGS.decode() + json.dumps(listed)[1:-1] + "\n"
    commit(fleet, {"gitvirt.yaml": text.encode()}, "list")
    git(fleet, "push", "-q", "origin", "main")


@pytest.mark.parametrize(
    ("days", "verb"), [(29.5, "expires"), (-1.0, "expired"), (31.0, "")], ids=["soon", "ended", "later"]
)
def test_people_who_look_at_the_fleet_are_warned_with_the_command_to_run(
    fleet: Path, gitvirt: Gitvirt, days: float, verb: str
) -> None:
    list_ending(fleet, days)
    day = (datetime.now(UTC) + days * DAY).date().isoformat()
    want = f"the certificate of poollets.rack-a {verb} on {day}"
    for words in (("get", "pools"), ("status",)):
        code, output = gitvirt(*words)
        assert code == Exit.OK
        assert (want in output) is bool(verb), output
        assert ("run `gitvirt poollet rotate` on the host of rack-a" in output) is bool(verb)
    printed = json.loads(gitvirt("status", "-o", "json")[1])["expiringCertificates"]
    assert [each["owner"] for each in printed] == (["poollets.rack-a"] if verb else [])
    assert "certificate" not in gitvirt("get", "machines")[1]
    assert "certificate" not in gitvirt("get", "pools", "-o", "json")[1]
