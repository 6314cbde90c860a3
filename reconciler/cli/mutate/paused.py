"""What verbs say of a paused object: its host would obey only once it is resumed, which may be days later and unexpected."""

from __future__ import annotations

from reconciler.cli.exits import CommandError
from reconciler.cli.terminal import printable
from schemas import live_layout
from schemas.model import Object


def refuse_paused(found: Object | None, verb: str) -> None:
    """A CommandError for a paused object. `verb` is what its host would not do."""
    if found is not None and found.metadata.annotations.get(live_layout.PAUSED) == "true":
        name = printable(str(found.key))
        raise CommandError(
            f"{name} is paused, so its host does not {verb} it", f"run `gitvirt resume {name}` first"
        )
