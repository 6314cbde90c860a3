"""Manifests as many hands would write them: indents, quotes, comments, blank lines, braces, line ends, properties.

What is emitted must read back as the body it was made of; `emit` checks that with the reader, so a text that this
emitter gets wrong is a failure of the test and not of the editor.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from random import Random

from schemas.edit import Value
from schemas.edit.verification import is_same_value
from schemas.reader import read

Body = dict[str, Value]

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*(?: [A-Za-z0-9][A-Za-z0-9_.-]*)*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_COMMENTS = (
    "# c",
    "#",
    "# spec:",
    "#  machinePoolRef: {name: x}",
    "# '",
    '# "',
    "# }",
    "# ---",
    "#\tü ☃",
    "# status: # x",
)
_LITERAL = re.compile(r"[^\s#](?:[^\n\r]*[^\s])?(?:\n[^\s](?:[^\n\r]*[^\s])?)*\n?")


@dataclass
class Hand:
    """One person's habits, drawn once a text; and the dice for what varies within it."""

    dice: Random
    eol: str
    step: int
    list_step: int
    quote: str
    chatty: float
    braces: float
    props: float
    ends_in_literal: bool = False

    def often(self, chance: float) -> bool:
        return self.dice.random() < chance

    def comment(self) -> str:
        return self.dice.choice(_COMMENTS)

    def tail(self) -> str:
        """What may follow a value on its line, and the break."""
        if self.often(self.chatty):
            return self.dice.choice((" ", "  ")) + self.comment() + self.eol
        return (" " * self.dice.randrange(3) if self.often(self.chatty / 2) else "") + self.eol

    def between(self, indent: int) -> str:
        """Lines that mean nothing, before an entry."""
        out = ""
        while self.often(self.chatty):
            kind = self.dice.randrange(4)
            deep = 0 if self.ends_in_literal else self.dice.choice((0, indent, indent + 1))
            out += ("" if kind == 0 else " " * deep + ("" if kind == 1 else self.comment())) + self.eol
        return out

    def key(self, key: str) -> str:
        quote = self.dice.choice(("", '"', "'")) if self.quote == "mixed" else self.quote
        return f"{quote}{key}{quote}"


def hand(dice: Random) -> Hand:
    step = dice.choice((2, 2, 2, 4, 1, 3))
    return Hand(
        dice=dice,
        eol=dice.choice(("\n", "\n", "\r\n")),
        step=step,
        list_step=dice.choice((0, step)),
        quote=dice.choice(("", "", "", '"', "'", "mixed")),
        chatty=dice.choice((0, 0.1, 0.4)),
        braces=dice.choice((0, 0, 0.2, 0.6)),
        props=dice.choice((0, 0, 0, 0.15)),
    )


def emit(dice: Random, body: Body) -> str:
    """One document's text, without markers."""
    own = hand(dice)
    form = dice.randrange(6)
    if form == 0:
        text = _json(own, body)
    elif form == 1:
        text = _flow(own, body, dice.choice((None, 0))) + own.tail()
    else:
        indent = dice.choice((0, 0, 0, 2))
        text = own.between(0) + _block_map(own, body, indent) + own.between(0)
    if own.often(0.2) and not text.endswith(" " + own.eol):
        text = text.removesuffix(own.eol)
    back = read(text)
    assert isinstance(back, tuple), (text, back)
    assert len(back) == 1, text
    assert is_same_value(back[0], body), (text, back, body)
    return text


def _json(own: Hand, body: Body) -> str:
    pretty = own.dice.choice((None, None, 2, 4, "\t"))
    separators = own.dice.choice(((",", ":"), (", ", ": "))) if pretty is None else None
    text = json.dumps(body, indent=pretty, separators=separators, ensure_ascii=False)
    return text.replace("\n", own.eol) + own.eol


def _block_map(own: Hand, body: Body, indent: int) -> str:
    pad = " " * indent
    out = ""
    for key, value in body.items():
        if own.often(own.props / 4) and _is_atom(value):
            out += f"{own.between(indent)}{pad}? {own.key(key)}{own.eol}{pad}:{_value(own, value, indent)}"
        else:
            colon = own.dice.choice((":", ":", ":", " :"))
            out += f"{own.between(indent)}{pad}{own.key(key)}{colon}{_value(own, value, indent)}"
    return out


