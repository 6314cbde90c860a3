"""What a file that declared objects may have become, where nothing has its path any more: the same text under a name that is not
read, or a file that lost its documents on the way.

Theory of operation. To rename a manifest to a file without objects is a common way to disable it, and a common accident. So
the absence of its objects does not prove that people removed them. Another file that declares nothing may be what became of it,
by the first of these rules that applies:

    rule        the other file
    suffix      is new or changed, and has the old path and something after it: `.gpg`, `.bak`, `~`
    stem        is new, in the same folder, with the same name up to the first dot
    mention     is new, and has a kind and a name of the object, also as comments
    blank       is new, is read as a manifest, and has no value in it

New is a file that came together with the removal; a backup that lay there before, and is the same, shows nothing. The caller says which
files are new or changed, and which of all declare nothing.

Must never happen: a file with objects of ours, or one that cannot be read, is taken for a renamed one: others judge those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from schemas.kinds import Key
from schemas.manifest.documents import is_blank
from schemas.manifest.ignore import MANIFESTS

_KIND = re.compile(r"""\bkind["']?\s*:\s*["']?([A-Za-z]+)""")
_NAME = re.compile(r"""\bname["']?\s*:\s*["']?([A-Za-z0-9.-]+)""")
_ENDING = re.compile(r"\.(?:yaml|yml|json)(?=[^/]+$)")  # of a manifest, with more after it
_MARKS = ".#~_"  # what people and editors put before a name to hide a file

TextOf = Callable[[str], str]


def find_renamed(
    gone: Mapping[Key, str], changed: Iterable[str], new: Collection[str], text_of: TextOf
) -> dict[Key, str]:
    """The file that each may be in. `gone` are removed objects by the paths that declared them and are free now; `changed` are all
    files that declare nothing and are new or changed, and `new` those of them that are new. Their text is read only if paths do not explain everything.
    """
    found: dict[Key, str] = {}
    if not gone:
        return found
    siblings = _siblings(changed, set(gone.values()))
    stems = {_stem(path): path for path in new}
    texts: _Texts | None = None
    for key, path in gone.items():
        other = siblings.get(path) or stems.get(_stem(path))
        if other is None and new:
            texts = texts or _read_texts(new, text_of)
            other = texts.find(key)
        if other is not None:
            found[key] = other
    return found


def is_suffixed(path: str, other: str) -> bool:
    """Whether the other file has the path and something after it."""
    return other.startswith(path) and other != path


def has_suffix(path: str) -> bool:
    """Whether it is the path of a manifest and something after it."""
    return _ENDING.search(path) is not None


def _siblings(others: Iterable[str], paths: Collection[str]) -> Mapping[str, str]:
    """Files that have one of the paths with something after it, by that path."""
    found: dict[str, str] = {}
    for other in others:
        for ending in _ENDING.finditer(other):
            path = other[: ending.end()]
            if path in paths:
                found[path] = min(other, found.get(path, other))
    return found


def _stem(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name.strip(_MARKS).partition(".")[0]


@dataclass(slots=True)
class _Texts:
    """The new files by what they mention; `blank` is one without any value."""

    mentions: dict[tuple[str, str], str] = field(default_factory=dict)
    blank: str | None = None

    def find(self, key: Key) -> str | None:
        return self.mentions.get((key.kind.value, key.name), self.blank)


def _read_texts(paths: Collection[str], text_of: TextOf) -> _Texts:
    found = _Texts()
    for path in sorted(paths):
        text = text_of(path)
        names = _NAME.findall(text)
        for kind in set(_KIND.findall(text)):
            for name in names:
                found.mentions.setdefault((kind, name), path)
        if found.blank is None and path.endswith(MANIFESTS) and is_blank(text):
            found.blank = path
    return found
