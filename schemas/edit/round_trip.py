"""The last resort: one document read and written anew by ruamel.yaml, which keeps comments and most of the form.

Other lines than the wanted ones may be laid out differently afterwards; never do they mean something else, since this
is read back like every edit.
"""

from __future__ import annotations

import io
from typing import Any

from schemas.edit import scalars
from schemas.edit.fields import Value
from schemas.edit.steps import Drop, Step
from schemas.edit.style import Style

_WIDEST = 1 << 20

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


def round_trip(text: str, steps: tuple[Step, ...], style: Style) -> str | None:
    """None: ruamel.yaml does not follow the text."""
    from ruamel.yaml import YAML  # 60 ms that an edit by splicing does not pay
    from ruamel.yaml.error import YAMLError

    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    yaml.width = _WIDEST
    yaml.indent(mapping=style.step, sequence=style.list_step + 2, offset=style.list_step)
    yaml.explicit_start = text.startswith("---") or "\n---" in text
    out = io.StringIO()
    try:
        document = yaml.load(text)
        for step in steps:
            _take(document, step)
        yaml.dump(document, out)
    except (YAMLError, *_SLIPS):
        return None
    new = out.getvalue()
    if text and text[-1] not in "\r\n":
        new = new.rstrip("\n")
    return new.replace("\n", style.eol) if style.eol != "\n" else new


def _take(document: Any, step: Step) -> None:
    above = document
    for key in step.path[:-1]:
        above = above[key]
    if isinstance(step, Drop):
        del above[step.path[-1]]
    else:
        above[step.path[-1]] = _safe(step.value)


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
