"""Profiles of simulated hosts as people write them: YAML or JSON, with quantities such as 256Gi where counts belong."""

from __future__ import annotations

from pathlib import Path

import msgspec

from iri.errors import InvalidArgument
from iri.simulated.profile import Profile, decoded
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable
from schemas import quantity
from schemas.reader import read
from schemas.text.value import Unreadable

SHOWN = "`gitvirt runtime simulated --help` shows a profile"
COUNTS = frozenset(("tps", "iops", "local_disk_bytes"))
RESOURCES = frozenset(("capacity", "resources"))  # mappings of nothing but counts


def profile_of(path: str) -> Profile:
    """A CommandError says what is wrong with the file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}", "--profile names a file that can be read") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: not UTF-8", "save it as UTF-8", Exit.PROBLEMS) from None
    values = read(text)
    if isinstance(values, Unreadable):
        where = f"{path}:{values.line}:{values.column}"
        raise CommandError(f"{where}: {printable(values.message)}", printable(values.hint), Exit.PROBLEMS)
    if len(values) != 1:
        raise CommandError(f"{path}: {len(values)} documents, where one belongs", SHOWN, Exit.PROBLEMS)
    try:
        return decoded(msgspec.json.encode(counted(values[0])))
    except quantity.QuantityError as error:
        raise CommandError(f"{path}: {error.message}", error.hint, Exit.PROBLEMS) from None
    except (InvalidArgument, TypeError) as error:
        raise CommandError(f"{path}: {printable(str(error))}", SHOWN, Exit.PROBLEMS) from None


def counted(value: object, *, is_count: bool = False) -> object:
    """The value with whole numbers for the quantities in it."""
    if isinstance(value, dict):
        return {
            key: counted(item, is_count=is_count or key in COUNTS or key in RESOURCES)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [counted(item, is_count=is_count) for item in value]
    return quantity.parse(value).ceil() if is_count and isinstance(value, str) else value
