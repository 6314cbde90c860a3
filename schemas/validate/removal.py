"""Objects that the earlier revision declared and this one does not, although others still refer to them."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.problem import Severity
from schemas.validate.finding import Finding, shorten_list
from schemas.validate.inputs import EarlierRevision
from schemas.validate.tree import Tree
from schemas.validate.uses import ReferenceIndex


def findings(tree: Tree, past: EarlierRevision) -> Iterator[Finding]:
    """GV413 for removed objects in use, GV420 for files that could not be compared."""
    uses = ReferenceIndex(tree)
    unreadable = frozenset(tree.unreadable)
    for path in past.unreadable:
        message = f"this file could not be parsed at {past.revision}, so its objects there are unknown"
        yield Finding(path, None, "", "", "GV420", message, severity=Severity.NOTICE)
    for old in past.by_key.values():
        is_there = tree.find(old.key.kind, old.key.namespace, old.key.name) is not None
        if is_there or old.key in tree.invalid or old.path in unreadable:
            continue
        if users := uses.of(old.key):
            names = shorten_list([str(user.key) for user in users])
            message = f"{old.key} was removed since {past.revision}, but {names} still refer to it"
            hint = "restore the object, or remove the references to it in the same change"
            files = tuple(sorted({user.path for user in users}))
            yield Finding(old.path, None, str(old.key), "", "GV413", message, hint, also=files)
