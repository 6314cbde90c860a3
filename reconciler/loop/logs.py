"""How log lines look: for people, or one JSON object a line. Owns the format of the root logger, and nothing that is logged.

A message is a constant with key=value behind it; in JSON the pairs are fields of their own. So a log can be searched by the constant.
Values come from people and servers: a line of text has its control characters replaced, so that no value forges a second line.

Credentials never reach a log, because `reconciler.gitstore.redaction` cleans what git and servers print before it becomes an outcome.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from schemas.problem import printable_json

_PAIR = re.compile(r"(?:^|\s)([a-z_]+)=%[0-9.]*[sdifrg]")
_NOISY = ("apscheduler", "watchfiles", "urllib3", "opentelemetry")


def configure_logging(form: str, level: str) -> None:
    """`form` is text or json. What libraries say of themselves is kept to warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else LineFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)


class LineFormatter(logging.Formatter):
    """One event a line, even where words of a server hold breaks."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"{_stamp(record)} {record.levelname.lower():7} {record.getMessage()}"
        text = "".join(letter if letter.isprintable() else " " for letter in text)
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class JsonFormatter(logging.Formatter):
    """One object a line, with `time`, `level`, `logger`, `message`, and each pair of the message as a field."""

    def format(self, record: logging.LogRecord) -> str:
        found: dict[str, object] = {
            "time": _stamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            **_fields(record),
        }
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return printable_json(json.dumps(found, ensure_ascii=False, default=str))


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """The constant words, and each pair by its name; what does not fit that shape is one message."""
    template, arguments = str(record.msg), record.args
    names = _PAIR.findall(template)
    if not isinstance(arguments, tuple) or len(names) != len(arguments):
        return {"message": record.getMessage()}
    return {"message": _PAIR.sub("", template).strip(), **dict(zip(names, arguments, strict=True))}


def _stamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def log_event(log: logging.Logger, level: int, event: str, fields: Mapping[str, object]) -> None:
    """One line with the fields that say something. Empty ones are left out, so a reader may not count on a name being there."""
    pairs = {name: value for name, value in fields.items() if value not in ("", 0, None)}
    log.log(level, " ".join((event, *(f"{name}=%s" for name in pairs))), *pairs.values())
