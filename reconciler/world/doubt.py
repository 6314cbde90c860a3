"""Whether an object that the source no longer declares is cleanly gone, or may only not be understood."""

from __future__ import annotations

from reconciler.world.branch import Branch
from reconciler.world.known import Known
from reconciler.world.rules import Rules
from schemas.ignore import OWN_FOLDER
from schemas.validate.files import has_manifest_name


def doubt(known: Known, source: Branch, rules: Rules) -> str:
    """Why it may still be declared; nothing when its absence is certain. Such doubt holds its deletion and nothing else."""
    path = known.live.path if known.live else ""
    if path in source.files and not path.startswith(OWN_FOLDER):
        if rules.ignored(path):
            return f"{path} is still there, and .gitvirtignore leaves it out"
        if path not in source.contents:
            return f"{path} is still there, and is not read as a manifest"
    for other, contents in sorted(source.odd.items()):
        if known.key.name in contents.strangers:
            return f"{other} has a document of that name whose kind is not known"
        if contents.is_opaque and has_manifest_name(other):
            return f"{other} cannot be read, and may declare it"
    return ""
