"""Names of branches and tags against the patterns that forges use in their rules. Pure.

    forge      *                   **                     ?              a plain name
    Gitea      no slash            everything             one, no slash  whatever its case
    GitHub     no slash            `**/`: folders         one, no slash  as written
    GitLab     everything          the same               itself         as written

A pattern with anything else (`[`, `{`, `\\`) is UnreadableError: taken for another pattern it would make a gap look closed.
"""

from __future__ import annotations

import re

from reconciler.cli.forge.api import UnreadableError

_OTHERS = re.compile(r"[\[\]{}\\!]")
_PARTS = {
    "gitea": {"**": ".*", "*": "[^/]*", "?": "[^/]"},
    "github": {"**/": "(?:.*/)?", "**": "[^/]*", "*": "[^/]*", "?": "[^/]"},
    "gitlab": {"*": ".*"},
}


def is_plain(pattern: str) -> bool:
    return not re.search(r"[*?]", pattern) and not _OTHERS.search(pattern)


def matches(pattern: str, name: str, forge: str) -> bool:
    if _OTHERS.search(pattern):
        raise UnreadableError(f"the rule {pattern} has a pattern that gitvirt does not understand")
    parts = _PARTS[forge]
    if is_plain(pattern):
        return pattern.casefold() == name.casefold() if forge == "gitea" else pattern == name
    tokens = re.split("(" + "|".join(re.escape(each) for each in parts) + ")", pattern)
    return re.fullmatch("".join(parts.get(each) or re.escape(each) for each in tokens), name) is not None
