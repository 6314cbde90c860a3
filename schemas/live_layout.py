"""Names that outlive a process: paths under `.gitvirt/`, `gitvirt.dev/` names and the limit of reported texts, each once.

`.gitvirt/` exists on the target branch. The reconciler writes all of it but `orphans/`, `approvals/` and `requests/`, which people write in the source:

    generated/<Kind>/<namespace>/<owner>-<entry>.yaml  what a machine's ephemeral entries become
    pools/<name>.yaml                                  pools that a host announces and no file declares
    deleting/<Kind>/<namespace>/<name>.yaml            deletion ordered or held, while the object's own path is taken
    retained/<Kind>/<namespace>/<name>.yaml            volumes that their policy keeps after their deletion
    frozen/<Kind>/<namespace>/<name>.yaml              absence unverified, while the object's own path is taken
    orphans/<uid>.yaml                                 consent to remove an object that no document declares
    approvals/<digest>.yaml                            an approval (`gitvirt approve`). It stays here for good: it is used up
    requests/<trailer>/<pool>=<hostID>.yaml            a request about the host of a pool (`gitvirt pool`), used up in the same way

Must never happen: a path of these that is built or compared anywhere else. Reconciler and poollets of different versions
meet on one branch, and a folder that only one of them knows is an object that the other one does not see.
"""

from __future__ import annotations

import re
from typing import Final

from schemas.kinds import Key

FOLDER: Final = ".gitvirt/"
GENERATED: Final = f"{FOLDER}generated/"
ANNOUNCED: Final = f"{FOLDER}pools/"
DELETING: Final = f"{FOLDER}deleting/"
RETAINED: Final = f"{FOLDER}retained/"
FROZEN: Final = f"{FOLDER}frozen/"
ORPHANS: Final = f"{FOLDER}orphans/"
APPROVALS: Final = f"{FOLDER}approvals/"
REQUESTS: Final = f"{FOLDER}requests/"
# Folders whose files people write once, and that stay on the target branch.
STATEMENTS: Final = (APPROVALS, REQUESTS)
_REQUEST = re.compile(rf"{re.escape(REQUESTS)}(Pool-Destroyed|Pool-Host)/([^\s=/]+=[^\s=/]+)\.yaml")

# Annotations that people write.
PAUSED: Final = "gitvirt.dev/paused"
RESTART: Final = "gitvirt.dev/restart"
# The value of these two is the id of the assignment that ends: no later one is meant, also after `live` was lost.
RECREATE: Final = "gitvirt.dev/recreate"
MOVE_CONSENT: Final = "gitvirt.dev/move-consent"
# The key of the taint that drains a pool.
DRAIN: Final = "gitvirt.dev/drain"
# Labels that a poollet gives to the objects of its runtimes: to which fleet and pool they belong.
FLEET: Final = "gitvirt.dev/fleet"
POOL: Final = "gitvirt.dev/pool"
# Annotations for inputs that the IRI has no field for.
EFI_VARIABLES: Final = "gitvirt.dev/efi-variables"
PRIORITY: Final = "gitvirt.dev/priority"
# The resource that stands for a whole host, where a pool only reports how many machines of a class it takes.
SHARE: Final = "gitvirt.dev/share"

# Characters of one text in a report (maxLength of messages in schemas/report/*.json): longer ones are cut.
MAX_TEXT: Final = 4096


def is_reconcilers(path: str) -> bool:
    """Whether the reconciler alone writes the file. Such a file in the source is not synced."""
    return path.startswith(FOLDER) and not path.startswith((ORPHANS, *STATEMENTS))


def announced_path(key: Key) -> str:
    """A machine pool and a volume pool of one name share the file."""
    return f"{ANNOUNCED}{key.name}.yaml"


def approval_path(digest: str) -> str:
    return f"{APPROVALS}{digest}.yaml"


def approved_digest(path: str) -> str:
    """What the file approves; empty for any other file."""
    name = path.removeprefix(APPROVALS)
    return name.removesuffix(".yaml") if path == approval_path(name.removesuffix(".yaml")) else ""


def request_path(trailer: str, value: str) -> str:
    return f"{REQUESTS}{trailer}/{value}.yaml"


def stated_request(path: str) -> tuple[str, str] | None:
    """The trailer that the file stands for, and its value; None for any other file."""
    found = _REQUEST.fullmatch(path)
    return (found[1], found[2]) if found is not None else None


def path_in(folder: str, key: Key) -> str:
    """The object's file in `GENERATED`, `DELETING`, `RETAINED` or `FROZEN`."""
    parts = (key.kind, key.namespace, f"{key.name}.yaml")
    return folder + "/".join(part for part in parts if part)
