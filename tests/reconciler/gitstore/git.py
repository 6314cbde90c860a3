"""The real git program, for tests that compare with it."""

from __future__ import annotations

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main")


def git(directory: Path, *arguments: str, data: bytes | None = None) -> str:
    done = subprocess.run(
        ("git", *IDENTITY, *arguments), cwd=directory, input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}"
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def init(directory: Path, *options: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--quiet", *options)
    return directory


def commit(directory: Path, files: dict[str, bytes], message: str = "change") -> str:
    """Write and commit files in a checkout; the commit's id."""
    for path, data in files.items():
        place = directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(directory, "rev-parse", "HEAD")
