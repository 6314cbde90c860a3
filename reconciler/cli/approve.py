"""`gitvirt approve`: agrees to what awaits approval, by a commit that changes a file.

It writes `.gitvirt/approvals/<digest>.yaml` on the source branch, or on a new branch for a pull request. The file says the same as the
trailer `Gitvirt-Approve: <digest>` of a commit, and survives each kind of merge: a squash merge often drops trailers.

Without a digest it lists what awaits approval, and changes nothing: nothing is approved that a person did not name.

Limits: it does not know what a digest stands for, except in that list; a rewritten `live` is known to its hosts only, so its digest is not in it.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from datetime import UTC, datetime

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, check_settings, named_fleet
from reconciler.cli.mutate import change, output
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.output import is_value, show_value
from reconciler.cli.plans import plan_input
from reconciler.cli.terminal import TextStyle, out, printable
from reconciler.decide.decide import make_plan
from reconciler.gitstore.approval import DIGITS, approve_command
from reconciler.plan.types import PendingApproval
from schemas import live_layout
from schemas.backoff import jitter

EXAMPLES = """examples:
  gitvirt approve                                    list what awaits approval
  gitvirt approve 67056a96217495ab                   commit the approval to the source branch
  gitvirt approve --branch approve-1 67056a96217495ab   to a new branch, for a pull request

The digest is in `gitvirt plan`, in the log of `gitvirt run`, and in the condition of the object or pool."""

DIGEST = re.compile(rf"[0-9a-f]{{{DIGITS}}}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "digests", nargs="*", type=parse_digest, metavar="DIGEST", help="all 16 digits, as they are printed"
    )
    change.add_arguments(parser)


def parse_digest(text: str) -> str:
    """A whole digest, because it becomes the name of a file; the line of a trailer is accepted too."""
    digest = text.rpartition(" ")[2].lower()
    if DIGEST.fullmatch(digest):
        return digest
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a digest: copy its {DIGITS} digits from `gitvirt plan`"
    )


def run(arguments: argparse.Namespace) -> int:
    if not arguments.digests:
        return list_pending(arguments)
    with named_fleet(arguments.repo) as fleet:
        check_settings(fleet, changes=True)
        change.refuse_unsigned(fleet, arguments)
        for turn in range(change.TRIES):
            edits = approval_files(fleet, arguments.digests)
            message = arguments.message or f"approve {', '.join(arguments.digests)}"
            commit = ""
            if not arguments.dry_run:
                commit = change.push_files(fleet, edits, arguments, message) or ""
            if commit or arguments.dry_run:
                show(fleet, edits, commit, arguments)
                return Exit.OK
            time.sleep(jitter(change.PAUSE_SECONDS * 2**turn, random.Random()))  # noqa: S311 - it spreads tries
            fleet = fleet.again()
    raise CommandError(f"{change.TRIES} pushes in a row lost to other writers", "try it again")


def approval_files(fleet: FleetRepo, digests: list[str]) -> list[FileEdit]:
    """One file for each digest. It names the person and the time, so that a second approval is another content, and counts again."""
    author = change.find_author(fleet)
    written = datetime.now(UTC).isoformat(timespec="microseconds")
    edits = []
    for digest in dict.fromkeys(digests):
        path = live_layout.approval_path(digest)
        file = fleet.repo.file(fleet.snapshot.source, path) if fleet.snapshot.source else None
        before = fleet.repo.read(file.id) if file is not None else None
        text = f"approve: {digest}\ntime: {written}\nby: {quote_yaml(f'{author.name} <{author.email}>')}\n"
        edits.append(FileEdit(path, before, text.encode()))
    return edits


def quote_yaml(text: str) -> str:
    """A YAML scalar on one line, whatever is in a name."""
    return "'" + "".join(each for each in text if each.isprintable()).replace("'", "''") + "'"


def show(fleet: FleetRepo, edits: list[FileEdit], commit: str, arguments: argparse.Namespace) -> None:
    terminal = out()
    branch = output.branch_of(fleet, arguments)
    if is_value(arguments.output):
        digests = list(dict.fromkeys(arguments.digests))
        files = [each.path for each in edits]
        patch = "".join(f"{line}\n" for each in edits for line in output.patch(each))
        value = {"verb": "approve", "digests": digests, "branch": branch, "commit": commit}
        show_value(terminal, arguments.output, {**value, "files": files, "patch": patch})
    elif arguments.output == "name":
        for digest in dict.fromkeys(arguments.digests):
            terminal.line(digest)
    elif not commit:
        for each in edits:
            output.show_patch(terminal, each)
    else:
        short = terminal.paint(commit[:10], TextStyle.YELLOW)
        terminal.line(
            f"approved {', '.join(dict.fromkeys(arguments.digests))}: {short} on {printable(branch)}"
        )
        if arguments.branch:
            terminal.line("open a pull request for it; nothing happens before it is merged")


def list_pending(arguments: argparse.Namespace) -> int:
    """What the next tick would not do without an approval, of the repo as it is now."""
    with named_fleet(arguments.repo, with_reports=True) as fleet:
        check_settings(fleet)
        seen = plan_input.advance_world(fleet.repo, fleet.snapshot, datetime.now(UTC))
        pending = [
            each for each in make_plan(seen.world, seen.advance, seen.now).pending_approvals if each.trailer
        ]
    terminal = out()
    if is_value(arguments.output):
        show_value(terminal, arguments.output, [pending_value(each) for each in pending])
        return Exit.OK
    for each in pending:
        if arguments.output == "name":
            terminal.line(digest_of(each))
            continue
        terminal.line(printable(each.reason))
        for key in each.keys:
            terminal.line(f"  {printable(str(key))}")
        terminal.line(f"  to approve it: {approve_command(digest_of(each))}")
    if not pending and arguments.output != "name":
        terminal.line(
            "nothing awaits approval here; a rewritten live is in the conditions of its pools: gitvirt get pools"
        )
    return Exit.OK


def pending_value(each: PendingApproval) -> dict[str, object]:
    return {"digest": digest_of(each), "reason": each.reason, "objects": [str(key) for key in each.keys]}


def digest_of(each: PendingApproval) -> str:
    return each.trailer.rpartition(" ")[2]