def _is_atom(value: Value) -> bool:
    return not isinstance(value, dict | list | str) or (isinstance(value, str) and "\n" not in value)


def _value(own: Hand, value: Value, indent: int) -> str:
    """Everything after a key's colon, with the break."""
    own.ends_in_literal = False
    anchor = f" &a{own.dice.randrange(1000)}" if own.often(own.props) else ""
    if isinstance(value, dict | list) and (not value or own.often(own.braces)):
        spread = indent + own.step if own.often(0.3) else None
        return f"{anchor} {_flow(own, value, spread)}{own.tail()}"
    if isinstance(value, dict):
        return f"{anchor}{own.tail()}{_block_map(own, value, indent + own.step)}"
    if isinstance(value, list):
        return anchor + own.tail() + _block_list(own, value, indent + own.list_step)
    if isinstance(value, str) and _LITERAL.fullmatch(value) and own.often(0.5):
        return anchor + _literal(own, value, indent)
    if value is None and own.often(0.5):
        return anchor + own.tail()
    gap = " " * own.dice.choice((1, 1, 1, 3))
    return f"{anchor}{gap}{_scalar(own, value, indent)}{own.tail()}"


def _block_list(own: Hand, items: list[Value], indent: int) -> str:
    pad = " " * indent
    out = ""
    for item in items:
        out += own.between(indent) + pad + "-"
        if isinstance(item, dict) and item and not own.often(own.braces):
            gap = own.dice.choice((1, 1, 3))
            inner = _block_map(_quiet(own), item, indent + 1 + gap)
            out += " " * gap + inner[indent + 1 + gap :]
            own.ends_in_literal = True
        elif isinstance(item, dict | list):
            out += f" {_flow(own, item, None)}{own.tail()}"
        else:
            out += f" {_scalar(own, item, indent)}{own.tail()}"
    return out


def _quiet(own: Hand) -> Hand:
    """The first line of an item follows its dash, so no text can precede it."""
    return Hand(**{**vars(own), "chatty": 0, "props": 0})


def _literal(own: Hand, text: str, indent: int) -> str:
    pad = " " * (indent + own.dice.choice((1, own.step)))
    mark = "|" if text.endswith("\n") else "|-"
    lines = text.removesuffix("\n").split("\n")
    own.ends_in_literal = True  # a comment with deep indentation would be its next line
    return f" {mark}{own.tail()}" + "".join((pad + line if line else "") + own.eol for line in lines)


def _scalar(own: Hand, value: Value, indent: int) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    styles = [json.dumps(value, ensure_ascii=False)]
    if "\n" not in value and not re.search("[\x00-\x1f\x7f-\x9f]", value):
        styles.append("'" + value.replace("'", "''") + "'")
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        styles.extend([value] * 3)
        if indent >= 0 and " " in value:
            styles.append(value.replace(" ", own.eol + " " * (indent + 2), 1))
    return own.dice.choice(styles)


def _flow(own: Hand, value: Value, spread: int | None) -> str:
    """Between braces: on one line, or one entry a line at `spread`."""
    if not isinstance(value, dict | list):
        text = _scalar(own, value, -1)
        return f'"{text}"' if text == value and "," in text else text
    marks = "{}" if isinstance(value, dict) else "[]"
    if not value:
        return marks
    inner = None if spread is None or own.often(0.5) else spread + own.step
    if isinstance(value, dict):
        parts = [f"{own.key(key)}: {_flow(own, item, inner)}" for key, item in value.items()]
    else:
        parts = [_flow(own, item, inner) for item in value]
    comma = "," if own.often(0.2) else ""
    if spread is None:
        edge = " " * own.dice.randrange(2)
        return (
            f"{marks[0]}{edge}{(',' + edge).join(parts)}{comma}{edge}{marks[1]}"
            if edge
            else _tight(marks, parts)
        )
    lines = [part + ("," if at + 1 < len(parts) else comma) for at, part in enumerate(parts)]
    pad = " " * (spread + own.step)
    body = "".join(f"{pad}{line}{own.tail()}" for line in lines)
    return f"{marks[0]}{own.tail()}{body}{' ' * spread}{marks[1]}"


def _tight(marks: str, parts: list[str]) -> str:
    return marks[0] + ", ".join(parts) + marks[1]
