"""`gitvirt approve`: agrees to what awaits approval, by a commit that changes a file.

It writes `.gitvirt/approvals/<digest>.yaml` on the source branch, or on a new branch for a pull request. The file says the same as the
trailer `Gitvirt-Approve: <digest>` of a commit, and survives each kind of merge: a squash merge often drops trailers.

Without a digest it lists what awaits approval, and changes nothing: nothing is approved that a person did not name.

Limits: it does not know what a digest stands for, except in that list. The list is that of the next tick's plan (`Plan.awaiting`), as in `gitvirt status`,
`gitvirt plan --repo` and /healthz. A host whose report never reached the repo may wait for more; its log says so.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from reconciler.cli.exits import Exit
from reconciler.cli.fleet_repo import FleetRepo, check_settings, named_fleet
from reconciler.cli.mutate import change, output
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.mutate.statements import commit_statements, write_statement
from reconciler.cli.output import is_value, show_value
from reconciler.cli.plans import plan_input
from reconciler.cli.terminal import TextStyle, out, printable
from reconciler.decide.decide import make_plan
from reconciler.gitstore.approval import DIGITS, approve_command
from reconciler.plan.types import PendingApproval
from schemas import live_layout
from schemas.kinds import Key

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
    digests = list(dict.fromkeys(arguments.digests))
    return commit_statements(
        arguments, lambda fleet: approval_files(fleet, digests), f"approve {', '.join(digests)}", show
    )


def approval_files(fleet: FleetRepo, digests: list[str]) -> list[FileEdit]:
    """One file for each digest."""
    return [
        write_statement(fleet, live_layout.approval_path(digest), f"approve: {digest}")
        for digest in dict.fromkeys(digests)
    ]


def show(fleet: FleetRepo, edits: list[FileEdit], commit: str, arguments: argparse.Namespace) -> None:
    terminal = out()
    branch = output.branch_of(fleet, arguments)
    if is_value(arguments.output):
        digests = list(dict.fromkeys(arguments.digests))
        files = [each.path for each in edits]
        patch = "".join(f"{line}\n" for each in edits for line in output.patch(each))
        value = {"verb": arguments.verb, "digests": digests, "branch": branch, "commit": commit}
        show_value(terminal, arguments.output, {**value, "files": files, "patch": patch})
    elif arguments.output == "name":
        for digest in dict.fromkeys(arguments.digests):
            terminal.line(digest)
    elif not commit:
        for each in edits:
            output.show_patch(terminal, each)
    else:
        short = terminal.paint(commit[:10], TextStyle.YELLOW)
        purged: Sequence[Key] = getattr(arguments, "purged", ())
        done = [f"{key} will be DELETED, without an undo" for key in purged]
        for text in done or [f"approved {', '.join(dict.fromkeys(arguments.digests))}"]:
            terminal.line(f"{printable(text)}: {short} on {printable(branch)}")
        if arguments.branch:
            terminal.line("open a pull request for it; nothing happens before it is merged")
        elif purged:
            named = printable(" ".join(map(str, purged)))
            terminal.line(f"`gitvirt wait {named} --for deleted` waits until that is done")


def list_pending(arguments: argparse.Namespace) -> int:
    """What the next tick would not do without an approval, of the repo as it is now."""
    with named_fleet(arguments.repo, with_reports=True) as fleet:
        check_settings(fleet)
        seen = plan_input.advance_world(fleet.repo, fleet.snapshot, datetime.now(UTC))
        pending = make_plan(seen.world, seen.advance, seen.now).awaiting
    terminal = out()
    if is_value(arguments.output):
        show_value(terminal, arguments.output, [pending_value(each) for each in pending])
        return Exit.OK
    for each in pending:
        if arguments.output == "name":
            terminal.line(each.digest)
            continue
        terminal.line(printable(each.reason))
        for key in each.keys:
            terminal.line(f"  {printable(str(key))}")
        terminal.line(f"  to approve it: {approve_command(each.digest)}")
    if not pending and arguments.output != "name":
        terminal.line("nothing awaits approval")
    return Exit.OK


def pending_value(each: PendingApproval) -> dict[str, object]:
    return {"digest": each.digest, "reason": each.reason, "objects": [str(key) for key in each.keys]}
