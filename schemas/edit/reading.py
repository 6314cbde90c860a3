"""One document's text as a value: the reader that edits are verified with. Nothing here knows what an edit is."""

from __future__ import annotations

from typing import cast

from schemas.edit.fields import Value
from schemas.reader import Unreadable, read


def body_of(text: str) -> dict[str, Value] | Unreadable:
    """A text that is not one document, or one that is no map, is as good as unreadable here."""
    documents = read(text)
    if isinstance(documents, Unreadable):
        return documents
    if len(documents) == 1 and isinstance(documents[0], dict):
        return cast("dict[str, Value]", documents[0])
    return Unreadable("GV701", "it is no map of fields")
