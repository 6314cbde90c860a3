"""Which gitvirt.yaml is effective at a commit: its own, or if that has problems, the one of the newest earlier commit whose file has none.

Whoever needs a fleet's branches starts here, so that all parties use the same ones. It follows first parents only and reads each version of
the file once. It must not fall back on defaults: they may name a branch of something else.

A broken gitvirt.yaml on the source must not stop a fleet. Every party therefore goes on with the newest version that it can use, and all of them find
the same one, because it depends on the history of the source alone and not on what a process remembers. First parents only: a merged branch may
have had other settings, which never applied.

The search ends after COMMITS_AT_MOST. A repo that never had usable settings is not a fleet, and to find that out must not cost its history.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import File, FileMode, ObjectId
from reconciler.gitstore.repo import Repo
from schemas.problem import Problem
from schemas.settings import fleet
from schemas.settings.fleet import PATH, FleetSettings

COMMITS_AT_MOST = 1_000  # of the first-parent line
DIGITS = 7


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """`settings` are those of `commit`; both are None where no commit has any that can be used. The rest is about the head."""

    settings: FleetSettings | None = None
    commit: ObjectId | None = None
    is_of_head: bool = False
    is_there: bool = False  # broken or not
    problems: tuple[Problem, ...] = ()

    def trouble(self, branch: str) -> str:
        """For people. `branch` is the name under which they know the head."""
        """Of a head whose file is not the effective one."""
        return f"{PATH} on {branch} {'has problems' if self.is_there else 'is missing'}"

    def note(self, branch: str) -> str:
        return (
            f"{self.trouble(branch)}; using its last usable version (commit {(self.commit or '')[:DIGITS]})"
        )


def read_effective_settings(repo: Repo, head: ObjectId | None) -> EffectiveSettings:
    """Reads one blob for each version of the file. Raises DamageError where history is not all there."""
    if head is None:
        return EffectiveSettings()
    is_there = repo.file(head, PATH) is not None
    problems: tuple[Problem, ...] = ()
    read: set[ObjectId | None] = set()
    commit: ObjectId | None = head
    for _ in range(1 + COMMITS_AT_MOST):
        if commit is None:
            break
        id = settings_blob(repo.file(commit, PATH))
        if id not in read:
            read.add(id)
            settings, found = read_settings(repo, id)
            if settings is not None:
                return EffectiveSettings(settings, commit, commit == head, is_there, problems)
            if commit == head:
                problems = found
        commit = decode_commit(repo.read(commit)).first_parent
    return EffectiveSettings(is_there=is_there, problems=problems)


def settings_blob(file: File | None) -> ObjectId | None:
    """A symbolic link does not count as a settings file."""
    return file.id if file is not None and file.mode in (FileMode.FILE, FileMode.EXECUTABLE) else None


def read_settings(repo: Repo, id: ObjectId | None) -> tuple[FleetSettings | None, tuple[Problem, ...]]:
    """The settings in a blob, or its problems. Neither without a blob."""
    if id is None:
        return None, ()
    found = _parse(repo.read(id))
    return (found, ()) if isinstance(found, FleetSettings) else (None, found)


@lru_cache(maxsize=8)
def _parse(data: bytes) -> FleetSettings | tuple[Problem, ...]:
    """Once for all who ask in one tick."""
    return fleet.parse(data)
