"""`gitvirt validate`: everything that is wrong with a repo, each with its place and what to do.

It reads files on disk, a revision, or standard input in place of one file, and checks them as the reconciler would
(reconciler.query.check). No manifests at all is an error, or a check in the wrong folder would succeed forever. The
formats are in `findings`; this module only chooses the source and the output.

Exit codes: 0 without errors, 3 with errors (or warnings, with `--strict`), 1 if it could not check, 2 for wrong
usage. It writes nothing, uses no network and needs no Git for files on disk: Git's library is imported only for
`--rev` and `--against`, because hooks and editors call this verb at every save.

Must never happen: "ok" for files that were not read; text of a file with a Secret in the output.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.findings.outcome import ValidationOutcome
from reconciler.cli.output import show_value
from reconciler.cli.progress import Progress
from reconciler.cli.terminal import Terminal, TextStyle, err, out, printable
from reconciler.query.check import CheckRequest, CheckResult, ComparedRevision, check
from reconciler.query.documents import WorkerLostError
from reconciler.query.policy import ABSENT
from reconciler.query.scope import (
    NoSuchPathError,
    NotAFileError,
    Scope,
    checked_out_branch,
    find_git_top,
    find_root,
    find_scopes,
    path_prefix,
    short_branch,
)
from reconciler.query.source import FilesSource, FolderSource, ManifestSource, OverlaySource, RevisionSource
from schemas.encryption.age_armor import Identities
from schemas.manifest import MAX_BYTES
from schemas.problem import Problem
from schemas.settings import fleet
from schemas.validate.finding import TextOf

EXAMPLES = """\
examples:
  gitvirt validate                          the repo you are in
  gitvirt validate examples/repo            another one
  gitvirt validate machines/web-1.yaml      one file of its repo
  gitvirt validate --against origin/main    also check the change itself
  gitvirt validate --rev HEAD~3             a revision, not the files on disk
  generate | gitvirt validate -             the output of another program
  gitvirt validate -o github                annotations on a pull request"""

TEXT = ("text", "table")
FORMATS = (*TEXT, "json", "yaml", "junit", "sarif", "github")
STANDARD_INPUT = "<stdin>"
FOREIGN = "GV221"  # a repo holds other YAML too; that much is normal, so it is only counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a folder, or files, or - for standard input (default: the repo you are in)",
    )
    parser.add_argument(
        "--against", metavar="REV", help="also check that immutable fields did not change since this revision"
    )
    parser.add_argument(
        "--rev", "--revision", dest="rev", metavar="REV", help="check this revision, not the files on disk"
    )
    parser.add_argument("--stdin-name", metavar="PATH", help="the file that standard input replaces")
    parser.add_argument(
        "--key",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="also verify encrypted Secrets that this private key opens; repeatable",
    )
    parser.add_argument("--foreign", action="store_true", help="also list documents of other kinds")
    parser.add_argument("--strict", action="store_true", help="exit with 3 on warnings too")
    parser.add_argument("-o", "--output", choices=FORMATS, default="text", help="format (default: text)")


def run(arguments: argparse.Namespace) -> int:
    """Checks and prints. Notes about missing settings come only with text: formats for programs have nothing but
    the outcome."""
    start = time.perf_counter()
    now = datetime.now(UTC)
    identities = read_keys(arguments)
    requested = [
        replace(each, now=now, identities=identities) for each in requests(arguments, working_folder())
    ]
    outcome = outcome_of(checks(requested), time.perf_counter() - start, arguments.foreign)
    if not outcome.files and not outcome.problems and not any(request.scope.named for request in requested):
        # To say "ok" would let a check in the wrong folder pass for ever.
        where = ", ".join(printable(str(request.scope.root)) for request in requested)
        cure = "manifests are *.yaml, *.yml and *.json; name the folder with the manifests"
        raise CommandError(f"there are no manifests in {where}", cure)
    show(outcome, arguments.output, out(), partial(text_of, requested))
    for request in requested if arguments.output in TEXT else ():
        note_settings(request)
    return outcome.exit_code(arguments.strict)


def read_keys(arguments: argparse.Namespace) -> Identities | None:
    """Imported only now: without a key, nothing of it is needed."""
    if not arguments.key:
        return None
    from reconciler.cli.secret import private_keys

    return private_keys.read_keys(arguments)


def note_settings(request: CheckRequest) -> None:
    """A whole repo without settings can be checked, and nothing more. One that had them must not get others."""
    if request.earlier is not None and fleet.PATH in request.earlier.source.files:
        return
    found = None if request.scope.named else request.source.read(fleet.PATH)
    if isinstance(found, Problem) and found.code == ABSENT:
        note = f"no {fleet.PATH} in {printable(str(request.scope.root))}; using defaults. The reconciler does not run without it"
        err().line(f"{err().paint('note:', TextStyle.DIM)} {note}; `gitvirt init` writes it")


def working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise CommandError("the working directory does not exist any more", "change to another one") from None


def checks(requested: Sequence[CheckRequest]) -> list[CheckResult]:
    """Nearly all that is made here stays to the end; to look for garbage among it would cost half as much again."""
    gc.disable()
    progress = Progress(err(), "checked")
    try:
        return [check(request, progress) for request in requested]
    except WorkerLostError:
        cure = "it may have run out of memory; check one folder at a time"
        raise CommandError("a process that read files ended unexpectedly", cure) from None
    finally:
        progress.close()
        gc.freeze()
        gc.enable()


def outcome_of(checked: Sequence[CheckResult], seconds: float, with_foreign: bool) -> ValidationOutcome:
    """Joins what the repos gave, in the order of file and line."""
    problems = sorted(problem for found in checked for problem in found.problems)
    return ValidationOutcome(
        tuple(problem for problem in problems if with_foreign or problem.code != FOREIGN),
        tuple(file for found in checked for file in found.files),
        sum(found.objects for found in checked),
        sum(found.foreign for found in checked),
        seconds,
    )


def text_of(requests: Sequence[CheckRequest], shown: str) -> str | None:
    """The text of a file that a finding names."""
    # The longest prefix first: one repo may lie within another.
    for request in sorted(requests, key=lambda request: -len(request.scope.prefix)):
        if shown.startswith(request.scope.prefix) or shown == request.stream:
            data = request.source.read(shown.removeprefix(request.scope.prefix))
            return None if isinstance(data, Problem) else data.decode("utf-8", "replace")
    return None


def show(outcome: ValidationOutcome, output: str, terminal: Terminal, text_of: TextOf) -> None:
    """Prints the outcome in one format, whose module is imported only now."""
    match output:
        case "json":
            from reconciler.cli.findings import as_json

            terminal.line(as_json.render(outcome))
        case "yaml":
            from reconciler.cli.findings import as_json

            show_value(terminal, "yaml", as_json.document(outcome))
        case "junit":
            from reconciler.cli.findings import as_junit

            terminal.line(as_junit.render(outcome))
        case "sarif":
            from importlib.metadata import version

            from reconciler.cli.findings import as_sarif

            terminal.line(as_sarif.render(outcome, version("gitvirt")))
        case "github":
            from reconciler.cli.findings import as_github

            for problem in outcome.problems:
                terminal.line(as_github.command(problem))
        case _:
            from reconciler.cli.findings import as_text

            as_text.write(outcome, terminal, text_of)


def requests(arguments: argparse.Namespace, here: Path) -> list[CheckRequest]:
    """What is to be checked, one request for each repo that the paths are in. Wrong combinations of options end
    here."""
    paths: list[str] = arguments.paths
    if "" in paths:
        raise CommandError(
            "a path is empty", "a variable may be unset; write . for the folder you are in", Exit.USAGE
        )
    if arguments.stdin_name and "-" not in paths:
        raise CommandError(
            "--stdin-name goes with -",
            "generate | gitvirt validate - --stdin-name machines/web-1.yaml",
            Exit.USAGE,
        )
    try:
        if "-" in paths:
            return [of_standard_input(arguments, here)]
        if arguments.rev:
            return at_revision(arguments, here)
        return [on_disk(scope, arguments.against) for scope in find_scopes(paths, here)]
    except NotAFileError as error:
        cure = "to check the output of another program, pipe it into `gitvirt validate -`"
        raise CommandError(f"{error.path} is neither a file nor a folder", cure) from None
    except NoSuchPathError as error:
        where = f" at {arguments.rev}" if arguments.rev else ""
        raise CommandError(f"{error.path} does not exist{where}", "name a folder or files that do") from None


def on_disk(scope: Scope, against: str | None) -> CheckRequest:
    """Files as they are on disk. Files outside of any repo are checked alone: what is around them is not theirs."""
    source = FilesSource(scope.root, scope.named) if scope.is_lone else FolderSource(scope.root)
    return CheckRequest(scope, source, checked_out_branch(scope.root), earlier(scope.root, against))


def of_standard_input(arguments: argparse.Namespace, here: Path) -> CheckRequest:
    """Standard input, laid over the repo around the working folder: references to its objects resolve. With
    `--stdin-name` it replaces a file of the repo, as an editor has it before it is saved."""
    if len(arguments.paths) > 1 or arguments.rev:
        cure = "check the other paths in a second run"
        raise CommandError("- cannot be combined with paths", cure, Exit.USAGE)
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    root = find_root(here)
    below: ManifestSource = FolderSource(root) if root else FilesSource(here, ())
    root = root or here
    stream = "" if arguments.stdin_name else STANDARD_INPUT
    name = stream or os.path.relpath(here / arguments.stdin_name, root)
    scope = Scope(root, path_prefix(root, here), (name,))
    past = earlier(root, arguments.against)
    return CheckRequest(scope, OverlaySource(below, name, data), checked_out_branch(root), past, stream)


def at_revision(arguments: argparse.Namespace, here: Path) -> list[CheckRequest]:
    """The files of a revision, whatever is on disk."""
    from reconciler.gitstore.worktree.revision import find_checkout, open_revision
    from reconciler.query.revision_paths import find_revision_scopes

    start = folder_of(here / arguments.paths[0]) if arguments.paths else here
    checkout = find_checkout(start)
    if checkout is None:
        raise CommandError(f"{start} is not in a Git repo", "--rev needs a Git repo")
    at = open_revision(start, arguments.rev)
    name = short_branch(arguments.rev)
    return [
        CheckRequest(scope, source, name, earlier_commit(start, arguments.against, source.folder))
        for scope, source in find_revision_scopes(arguments.paths, here, checkout, at)
    ]


def folder_of(path: Path) -> Path:
    """The nearest folder that exists: what is named may exist at the revision only."""
    return next(above for above in (path, *path.parents) if above.is_dir())


def earlier(root: Path, against: str | None) -> ComparedRevision | None:
    """The revision to compare with, for a repo on disk."""
    if against is None:
        return None
    top = find_git_top(root)
    folder = "" if top is None or top == root else f"{root.relative_to(top).as_posix()}/"
    return earlier_commit(root, against, folder)


def earlier_commit(root: Path, against: str | None, folder: str) -> ComparedRevision | None:
    if against is None:
        return None
    from reconciler.gitstore.worktree.revision import open_revision

    return ComparedRevision(against, RevisionSource(open_revision(root, against), folder))
