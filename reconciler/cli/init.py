"""`gitvirt init`: a repo to start from. It adds what is missing and never overwrites a person's file.

| file | missing | exists |
|---|---|---|
| settings, class, CI, editor hints | written | kept |
| wheel that CI installs, where it cannot download this gitvirt | written | kept |
| JSON Schemas of gitvirt | written | updated to this version: they are ours |

`--refork` gives a copy of a fleet its own `fleet.id`, so that it can never change the machines of its origin.

It writes files below the folder and, outside of a repo, an empty Git repo. It makes no commit and contacts no
remote: the first commit is the person's. Exit codes: 0, also if everything exists, 1 if a file cannot be written.
Running it again after an upgrade updates the schemas and nothing else.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import uuid
from collections.abc import Iterator
from enum import StrEnum
from importlib.resources import files
from pathlib import Path

from reconciler.cli.ci_source import CannotBuildWheelError, CiSource, find_ci_source
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import Terminal, TextStyle, err, out, printable
from reconciler.gitstore.worktree import revision

EXAMPLES = """examples:
  gitvirt init fleet          a new repo in the folder fleet
  gitvirt init                add what is missing to the folder you are in
  gitvirt init --refork       give a copy of a fleet its own identity"""

# Template -> its path in the repo.
FILES = {
    "gitvirt.yaml": "gitvirt.yaml",
    "README.md": "README.md",
    "gitvirtignore": ".gitvirtignore",
    "small.yaml": "classes/small.yaml",
    "github.yaml": ".github/workflows/gitvirt.yaml",
    "gitlab.yaml": ".gitlab-ci.yml",
}
CI_FILES = (FILES["github.yaml"], FILES["gitlab.yaml"])
FOLDERS = ("machines", "pools")
SCHEMAS = ".schemas"
FLEET_ID = re.compile(
    r"^(fleet:[^\S\n]*(?:#.*)?\n(?:[^\S\n]*(?:#.*)?\n)*[^\S\n]+id:[^\S\n]*)([\"']?)([0-9a-f-]{36})\2",
    re.MULTILINE,
)


class FileOutcome(StrEnum):
    MADE = "made"
    KEPT = "kept"
    UPDATED = "updated"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", default=".", metavar="DIR", help="where (default: here)")
    parser.add_argument(
        "--refork",
        action="store_true",
        help="give the fleet in DIR a new identity, so that it never touches its origin's machines",
    )
    parser.add_argument(
        "--no-git",
        action="store_true",
        help="do not create a Git repo; by default DIR becomes one unless it is in one",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes the files and says what was made, kept or updated. Running it again changes nothing."""
    if not arguments.directory:
        cure = "name a folder, or leave it out for the one you are in"
        raise CommandError("'' is not a folder", cure, Exit.USAGE)
    root = Path(arguments.directory)
    terminal = out()
    try:
        if arguments.refork:
            return refork(root, terminal)
        root.mkdir(parents=True, exist_ok=True)
        source = find_source(root)
        fates = list(fill(root, uuid.uuid4(), source))
        is_new = not arguments.no_git and begin(root)
        warn_of_outer_repo(root)
    except OSError as error:
        raise CommandError(
            f"cannot write {printable(str(error.filename))}: {error.strerror}",
            "check the path and its permissions",
        ) from error
    show(root, fates, is_new, source, terminal)
    return Exit.OK


def find_source(root: Path) -> CiSource:
    """Not asked where all CI files exist: they are kept, and a wheel takes a second to build."""
    version = importlib.metadata.version("gitvirt")
    if all((root / path).exists() for path in CI_FILES):
        return CiSource(f"gitvirt=={version}")
    try:
        return find_ci_source()
    except CannotBuildWheelError as error:
        warning = err().paint("warning:", TextStyle.YELLOW)
        err().line(f"{warning} cannot give CI this gitvirt: {printable(str(error))}")
        err().line(
            f"  CI will install gitvirt=={version} from its package index; to install it from elsewhere, set the variable GITVIRT of the CI"
        )
        return CiSource(f"gitvirt=={version}")


