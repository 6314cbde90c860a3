"""Files that operators write for a runtime: settings, profiles, and Ignition data in YAML.

One document of YAML or JSON each, with quantities such as 256Gi where the runtime counts. The runtimes themselves know
no YAML: they get JSON bytes to decode strictly, or a function that reads YAML for them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from iri.cli.documents import read_documents, source_name
from iri.errors import InvalidArgument
from iri.libvirt import settings as libvirt
from iri.simulated import profile as simulated
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable
from schemas.model import quantity
from schemas.reader import Unreadable, read

PROFILE_EXAMPLE = "`gitvirt runtime simulated --help` shows a profile"
SETTINGS_EXAMPLE = "docs/libvirt.md shows all settings"
# Keys of settings and profiles that hold counts, themselves or below; so does every key that ends in Bytes.
COUNTS = frozenset(("tps", "iops", "reserved", "resources", "local_disk_bytes", "capacity"))
DEFAULT_SETTINGS = "/etc/gitvirt/libvirt.yaml"

T = TypeVar("T")


def read_document(path: str, option: str, example: str, decode: Callable[[bytes], T]) -> T:
    """Decodes the file's only document. A CommandError names what is wrong in it; `example` names where an example is shown."""
    name, values = source_name(path), read_documents(path, option)
    if len(values) != 1:
        raise CommandError(f"{name}: {len(values)} documents where one is expected", example, Exit.PROBLEMS)
    try:
        return decode(msgspec.json.encode(resolve_quantities(values[0])))
    except quantity.QuantityError as error:
        raise CommandError(f"{name}: {error.message}", error.hint, Exit.PROBLEMS) from None
    except (InvalidArgument, TypeError) as error:
        raise CommandError(f"{name}: {printable(str(error))}", example, Exit.PROBLEMS) from None


def resolve_quantities(value: object, *, within: bool = False) -> object:
    """The value with whole numbers for quantities such as 256Gi, below each key that holds counts.

    Text elsewhere stays as it is: a name may look like a quantity.
    """
    if isinstance(value, dict):
        return {
            key: resolve_quantities(item, within=within or key in COUNTS or str(key).endswith("Bytes"))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [resolve_quantities(item, within=within) for item in value]
    return quantity.parse(value).ceil() if within and isinstance(value, str) else value


def read_profile(path: str) -> simulated.Profile:
    """A simulated host's profile. A CommandError names what is wrong in the file."""
    return read_document(path, "--profile", PROFILE_EXAMPLE, simulated.parse_profile)


def read_libvirt_settings(path: str | None, default: str = DEFAULT_SETTINGS) -> libvirt.Settings:
    """Those of the file, else of the default file, else the defaults. A CommandError names what is wrong in the file."""
    if path is None and not Path(default).exists():
        return libvirt.Settings()
    return read_document(path or default, "--settings", SETTINGS_EXAMPLE, libvirt.decode_settings)


def parse_ignition_yaml(data: bytes) -> object:
    """The value of the only YAML document in Ignition data; None where the data is something else."""
    try:
        values = read(data.decode())
    except UnicodeDecodeError:
        return None
    return None if isinstance(values, Unreadable) or len(values) != 1 else values[0]
