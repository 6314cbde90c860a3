"""`gitvirt init`: what it makes, that it never overwrites, and that a fork gets an identity of its own."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import uuid
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.cli import main
from reconciler.cli.ci_source import find_ci_source
from reconciler.cli.exits import Exit
from reconciler.cli.init import FILES

ROOT = Path(__file__).parents[3]


def fleet_id(repo: Path) -> str:
    return str(YAML(typ="safe").load((repo / "gitvirt.yaml").read_text())["fleet"]["id"])


def test_makes_a_repo_on_main_with_an_identity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = tmp_path / "fleet"
    assert main(["init", str(repo)]) == Exit.OK
    assert uuid.UUID(fleet_id(repo))
    head = subprocess.run(
        ["git", "-C", str(repo), "symbolic-ref", "HEAD"], capture_output=True, text=True, check=True
    )
    assert head.stdout.strip() == "refs/heads/main"
    assert all((repo / path).is_file() for path in FILES.values())
    assert {path.name for path in (repo / ".schemas").iterdir()} == {
        path.name for path in (ROOT / "schemas").glob("*.json")
    }
    assert "gitvirt validate" in capsys.readouterr().out


def test_two_fleets_differ(tmp_path: Path) -> None:
    main(["init", str(tmp_path / "a")])
    main(["init", str(tmp_path / "b")])
    assert fleet_id(tmp_path / "a") != fleet_id(tmp_path / "b")


def test_keeps_what_people_wrote_and_brings_schemas_up_to_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init", str(tmp_path)])
    (tmp_path / "README.md").write_text("ours\n")
    (tmp_path / ".schemas" / "fleet.json").write_text("{}")
    before = fleet_id(tmp_path)
    capsys.readouterr()
    assert main(["init", str(tmp_path)]) == Exit.OK
    printed = capsys.readouterr().out
    assert (tmp_path / "README.md").read_text() == "ours\n"
    assert fleet_id(tmp_path) == before
    assert json.loads((tmp_path / ".schemas" / "fleet.json").read_text())["title"] == "gitvirt.yaml"
    assert "updated  .schemas/" in printed
    main(["init", str(tmp_path)])
    assert "Everything already exists." in capsys.readouterr().out


def test_inside_a_repo_it_makes_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fleet below the root of another repo is a mistake, such as a folder in the checkout of gitvirt itself."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert main(["init", str(tmp_path / "fleet")]) == Exit.OK
    assert not (tmp_path / "fleet" / ".git").exists()
    assert f"this folder belongs to the Git repo {tmp_path}" in capsys.readouterr().err
    assert main(["init", str(tmp_path)]) == Exit.OK
    assert "belongs to" not in capsys.readouterr().err


def test_leaves_git_alone_with_no_git(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "fleet"), "--no-git"]) == Exit.OK
    assert not (tmp_path / "fleet" / ".git").exists()


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_refork_replaces_the_id_and_no_other_byte(tmp_path: Path, quote: str) -> None:
    old = str(uuid.uuid4())
    text = f"# mine\r\nfleet:   # which\n  # the id\n  id: {quote}{old}{quote}  # once\r\nother: [{old}]\n"
    (tmp_path / "gitvirt.yaml").write_bytes(text.encode())
    assert main(["init", str(tmp_path), "--refork"]) == Exit.OK
    new = (tmp_path / "gitvirt.yaml").read_bytes().decode()
    assert new != text
    assert new == text.replace(old, new[text.index(old) : text.index(old) + 36], 1)


@pytest.mark.parametrize(
    "text", [None, "fleet: {id: 3c0f3b4e-58b5-4b7e-9f51-4a4a9f8d8f10}\n", "branches: {}\n", "\x00"]
)
def test_refork_says_what_to_do_where_it_cannot(
    tmp_path: Path, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / "gitvirt.yaml").write_text(text)
    assert main(["init", str(tmp_path), "--refork"]) == Exit.FAILED
    captured = capsys.readouterr().err
    assert "gitvirt.yaml" in captured
    assert len(captured.splitlines()) >= 2
    if text is not None:
        assert (tmp_path / "gitvirt.yaml").read_text() == text


def test_a_file_in_the_way_is_an_error_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fleet").write_text("")
    assert main(["init", str(tmp_path / "fleet")]) == Exit.FAILED
    assert capsys.readouterr().err.startswith("error: cannot write")


def test_the_example_has_the_same_ci_files(tmp_path: Path) -> None:
    main(["init", str(tmp_path)])
    pinned = f"gitvirt=={importlib.metadata.version('gitvirt')}"
    for path in (".github/workflows/gitvirt.yaml", ".gitlab-ci.yml", ".gitvirtignore"):
        installed = (tmp_path / path).read_text().replace(find_ci_source().requirement, pinned)
        assert (ROOT / "examples" / "repo" / path).read_text() == installed


def test_a_link_among_the_schemas_is_replaced_and_not_followed(tmp_path: Path) -> None:
    repo = tmp_path / "fleet"
    main(["init", str(repo)])
    outside = tmp_path / "precious"
    outside.write_text("mine")
    (repo / ".schemas" / "fleet.json").unlink()
    (repo / ".schemas" / "fleet.json").symlink_to(outside)
    assert main(["init", str(repo)]) == Exit.OK
    assert outside.read_text() == "mine"
    assert json.loads((repo / ".schemas" / "fleet.json").read_text())["title"] == "gitvirt.yaml"
