"""The last resort: ruamel.yaml reads the document and writes it again, which keeps comments and most of the layout.

Lines of other fields may be laid out differently afterwards. They never change their meaning, because the result is read
back like every edit. ruamel.yaml is written in Python and a hundred times slower than the reader, hence the limit of
64 KiB, and the import only where it is needed.

Must never happen: an exception. A hostile text makes ruamel.yaml raise nearly anything, and each of those means the same:
it cannot process the text, so there is no candidate.
"""

from __future__ import annotations

import io
import re
from typing import Any

from schemas.edit import scalars
from schemas.edit.fields import Value
from schemas.edit.steps import AddEntry, ClearMap, DropEntry, PruneMap, PutEntry, Step
from schemas.edit.style import YamlStyle

LARGEST = 1 << 16
"""Larger texts are not tried: a parser in Python reads a few hundred kilobytes per second."""

_WIDEST = 1 << 20
_FOOTER = re.compile(r"^\.\.\.(?=[ \t\r\n]|\Z)", re.M)

# What ruamel.yaml raises for hostile texts besides its own error. Each means that it cannot process the text.
_OTHER_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    NotImplementedError,
    RecursionError,
)


def round_trip(text: str, steps: tuple[Step, ...], style: YamlStyle) -> str | None:
    """The new text, or None if ruamel.yaml cannot read the text or make the steps."""
    from ruamel.yaml import YAML  # takes 60 ms; edits by splicing do not need it
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
            _apply(document, step)
        yaml.dump(document, out)
    except (YAMLError, *_OTHER_ERRORS):
        return None
    new = out.getvalue()
    if own and own[-1] not in "\r\n":
        new = new.removesuffix("\n")
    return new.replace("\n", style.eol) + rest


def _apply(document: Any, step: Step) -> None:
    """One step on ruamel.yaml's document."""
    above = document
    for key in step.path[:-1]:
        above = above[key]
    match step:
        case PutEntry(_, value) | AddEntry(_, value):
            above[step.path[-1]] = _quote_texts(value)
        case DropEntry(_):
            del above[step.path[-1]]
        case ClearMap(_) | PruneMap(_):
            if above.merge:
                raise LookupError(step.path)  # the entry comes from a merge, or is not the only one
            _apply(document, DropEntry(step.path if isinstance(step, ClearMap) else step.path[:-1]))


def _quote_texts(value: Value) -> Any:
    """Texts that need quotes as ruamel.yaml's quoted strings, so that they are quoted as everywhere else."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    match value:
        case dict():
            return {key: _quote_texts(item) for key, item in value.items()}
        case list():
            return [_quote_texts(item) for item in value]
        case str() if not scalars.is_plain(value):
            return DoubleQuotedScalarString(value)
    return value
