"""`gitvirt comment`: one comment a pull request, whatever the forge, however often CI runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli import main
from reconciler.cli.exits import Exit
from tests.servers.forge import TOKEN, Forge, forge

Capture = pytest.CaptureFixture[str]
NAMES = (
    "GITHUB_ACTIONS", "GITHUB_TOKEN", "GITHUB_API_URL", "GITHUB_REPOSITORY", "GITHUB_EVENT_PATH",
    "GITLAB_CI", "GITVIRT_COMMENT_TOKEN", "CI_API_V4_URL", "CI_PROJECT_ID", "CI_MERGE_REQUEST_IID",
)  # fmt: skip


@pytest.fixture
def server() -> Iterator[Forge]:
    with forge() as found:
        yield found


@pytest.fixture(params=["github", "gitlab"])
def ci(
    request: pytest.FixtureRequest, server: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Forge:
    """The environment of a job that runs for pull request 7."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    of_github = {
        "GITHUB_ACTIONS": "true", "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": server.url,
        "GITHUB_REPOSITORY": "me/fleet", "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
    }  # fmt: skip
    of_gitlab = {
        "GITLAB_CI": "true", "GITVIRT_COMMENT_TOKEN": TOKEN, "CI_API_V4_URL": server.url,
        "CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "7",
    }  # fmt: skip
    for name, value in (of_github if request.param == "github" else of_gitlab).items():
        monkeypatch.setenv(name, value)
    return server


def write_plan(tmp_path: Path, text: str) -> str:
    (tmp_path / "plan.md").write_text(text)
    return str(tmp_path / "plan.md")


def test_the_comment_is_created_updated_and_left_alone(ci: Forge, tmp_path: Path, capsys: Capture) -> None:
    ci.comments += [{"id": number, "body": "by a person"} for number in range(1, 151)]  # two pages
    for text, output in (("first", "created"), ("second", "updated"), ("second", "is up to date")):
        assert main(["comment", write_plan(tmp_path, text)]) == Exit.OK
        assert output in capsys.readouterr().out
    assert [comment["body"] for comment in ci.comments[150:]] == ["<!-- gitvirt plan -->\nsecond"]
    assert all(comment["body"] == "by a person" for comment in ci.comments[:150])


@pytest.mark.parametrize("count", [100, 150])
def test_a_forge_that_answers_each_page_with_all_comments_ends_the_search(
    ci: Forge, tmp_path: Path, capsys: Capture, count: int
) -> None:
    ci.has_pages = False
    ci.comments += [{"id": number, "body": "by a person"} for number in range(1, count + 1)]
    for output in ("created", "is up to date"):
        assert main(["comment", write_plan(tmp_path, "text")]) == Exit.OK
        assert output in capsys.readouterr().out
    assert len(ci.comments) == count + 1
    assert ci.calls.count("GET") <= 4


def test_two_markers_are_two_comments(ci: Forge, tmp_path: Path) -> None:
    for marker in ("site a", "site b", "site a"):
        assert main(["comment", write_plan(tmp_path, "x"), "--marker", marker]) == Exit.OK
    assert len(ci.comments) == 2


def test_a_long_plan_is_cut(ci: Forge, tmp_path: Path) -> None:
    assert main(["comment", write_plan(tmp_path, "x" * 100_000)]) == Exit.OK
    body = str(ci.comments[0]["body"])
    assert len(body) < 61_000
    assert "the rest is in the log" in body


def test_a_wrong_token_is_an_error_that_does_not_show_it(
    ci: Forge, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GITVIRT_COMMENT_TOKEN"):
        monkeypatch.setenv(name, "s3cret")
    assert main(["comment", write_plan(tmp_path, "x")]) == Exit.FAILED
    output = capsys.readouterr().err
    assert "401" in output
    assert "check that the token may write comments" in output
    assert "s3cret" not in output


def test_the_words_of_the_forge_are_kept(ci: Forge, tmp_path: Path, capsys: Capture) -> None:
    ci.is_archived = True
    assert main(["comment", write_plan(tmp_path, "x")]) == Exit.FAILED
    output = capsys.readouterr().err
    assert "403 Repo is archived." in output
    assert "the forge says why" in output
    assert "swagger" not in output


def test_missing_variables_are_named(
    ci: Forge, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GITVIRT_COMMENT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert main(["comment", write_plan(tmp_path, "x")]) == Exit.USAGE
    assert "TOKEN is not set" in capsys.readouterr().err
    for name in ("GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    assert main(["comment", write_plan(tmp_path, "x")]) == Exit.USAGE
    assert "not a CI job" in capsys.readouterr().err
    assert main(["comment", str(tmp_path / "nothing.md")]) == Exit.FAILED
    output = capsys.readouterr().err
    assert f"cannot read {tmp_path / 'nothing.md'}: No such file or directory\n" in output
    assert "Errno" not in output
