"""Which commits on `live` a reconciler of this fleet writes, by their form. Pure.

Theory of operation
-------------------
A reconciler's commit has one `Source-Commit` trailer, its author is its committer at the same time, and every parent but the first is
named by a trailer:

    parent          named by                        it is
    first           nothing                         the reconciler's commit before
    any other       Source-Commit                   the source commit that is merged
                    Replaced-Commit                 what others put on `live`: in the history, so that no push is forced, and in no file

The trailer Inputs-Commit names what the commit was made from (`reconciler.audit`). It is not a parent.

So on the first-parent line of `live` are only commits of reconcilers, also after others wrote there, and a pull request that a forge
merges into `live` breaks the form: it names no source commit, merges a commit that it does not name, or has two persons.

Limits: whoever writes `live` by git push can imitate all of this. Only signatures prove who wrote a commit.
"""

from __future__ import annotations

from reconciler.gitstore.objects.commit import REPLACED_TRAILER, SOURCE_TRAILER, Commit, parse_trailers
from reconciler.gitstore.objects.tree import ObjectId


def reconciled_source(commit: Commit) -> ObjectId | None:
    """The source commit of a reconciler's commit; None for a commit that does not have its form."""
    trailers = parse_trailers(commit.message)
    sources = [value for name, value in trailers if name == SOURCE_TRAILER]
    named = {*sources, *(value for name, value in trailers if name == REPLACED_TRAILER)}
    if len(sources) != 1 or not commit.is_by_one or not named.issuperset(commit.parents[1:]):
        return None
    return sources[0]


def why_foreign(commit: Commit) -> str:
    """For people: what shows that no reconciler wrote it. Empty for a reconciler's commit."""
    if reconciled_source(commit) is not None:
        return ""
    if not any(name == SOURCE_TRAILER for name, _ in parse_trailers(commit.message)):
        return f"it names no {SOURCE_TRAILER}"
    if len(commit.parents) > 1 and commit.is_by_one:
        return "it merges a commit that it does not name"
    return "its author is not its committer" if not commit.is_by_one else f"it names several {SOURCE_TRAILER}"
