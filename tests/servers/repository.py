"""Bare repos for the servers, and the commits that tests push into them, made by the git program itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

QUIET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "LC_ALL": "C",
}


def git(directory: Path, *arguments: str, given: str = "", **environment: str) -> str:
    done = subprocess.run(
        ("git", "-C", str(directory), *arguments),
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | QUIET | environment,
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout.strip()


def bare(place: Path, *options: str) -> Path:
    """A repo that a server may serve, to read and to write."""
    place.parent.mkdir(parents=True, exist_ok=True)
    git(place.parent, "init", "--quiet", "--bare", "--initial-branch=main", *options, str(place))
    git(place, "config", "http.receivepack", "true")
    git(place, "config", "gc.auto", "0")
    git(place, "config", "receive.autogc", "false")
    return place


def hook(repo: Path, name: str, script: str) -> None:
    place = repo / "hooks" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(script)
    place.chmod(0o755)


def commit(repo: Path, text: str, *parents: str, file: str = "file") -> str:
    """A commit of one file, with the start of its text as message. Its objects are in the repo, no ref is."""
    blob = git(repo, "hash-object", "-w", "--stdin", given=text)
    tree = git(repo, "mktree", given=f"100644 blob {blob}\t{file}\n")
    onto = [word for parent in parents for word in ("-p", parent)]
    return git(repo, "commit-tree", tree, *onto, "-m", text[:50])


def ref(repo: Path, name: str) -> str | None:
    """What a ref is, or None."""
    lines = git(repo, "for-each-ref", "--format=%(objectname) %(refname)", name).splitlines()
    return next((line.split(" ")[0] for line in lines if line.endswith(f" {name}")), None)
