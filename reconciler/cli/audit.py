"""`gitvirt audit verify`: do the rules make each commit of the target branch of the inputs that it names?

It computes the commits of a range again, from the oldest to the newest, and shows those that are not explained. It writes nothing: what it
computes is compared and dropped.

| exit code | when |
|---|---|
| 3 | a commit differs, is foreign, names inputs that do not fit, or (`--signatures`) a verdict on a signature is another one |
| 3 | with `--strict` also: a commit names no inputs, or another version of the rules made it and this one makes another |
| 0 | otherwise |

Limits: what the answer proves is said below it. Must never happen: data of a Secret in the answer.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from reconciler.audit.signature_check import SignatureCheck
from reconciler.audit.steps import Step, list_steps
from reconciler.audit.verify import AuditedCommit, Auditor, PathDifference, Result
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import HEADS, FleetRepo, add_repo, named_fleet
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.progress import Progress
from reconciler.cli.terminal import TextStyle, err, out, printable
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.world.record import stamp

EXAMPLES = """examples:
  gitvirt audit verify                      every commit of the target branch
  gitvirt audit verify live~100..           the last hundred
  gitvirt audit verify 3f2c91e..9a0d47b     after the first, up to the second
  gitvirt audit verify --strict --signatures -o json

RANGE is OLD..NEW, OLD.. or NEW. A commit is the beginning of its id, or the name of the target branch; ~N goes N commits back.
Commits are checked if gitvirt.yaml has audit.ref: see `gitvirt help audit.md`.

