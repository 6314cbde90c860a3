"""docs/operations.md: a backup is a clone, and restoring it changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Page
from tests.servers.repository import git

PAGE = Page(ROOT / "docs" / "operations.md")
MACHINE = """apiVersion: compute.ironcore.dev/v1alpha1
kind: Machine
metadata: {name: web-1}
spec: {machineClassRef: {name: small}}
"""
FLEET = """
git init --quiet --bare --initial-branch=main fleet.git
gitvirt init site
cd site
mkdir -p machines
printf '%s' "$MACHINE" > machines/web-1.yaml
git add --all
git commit --quiet --message "a machine"
git push --quiet ../fleet.git main
cd ..
gitvirt run --once --repo fleet.git
gitvirt poollet --once --name host-1 --repo fleet.git --mirror mirror --runtime simulated --socket "$PWD/s" --end-runtimes
gitvirt run --once --repo fleet.git
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    identity = {
        f"GIT_{role}_{what}": "ann@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"HOME": str(tmp_path / "home"), "PATH": path, "MACHINE": MACHINE, **identity}


def run_script(script: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_backup_is_a_clone_and_restoring_it_changes_nothing(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    made = run_script(FLEET, tmp_path, environment)
    before = git(tmp_path / "fleet.git", "show-ref")
    assert "refs/heads/live" in before, made
    assert "refs/poollets/host-1" in before, made
    backup, restore = (text for language, text in PAGE.blocks if language == "sh")
    run_script(backup, tmp_path, environment)
    run_script(restore, tmp_path, environment)
    assert git(tmp_path / "restored.git", "show-ref") == before
