"""`gitvirt audit verify` on a real repo: what it prints, and how it exits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.cli.exits import Exit
from reconciler.gitstore.repo import Refs
from reconciler.loop.outcome import Committed
from reconciler.loop.tick import Reconciler
from schemas.settings.fleet import DEFAULT_INPUTS
from tests.reconciler.cli.verbs.conftest import gitvirt
from tests.reconciler.gitstore.worlds import MirrorWorld
from tests.reconciler.loop.fleet import SETTINGS, SMALL, Clock, Host, People, machine, reconciler, settle
from tests.servers.repository import git

REFS = Refs(inputs=DEFAULT_INPUTS)
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {password: hunter2}\n"


@dataclass
class Audited:
    repo: Path
    world: MirrorWorld
    robot: Reconciler
    clock: Clock

    def forge(self, path: str, text: str) -> str:
        """The newest commit on live with another file, and the same message, date and parents. Returns its id."""
        blob = git(self.repo, "hash-object", "-w", "--stdin", given=text).strip()
        index = {"GIT_INDEX_FILE": str(self.repo / "forged")}
        git(self.repo, "read-tree", "live", **index)
        git(self.repo, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", **index)
        tree = git(self.repo, "write-tree", **index).strip()
        was = git(self.repo, "rev-parse", "live^{tree}").strip()
        text = git(self.repo, "cat-file", "commit", "live").replace(was, tree, 1)
        forged = git(self.repo, "hash-object", "-t", "commit", "-w", "--stdin", given=text).strip()
        git(self.repo, "update-ref", "refs/heads/live", forged)
        return forged

    def push_foreign(self, name: str) -> tuple[str, str]:
        """A commit of a person on top of live, and that of the reconciler which puts it back."""
        person = {
            f"GIT_{role}_{what}": name for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        tree = git(self.repo, "rev-parse", "live~1^{tree}").strip()
        foreign = git(self.repo, "commit-tree", tree, "-p", "live", "-m", "move it", **person).strip()
        git(self.repo, "update-ref", "refs/heads/live", foreign)
        assert isinstance(self.robot.tick(self.clock), Committed)
        return foreign, git(self.repo, "rev-parse", "live").strip()


@pytest.fixture
def recording_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Audited]:
    """A few commits on live, each with inputs but the first ones."""
    monkeypatch.setenv("GITVIRT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    world = MirrorWorld(tmp_path / "world")
    clock = Clock()
    people = People(world.client(), clock)
    hosts = [Host(world.client(), "host-0", clock)]
    people.push({"gitvirt.yaml": SETTINGS, "classes/small.yaml": SMALL, "a.yaml": machine("a")})
    settle([reconciler(world.client())], hosts, clock)
    settings = f"{SETTINGS}audit: {{ref: {DEFAULT_INPUTS}}}\nsecrets: {{plain: allow}}\n"
    people.push({"gitvirt.yaml": settings, "key.yaml": SECRET})
    robot = reconciler(world.client(REFS), refs=REFS)
    settle([robot], hosts, clock)
    people.push({"b.yaml": machine("b"), "a.yaml": None})
    settle([robot], hosts, clock)
    monkeypatch.setenv("GITVIRT_REPO", str(world.repo))
    yield Audited(world.repo, world, robot, clock)
    world.close()


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = gitvirt("audit", "verify", *words)
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_a_whole_fleet_is_explained_but_for_what_has_no_inputs(
    recording_fleet: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    refs = recording_fleet.world.refs()
    code, text = run(capsys)
    assert code == Exit.OK, text
    assert "it names no Inputs-Commit" in text
    assert "Not proven: who reported the facts, since no report had to be signed" in text
    assert recording_fleet.world.refs() == refs, "it writes nothing"
    code, text = run(capsys, "--strict")
    assert code == Exit.PROBLEMS
    code, text = run(capsys, "--strict", "live~1..")
    assert code == Exit.OK, text
    assert text.startswith("1 commits: 1 explained")


def test_a_forged_file_is_shown_as_a_patch(
    recording_fleet: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = recording_fleet.forge("classes/small.yaml", SMALL.replace("cpu: 2", "cpu: 64"))
    code, text = run(capsys, "live~1..live")
    assert code == Exit.PROBLEMS
    assert forged[:10] in text
    assert "the rules make other files" in text
    assert "-  cpu: 2" in text
    assert "+  cpu: 64" in text
    code, text = run(capsys, "-o", "json", forged[:12])
    assert code == Exit.PROBLEMS
    found = json.loads(text)
    newest = found["commits"][-1]
    assert found["counts"]["differs"] == 1
    assert (newest["commit"], newest["result"]) == (forged, "differs")
    assert [each["path"] for each in newest["differences"]] == ["classes/small.yaml"]


def test_a_foreign_commit_is_named_after_it_was_put_back(
    recording_fleet: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    """With who wrote it and what put it back; and it can be named in a range."""
    foreign, put_back = recording_fleet.push_foreign("Ada")
    code, text = run(capsys)
    assert code == Exit.PROBLEMS, text
    assert f"{foreign[:10]}  foreign" in text
    assert f"it names no Source-Commit; by Ada, put back by {put_back[:10]}" in text
    code, text = run(capsys, "-o", "json", f"{foreign[:10]}~1..{foreign[:10]}")
    assert code == Exit.PROBLEMS, text
    (found,) = json.loads(text)["commits"]
    assert (found["commit"], found["author"], found["putBackBy"]) == (foreign, "Ada", put_back)
    code, text = run(capsys, f"{foreign[:10]}..")
    assert (code, text.splitlines()[0]) == (Exit.OK, "1 commits: 1 explained")
    code, text = run(capsys, "live~1..")
    assert (code, "2 commits: 1 explained, 1 foreign" in text) == (Exit.PROBLEMS, True)


def test_no_secret_is_shown(recording_fleet: Audited, capsys: pytest.CaptureFixture[str]) -> None:
    recording_fleet.forge("key.yaml", SECRET.replace("hunter2", "hunter3"))
    for words in ((), ("-o", "json"), ("-o", "yaml")):
        code, text = run(capsys, *words)
        assert code == Exit.PROBLEMS
        assert "key.yaml" in text
        assert "hunter" not in text


@pytest.mark.parametrize(
    ("range", "cause"),
    [
        ("0000000..", "names no commit of live"),
        ("live~9999..", "is before the first of"),
        ("main", "names no commit of live"),
        ("..ab", "names no commit of live"),
    ],
)
def test_a_range_that_names_nothing_is_wrong_usage(
    recording_fleet: Audited, capsys: pytest.CaptureFixture[str], range: str, cause: str
) -> None:
    code, text = run(capsys, range)
    assert code == Exit.USAGE
    assert cause in text


def test_wide_output_has_all_commits(recording_fleet: Audited, capsys: pytest.CaptureFixture[str]) -> None:
    count = int(git(recording_fleet.repo, "rev-list", "--count", "--first-parent", "live", "^main").strip())
    _, text = run(capsys, "-o", "wide")
    assert sum(line.startswith("20") for line in text.splitlines()) >= count - 1
