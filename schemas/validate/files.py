"""Which files of a tree are read, and problems with the names and places of the other files.

By names alone: nothing here opens a file. `.gitvirtignore` is applied before, by whoever lists the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from schemas import live_layout
from schemas.manifest.ignore import MANIFESTS, is_manifest
from schemas.problem import Severity
from schemas.validate.finding import Finding
from schemas.validate.inputs import ValidationPolicy

NOT_DECLARING = (live_layout.DELETING, live_layout.RETAINED, live_layout.ORPHANS, *live_layout.STATEMENTS)
NEAR_MISS = re.compile(
    r"\.(yaml|yml|json)(\.[a-z]+|~)?$|\.(yam|yamll?|ymal|yalm|ylm|ymll?|jsno)$", re.IGNORECASE
)


def findings(paths: Iterable[str], policy: ValidationPolicy) -> Iterator[Finding]:
    """`paths` are all files of the tree, including those that are not read."""
    for path in paths:
        if live_layout.is_reconcilers(path) and not policy.is_target:
            hint = "move the file to another folder; people only write .gitvirt/orphans/, .gitvirt/approvals/ and .gitvirt/requests/"
            yield Finding(
                path, None, "", "", "GV360", "only the reconciler writes the folder .gitvirt/", hint
            )
        elif path.startswith(live_layout.REQUESTS) and live_layout.stated_request(path) is None:
            message = "the path of this file states no request about a pool, so it has no effect"
            hint = "remove it; `gitvirt pool destroyed POOL HOSTID` and `gitvirt pool host POOL HOSTID` write such files"
            yield Finding(path, None, "", "", "GV360", message, hint)
        elif NEAR_MISS.search(path) and not has_manifest_name(path):
            yield misnamed_file(path)


def misnamed_file(path: str) -> Finding:
    """GV361: a file that is probably a manifest, by its name."""
    message = "gitvirt does not read this file: its name does not end in .yaml, .yml or .json"
    hint = "rename it if it is a manifest; otherwise name it in .gitvirtignore"
    return Finding(path, None, "", "", "GV361", message, hint, Severity.NOTICE)


def is_declaring(path: str, policy: ValidationPolicy) -> bool:
    """Whether a file declares objects. The reconciler's own files declare objects that are in use; others are records."""
    if not path.startswith(live_layout.FOLDER):
        return is_manifest(path)
    return policy.is_target and is_manifest(path) and not path.startswith(NOT_DECLARING)


def has_manifest_name(path: str) -> bool:
    """By the name alone, in any folder: settings and other tools' files have such names too."""
    return path.endswith(MANIFESTS)
