"""`gitvirt diff`: what people declared against what is on the target branch, for the objects that are named or selected.

Compared are labels, annotations and spec, without what only the reconciler writes (status, uid, placements). So a difference means that the
reconciler has not synced the object yet, holds it, or that its file has errors; the errors are said on standard error. Writes nothing. Exit codes: 0, or 4 with `--exit-code` if something differs. An object
whose file has errors is not applied whatever it says: of one that cannot be read nothing is compared, and the exit code is 3. What a difference will do is for `gitvirt plan` to say.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import add_repo, named_fleet
from reconciler.cli.get import body_of
from reconciler.cli.objects import nouns
from reconciler.cli.objects.references import ANY, add_objects, read_reference, select_keys
from reconciler.cli.objects.selectors import suggest_item
from reconciler.cli.objects.unapplied import describe_cure, describe_unapplied, find_unapplied
from reconciler.cli.terminal import TextStyle, err, out, printable
from reconciler.query.inventory import FleetInventory, InventoryItem, read_inventory
from reconciler.query.unapplied import UnappliedObject
from schemas.edit import render
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind

EXAMPLES = """examples:
  gitvirt diff web-1
  gitvirt diff machines --all
  gitvirt diff volumes -l app=db --exit-code

Lines with - are on the target branch (live), lines with + in the source. `gitvirt plan` says what a change will do."""

# Fields of a spec that the reconciler fills in where people left them open.
PLACEMENTS = ("machinePoolRef", "volumePoolRef", "claimRef")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, ANY)
    parser.add_argument("--exit-code", action="store_true", help="exit with 4 if something differs")
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    reference = read_reference(arguments, ANY)
    with named_fleet(arguments.repo) as fleet:
        source = read_inventory(fleet.repo, fleet.snapshot.source)
        target = read_inventory(fleet.repo, fleet.snapshot.target)
        keys = set(select_keys(reference, arguments, lambda: source))
        if arguments.all:
            keys |= {each.key for each in source.unapplied if is_of(each.key, reference.kind, arguments)}
    for key in sorted(keys):
        refuse_unknown(key, source, target)
    refused = [each for key in sorted(keys) if (each := find_unapplied(source, key)) is not None]
    differs = False
    for key in sorted(keys - {each.key for each in refused if each.key not in source.items}):
        lines = list(compare(key, source.items.get(key), target.items.get(key)))
        differs = differs or bool(lines)
        for line in lines:
            style = {"+": (TextStyle.GREEN,), "-": (TextStyle.RED,)}.get(line[0], ())
            out().line(out().paint(printable(line), *style))
    refuse_unapplied(refused)
    return Exit.CHANGES if differs and arguments.exit_code else Exit.OK


def refuse_unapplied(refused: Sequence[UnappliedObject]) -> None:
    """Exit code 3, after the others were compared: no difference of theirs goes to the target branch before their files are fixed."""
    if not refused:
        return
    out().stream.flush()
    *others, last = refused
    for each in others:
        err().line(printable(f"{describe_unapplied(each)}; {describe_cure(each)}"))
    raise CommandError(printable(describe_unapplied(last)), printable(describe_cure(last)), Exit.PROBLEMS)


def is_of(key: Key | None, kind: Kind, arguments: argparse.Namespace) -> TypeGuard[Key]:
    """Whether `--all` is about an object whose document cannot be read."""
    namespace = arguments.namespace or DEFAULT_NAMESPACE
    return (
        key is not None
        and key.kind is kind
        and (arguments.all_namespaces or not kind.is_namespaced or key.namespace == namespace)
    )


def refuse_unknown(key: Key, source: FleetInventory, target: FleetInventory) -> None:
    if find_unapplied(source, key) is None and key not in source.items and key not in target.items:
        cause = f"there is no {printable(str(key))} in the source or on the target branch"
        raise CommandError(cause, suggest_item(source, key.kind, key.name) or nouns.list_command(key.kind))


def compare(key: Key, declared: InventoryItem | None, current: InventoryItem | None) -> Iterator[str]:
    """A unified diff of both documents; nothing where they say the same."""
    pinned = set() if declared is None else set(declared.body.get("spec") or ())
    before, after = (
        () if item is None else render(shown_part(item, pinned)).decode().splitlines()
        for item in (current, declared)
    )
    yield from difflib.unified_diff(before, after, f"live: {key}", f"source: {key}", lineterm="")


def shown_part(item: InventoryItem, pinned: set[str]) -> dict[str, Any]:
    """The part of a document that people write. A placement counts only where people pinned it."""
    body = body_of(item, with_secrets=False)
    metadata: Mapping[str, Any] = body.get("metadata") or {}
    spec = body.get("spec")
    if isinstance(spec, Mapping):
        body["spec"] = {name: each for name, each in spec.items() if name not in PLACEMENTS or name in pinned}
    kept = {
        name: metadata[name] for name in ("name", "namespace", "labels", "annotations") if metadata.get(name)
    }
    body["metadata"] = kept
    return {name: each for name, each in body.items() if name != "status" and each not in ({}, None)}
