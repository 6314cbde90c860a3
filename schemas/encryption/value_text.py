"""Values as text of YAML: scalars of a Secret, and SOPS' metadata. Only what the two need; `schemas.edit` writes people's manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9._/@+=-]*")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
_LINES = re.compile(r"(?:[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\ufeff-\ufffd]*\n)+")
_SEEN = frozenset(map(chr, range(32, 127))) - set('"\\')
_LAST_OF_FOUR = 0xFFFF  # beyond, JSON needs two escapes
_STEP = 4  # SOPS indents so


def scalar_text(value: str, type_: str, indent: int) -> str:
    """A value below a key at this indentation: plain where it is a word, lines as a block, all else in double quotes. It keeps its type."""
    if type_ in ("int", "float", "bool"):
        return value
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if _LINES.fullmatch(value) and value[0] not in " \n\t" and not value.endswith("\n\n"):
        blanks = " " * (indent + _STEP)
        lines = "".join(f"{blanks}{line}\n" if line else "\n" for line in value.split("\n")[:-1])
        return f"|\n{lines.rstrip()}"
    return _quote(value)


def block_text(value: Mapping[str, Any], indent: int = 0) -> str:
    """Mappings, lists of mappings and scalars in block style, with a line break at the end."""
    return "".join(_entry(" " * indent, key, one, indent) for key, one in value.items())


def _entry(blanks: str, key: str, value: Any, indent: int) -> str:
    name = key if _PLAIN.fullmatch(key) else _quote(key)
    if isinstance(value, Mapping) and value:
        return f"{blanks}{name}:\n{block_text(value, indent + _STEP)}"
    if isinstance(value, list) and value and all(isinstance(one, Mapping) and one for one in value):
        items = (_item(one, indent + _STEP) for one in value)
        return f"{blanks}{name}:\n{''.join(items)}"
    return f"{blanks}{name}: {_scalar(value, indent)}\n"


def _item(value: Mapping[str, Any], indent: int) -> str:
    text = block_text(value, indent + 2)
    return f"{' ' * indent}- {text[indent + 2 :]}"


def _scalar(value: Any, indent: int) -> str:
    if isinstance(value, str):
        if (
            "\n" in value
            and _LINES.fullmatch(value)
            and value[0] not in " \n\t"
            and not value.endswith("\n\n")
        ):
            lines = (" " * (indent + 2) + line for line in value.rstrip("\n").split("\n"))
            return "|\n" + "\n".join(lines)
        return value if value.startswith("ENC[") and "#" not in value else _quote(value)
    return json.dumps(value)


def _quote(value: str) -> str:
    """JSON is YAML but for characters that it writes as two escapes. Characters that can be seen stay as they are."""
    if value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter in _SEEN else _escape(letter) for letter in value).join('""')


def _escape(letter: str) -> str:
    code = ord(letter)
    return f"\\U{code:08X}" if code > _LAST_OF_FOUR else json.dumps(letter)[1:-1]
