"""A new text of gitvirt.yaml with one entry changed and no other byte, so that comments and layout of people's file stay.

`schemas.edit` makes the edit and reads it back. The result is then parsed as settings: an entry that would make the file unusable (a name
that is malformed, a certificate with another owner) is an error before anything is committed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from reconciler.cli.exits import CommandError, Exit
from schemas.edit import Edited, Setting, Value, edit, render
from schemas.settings import fleet
from schemas.settings.fleet import PATH, FleetSettings

Path = tuple[str, ...]
BY_HAND = "add the entry by hand: `gitvirt help link.md` has an example"
# Below an empty mapping in flow style all would be on one line, a certificate as well.
EMPTY = re.compile(rb"^(link|poollets|clients):[^\S\n]*\{\}[^\S\n]*(#.*)?$", re.MULTILINE)


def read_settings(text: bytes) -> FleetSettings:
    """Raises CommandError: nothing is added to a file with problems."""
    found = fleet.parse(text)
    if not isinstance(found, FleetSettings):
        raise CommandError(f"{PATH} has problems", "run `gitvirt validate` to see them", Exit.PROBLEMS)
    return found


def change_settings(text: bytes, changes: Mapping[Path, Value]) -> bytes:
    """The text with these settings; the same bytes where they have these values already."""
    read_settings(text)
    sections = {path[0].encode() for path in changes}
    block = EMPTY.sub(
        lambda found: found[0].replace(b" {}", b"", 1) if found[1] in sections else found[0], text
    )
    made = edit(block, 0, {Setting(path): value for path, value in changes.items()}, path=PATH)
    if not isinstance(made, Edited):
        problem = made.problem
        raise CommandError(f"{problem.file}:{problem.line}: {problem.message}", problem.hint or BY_HAND)
    if made.data is block:
        return text
    after = fleet.parse(made.data)
    if not isinstance(after, FleetSettings):
        first = after[0]
        raise CommandError(
            f"{PATH} would have a problem: {first.code} {first.message}", first.hint, Exit.PROBLEMS
        )
    return made.data


def show_entry(path: Path, value: Value) -> str:
    """The entry as a file of its own has it, for people who add it by hand."""
    for step in reversed(path):
        value = {step: value}
    assert isinstance(value, dict)
    return render(value).decode()
