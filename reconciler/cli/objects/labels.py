"""Label selectors as kubectl reads them: `app=web`, `tier!=db`, `tier in (a,b)`, `tier notin (a,b)`, `gpu`, `!gpu`.

Several requirements are separated by commas and all of them must apply. `!=` and `notin` also select an object that
does not have the label. Pure; the order of requirements means nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# What $defs/labelKey of the schemas allows.
_DNS = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"
LABEL_KEY = re.compile(rf"({_DNS}(\.{_DNS})*/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_COMMA = re.compile(r",(?![^(]*\))")  # not one between parentheses
_SET = re.compile(r"(?P<key>\S+)\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)")
_PAIR = re.compile(r"(?P<key>[^=!]*?)\s*(?P<word>!=|==|=)\s*(?P<value>.*)", re.DOTALL)
FORMS = "write KEY=VALUE, KEY!=VALUE, 'KEY in (A,B)', 'KEY notin (A,B)', KEY or '!KEY'"


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """What one label must be. `values` is None where only its presence counts."""

    key: str
    values: frozenset[str] | None
    is_negated: bool = False

    def selects(self, labels: Mapping[str, str]) -> bool:
        found = labels.get(self.key)
        is_met = found is not None if self.values is None else found in self.values
        return is_met is not self.is_negated


def parse_labels(text: str) -> list[LabelRequirement]:
    """The type of an argument of label requirements, separated by commas."""
    return [parse_requirement(part.strip()) for part in _COMMA.split(text)]


def parse_requirement(text: str) -> LabelRequirement:
    if found := _SET.fullmatch(text):
        values = frozenset(value.strip() for value in found["values"].split(","))
        return LabelRequirement(check_key(found["key"], text), values, found["word"] == "notin")
    if found := _PAIR.fullmatch(text):
        return LabelRequirement(
            check_key(found["key"], text), frozenset((found["value"],)), found["word"] == "!="
        )
    is_negated = text.startswith("!")
    return LabelRequirement(check_key(text.removeprefix("!").strip(), text), None, is_negated)


def check_key(key: str, text: str) -> str:
    if LABEL_KEY.fullmatch(key):
        return key
    cause = f"{key!r} is not a label key" if key else f"{text!r} is not a label selector"
    raise argparse.ArgumentTypeError(f"{cause}; {FORMS}")


def select_all(requirements: Iterable[LabelRequirement], labels: Mapping[str, str]) -> bool:
    return all(each.selects(labels) for each in requirements)
