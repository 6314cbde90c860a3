"""Texts in many styles of YAML, each with what it means: a writer whose every choice Hypothesis makes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from schemas.reader import BYTE_ORDER_MARK, Value
from tests.schemas.reader.arbiter import scalar

# Words on which parsers differ, and text that needs care when it is written.
TRICKY = (
    "on", "off", "yes", "no", "y", "n", "On", "NO", "true", "null", "~", "010", "08", "1_000", "_1", "0b11", "0x1F", "0X1F",
    "0o17", "0O7", "+12", "-0", "1e3", "1.", ".5", "-.5e-3", "+0x1", ".inf", ".iNf", "-.InF", ".nAn", "12:30:45", "2024-01-01",
    "1e1_0", "0_", "<<", "=", "a: b", "a:b", "a #b", "a#b", "# c", "- x", "-x", "? x", ": x", "*a", "&a", "!t", "%x", "@x", "`x`",
    "|", ">", "{", "}", "[a]", "a, b", "'", '"', "it's", '"q"', "\\", "\\n", "a\nb", "a\n\nb\n", "\n", " lead", "trail ", "\ttab",
    "---", "...", "--- a", "é", "日本", "😀", "\u2028", "\x85", "\u00a0", "a\u2028b", "\x07", "\x00", "\x7f", "\ufeff", "", " ",
    "GiB", "16Gi", "500m", "1e", "0o8", "0xG", "9" * 30, "0x" + "F" * 20, "{{ x }}", "key: [", "a" * 90,
)  # fmt: skip

TEXTS = st.sampled_from(TRICKY) | st.text(st.characters(codec="utf-8"), max_size=12)
KEYS = TEXTS.filter(lambda text: text != "<<")
NUMBERS = st.integers() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)

# What needs no quotes on one line, in every place: a part of what YAML allows.
_PLAIN = re.compile(r"[A-Za-z0-9_./+~é日-][A-Za-z0-9_./+~éa-z日 -]*(?<! )")
_NOT_PRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")

Draw = Callable[[st.SearchStrategy[int]], int]


@dataclass(frozen=True)
class Written:
    text: str
    documents: tuple[Value, ...]


@st.composite
def write(draw: st.DrawFn, values: st.SearchStrategy[Value] = VALUES, most_documents: int = 3) -> Written:
    """A text and the documents that it holds."""
    documents = tuple(draw(st.lists(values, min_size=1, max_size=most_documents)))
    writer = _Writer(draw, draw(st.integers(1, 5)))
    parts = []
    for at, document in enumerate(documents):
        body = writer.node(document, 0, in_flow=False, after_indicator=False)
        marker = "---\n" if at or draw(st.booleans()) else ""
        parts.append(
            marker + writer.comment() + body.lstrip("\n") + ("...\n" if draw(st.integers(0, 4)) == 0 else "")
        )
    text = "".join(parts)
    if draw(st.integers(0, 3)) == 0 and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return Written((BYTE_ORDER_MARK if draw(st.integers(0, 5)) == 0 else "") + text, documents)


@dataclass
class _Writer:
    draw: st.DrawFn
    step: int

    def pick(self, choices: int) -> int:
        return self.draw(st.integers(0, choices - 1))

    def comment(self) -> str:
        return ("", "", "# a comment: [1_000\n", "\n")[self.pick(4)]

    def node(self, value: Value, indent: int, *, in_flow: bool, after_indicator: bool) -> str:
        """Flow: without line ends. Block: beginning behind an indicator (a space or a line end first) and ending with a line end."""
        is_empty = isinstance(value, list | dict) and not value
        if not isinstance(value, list | dict):
            return self.flow(value) if in_flow else self.leaf(value, indent, after_indicator=after_indicator)
        if in_flow or is_empty or self.pick(4) == 0:
            text = self.flow(value)
            return text if in_flow else (" " if after_indicator else "") + text + self.ending()
        lines = self.sequence(value, indent) if isinstance(value, list) else self.mapping(value, indent)
        return ("\n" if after_indicator else "") + lines

    def ending(self) -> str:
        return ("\n", "\n", " # 1_0\n", "  \n")[self.pick(4)]

    def sequence(self, value: list[Value], indent: int) -> str:
        parts = []
        for child in value:
            inner = indent + 1 + self.pick(self.step)
            if isinstance(child, list | dict) and child and self.pick(2):
                inner = max(inner, indent + 2)
                compact = (
                    self.sequence(child, inner) if isinstance(child, list) else self.mapping(child, inner)
                )
                if not compact.lstrip(" ").startswith(("#", "\n")):
                    parts.append(" " * indent + "-" + compact[indent + 1 :])
                    continue
            parts.append(
                self.comment()
                + " " * indent
                + "-"
                + self.node(child, inner, in_flow=False, after_indicator=True)
            )
        return "".join(parts)

    def mapping(self, value: dict, indent: int) -> str:  # type: ignore[type-arg]
        parts = []
        for key, child in value.items():
            inner = indent + self.step
            if isinstance(child, list) and child and self.pick(2):
                inner = indent  # sequences need no indentation of their own
            body = self.node(child, inner, in_flow=False, after_indicator=True)
            if self.pick(8) == 0:
                parts.append(f"{' ' * indent}? {self.word(key)}\n{' ' * indent}:{body}")
            else:
                parts.append(f"{self.comment()}{' ' * indent}{self.word(key)}:{body}")
        return "".join(parts)

    def leaf(self, value: Value, indent: int, *, after_indicator: bool) -> str:
        lead = " " if after_indicator else ""
        if isinstance(value, str) and after_indicator and self.pick(3) == 0 and _is_block(value):
            return self.block(value, indent)
        return lead + self.scalar(value) + self.ending()

    def block(self, value: str, indent: int) -> str:
        body, chomp = value.rstrip("\n"), {0: "-", 1: ""}.get(len(value) - len(value.rstrip("\n")), "+")
        deeper = max(indent, 1)
        lines = [" " * deeper + line if line else "" for line in body.split("\n")]
        return f" |{chomp}\n" + "\n".join(lines) + "\n" + "\n" * max(0, len(value) - len(body) - 1)

    def flow(self, value: Value) -> str:
        if isinstance(value, list):
            return (
                "["
                + ", ".join(self.flow(child) for child in value)
                + (",]" if value and self.pick(4) == 0 else "]")
            )
        if not isinstance(value, dict):
            return self.scalar(value)
        space = " " * self.pick(2)
        return (
            "{"
            + space
            + f",{space}".join(self.pair(key, child) for key, child in value.items())
            + space
            + "}"
        )

    def pair(self, key: object, child: Value) -> str:
        word = self.word(str(key))
        colon = ":" if word[0] in "\"'" and self.pick(2) else ": "
        return word + colon + self.flow(child)

    def scalar(self, value: Value) -> str:
        match value:
            case None:
                return ("~", "null", "Null", "NULL")[self.pick(4)]
            case bool():
                word = str(value)
                return (word, word.lower(), word.upper())[self.pick(3)]
            case int():
                return self.integer(value)
            case float():
                word = repr(value).replace("inf", ".inf")
                return word if "." in word or "e" in word else word + ".0"
            case _:
                return self.word(str(value))

    def integer(self, value: int) -> str:
        spellings = [str(value), f"{value:05d}"]
        if value >= 0:
            spellings += [f"+{value}", f"0x{value:x}", f"0x{value:X}", f"0o{value:o}"]
        return spellings[self.pick(len(spellings))]

    def word(self, value: str) -> str:
        """Text on one line: plain if that means the same, else in one of the quotes."""
        is_plain = (
            _PLAIN.fullmatch(value) and scalar(value) == value and "---" not in value and "..." not in value
        )
        if is_plain and self.pick(3) and " #" not in value and not value.startswith(("- ", "-")):
            return value
        if "\n" not in value and not _NOT_PRINTABLE.search(value) and self.pick(2):
            return "'" + value.replace("'", "''") + "'"
        return _double_quoted(value, is_ascii=bool(self.pick(2)))


def _double_quoted(value: str, *, is_ascii: bool) -> str:
    quoted = json.dumps(value, ensure_ascii=is_ascii)
    return _NOT_PRINTABLE.sub(lambda match: f"\\U{ord(match[0]):08x}", quoted)


def _is_block(value: str) -> bool:
    body = value.rstrip("\n")
    return (
        bool(body)
        and not _NOT_PRINTABLE.search(value)
        and not body.startswith((" ", "\n", "\t"))
        and "\r" not in value
    )
