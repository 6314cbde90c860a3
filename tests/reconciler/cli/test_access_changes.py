"""What `gitvirt validate` and `gitvirt plan` say of certificates: dates, changes of access, and never a private key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.reconciler.cli.test_plan import Site
from tests.reconciler.loop.fleet import SETTINGS
from tests.schemas.settings.certificates import NOW, certificate, make
from tests.servers.repository import git

# Days from NOW of the certificates to the time of the test.
TODAY = (datetime.now(UTC) - NOW) / timedelta(days=1)
CERTIFICATE, KEY = make("rack-a1", days=(TODAY - 1, TODAY + 300))


def listing(*certificates: str, name: str = "rack-a1") -> str:
    return SETTINGS + json.dumps({"poollets": {name: {"certificates": certificates}}})[1:-1] + "\n"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(arguments)
    found = capsys.readouterr()
    return code, found.out + found.err


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "gitvirt.yaml").write_text(listing(CERTIFICATE))
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "settings")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("layout", ["block", "flow", "cut"])
@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "github"])
def test_a_private_key_in_the_settings_is_found_and_never_printed(
    repo: Path, capsys: pytest.CaptureFixture[str], layout: str, form: str
) -> None:
    block = "".join(f"    {line}\n" for line in KEY.splitlines())
    text = {
        "block": f"{SETTINGS}poollets:\n  rack-a1:\n    certificates:\n    - |\n  {block.replace(chr(10), chr(10) + '  ').rstrip()}\n",
        "flow": listing(KEY),
        "cut": f"{SETTINGS}poollets:\n  rack-a1:\n    certificates:\n    - {KEY}",
    }[layout]
    (repo / "gitvirt.yaml").write_text(text)
    code, output = run(capsys, "validate", "-o", form)
    assert code == Exit.PROBLEMS
    assert ("GV606" in output) is (layout != "cut"), output
    assert not [line for line in KEY.splitlines()[1:-1] if line[:16] in output]


def test_validation_warns_of_a_certificate_that_ends_soon(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "gitvirt.yaml").write_text(listing(certificate(days=(TODAY - 1, TODAY + 20))))
    code, output = run(capsys, "validate")
    assert code == Exit.OK
    assert "warning GV618" in output
    assert run(capsys, "validate", "--strict")[0] == Exit.PROBLEMS


def test_validation_against_a_revision_says_whom_a_change_cuts_off(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "gitvirt.yaml").write_text(listing())
    code, output = run(capsys, "validate", "--against", "HEAD")
    assert code == Exit.OK
    assert "warning GV629 REVOKES certificate" in output
    assert "GV629" not in run(capsys, "validate")[1]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(tmp_path)
    made.begin()
    monkeypatch.chdir(made.checkout)
    yield made
    made.world.close()


def test_a_plan_shows_who_may_connect_from_the_merge_on(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.edit({"gitvirt.yaml": listing(CERTIFICATE)})
    code, output = run(capsys, "plan", "-o", "json")
    plan = json.loads(output[: output.rindex("}") + 1])
    assert code == Exit.OK
    assert [(each["code"], each["severity"]) for each in plan["problems"]] == [("GV628", "notice")]
    assert plan["summary"] == "1 change of access"
    assert "poollets.rack-a1 may connect" in run(capsys, "plan")[1]
    site.people.push({"gitvirt.yaml": listing(CERTIFICATE)})
    site.settle()
    git(site.checkout, "checkout", "--quiet", "--", ".")
    git(site.checkout, "pull", "--quiet", str(site.world.repo), "main")
    site.fetch()
    assert "access" not in run(capsys, "plan")[1]
    site.edit({"gitvirt.yaml": SETTINGS})
    assert "notice GV629 REVOKES certificate" in run(capsys, "plan")[1]
