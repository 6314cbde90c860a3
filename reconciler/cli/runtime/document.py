"""Settings of runtimes as people write them: one document of YAML or JSON, with quantities such as 256Gi for counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from iri.errors import InvalidArgument
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable
from schemas.model import quantity
from schemas.reader import read
from schemas.reader.value import Unreadable

T = TypeVar("T")
IsCount = Callable[[str], bool]


def document_of(path: str, option: str, shown: str, is_count: IsCount, decode: Callable[[bytes], T]) -> T:
    """What the file holds. A CommandError says what is wrong with it; `shown` says where an example is."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}", f"{option} names a file that can be read") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: not UTF-8", "save it as UTF-8", Exit.PROBLEMS) from None
    values = read(text)
    if isinstance(values, Unreadable):
        where = f"{path}:{values.line}:{values.column}"
        raise CommandError(f"{where}: {printable(values.message)}", printable(values.hint), Exit.PROBLEMS)
    if len(values) != 1:
        raise CommandError(f"{path}: {len(values)} documents, where one belongs", shown, Exit.PROBLEMS)
    try:
        return decode(msgspec.json.encode(counted(values[0], is_count)))
    except quantity.QuantityError as error:
        raise CommandError(f"{path}: {error.message}", error.hint, Exit.PROBLEMS) from None
    except (InvalidArgument, TypeError) as error:
        raise CommandError(f"{path}: {printable(str(error))}", shown, Exit.PROBLEMS) from None


def counted(value: object, is_count: IsCount, *, within: bool = False) -> object:
    """The value with whole numbers for the quantities in it: below each key that holds counts."""
    if isinstance(value, dict):
        return {key: counted(item, is_count, within=within or is_count(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [counted(item, is_count, within=within) for item in value]
    return quantity.parse(value).ceil() if within and isinstance(value, str) else value
