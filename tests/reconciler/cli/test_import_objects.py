"""`gitvirt import`: an export becomes files, and never replaces one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit

EXPORT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {
            "apiVersion": "compute.ironcore.dev/v1alpha1",
            "kind": "MachineClass",
            "metadata": {"name": "small", "uid": "1"},
            "capabilities": {"cpu": "1", "memory": "1Gi"},
        },
        {
            "apiVersion": "compute.ironcore.dev/v1alpha1",
            "kind": "Machine",
            "metadata": {"name": "web", "namespace": "shop", "managedFields": [{"manager": "x"}]},
            "spec": {"machineClassRef": {"name": "small"}, "machinePoolRef": {"name": "rack-1"}},
            "status": {"state": "Running"},
        },
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "data": {"a": "c2VjcmV0"}},
    ],
}


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(EXPORT))
    return path


def test_an_export_becomes_a_repo_that_validates(
    tmp_path: Path, export: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = tmp_path / "fleet"
    assert main(["init", str(repo)]) == Exit.OK
    (repo / "classes/small.yaml").unlink()
    assert main(["import", "-f", str(export), str(repo)]) == Exit.OK
    printed = capsys.readouterr()
    assert "machines/shop/web.yaml" in printed.out
    assert "Secret/key" in printed.err
    assert main(["validate", str(repo)]) == Exit.OK
    assert not any(b"c2VjcmV0" in path.read_bytes() for path in repo.rglob("*.yaml"))
    assert main(["import", "-f", str(export), str(repo)]) == Exit.OK  # the same files again


def test_a_file_that_exists_is_never_replaced(
    tmp_path: Path, export: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "fleet/machines/shop/web.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("# mine\n")
    assert main(["import", "-f", str(export), str(tmp_path / "fleet")]) == Exit.FAILED
    assert mine.read_text() == "# mine\n"
    assert not (tmp_path / "fleet/classes").exists()
    assert "nothing was written" in capsys.readouterr().err


def test_a_dry_run_writes_nothing(tmp_path: Path, export: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "-f", str(export), str(tmp_path / "fleet"), "--dry-run"]) == Exit.OK
    assert "would write" in capsys.readouterr().out
    assert not (tmp_path / "fleet").exists()


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("a: [", Exit.PROBLEMS, "export.json:1"),
        ("", Exit.PROBLEMS, ""),
        ("kind: Deployment\napiVersion: apps/v1\n", Exit.PROBLEMS, "not a kind of gitvirt"),
        (json.dumps({"kind": "List", "items": EXPORT["items"] * 2}), Exit.PROBLEMS, "an object twice"),
    ],
)
def test_what_cannot_be_imported_is_an_error(
    tmp_path: Path, export: Path, capsys: pytest.CaptureFixture[str], text: str, code: Exit, words: str
) -> None:
    export.write_text(text)
    assert main(["import", "-f", str(export), str(tmp_path / "fleet")]) == code
    assert words in capsys.readouterr().err


def test_a_missing_export_is_an_error_with_a_cure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "-f", str(tmp_path / "none"), str(tmp_path)]) == Exit.FAILED
    assert capsys.readouterr().err.startswith("error: cannot read")
