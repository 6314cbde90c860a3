"""When a checkout heard of a branch of its remote last, by the times of the files that git writes then. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

MINUTE, HOUR, DAY = 60, 3600, 86400


def last(git_directory: Path, branch: str) -> datetime | None:
    """Of `branch` of origin; None where no file tells."""
    found = max(_times(git_directory, branch), default=None)
    return None if found is None else datetime.fromtimestamp(found, UTC)


def _times(git_directory: Path, branch: str) -> Iterator[float]:
    shared = git_directory / "commondir"  # of a linked worktree
    folders = [git_directory, *([git_directory / shared.read_text().strip()] if shared.is_file() else [])]
    for folder in folders:
        heads = folder / "FETCH_HEAD"
        if heads.is_file() and f"branch '{branch}' of ".encode() in heads.read_bytes():
            yield heads.stat().st_mtime
        for name in (branch, "HEAD"):  # HEAD was written by the clone
            log = folder / "logs" / "refs" / "remotes" / "origin" / name
            if log.is_file():
                yield log.stat().st_mtime


def age(then: datetime, now: datetime) -> str:
    seconds = int((now - then).total_seconds())
    for size, word in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if (count := seconds // size) > 0:
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "less than a minute ago"
