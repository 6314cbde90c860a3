"""Which rules this process has: the version of the package, and a digest of all code and libraries that a commit on `live` may depend on.

Two installations with one digest make the same commit of the same inputs. With another digest they mostly do, too: a difference then says
nothing about who wrote the commit.

Limits: reads the installed files, once in a process. Verbs, hosts and runtimes are not among the rules.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

PACKAGES = (
    "schemas",
    "reconciler.audit",
    "reconciler.gitstore",
    "reconciler.world",
    "reconciler.decide",
    "reconciler.schedule",
    "reconciler.plan",
    "reconciler.write",
)
SUFFIXES = (".py", ".json")
DIGITS = 16
PACKAGE = "gitvirt"


class RulesVersion(NamedTuple):
    version: str
    digest: str


@cache
def installed_rules() -> RulesVersion:
    """Reads about 2 MB."""
    found = sha256()
    for package in PACKAGES:
        for path, data in _read(files(package), package):
            found.update(f"{path}\0{len(data)}\0".encode())
            found.update(data)
    for name in sorted(_libraries()):
        found.update(name.encode())
    return RulesVersion(importlib.metadata.version(PACKAGE), found.hexdigest()[:DIGITS])


def _read(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            yield from _read(each, f"{path}/{each.name}")
        elif each.name.endswith(SUFFIXES):
            yield f"{path}/{each.name}", each.read_bytes()


def _libraries() -> Iterator[str]:
    """The libraries that are installed with every installation, each with its version: the words of a parser may be on `live`."""
    for line in importlib.metadata.requires(PACKAGE) or ():
        if "extra ==" not in line and (name := re.match(r"[A-Za-z0-9._-]+", line)):
            yield f"{name[0]} {importlib.metadata.version(name[0])}"
