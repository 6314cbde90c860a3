"""The last resort: one document read and written anew by ruamel.yaml, which keeps comments and most of the form.

Other lines than the wanted ones may be laid out differently afterwards; never do they mean something else, since this
is read back like every edit.
"""

from __future__ import annotations

import io
import re
from typing import Any

from schemas.edit import scalars
from schemas.edit.fields import Value
from schemas.edit.steps import AddEntry, ClearMap, DropEntry, PruneMap, PutEntry, Step
from schemas.edit.style import TextStyle

LARGEST = 1 << 16
"""Texts beyond it are not tried: a parser in Python reads a few hundred kilobytes a second."""

_WIDEST = 1 << 20
_FOOTER = re.compile(r"^\.\.\.(?=[ \t\r\n]|\Z)", re.M)

# How ruamel.yaml fails on hostile texts besides its own error. Each means the same: this text is beyond it.
_SLIPS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    NotImplementedError,
    RecursionError,
)


def round_trip(text: str, steps: tuple[Step, ...], style: TextStyle) -> str | None:
    """None: ruamel.yaml does not follow the text, or what it writes does not fit between the neighbours."""
    from ruamel.yaml import YAML  # 60 ms that an edit by splicing does not pay
    from ruamel.yaml.error import YAMLError

    if len(text) > LARGEST:
        return None
    footer = _FOOTER.search(text)
    own, rest = (text[: footer.start()], text[footer.start() :]) if footer else (text, "")
    yaml = YAML(typ="rt", pure=True)
    yaml.composer.warn_double_anchors = False
    yaml.preserve_quotes = True
    yaml.width = _WIDEST
    yaml.indent(mapping=style.step, sequence=style.list_step + 2, offset=style.list_step)
    yaml.explicit_start = own.startswith("---") or "\n---" in own
    out = io.StringIO()
    try:
        document = yaml.load(own)
        for step in steps:
            _take(document, step)
        yaml.dump(document, out)
    except (YAMLError, *_SLIPS):
        return None
    new = out.getvalue()
    if own and own[-1] not in "\r\n":
        new = new.removesuffix("\n")
    return new.replace("\n", style.eol) + rest


def _take(document: Any, step: Step) -> None:
    above = document
    for key in step.path[:-1]:
        above = above[key]
    match step:
        case PutEntry(_, value) | AddEntry(_, value):
            above[step.path[-1]] = _safe(value)
        case DropEntry(_):
            del above[step.path[-1]]
        case ClearMap(_) | PruneMap(_):
            if above.merge:
                raise LookupError(step.path)  # the entry is not the map's own, or not its only one
            _take(document, DropEntry(step.path if isinstance(step, ClearMap) else step.path[:-1]))


def _safe(value: Value) -> Any:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    match value:
        case dict():
            return {key: _safe(item) for key, item in value.items()}
        case list():
            return [_safe(item) for item in value]
        case str() if not scalars.is_plain(value):
            return DoubleQuotedScalarString(value)
    return value
