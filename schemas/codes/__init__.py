"""Every problem code: what it means, what usually causes it, what cures it. docs/problems.md is rendered from here.

A module for each range of numbers:

    GV10x reading    GV18x folders    GV2xx schema      GV3xx rules     GV4xx revisions
    GV5xx content    GV6xx settings   GV7xx editing     GV8xx git

A code has three sentences or less in each part. The title names the problem in a few words. The cause says what is wrong
in general; the message of a problem says it for the one case, with names and values. The cure is an instruction. If there
are several cures, the usual one comes first, and one that gives something up says what.

Must never happen: a code that gets another meaning. Users have it in filters and documents. An unused code is not reused.
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