def fill(root: Path, fleet: uuid.UUID, source: CiSource) -> Iterator[tuple[str, FileOutcome]]:
    """Writes what is missing below `root`. Schemas are ours and follow the version installed."""
    values = {
        "@VERSION@": importlib.metadata.version("gitvirt"),
        "@FLEET@": str(fleet),
        "@INSTALL@": source.requirement,
    }
    if source.wheel is not None:
        yield source.requirement, write_bytes(root / source.requirement, source.wheel)
    for template, path in FILES.items():
        text = files("reconciler.template").joinpath(template).read_text("utf-8")
        for mark, value in values.items():
            text = text.replace(mark, value)
        yield path, write_file(root / path, text, FileOutcome.KEPT)
    for folder in FOLDERS:
        if not (root / folder).exists():
            write_file(root / folder / ".gitkeep", "", FileOutcome.KEPT)
            yield f"{folder}/", FileOutcome.MADE
    fates = {
        write_file(root / SCHEMAS / schema.name, schema.read_text("utf-8"), FileOutcome.UPDATED)
        for schema in files("schemas").iterdir()
        if schema.name.endswith(".json")
    }
    changed = [outcome for outcome in (FileOutcome.UPDATED, FileOutcome.MADE) if outcome in fates]
    yield f"{SCHEMAS}/", changed[0] if changed else FileOutcome.KEPT


def write_file(path: Path, text: str, otherwise: FileOutcome) -> FileOutcome:
    """Writes the file if it is missing, or if it differs and may be updated."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        if otherwise is FileOutcome.KEPT or (not path.is_symlink() and path.read_bytes() == text.encode()):
            return FileOutcome.KEPT
        # A new file in place of the old one: an existing link is not followed.
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        with fresh.open("x", encoding="utf-8") as file:
            file.write(text)
        fresh.replace(path)
        return otherwise
    return FileOutcome.MADE


def write_bytes(path: Path, data: bytes) -> FileOutcome:
    """Writes the file if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        return FileOutcome.KEPT
    return FileOutcome.MADE


def begin(root: Path) -> bool:
    """Makes `root` a Git repo on the source branch unless it is in one. True when it made one."""
    if revision.find_checkout(root) is not None:
        return False
    revision.init_repo(root, "main")
    return True


def warn_of_outer_repo(root: Path) -> None:
    """A fleet in a folder of another repo would be committed there, and gitvirt.yaml is only read at the root of a repo."""
    found = revision.find_checkout(root)
    if found is None or found.root is None or found.root.resolve() == root.resolve():
        return
    outer = printable(str(found.root))
    err().line(f"{err().paint('warning:', TextStyle.YELLOW)} this folder belongs to the Git repo {outer}")
    err().line(
        "  commits go there, and gitvirt reads gitvirt.yaml only at the root of a repo; run gitvirt init in a folder outside of it"
    )


def refork(root: Path, terminal: Terminal) -> int:
    """Replaces fleet.id and no other byte of gitvirt.yaml."""
    path = root / "gitvirt.yaml"
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise CommandError(
            f"{printable(str(path))} does not exist",
            "run it in the root of a fleet's repo; `gitvirt init` creates one",
        ) from None
    except UnicodeDecodeError:
        raise CommandError(f"{printable(str(path))} is not UTF-8", "save it as UTF-8") from None
    found = FLEET_ID.search(text)
    if found is None:
        raise CommandError(
            f"{printable(str(path))} has no fleet.id that can be replaced safely",
            f"write it by hand:\n  fleet:\n    id: {uuid.uuid4()}",
        )
    fleet = str(uuid.uuid4())
    path.write_bytes((text[: found.start(3)] + fleet + text[found.end(3) :]).encode("utf-8"))
    terminal.line(f"This fleet is now {terminal.paint(fleet, TextStyle.BOLD)}; it was {found[3]}.")
    terminal.line(
        "Machines of the old fleet are foreign: this fleet never touches them. Delete the copied live branch:"
    )
    terminal.line("  git branch -D live; git push origin --delete live     only in the fork")
    return Exit.OK


def show(
    root: Path, fates: list[tuple[str, FileOutcome]], is_new: bool, source: CiSource, terminal: Terminal
) -> None:
    """Prints each file with its outcome, and the commands that come next."""
    colors = {
        FileOutcome.MADE: TextStyle.GREEN,
        FileOutcome.UPDATED: TextStyle.YELLOW,
        FileOutcome.KEPT: TextStyle.DIM,
    }
    for path, outcome in fates:
        terminal.line(f"  {terminal.paint(f'{outcome:<7}', colors[outcome])}  {path}")
    where = "" if root.resolve() == Path.cwd() else f"cd {printable(str(root))} && "
    terminal.line()
    if all(outcome is FileOutcome.KEPT for _, outcome in fates):
        terminal.line("Everything already exists.")
        return
    if (CI_FILES[0], FileOutcome.MADE) in fates:
        terminal.line(f"CI will run: pip install {printable(source.requirement)}")
    terminal.line(f"{'A new Git repo. ' if is_new else ''}Next:")
    terminal.line(f"  {where}gitvirt validate")
    terminal.line('  git add -A && git commit -m "a fleet"')
