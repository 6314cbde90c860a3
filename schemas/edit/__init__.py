"""Fields into text: what gitvirt writes into people's manifests, and how new documents of its own look.

`edit` and `edit_all` change bytes, `render` makes them. An edit touches the fields of `fields` and no other byte, is
verified by reading it back, and is refused with a Problem where that cannot be had. Nothing here decides what to write.
"""

from schemas.edit.editor import edit, edit_all
from schemas.edit.fields import Annotation, Changes, Field, Label, Target, Value
from schemas.edit.outcome import Edited, EditRefused, Means, Outcome
from schemas.edit.render import render
from schemas.edit.scalars import UnwritableError

__all__ = [
    "Annotation",
    "Changes",
    "EditRefused",
    "Edited",
    "Field",
    "Label",
    "Means",
    "Outcome",
    "Target",
    "UnwritableError",
    "Value",
    "edit",
    "edit_all",
    "render",
]
