"""`gitvirt plan` and `gitvirt validate` agree about one tree: the exit code, and every error by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from reconciler.cli.plans.phrases import many
from schemas.manifest import count_kept, documents, parse, parse_once
from tests.reconciler.loop.fleet import SETTINGS, SMALL, machine
from tests.schemas.validate.case import BASE, Case
from tests.schemas.validate.rule_cases import CASES
from tests.servers.repository import git


def commit_tree(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a tree")


def list_errors(document: dict[str, list[dict[str, object]]]) -> list[tuple[object, ...]]:
    return [
        (each["file"], each["code"], each.get("line", 0))
        for each in document["problems"]
        if each["severity"] == "error"
    ]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(arguments)
    return code, capsys.readouterr().out


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_plan_of_a_tree_has_the_exit_code_and_the_errors_of_its_validation(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_tree(tmp_path, {"gitvirt.yaml": SETTINGS, **BASE, **case.files})
    monkeypatch.chdir(tmp_path)
    checked, found = run(capsys, "validate", "-o", "json")
    planned, plan = run(capsys, "plan", "-o", "json")
    assert (planned == Exit.PROBLEMS) is (checked == Exit.PROBLEMS)
    if checked != Exit.PROBLEMS or "gitvirt.yaml" in case.files:
        return
    wanted, document = list_errors(json.loads(found)), json.loads(plan)
    planned_errors = list_errors(document)
    assert set(wanted) <= set(planned_errors)
    assert document["summary"].endswith(many(len(planned_errors), "error"))


def test_a_class_that_is_removed_while_machines_use_it_is_an_error_of_the_plan_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_tree(
        tmp_path,
        {
            "gitvirt.yaml": SETTINGS,
            "class.yaml": SMALL,
            **{f"web-{n}.yaml": machine(f"web-{n}") for n in range(5)},
        },
    )
    git(tmp_path, "branch", "live")
    (tmp_path / "class.yaml").unlink()
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "validate")[0] == Exit.PROBLEMS
    for source in ((), ("--repo", str(tmp_path))):
        if source:
            git(tmp_path, "commit", "--quiet", "--all", "--message", "remove the class")
        code, text = run(capsys, "plan", *source)
        assert code == Exit.PROBLEMS
        assert text.splitlines()[0].endswith("5 errors")
        for number in range(5):
            assert f"  web-{number}.yaml:" in text
        markdown = run(capsys, "plan", "-o", "markdown", *source)
        assert markdown[0] == Exit.PROBLEMS
        assert "5 errors" in markdown[1].splitlines()[0]
        document = json.loads(run(capsys, "plan", "-o", "json", *source)[1])
        assert [each["code"] for each in document["problems"]] == ["GV310"] * 5


def test_a_plan_parses_each_file_once_and_changes_nothing_that_it_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = {"class.yaml": SMALL, **{f"web-{n}.yaml": machine(f"web-{n}") for n in range(5)}}
    commit_tree(tmp_path, {"gitvirt.yaml": SETTINGS, **manifests})
    monkeypatch.chdir(tmp_path)
    with parse_once():
        assert run(capsys, "plan")[0] == Exit.UNPLACEABLE
        assert count_kept() == len(manifests)
        for path, text in manifests.items():
            assert parse(path, text.encode()) == documents.parse(path, text.encode())
        assert count_kept() == len(manifests), "the plan had them all"


def test_settings_that_cannot_be_used_have_the_exit_code_of_problems_in_manifests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_tree(tmp_path, {"gitvirt.yaml": SETTINGS + "bogus: 1\n"})
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "validate")[0] == run(capsys, "plan")[0] == Exit.PROBLEMS


def test_a_typing_mistake_in_the_settings_is_the_only_error_that_it_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether plain Secrets are allowed cannot be read then; they are not reported on top."""
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: seed}\nstringData: {password: x}\n"
    commit_tree(tmp_path, {"gitvirt.yaml": SETTINGS + "secrets: {plain: alow}\n", "seed.yaml": secret})
    monkeypatch.chdir(tmp_path)
    code, found = run(capsys, "validate", "-o", "json")
    assert code == Exit.PROBLEMS
    assert [each["file"] for each in json.loads(found)["problems"]] == ["gitvirt.yaml"]
