"""The YAML parser: yaml-rs, which is saphyr's scanner in Rust. Another parser would replace this module alone.

A parser turns text into one value per document, or returns its refusal. It need not be safe against hostile text, know
which words are numbers in YAML 1.2, or merge `<<`: `read` does that around it. It must refuse duplicate keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from yaml_rs import AliasLimits, YAMLDecodeError
from yaml_rs._yaml_rs import _loads

from schemas.reader import block_scalars
from schemas.reader.value import MAX_DEPTH, Value


@dataclass(frozen=True, slots=True)
class ParserRefusal:
    """The parser's error in its own words. Line and column count from 1; 0 means that the parser names none."""

    words: str
    line: int = 0
    column: int = 0


# A document of ours with an explicit end precedes the text. So the parser always returns a list of documents, and a
# single document that is itself a list cannot be mistaken for several documents.
_FRONT = "--- 0\n...\n"
_LINES_IN_FRONT = 2

_LIMITS = AliasLimits(max_total_replayed_events=200_000, max_replay_stack_depth=MAX_DEPTH)
UNUSABLE_KEY = "a key that holds collections"
_WHERE = re.compile(r"YAML parse error at line (\d+), column (\d+)\n(?:.*\n)*?(.+)\Z")


def parse(text: str) -> list[Value] | ParserRefusal:
    """One value for each document, or the refusal. Releases the GIL while it scans."""
    ended = block_scalars.end_documents(text)
    try:
        # Calls the extension directly: the package's wrapper only checks the argument's type, and costs 3%.
        values: Any = _loads(_FRONT + ended, parse_datetime=False, alias_limits=_LIMITS)
    except YAMLDecodeError as error:
        refusal = _refusal(str(error))
        return replace(refusal, line=block_scalars.original_line(text, ended, refusal.line))
    except TypeError:  # a key is a mapping that contains a collection, which Python cannot hash
        return ParserRefusal(UNUSABLE_KEY)
    return values[1:] if isinstance(values, list) else []


def _refusal(message: str) -> ParserRefusal:
    """The parser's error, with its position in the text without our own first document."""
    match = _WHERE.match(message)
    if match is None:
        return ParserRefusal(message)
    line, column, words = match.groups()
    return ParserRefusal(words, max(1, int(line) - _LINES_IN_FRONT), int(column))
