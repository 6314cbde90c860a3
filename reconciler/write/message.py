"""What a commit of the reconciler says: a subject that names the objects, and a line for each of them with old -> new and the reason.

    a group of changes is          in the subject
    a verb of all of them          schedule web-1..web-8 onto 7 hosts
    a state                        web-1, web-2 are running
    an order that destroys data    DELETE db-1, DESTROYS 1 local disk

Groups that destroy data come first, then those that stop something. A subject has at most 72 characters: it names fewer objects if it must,
then fewer groups. Must never happen: it is cut so that it no longer says that the commit destroys data; `DESTROY:` is before it then.
Progress that a commit takes along is in the body alone.

Pure. Words that come from people or poollets stay on one line, so that none of them ends the message early.

That is a matter of safety: the last paragraph of a message holds the trailers, by which later ticks know the source commit that was
reconciled (`Source-Commit`). A reason or a file name with a line break could forge one. So every line goes through `_line`, which replaces
what is not printable and bounds the length.

Nothing reads these messages back but `gitvirt history`, which shows the line of an object and takes no state from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.plan.types import Action, Change
from reconciler.write.object_names import full_name, list_names
from reconciler.write.phrase import Phrase, line_of, phrase_of, weight
from schemas.effects.effect import Loss
from schemas.kinds import Key

LONGEST_SUBJECT = 72
LONGEST_LINE = 240
MOST_LINES = 1_000  # a longer log cannot be read
MOST_NAMES = 3
_DESTRUCTIVE = ("DELETE", "DESTROY", "RECREATE")
_NAMES = (6, 4, 3, 2, 1)  # how many names of a group are tried


@dataclass(frozen=True, slots=True)
class ForeignCommit:
    """A commit that others put on the target branch, which only the reconciler writes, and the files that it changed."""

    commit: str
    author: str
    files: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class CommitContents:
    """`files` are the paths that people changed in the branch `source`, synced by this commit. `progress` are objects of which the
    commit says nothing that is worth a subject, `losses` what an order destroys. `foreign` is put back, if anybody wrote here."""

    changes: Sequence[Change]
    files: Sequence[str] = ()
    source: str = "main"
    progress: Collection[Key] = ()
    losses: Mapping[Key, Sequence[Loss]] = field(default_factory=dict)
    foreign: ForeignCommit | None = None


def message(of: CommitContents) -> str:
    lines = list(_body(of))
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"- and {len(lines) - MOST_LINES:,} more"]
    return "\n\n".join(part for part in (subject(of), "\n".join(lines)) if part)


def subject(of: CommitContents) -> str:
    """At most LONGEST_SUBJECT characters, on one line."""
    groups = _groups(of)
    if groups:
        found = _line(_of_groups(groups, of.losses), LONGEST_SUBJECT)
        is_named = not any(of.losses.values()) or any(word in found for word in _DESTRUCTIVE)
        return found if is_named else _line(f"DESTROY: {found}", LONGEST_SUBJECT)
    taken = of.files or [full_name(change.key) for change in of.changes]
    if taken:
        return _line(_fit(f"sync {of.source}: ", taken, ""), LONGEST_SUBJECT)
    if of.foreign is not None and of.foreign.files:
        tail = f", which {_author(of.foreign)} changed in {of.foreign.commit[:10]}"
        return _line(_fit("put back ", of.foreign.files, tail), LONGEST_SUBJECT)
    if of.foreign is not None:
        return _line(
            f"pass over commit {of.foreign.commit[:10]}, which {_author(of.foreign)} wrote here",
            LONGEST_SUBJECT,
        )
    return _line(f"sync {of.source}", LONGEST_SUBJECT)


Group = tuple[Phrase, list[Change]]


def _groups(of: CommitContents) -> list[Group]:
    """What destroys data first, then the weightiest. What was only synced, and progress, is in no group."""
    found: dict[Phrase, list[Change]] = {}
    for change in of.changes:
        if change.action is not Action.SYNC and change.key not in of.progress:
            found.setdefault(phrase_of(change), []).append(change)

    def rank(group: Group) -> tuple[bool, tuple[bool, int]]:
        phrase, changes = group
        return not any(of.losses.get(each.key) for each in changes), min(
            weight(each, phrase) for each in changes
        )

    return sorted(found.items(), key=rank)


def _of_groups(groups: Sequence[Group], losses: Mapping[Key, Sequence[Loss]]) -> str:
    for most in _NAMES:
        text = "; ".join(_group(group, losses, most) for group in groups)
        if len(text) <= LONGEST_SUBJECT:
            return text
    for count in range(len(groups) - 1, 0, -1):
        left = sum(len(changes) for _, changes in groups[count:])
        rest = f"; {left:,} more change{'s' if left > 1 else ''}"
        for most in _NAMES:
            text = "; ".join(_group(group, losses, most) for group in groups[:count]) + rest
            if len(text) <= LONGEST_SUBJECT:
                return text
    return _group(groups[0], losses, 1)


def _group(group: Group, losses: Mapping[Key, Sequence[Loss]], most: int) -> str:
    phrase, changes = group
    names = list_names([change.key for change in changes], most)
    if not phrase.verb:
        return f"{names} {'is' if len(changes) == 1 else 'are'} {phrase.state}"
    pools = {change.pool for change in changes if change.pool} if phrase.preposition else set()
    where = f"{len(pools)} hosts" if len(pools) > 1 else "".join(pools)
    text = f"{phrase.verb} {names}" + (f" {phrase.preposition} {where}" if where else "")
    text += phrase.ending
    lost = Counter(loss.kind.value for change in changes for loss in losses.get(change.key, ()))
    counts = [f"{count} {noun}{'s' if count > 1 else ''}" for noun, count in sorted(lost.items())]
    return f"{text}, DESTROYS {', '.join(counts)}" if counts else text


def _body(of: CommitContents) -> Iterator[str]:
    for change in of.changes:
        yield _line(f"- {line_of(change, of.losses.get(change.key, ()))}")
    if of.files and (of.changes or len(of.files) > MOST_NAMES):
        yield _line(_fit(f"- from {of.source}: ", of.files, "", LONGEST_LINE))
    foreign = of.foreign
    if foreign is not None and foreign.files:
        tail = f", which {_author(foreign)} changed in {foreign.commit[:10]}"
        if (line := _fit("put back ", foreign.files, tail, LONGEST_LINE)) != subject(of):
            yield _line(f"- {line}")


def _author(foreign: ForeignCommit) -> str:
    return foreign.author or "an unknown author"


def _fit(before: str, files: Sequence[str], after: str, longest: int = LONGEST_SUBJECT) -> str:
    """With the names of the files, if they are few and short enough."""
    text = f"{before}{', '.join(files[:MOST_NAMES])}{after}"
    if (len(files) == 1 and not after) or (len(files) <= MOST_NAMES and len(text) <= longest):
        return text
    return f"{before}{len(files):,} file{'s' if len(files) > 1 else ''}{after}"


def _line(text: str, longest: int = LONGEST_LINE) -> str:
    """One line, without control characters, of at most so many characters."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
