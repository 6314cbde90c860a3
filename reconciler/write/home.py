"""Where an object's document stands on the target branch. Pure; the paths are a contract with whoever reads that branch."""

from __future__ import annotations

from schemas.kinds import Key

OWN = ".gitvirt/"
ORPHANS = ".gitvirt/orphans/"  # people's: consent to remove what nothing declares


def is_own(path: str) -> bool:
    """Whether the reconciler alone writes there. What people put there in the source is not taken over."""
    return path.startswith(OWN) and not path.startswith(ORPHANS)


def generated(key: Key) -> str:
    """The name of a generated object holds its owner's and its entry's."""
    return _place("generated", key)


def deleting(key: Key) -> str:
    return _place("deleting", key)


def frozen(key: Key) -> str:
    """Of an object that nobody can say anything about now, while its file is somebody else's already."""
    return _place("frozen", key)


def retained(key: Key) -> str:
    return _place("retained", key)


def announced(key: Key) -> str:
    """A machine pool and a volume pool of one name share the file."""
    return f"{OWN}pools/{key.name}.yaml"


def _place(folder: str, key: Key) -> str:
    return "/".join(part for part in (OWN + folder, key.kind, key.namespace, f"{key.name}.yaml") if part)
