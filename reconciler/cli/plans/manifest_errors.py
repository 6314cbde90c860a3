"""Errors in manifests for a plan: those that `gitvirt validate` finds in the same input, beside those that the reconciler finds. Pure, but for
the files that it reads.

    found by        of an object                      shown
    both            at the same place, the same code  once, as validation says it: it sees all files, and knows what a name may have meant
    validation      a class that is removed while machines use it: the reconciler keeps it, the pull request is wrong all the same
    reconciler      a change that may not be made, a source that is held, a report that is refused

So one tree has one exit code: a plan never says 0 where validation says 3.

Must never happen: an error that `gitvirt validate` finds in the files of a plan is missing in every form of that plan.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.cli.exits import CommandError
from reconciler.query.check import CheckRequest, check
from reconciler.query.documents import WorkerLostError
from schemas.problem import Problem, Severity


def find_manifest_errors(request: CheckRequest | None) -> tuple[Problem, ...]:
    """None to look for where the source has no commit at all."""
    if request is None:
        return ()
    try:
        found = check(request, lambda _read, _all: None)
    except WorkerLostError:
        cause = "a process that read files ended unexpectedly"
        raise CommandError(
            cause, "it may have run out of memory; close other programs and try again"
        ) from None
    return tuple(each for each in found.problems if each.severity is Severity.ERROR)


def join_problems(known: Iterable[Problem], errors: Iterable[Problem]) -> tuple[Problem, ...]:
    """All of both, sorted."""
    errors = tuple(errors)
    named = {_identity(each) for each in errors}
    return tuple(sorted((*errors, *(each for each in known if _identity(each) not in named))))


def _identity(problem: Problem) -> tuple[str, int, int, str, str]:
    return problem.file, problem.line, problem.column, problem.code, problem.object
