"""Single values as text. Every YAML 1.1 and 1.2 reader reads the same value from it: a text that some reader would take
for a number, a date, a boolean or null is quoted.

People read the files with other tools than ours, and a `live` branch that another reader takes for something else is
wrong even if gitvirt reads it well: `power: On` without quotes is true to YAML 1.1. The rule is conservative: `PLAIN`
lists what may be without quotes, and `_RESOLVED` takes from that what some reader resolves to another type. A character
that a reviewer cannot see is always escaped.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache

PLAIN = re.compile(
    r"[A-Za-z0-9_./+(-](?:[A-Za-z0-9_./+@=();!?%$*&-]|:(?=[A-Za-z0-9_./])|,| (?=[A-Za-z0-9_./+(=-]))*"
)
"""Narrower than YAML allows, on purpose: no text that ends with a colon, none that contains a hash."""

_RESOLVED = re.compile(
    r"""(?xi)
    [-+]?\.?[0-9][0-9_,.]*(?:e[-+]?[0-9_]*)?        # integers and floats of any YAML, with any separators
  | [-+]?0(?:x[0-9a-f_]*|o[0-7_]*|b[01_]*)          # hexadecimal, octal, binary
  | [-+]?[0-9a-f_]+(?::[0-9a-f_.]*)+                # base sixty; addresses of hardware go along, to look alike
  | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*                # dates and times
  | [-+]?\.?(?:inf|infinity|nan)
  | y|yes|n|no|true|false|on|off|null|nil|none
  | [-.=?(]                                         # single marks
  | (?:---|\.\.\.).*
  | [-?]\ .*
    """
)
_LOOKS_LIKE_A_NUMBER_AND_IS_NONE = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{1,3}(?:\.[0-9]{1,3}){3}"
)
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff]"
)
"""Line breaks of YAML 1.1, control characters, and marks that reorder or hide text from a reviewer."""

_in_json = json.JSONEncoder(ensure_ascii=False).encode
_HALF = re.compile("[\ud800-\udfff]")


class UnwritableError(ValueError):
    """The value cannot be written: half of a surrogate pair, infinity in JSON, or a value that is not plain data."""


@lru_cache(maxsize=8192)
def is_plain(text: str) -> bool:
    """Whether the text needs no quotes in block style."""
    if PLAIN.fullmatch(text) is None or len(text) > 1024:
        return False
    if _RESOLVED.fullmatch(text) is None:
        return True
    return _LOOKS_LIKE_A_NUMBER_AND_IS_NONE.fullmatch(text) is not None


def double_quote(text: str) -> str:
    """In double quotes; the same in JSON and in YAML."""
    if _HALF.search(text):
        raise UnwritableError("a text with half of a surrogate pair")
    return _INVISIBLE.sub(_escape, _in_json(text))


def _escape(match: re.Match[str]) -> str:
    """An invisible character as a JSON escape."""
    return f"\\u{ord(match[0]):04x}"


def single_quote(text: str) -> str | None:
    """In single quotes; None if a character needs an escape."""
    if _INVISIBLE.search(text) or _HALF.search(text) or any(sign < " " for sign in text):
        return None
    return "'" + text.replace("'", "''") + "'"


def block(text: str) -> str:
    """A string in block style, on one line."""
    return text if is_plain(text) else double_quote(text)


def flow(text: str) -> str:
    """A string inside brackets, where a comma separates entries."""
    return text if is_plain(text) and "," not in text and not text.endswith("?") else double_quote(text)


@lru_cache(maxsize=8192)
def key(text: str, quote: str = "") -> str:
    """A key with the quotes of its neighbors; without quotes if they have none and that is safe."""
    if not isinstance(text, str):
        raise UnwritableError(f"a key that is a {type(text).__name__}")
    if text == "<<":
        raise UnwritableError("a key that means a merge")
    if quote == "'":
        return single_quote(text) or double_quote(text)
    return double_quote(text) if quote else flow(text)


def atom(value: float | bool | None) -> str:
    """A number, boolean or null, in a form that every reader takes for the same value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer(value)
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    digits = repr(value)
    mantissa, e, exponent = digits.partition("e")
    return digits if not e or "." in mantissa else f"{mantissa}.0e{exponent}"


def _integer(value: int) -> str:
    """Decimal digits. Python refuses to convert extremely long integers."""
    try:
        return str(value)
    except ValueError as error:
        raise UnwritableError("an integer of more digits than any reader takes") from error
