"""Writes the report to its ref: by compare-and-swap, only what differs, and a heartbeat when nothing does.

Owns what the ref held when it was last read or written. Whether the ref may be written is report_lease.py's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Draft, Edit, Identity, Repo

AUTHOR_MAIL = "poollet@gitvirt.dev"


@dataclass(frozen=True, slots=True)
class Held:
    """What stands on the ref: the commit and its files. None: it does not exist."""

    commit: ObjectId | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


def held(repo: Repo, commit: ObjectId | None) -> Held:
    """Raises what the repo raises when the commit cannot be read."""
    if commit is None:
        return Held()
    return Held(commit, {file.path: repo.read(file.id) for file in repo.files(commit)})


def draft(ref: str, name: str, before: Held, files: Mapping[str, bytes], at: datetime) -> Draft:
    """The commit that makes the ref hold these files; with the same files, a heartbeat."""
    edits: dict[str, Edit] = {path: data for path, data in files.items() if before.files.get(path) != data}
    edits |= dict.fromkeys(before.files.keys() - files.keys())
    return Draft(
        ref=ref,
        expected=before.commit,
        base=before.commit,
        edits=edits,
        message=_message(edits),
        author=Identity(f"poollet {name}", AUTHOR_MAIL),
        time=at,
        has_parents=False,
        even_if_unchanged=True,
    )


def _message(edits: Mapping[str, Edit]) -> str:
    if not edits:
        return "heartbeat"
    named = sorted(edits)
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return f"report: {named[0]}{more}"
