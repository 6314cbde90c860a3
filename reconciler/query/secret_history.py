"""Who could open a Secret earlier, and until which commit. Git never forgets: whoever had the repository then can open that text still.

The walk goes back along the file. A recipient that left and did not come back is reported with the commit that removed it. Whether the value
is still the same can be told only with a private key that opens both texts; without one it counts as the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Repo
from schemas.encryption.sealed_error import SealedError
from schemas.encryption.sops_document import is_sealed, read_metadata
from schemas.encryption.sops_text import read_body
from schemas.settings import fleet
from schemas.settings.secret_keys import read_secret_keys

# The values of a text, or None where no key opens it.
Open = Callable[[str], Mapping[str, bytes] | None]


@dataclass(frozen=True, slots=True)
class FormerReader:
    """`recipient` could open the file until `commit`. `is_same`: a value that it could read is in use still; None: unknown."""

    recipient: str
    commit: ObjectId
    time: datetime
    is_same: bool | None


def list_former_readers(repo: Repo, head: ObjectId, path: str, open: Open) -> list[FormerReader]:
    """Newest first. Texts that do not read are passed over: nothing can be opened of them."""
    file = repo.file(head, path)
    if file is None:
        return []
    now = read_recipients(text := repo.read(file.id).decode("utf-8", "replace"))
    values = open(text)
    found: dict[str, FormerReader] = {}
    for commit, change in repo.changes(head, path):
        if change.before is None:
            continue
        earlier = repo.read(change.before.id).decode("utf-8", "replace")
        for recipient in sorted(read_recipients(earlier) - now - found.keys()):
            time = decode_commit(repo.read(commit)).time
            found[recipient] = FormerReader(recipient, commit, time, share_value(values, open(earlier)))
    return list(found.values())


def list_earlier_holders(repo: Repo, head: ObjectId) -> dict[str, str]:
    """Whose key was which, by every gitvirt.yaml since the first: the newest that has a key counts. Empty for an admin."""
    found: dict[str, str] = {}
    for _, change in repo.changes(head, fleet.PATH):
        for file in (change.after, change.before):
            settings = fleet.parse(repo.read(file.id)) if file is not None else ()
            if isinstance(settings, fleet.FleetSettings):
                found = {**read_secret_keys(settings).holders, **found}
    return found


def share_value(now: Mapping[str, bytes] | None, then: Mapping[str, bytes] | None) -> bool | None:
    """Whether a value of then is in use now."""
    if now is None or then is None:
        return None
    return bool({value for value in now.values() if value} & set(then.values()))


def read_recipients(text: str) -> frozenset[str]:
    """Of a file with one Secret that SOPS encrypted; empty for any other."""
    try:
        body = read_body(text)
        return frozenset(read_metadata(body).recipients) if is_sealed(body) else frozenset()
    except SealedError:
        return frozenset()