exit codes: 0 no problem, 3 a commit that the rules do not explain"""

STYLES = {
    Result.EXPLAINED: TextStyle.GREEN,
    Result.NO_INPUTS: TextStyle.YELLOW,
    Result.OTHER_VERSION: TextStyle.YELLOW,
}
LEAST_DIGITS = 4
MOST_LINES = 40  # of the difference of one file
MOST_FILES = 20
BACK = re.compile(r"(?P<name>.*?)(~(?P<back>\d{0,9}))?")
SECRET = re.compile(rb"kind\W+Secret\b")
COLUMNS = (
    Column[AuditedCommit]("WHEN", lambda each: stamp(each.time)),
    Column[AuditedCommit]("COMMIT", lambda each: each.commit[:10]),
    Column[AuditedCommit](
        "RESULT", lambda each: each.result.value, lambda each: STYLES.get(each.result, TextStyle.RED)
    ),
    Column[AuditedCommit]("WHY", lambda each: describe_reason(each)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("verify",), help="verify: compute commits again, and compare")
    parser.add_argument(
        "range", nargs="?", default="", metavar="RANGE", help="OLD..NEW (default: all commits)"
    )
    parser.add_argument(
        "--signatures",
        action="store_true",
        help="check recorded verdicts on signatures with the keys of today",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="commits without inputs, or of another version, are problems too",
    )
    add_format(parser, "wide")
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    with named_fleet(arguments.repo, with_inputs=True) as fleet:
        steps = select_steps(fleet, arguments.range)
        found = audit(fleet, steps, with_signatures=arguments.signatures)
    is_bad = [each for each in found if is_problem(each, is_strict=arguments.strict)]
    if is_value(arguments.output):
        show_value(out(), arguments.output, value(found))
    else:
        show(found, arguments.output, with_signatures=arguments.signatures)
    return Exit.PROBLEMS if is_bad else Exit.OK


def audit(fleet: FleetRepo, steps: Sequence[Step], *, with_signatures: bool) -> list[AuditedCommit]:
    """With a counter on a terminal."""
    check = SignatureCheck(os.environ) if with_signatures else None
    lines = tuple(fleet.snapshot.inputs.values())
    progress, found = Progress(err(), "verified", what="commits"), []
    try:
        for each in Auditor(fleet.repo, lines, check).audit(steps):
            found.append(each)
            progress(len(found), len(steps))
    finally:
        progress.close()
    return found


def select_steps(fleet: FleetRepo, range: str) -> list[Step]:
    """Those of the range, the oldest first."""
    head, target = fleet.snapshot.target, (fleet.refs.target or "").removeprefix(HEADS)
    if head is None:
        raise CommandError(
            f"the target branch {printable(target)} does not exist", "start `gitvirt run` first"
        )
    steps = list_steps(fleet.repo, head)
    old, dots, new = range.partition("..")
    if not dots:
        old, new = "", old
    first = find_step(steps, old, target) + 1 if old else 0
    return steps[first : find_step(steps, new or target, target) + 1]


def find_step(steps: Sequence[Step], name: str, target: str) -> int:
    """The place of a commit on the line. Raises CommandError for what is not there, or is not the only one."""
    match = BACK.fullmatch(name)
    base, back = (match["name"], match["back"]) if match is not None else (name, None)
    if base == target:
        place = len(steps) - 1
    else:
        found = [
            place for place, step in enumerate(steps) if any(is_named(id, base) for id, _ in step.commits)
        ]
        if len(found) != 1:
            cause = f"{printable(name)} names {'several commits' if found else 'no commit'} of {printable(target)}"
            cure = f"write an id of `git log --first-parent {target}`, or {target}~N"
            raise CommandError(cause, cure, Exit.USAGE)
        (place,) = found
    place = go_back(steps, place, int(back or 1) if back is not None else 0)
    if place < 0:
        cause = f"{printable(name)} is before the first of {len(steps):,} commits of {printable(target)}"
        raise CommandError(cause, f"leave out OLD for all commits of {printable(target)}", Exit.USAGE)
    return place


def go_back(steps: Sequence[Step], place: int, count: int) -> int:
    """By first parents, as Git does: from a commit beside the line to the one below it. -1: there are not so many."""
    places = {id: place for place, step in enumerate(steps) for id, _ in step.commits}
    while count > 0 and place >= 0:
        parent = steps[place].parent
        place = places.get(parent, -1) if parent is not None else -1
        count -= 1
    return place


def is_named(commit: ObjectId, text: str) -> bool:
    return len(text) >= LEAST_DIGITS and commit.startswith(text.lower())


def is_problem(found: AuditedCommit, *, is_strict: bool) -> bool:
    return found.result.is_problem or (is_strict and found.result is not Result.EXPLAINED)


def show(found: Sequence[AuditedCommit], format: str, *, with_signatures: bool) -> None:
    """What is not explained, the newest first as in `history`, and then the counts."""
    shown = [each for each in reversed(found) if format == "wide" or each.result is not Result.EXPLAINED]
    if shown:
        show_table(out(), COLUMNS, shown)
        out().line()
    for each in shown:
        for line in describe_differences(each):
            out().line(printable(line))
    counts = Counter(each.result for each in found)
    words = ", ".join(f"{counts[each]:,} {each.value}" for each in Result if counts[each])
    out().line(f"{len(found):,} commits: {words or 'none'}")
    if counts[Result.EXPLAINED]:
        out().line(describe_proof(found, with_signatures=with_signatures))


def describe_reason(found: AuditedCommit) -> str:
    """Why; of a foreign commit also who wrote it, and what became of it."""
    if found.result is not Result.FOREIGN:
        return found.why or found.subject
    end = f"put back by {found.put_back_by[:10]}" if found.put_back_by else "not put back"
    return f"{found.why}; by {found.author or 'an unknown author'}, {end}"


def describe_differences(found: AuditedCommit) -> Iterator[str]:
    """As a patch from what the rules make to what is there."""
    if found.differences:
        yield f"{found.commit[:10]}: the rules make -, the commit has +"
    for each in found.differences[:MOST_FILES]:
        if has_secret(each):
            yield f"  {each.path} differs; it has a Secret, and is not shown"
            continue
        expected, there = (
            (text or b"").decode("utf-8", "replace").splitlines() for text in (each.expected, each.found)
        )
        lines = difflib.unified_diff(
            expected, there, f"rules/{each.path}", f"live/{each.path}", lineterm="", n=1
        )
        for number, line in enumerate(lines):
            if number == MOST_LINES:
                yield "  ..."
                break
            yield f"  {line}"
    if (more := len(found.differences) - MOST_FILES) > 0:
        yield f"  and {more:,} more files"


def has_secret(difference: PathDifference) -> bool:
    return any(text and SECRET.search(text) for text in (difference.expected, difference.found))


def describe_proof(found: Sequence[AuditedCommit], *, with_signatures: bool) -> str:
    """What `explained` means here."""
    explained = [each for each in found if each.result is Result.EXPLAINED]
    reports, signed = sum(each.reports for each in explained), sum(each.signed for each in explained)
    if with_signatures and reports == signed:
        return "Proven: the rules were followed, and each fact was signed by the host that reported it."
    why = (
        f"since {signed:,} of {reports:,} reports had to be signed"
        if signed
        else "since no report had to be signed"
    )
    if reports == signed:
        why = "which --signatures checks"
    return (
        f"Proven: the rules were followed. Not proven: who reported the facts, {why} (poollets.NAME.signers)."
    )


def value(found: Sequence[AuditedCommit]) -> dict[str, object]:
    counts = Counter(each.result for each in found)
    return {
        "counts": {each.value: counts[each] for each in Result},
        "commits": [
            {
                "commit": each.commit,
                "time": each.time.isoformat(),
                "subject": each.subject,
                "result": each.result.value,
                "why": each.why,
                "author": each.author,
                "putBackBy": each.put_back_by,
                "version": each.version,
                "reports": each.reports,
                "signedReports": each.signed,
                "differences": [difference_value(one) for one in each.differences],
            }
            for each in found
        ],
    }


def difference_value(of: PathDifference) -> dict[str, object]:
    """Without texts where one has a Secret."""
    if has_secret(of):
        return {"path": of.path, "isSecret": True, "expected": None, "found": None}
    texts = [
        text.decode("utf-8", "replace") if text is not None else None for text in (of.expected, of.found)
    ]
    return {"path": of.path, "isSecret": False, "expected": texts[0], "found": texts[1]}
