"""All problems there are, for people: in files, between objects, in reports, and with the source as a whole.

Problems are shown by `plan`, in conditions and in the log. No rule reads them back: what must hold a decision back is a field
of the View (`head.held`, `faults`, `why_unverified`), and is there whether or not a Problem tells of it.

The list is kept until something about it changes. Every step of an update that changes one of its sources sets
`State.problems` to None; a step that forgets that leaves people with an old list, and no decision is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.gitstore.repo import Repo
from reconciler.world.state import State
from schemas.problem import Problem, Severity
from schemas.validate.finding import to_problems as placed

REPORTS_SHOWN = 3  # unreadable files of one report, which may have thousands
REFUSED_SHOWN = 20  # reports that are refused, of which anybody who may create refs may make thousands


def problems(state: State, repo: Repo) -> tuple[Problem, ...]:
    """Sorted, and collected again only when something about them changed. Reads the blobs of faulty files, to say the line."""
    if state.problems is None:
        state.problems = tuple(sorted(_all(state, repo)))
    return state.problems


def _all(state: State, repo: Repo) -> Iterator[Problem]:
    def text_of(path: str) -> str | None:
        file = state.source.files.get(path)
        return repo.read(file.id).decode("utf-8", "replace") if file else None

    yield from state.rules.problems
    held = state.head.held
    if held is not None:
        hint = f"a commit on the source branch with the trailer {held.trailer}" if held.trailer else held.cure
        yield Problem(file="", code=held.code, message=held.message, hint=hint)
    if state.head.notice:
        yield Problem(file="", code="GV814", severity=Severity.WARNING, message=state.head.notice)
    yield from state.collisions.problems(repo.read, state.source_commit)
    for contents in state.source.problem_files.values():
        yield from contents.problems
    for path, contents in state.live.problem_files.items():
        if contents.is_malformed:
            message = "this file of the target branch cannot be read, so what it records is unknown"
            hint = "reset the live branch to its last commit in which the file can be read, and approve that as the hosts ask"
            yield Problem(file=path, code="GV815", message=message, hint=hint)
    yield from placed((each for found in state.faults.values() for each in found), text_of)
    yield from _of_reports(state)


def _of_reports(state: State) -> Iterator[Problem]:
    """Parts of reports that are refused or cannot be read. A report that is refused as a whole is one problem."""
    refused = 0
    for name, report in sorted(state.reports.by_poollet.items()):
        for unread in list(report.unread.values())[:REPORTS_SHOWN]:
            yield from unread.problems
        if why := state.authority.is_ours(report):
            refused += 1
            hint = "find out what pushes to its ref; gitvirt ignores this report"
            message = f"the report of {name} is refused: {why}"
            if refused <= REFUSED_SHOWN:
                yield Problem(file="", code="GV621", message=message, hint=hint)
            continue
        if report.unsigned:
            message = f"the report of {name} is used although {report.unsigned}"
            yield Problem(file="", code="GV621", severity=Severity.WARNING, message=message)
        for pool in report.pools:
            if not state.authority.owns(name, pool):
                owner = state.authority.owner(pool)
                belongs = f"belongs to poollet {owner}" if owner else "is not its own"
                message = f"poollet {name} announces {pool}, which {belongs}; gitvirt ignores what {name} reports of it"
                hint = f"give it the pool under poollets.{name} of gitvirt.yaml, or take the pool out of its poollet.yaml"
                yield Problem(file="", code="GV622", object=str(pool), message=message, hint=hint)
    if refused > REFUSED_SHOWN:
        message = f"{refused - REFUSED_SHOWN:,} more reports are refused"
        hint = f"remove the refs of hosts that do not exist; `git ls-remote origin '{state.rules.settings.reports.ref}*'` lists them"
        yield Problem(file="", code="GV621", message=message, hint=hint)
