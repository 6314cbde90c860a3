"""Patterns of gitignore: one line into a regular expression. A hostile line costs no more time than a harmless one.

gitignore's rules, with one addition: a line that is not a valid pattern is reported instead of ignored silently. Within a
name the expressions never backtrack, and the number of `**` in a pattern is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_LEAPS = 4  # `**` in one pattern: each multiplies the ways in which a path can match

_TRAILING_BLANKS = re.compile(r"(?<!\\)[ \t]+\Z")
_CLASS = re.compile(r"\[([!^]?)(\]?(?:[^\]\\]|\\.)*)\]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """`is_exception`: begins with `!`. A pattern without a slash matches names, one with a slash matches paths."""

    regex: re.Pattern[str]
    is_path: bool
    is_for_folders: bool
    is_exception: bool

    def matches(self, path: str) -> bool:
        """Whether the pattern matches a path from the root."""
        return self.regex.fullmatch(path if self.is_path else path.rpartition("/")[2]) is not None


def parse_pattern(line: str) -> Pattern | str | None:
    """The pattern of a line; None for a comment or an empty line; a text that says why the line is not a pattern.

    The order of the steps is gitignore's: comments, trailing blanks (a backslash keeps one), `!`, the slash at the end. Any
    other slash makes the pattern one for paths.
    """
    if line.startswith("#"):
        return None
    body = _TRAILING_BLANKS.sub("", line)
    if not body:
        return None
    is_exception = body.startswith("!")
    body = body.removeprefix("!")
    is_for_folders = body.endswith("/") and not body.endswith("\\/")
    body = body.removesuffix("/")
    is_path = "/" in body
    body = body.removeprefix("/")
    if not body:
        return "the pattern is empty"
    if body.count("**") > MOST_LEAPS:
        return f"more than {MOST_LEAPS} times **"
    regex = _path(body) if is_path else _name(body)
    if regex is None:
        return "a backslash at the end, or a [ that is not closed"
    try:
        return Pattern(re.compile(regex, re.DOTALL), is_path, is_for_folders, is_exception)
    except re.error:
        return "the range in [...] is not valid"


def _path(body: str) -> str | None:
    """`**` between slashes matches any number of folders, at the end everything inside."""
    parts = body.split("/")
    written = []
    for at, part in enumerate(parts):
        is_last = at == len(parts) - 1
        if part == "**":
            written.append(".+" if is_last else "(?:.+/)?")
            continue
        name = _name(part)
        if name is None:
            return None
        written.append(name + ("" if is_last else "/"))
    return "".join(written)


def _name(body: str) -> str | None:
    """One part of a path. Every star but the last matches as little as possible without backtracking, in linear time.

    That is never wrong: if an earlier star could match more, a later star could match that instead.
    """
    chunks = [""]
    at = 0
    while at < len(body):
        letter = body[at]
        if letter == "*":
            if len(chunks) == 1 or chunks[-1]:
                chunks.append("")
            at += 1
        elif letter == "?":
            chunks[-1] += "[^/]"
            at += 1
        elif letter == "[":
            match = _CLASS.match(body, at)
            if match is None:
                return None
            chunks[-1] += _set(match[1], match[2])
            at = match.end()
        elif letter == "\\":
            if at + 1 == len(body):
                return None
            chunks[-1] += re.escape(body[at + 1])
            at += 2
        else:
            chunks[-1] += re.escape(letter)
            at += 1
    first, *rest = chunks
    if not rest:
        return first
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in rest[:-1] if chunk)
    return f"{first}{middle}[^/]*{rest[-1]}"


def _set(negation: str, members: str) -> str:
    """A set of characters like [a-z], which never matches a slash."""
    escaped = "".join(f"\\{letter}" if letter in "[&~|" else letter for letter in members.removeprefix("]"))
    escaped = ("\\]" if members.startswith("]") else "") + escaped
    return f"(?!/)[{'^' if negation else ''}{escaped}]"
