"""The hook that ships, run as pre-commit runs it: its entry, then the names of the files that are staged."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.reconciler.gitstore.git import commit, git, init
from tests.schemas.validate.documents import machine, machine_class, ref

ROOT = Path(__file__).parents[3]
(HOOK,) = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())


def run_hooks(repo: Path, *files: str) -> subprocess.CompletedProcess[str]:
    hook: dict[str, Any] = HOOK
    program, *arguments = shlex.split(hook["entry"])
    command = [str(Path(sys.executable).with_name(program)), *arguments, *files]
    return subprocess.run(command, cwd=repo, capture_output=True, text=True, check=False)


def test_hook_names_what_pre_commit_needs() -> None:
    assert {"id", "name", "entry", "language", "types_or"} <= set(HOOK)
    assert HOOK["language"] == "python"
    assert HOOK.get("pass_filenames", True)


@pytest.mark.parametrize(("class_name", "want"), [("small", 0), ("smal", 3)], ids=["right", "wrong"])
def test_hook_judges_staged_files_within_their_repo(tmp_path: Path, class_name: str, want: int) -> None:
    repo = init(tmp_path / "repo")
    wrong = machine("elsewhere", machineClassRef=ref("nothing-of-the-kind")).encode()
    commit(repo, {"class.yaml": machine_class().encode(), "old.yaml": wrong})
    (repo / "new.yaml").write_text(machine("new", machineClassRef=ref(class_name)))
    git(repo, "add", "new.yaml")
    staged = git(repo, "diff", "--cached", "--name-only", "--diff-filter=ACM").split()
    done = run_hooks(repo, *staged)
    assert done.returncode == want, done.stderr
    assert ("new.yaml" in done.stdout) == (want != 0)
    assert "old.yaml" not in done.stdout
