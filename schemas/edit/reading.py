"""One document's text as a value: the reader that edits are verified with. Nothing here knows what an edit is."""

from __future__ import annotations

from typing import cast

from schemas.edit.fields import Body
from schemas.reader import Unreadable, read

_NEIGHBOUR = "---\n"


def body_of(text: str, is_followed: bool = False) -> Body | Unreadable:
    """A text that is not one document, or one that is no map, is as good as unreadable here.

    With others behind it in its file, the document is read with a neighbour too: how it ends can depend on that.
    """
    documents = read(text + _NEIGHBOUR if is_followed else text)
    if isinstance(documents, Unreadable):
        return documents
    if len(documents) == 1 + is_followed and isinstance(documents[0], dict):
        return cast("Body", documents[0])
    return Unreadable("GV701", "it is no map of fields")
