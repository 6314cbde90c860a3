"""How verbs show what they found: columns of a table for people, or whole values in JSON or YAML for programs.

A verb declares its columns once, as a list of Column. A cell is text without color; the style is separate, so that
widths and programs never see escape sequences. JSON and YAML come from the same `value` function of the verb and so
have the same fields; docs/json.md promises them, and a test holds the page to them.

Must never happen: a value for programs that holds a Secret's data, unless `--show-secrets` was given; a table that
is parsed by our own code.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from reconciler.cli.terminal import Terminal, TextStyle, printable
from schemas.problem import printable_json

NOTHING = "-"
# DEL, C1 (a terminal takes U+009B for the start of a sequence), line separators, and what changes the direction of text.
_CONTROLS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

AnyItem = TypeVar("AnyItem")


class Column(NamedTuple, Generic[AnyItem]):
    """One column: its title, how to get a cell of an item, its color, and whether only `-o wide` shows it. An empty
    cell is shown as a dash."""

    title: str
    cell: Callable[[AnyItem], str]
    style: Callable[[AnyItem], TextStyle | None] = lambda _: None
    is_wide: bool = False


def show_table(
    terminal: Terminal,
    columns: Sequence[Column[AnyItem]],
    items: Sequence[AnyItem],
    *,
    with_header: bool = True,
    earlier: Sequence[int] = (),
) -> list[int]:
    """Prints the items as rows, and returns how wide the columns are. Without a header it continues an `earlier` table, as
    `--watch` does."""
    rows = [[style_rows(terminal, column, item) for column in columns] for item in items]
    return terminal.table([column.title for column in columns] if with_header else [], rows, earlier)


def style_rows(terminal: Terminal, column: Column[AnyItem], item: AnyItem) -> str:
    """The text of one cell: control characters become visible, because names and messages come from files and hosts
    that may not be ours."""
    text = printable(column.cell(item)) or NOTHING
    style = column.style(item) if terminal.has_color else None
    return terminal.paint(text, style) if style else text


def add_format(parser: argparse.ArgumentParser, *others: str) -> None:
    """`-o`: a table for people, JSON or YAML for programs, and what else a verb can."""
    choices = ("table", *others, "json", "yaml")
    parser.add_argument("-o", "--output", choices=choices, default="table", help="format (default: table)")


def is_value(format: str) -> bool:
    """Whether it is for programs."""
    return format in ("json", "yaml")


def show_value(terminal: Terminal, format: str, value: object, *, is_one_of_many: bool = False) -> None:
    """Prints a value for programs. One of many, as with --watch, is a line of JSON, or a document of a YAML stream,
    so that a reader can take each as it comes."""
    if format == "json":
        text = json.dumps(value, indent=None if is_one_of_many else 2, ensure_ascii=False)
        terminal.line(printable_json(text))
        return
    if is_one_of_many:
        terminal.line("---")
    from ruamel.yaml import YAML  # takes longer to import than most verbs take to run

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = sys.maxsize
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    found = io.StringIO()
    yaml.dump(json.loads(json.dumps(value)), found)  # what is a word to JSON is one to YAML
    terminal.line(quote_controls(found.getvalue(), value).rstrip("\n"))


def quote_controls(text: str, value: object) -> str:
    """YAML without such characters. They may be in text without quotes, where YAML has no escapes: then all of it is written as
    JSON, which is YAML too."""
    if not _CONTROLS.search(text):
        return text
    return printable_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"
