"""How verbs show what they found: columns of a table, or whole values in JSON or YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from reconciler.cli.terminal import Style, Terminal, printable

NOTHING = "-"

AnyItem = TypeVar("AnyItem")


class Column(NamedTuple, Generic[AnyItem]):
    title: str
    cell: Callable[[AnyItem], str]
    style: Callable[[AnyItem], Style | None] = lambda _: None
    is_wide: bool = False


def show_table(
    terminal: Terminal,
    columns: Sequence[Column[AnyItem]],
    items: Sequence[AnyItem],
    *,
    with_header: bool = True,
) -> None:
    rows = [[painted(terminal, column, item) for column in columns] for item in items]
    terminal.table([column.title for column in columns] if with_header else [], rows)


def painted(terminal: Terminal, column: Column[AnyItem], item: AnyItem) -> str:
    text = printable(column.cell(item)) or NOTHING
    style = column.style(item)
    return terminal.paint(text, style) if style else text


def show_value(terminal: Terminal, format: str, value: object) -> None:
    if format == "json":
        terminal.line(json.dumps(value, indent=2, ensure_ascii=False))
        return
    from ruamel.yaml import YAML  # takes longer to import than most verbs take to run

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = sys.maxsize
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.dump(value, terminal.stream)
