"""Every problem code: what it means, what usually causes it, what cures it. docs/problems.md is rendered from here.

A module for each range of numbers.
"""

from schemas.codes import content, editing, folders, git, reading, revisions, rules, schema, settings
from schemas.codes.code import Code

CODES: dict[str, Code] = {
    **reading.CODES,
    **folders.CODES,
    **schema.CODES,
    **rules.CODES,
    **revisions.CODES,
    **content.CODES,
    **settings.CODES,
    **editing.CODES,
    **git.CODES,
}

__all__ = ["CODES", "Code"]
