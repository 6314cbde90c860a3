"""What the fleet's own files say about how to read it: gitvirt.yaml and .gitvirtignore, as they are and as they were.

Settings exist up to three times: in the source that is used now, in the source that was reconciled last, and on live, which
keeps the last ones that could be read. What gives power to a host or a person (who owns a pool, whether pools are open, limits, signers of
reports) must be allowed by both the first and the second, so that a commit cannot give itself what it needs.

    gitvirt.yaml of the source     settings used                      problems
    can be read                    its own                            -
    malformed                      the last that could be read        those of the file
    missing                        the last that could be read        GV601: gitvirt.yaml is gone
    none anywhere                  none: there is no fleet            GV601; the tick stops (`View.unfit`)

Must never happen: defaults are used for settings that cannot be read.
"""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.gitstore.effective_settings import read_settings, settings_blob
from reconciler.gitstore.objects.tree import File, ObjectId
from reconciler.gitstore.repo import FileChange, Repo
from schemas.manifest import ignore
from schemas.manifest.ignore import Ignore
from schemas.problem import Problem
from schemas.settings import fleet
from schemas.settings.fleet import FleetIdentity, FleetSettings
from schemas.validate import ValidationPolicy

NO_SETTINGS = FleetSettings(fleet=FleetIdentity(id=""))
NO_FLEET = Problem(
    file=fleet.PATH,
    code="GV601",
    message="there is no gitvirt.yaml, so there is no fleet to reconcile",
    hint="gitvirt init makes one; push it to the source branch",
)


GONE = Problem(
    file=fleet.PATH,
    code="GV601",
    message="gitvirt.yaml is gone; the settings of its last version still apply",
    hint="restore it; gitvirt never treats its own settings as deleted",
)


@dataclass(frozen=True, slots=True)
class Rules:
    """`settings` are those of the source in use; `before` those of the source that was reconciled last. Where either cannot be
    read, the last readable ones apply, which live keeps; without any there is no fleet, and `problems` say so."""

    settings: FleetSettings = NO_SETTINGS
    before: FleetSettings = NO_SETTINGS
    ignored: Ignore = ignore.IGNORE_NOTHING
    problems: tuple[Problem, ...] = ()
    ids: tuple[ObjectId | None, ...] = ()  # of the files that they were read from
    is_read: bool = True  # whether the source in use has settings

    @property
    def policy(self) -> ValidationPolicy:
        return ValidationPolicy(
            has_open_pools=self.settings.pools == "open" and self.before.pools == "open",
            allows_plain_secrets=self.settings.secrets.plain == "allow",
        )


def rules(
    repo: Repo, files: dict[str, File], news: dict[str, FileChange], live: ObjectId | None, old: Rules
) -> Rules:
    """`news` is what changed from the source that was reconciled last to these files; `old` is given back when nothing did."""
    now, then = _both(fleet.PATH, files, news)
    ignoring, _ = _both(ignore.PATH, files, news)
    kept = settings_blob(repo.file(live, fleet.PATH)) if live else None
    ids = (now, then, ignoring, kept)
    if ids == old.ids:
        return old
    settings, problems = read_settings(repo, now)
    last, _ = read_settings(repo, kept)
    before = read_settings(repo, then)[0] or last
    patterns = Ignore(repo.read(ignoring)) if ignoring else ignore.IGNORE_NOTHING
    known = settings or before
    if settings is None and not problems:
        problems = (NO_FLEET if known is None else GONE,)
    return Rules(
        known or NO_SETTINGS,
        before or known or NO_SETTINGS,
        patterns,
        (*problems, *patterns.problems),
        ids,
        is_read=settings is not None,
    )


def settings_at(repo: Repo, commit: ObjectId | None) -> FleetSettings | None:
    """Those of any commit; None where it has none that can be read. Unlike `rules`, looks no further."""
    return read_settings(repo, settings_blob(repo.file(commit, fleet.PATH)))[0] if commit else None


def _both(
    path: str, files: dict[str, File], news: dict[str, FileChange]
) -> tuple[ObjectId | None, ObjectId | None]:
    """The blob of a file now, and in the source that was reconciled last: the same unless it is among the news."""
    now = settings_blob(files.get(path))
    return (now, settings_blob(news[path].before)) if path in news else (now, now)
