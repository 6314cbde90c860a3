"""`gitvirt import`: objects exported from IronCore's API server become files of a repo.

It writes new files only: if one exists already with other content, nothing is written at all. It makes no commit, so that a person looks at
the result first. Disks are not copied: an imported object is a declaration, and a volume of that name will be created empty or from its image.

Exit codes: 0, 1 if a file cannot be read or written, 3 if the export is not YAML or has nothing that gitvirt can use.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import TextStyle, err, out, printable
from schemas.edit.render import render
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind
from schemas.manifest.documents import MAX_BYTES
from schemas.manifest.exported import Imported, Skipped, import_documents
from schemas.reader import Unreadable, read

EXAMPLES = """examples:
  kubectl get machines,volumes,networks -A -o yaml | gitvirt import -f -
  gitvirt import -f export.yaml --dry-run     show what it would write
  gitvirt import -f export.yaml fleet         into the repo in the folder fleet"""

FOLDERS = {
    Kind.MACHINE: "machines",
    Kind.MACHINE_CLASS: "classes",
    Kind.MACHINE_POOL: "pools",
    Kind.NETWORK: "networks",
    Kind.NETWORK_INTERFACE: "networks",
    Kind.RESOURCE_QUOTA: "policy",
    Kind.VOLUME: "volumes",
    Kind.VOLUME_CLASS: "classes",
    Kind.VOLUME_POOL: "pools",
    Kind.VOLUME_SNAPSHOT: "volumes",
}
# Kinds that share a folder with another one say so in the name of the file.
SUFFIXES = {
    Kind.NETWORK_INTERFACE: ".interface",
    Kind.VOLUME_CLASS: ".volume",
    Kind.VOLUME_POOL: ".volume",
    Kind.VOLUME_SNAPSHOT: ".snapshot",
}
LARGEST = 16 * MAX_BYTES  # of an export, which has many objects in one file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", nargs="?", default=".", metavar="DIR", help="the repo (default: here)")
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        required=True,
        metavar="FILE",
        help="an export in YAML or JSON; - for standard input; may be repeated",
    )
    parser.add_argument(
        "--keep-pools",
        action="store_true",
        help="keep machinePoolRef and volumePoolRef, which pins each object to that pool",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only show what would be written and what is left out"
    )


def run(arguments: argparse.Namespace) -> int:
    results = [result for name in arguments.file for result in read_export(name, arguments.keep_pools)]
    objects = [result for result in results if isinstance(result, Imported)]
    skipped = [result for result in results if isinstance(result, Skipped)]
    root = Path(arguments.directory)
    files = {path_of(each.key): render(each.body) for each in objects}
    if len(files) != len(objects):
        raise CommandError("the export has an object twice", "remove one of them", Exit.PROBLEMS)
    if not arguments.dry_run:
        write_files(root, files)
    show(root, objects, skipped, is_dry=arguments.dry_run)
    return Exit.OK if objects else Exit.PROBLEMS


def read_export(name: str, keep_pools: bool) -> list[Imported | Skipped]:
    try:
        data = sys.stdin.buffer.read(LARGEST + 1) if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(
            f"cannot read {printable(name)}: {error.strerror}", "check the path and its permissions"
        ) from error
    if len(data) > LARGEST:
        raise CommandError(f"{printable(name)} has more than {LARGEST:,} bytes", "split it", Exit.PROBLEMS)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise CommandError(
            f"{printable(name)} is not UTF-8 text", "export it as YAML or JSON", Exit.PROBLEMS
        ) from None
    values = read(text)
    if isinstance(values, Unreadable):
        place = f"{printable(name)}:{values.line}:{values.column}"
        raise CommandError(f"{place}: {values.message}", values.hint or "export it again", Exit.PROBLEMS)
    return list(import_documents(values, keep_pools=keep_pools))


def path_of(key: Key) -> str:
    folder = FOLDERS[key.kind]
    if key.namespace not in ("", DEFAULT_NAMESPACE):
        folder = f"{folder}/{key.namespace}"
    return f"{folder}/{key.name}{SUFFIXES.get(key.kind, '')}.yaml"


def write_files(root: Path, files: dict[str, bytes]) -> None:
    """All of them, or none if one would replace what is there."""
    taken = [
        path for path, data in files.items() if (root / path).exists() and (root / path).read_bytes() != data
    ]
    if taken:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        cure = "move them away, or import into another folder; nothing was written"
        raise CommandError(f"{printable(str(root / taken[0]))}{more} exist with other content", cure)
    try:
        for path, data in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
    except OSError as error:
        raise CommandError(
            f"cannot write {printable(str(error.filename))}: {error.strerror}",
            "check the path and its permissions",
        ) from error


def show(root: Path, objects: Sequence[Imported], skipped: Sequence[Skipped], *, is_dry: bool) -> None:
    terminal = out()
    verb = "would write" if is_dry else "wrote"
    for each in objects:
        dropped = f"  without {', '.join(each.dropped)}" if each.dropped else ""
        terminal.line(
            f"  {verb}  {printable(path_of(each.key))}{terminal.paint(printable(dropped), TextStyle.DIM)}"
        )
    for skip in skipped:
        warning = err().paint("skipped", TextStyle.YELLOW)
        err().line(f"  {warning}  {printable(skip.name)}: {printable(skip.reason)}")
    count = f"{len(objects)} object{'' if len(objects) == 1 else 's'}"
    terminal.line(f"{count} imported, {len(skipped)} skipped. Disks are not copied.")
    if objects and not is_dry:
        where = "" if root.resolve() == Path.cwd() else f"cd {printable(str(root))} && "
        terminal.line(f"Next: {where}gitvirt validate")
