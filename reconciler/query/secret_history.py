"""Who could open a Secret earlier, and until which commit. Git never forgets: whoever had the repository then can open that text still.

A text that was not encrypted counts as one for everyone (ANYONE). The walk goes back along the file, and along each file that declared the Secret and was removed or renamed. A recipient that left and did not
come back is reported with the commit that removed it. Whether the value is still the same can be told only with a private key that opens both
texts; without one each value counts as the same.

Limits: a Secret that was cut out of a file which stayed, and a Secret by another name, are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from schemas.encryption.sealed_error import SealedError
from schemas.encryption.sops_document import is_sealed, read_metadata
from schemas.kinds import DEFAULT_NAMESPACE, Kind
from schemas.manifest.ignore import is_manifest
from schemas.reader import Unreadable, read
from schemas.settings import fleet
from schemas.settings.secret_keys import read_secret_keys
from schemas.validate.secrets import is_encrypted
from schemas.validate.tree import Name

# The values of a text, or None where no key opens it.
Open = Callable[[str], Mapping[str, bytes] | None]
# In the place of a recipient: everyone who had the repository could read it.
ANYONE = ""


@dataclass(frozen=True, slots=True)
class FormerReader:
    """`recipient` could open the file until `commit`. `same_keys` have a value still that it could read; None: unknown."""

    recipient: str
    commit: ObjectId
    time: datetime
    same_keys: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """Where a Secret was before a commit removed its file: its changes are those of the path from there on."""

    commit: ObjectId
    path: str


def list_removed_places(repo: Repo, head: ObjectId) -> dict[Name, list[SecretPlace]]:
    """Of all Secrets whose file was removed or renamed, newest first. It reads each file that was ever removed."""
    found: dict[Name, list[SecretPlace]] = {}
    for commit, change in repo.changes(head, removals=True):
        if change.before is None or not is_manifest(change.path):
            continue
        data = repo.read(change.before.id)
        if Kind.SECRET.encode() not in data:  # of those in plain text too
            continue
        for name in read_names(read_bodies(data.decode("utf-8", "replace"))):
            found.setdefault(name, []).append(SecretPlace(commit, change.path))
    return found


def list_former_readers(
    repo: Repo, places: Sequence[SecretPlace], name: Name, text: str, open: Open
) -> list[FormerReader]:
    """Newest first. `text` is that of now, and the first of the places is its file at the head. Texts that do not read are passed over:
    nothing can be opened of them."""
    now, values = read_recipients(text), open(text)
    found: dict[str, FormerReader] = {}
    for place in places:
        for commit, change in repo.changes(place.commit, place.path):
            if change.before is None:
                continue
            earlier = repo.read(change.before.id).decode("utf-8", "replace")
            gone = read_recipients(earlier) - now
            for recipient in sorted(gone | {ANYONE} if has_plain_value(earlier, name) else gone):
                time = decode_commit(repo.read(commit)).time
                known = found.get(recipient)
                if known is None or known.time < time:
                    same = list_same_keys(values, open(earlier))
                    found[recipient] = FormerReader(recipient, commit, time, same)
    return sorted(found.values(), key=lambda one: one.time, reverse=True)


def list_earlier_holders(repo: Repo, head: ObjectId) -> dict[str, str]:
    """Whose key was which, by every gitvirt.yaml since the first: the newest that has a key counts. Empty for an admin."""
    found: dict[str, str] = {}
    for _, change in repo.changes(head, fleet.PATH):
        for file in (change.after, change.before):
            settings = fleet.parse(repo.read(file.id)) if file is not None else ()
            if isinstance(settings, fleet.FleetSettings):
                found = {**read_secret_keys(settings).holders, **found}
    return found


def list_same_keys(
    now: Mapping[str, bytes] | None, then: Mapping[str, bytes] | None
) -> tuple[str, ...] | None:
    """The keys of now that have a value of then, whatever its key was. None where one of the two texts did not open."""
    if now is None or then is None:
        return None
    return tuple(key for key, value in now.items() if value and value in then.values())


def read_recipients(text: str) -> frozenset[str]:
    """Of a file that SOPS encrypted, which is the same for all its documents; empty for any other."""
    try:
        sealed = next((body for body in read_bodies(text) if is_sealed(body)), None)
        return frozenset(read_metadata(sealed).recipients) if sealed is not None else frozenset()
    except SealedError:
        return frozenset()


def has_plain_value(text: str, name: Name) -> bool:
    """Whether everyone could read a value of this Secret."""
    for body in read_bodies(text):
        if name in read_names((body,)) and not is_sealed(body):
            sections = ((field, body.get(field)) for field in ("data", "stringData"))
            return any(
                isinstance(value, str) and value and not is_encrypted(field, value)
                for field, values in sections
                if isinstance(values, Mapping)
                for value in values.values()
            )
    return False


def read_names(bodies: Sequence[Mapping[str, Any]]) -> Iterator[Name]:
    """The Secrets among the documents of a file, by namespace and name."""
    for body in bodies:
        metadata = body.get("metadata")
        if body.get("kind") == Kind.SECRET and isinstance(metadata, Mapping):
            yield str(metadata.get("namespace", DEFAULT_NAMESPACE)), str(metadata.get("name", ""))


def read_bodies(text: str) -> tuple[Mapping[str, Any], ...]:
    """The documents of a text by their number; empty ones for what is not a mapping, and none where it cannot be read."""
    values = read(text)
    if isinstance(values, Unreadable):
        return ()
    return tuple(cast("dict[str, Any]", value) if isinstance(value, dict) else {} for value in values)
