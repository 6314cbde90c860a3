"""Links from a comment to the files of a plan: the forge's page of the file at the line.

    the CI job runs on          what a link is
    GitHub                      SERVER/REPO/blob/COMMIT/PATH#L7
    Gitea, Forgejo              SERVER/REPO/src/commit/COMMIT/PATH#L7
    GitLab                      PROJECT/-/blob/COMMIT/PATH#L7
    none of these               PATH#L7

Forges resolve a relative link in a comment in three different ways, two of which lead nowhere. So in CI each link has the address
that the job's environment names. Only outside of CI, for a file that is viewed in a checkout, it is relative.

Limits: it reads no Git. Whoever knows the texts gives `read`; without a text, a link has no line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from reconciler.cli.plans.outline import FilePlace
from schemas.reader.positions import Positions


@dataclass(slots=True)
class FileLinks:
    """`new` and `old` are what comes before the path of a file as it is planned, and as it was; empty for a relative link."""

    new: str = ""
    old: str = ""
    read: Callable[[FilePlace], str] = lambda _: ""
    _marks: dict[tuple[str, bool], Positions | None] = field(default_factory=dict)

    def link(self, place: FilePlace, pointer: str = "") -> str:
        """Where the document is, or the field that `pointer` names."""
        line = self.line(place, pointer)
        base = self.old if place.is_old else self.new
        return f"{base}{quote(place.path)}" + (f"#L{line}" if line > 1 else "")

    def line(self, place: FilePlace, pointer: str = "") -> int:
        """The line, counted from 1; 0 where it is not known."""
        marks = self._positions(place)
        return marks.key(place.index, pointer)[0] if marks is not None else 0

    def _positions(self, place: FilePlace) -> Positions | None:
        key = (place.path, place.is_old)
        if key not in self._marks:
            text = self.read(place)
            self._marks[key] = Positions(text) if text else None
        return self._marks[key]


def forge_bases(environment: Mapping[str, str], old_commit: str) -> tuple[str, str]:
    """`new` and `old` of the forge whose job this is."""
    if project := environment.get("CI_PROJECT_URL"):
        commit, middle, base = environment.get("CI_COMMIT_SHA", ""), "/-/blob/", project
    else:
        server, repo = environment.get("GITHUB_SERVER_URL", ""), environment.get("GITHUB_REPOSITORY", "")
        is_gitea = any(environment.get(name) for name in ("GITEA_ACTIONS", "FORGEJO_ACTIONS"))
        commit, middle = environment.get("GITHUB_SHA", ""), "/src/commit/" if is_gitea else "/blob/"
        base = f"{server}/{repo}" if server and repo else ""
    if not base.startswith(("https://", "http://")):
        return "", ""
    return tuple(f"{base}{middle}{each}/" if each else "" for each in (commit, old_commit))  # type: ignore[return-value]
