"""One document's text as a value: the reader that edits are verified with. Nothing here knows what an edit is."""

from __future__ import annotations

from typing import cast

from schemas.edit.fields import Value
from schemas.reader import read


def body_of(text: str) -> dict[str, Value] | None:
    """None: the text is not one document that is a map."""
    documents = read(text)
    if isinstance(documents, tuple) and len(documents) == 1 and isinstance(documents[0], dict):
        return cast("dict[str, Value]", documents[0])
    return None
