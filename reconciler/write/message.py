"""What a commit of the reconciler says: a subject that reads well in `git log --oneline`, and a line for each change.

Pure. Words that come from people or poollets stay on one line, so that none of them ends the message early.

That is a matter of safety: the last paragraph of a message holds the trailers, by which later ticks know the source commit that was
reconciled (`Source-Commit`). A reason or a file name with a line break could forge one. So every line goes through `_line`, which replaces
what is not printable and bounds the length.

Nothing reads these messages back but `gitvirt history`, which shows the line of an object and takes no state from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reconciler.plan.significance import condition_of, state_of, words_of
from reconciler.plan.types import Action, Change
from schemas.kinds import Key, Kind

LONGEST_LINE = 240
MOST_LINES = 1_000  # a longer log cannot be read
MOST_NAMES = 3

_BETWEEN = {
    Action.SCHEDULE: "onto",
    Action.ADOPT: "on",
    Action.EVICT: "from",
    Action.WITHDRAW: "from",
    Action.REMOVE: "from",
}
_VERB = {
    Action.RETURN: "bring back",
    Action.MARK_DELETED: "order the deletion of",
    Action.AWAIT_APPROVAL: "hold the deletion of",
}


def message(
    changes: Sequence[Change],
    files: Sequence[str],
    source: str,
    restored: Sequence[str] = (),
    foreign: str = "",
) -> str:
    """`files` are the paths that people changed in the branch `source`, synced by this commit; `restored` are those
    that others changed on the target branch, which only the reconciler writes, and `foreign` is their commit."""
    lines = list(_body(changes, files, source))
    if restored and (changes or files or len(restored) > MOST_NAMES):
        lines.append(_line(f"- put back what others changed here: {_name_files(restored)}"))
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"- and {len(lines) - MOST_LINES:,} more"]
    named = subject(changes, files, source, restored)
    if foreign and not (changes or files or restored):
        named = _line(f"pass over commit {foreign[:12]}, which others wrote here")
    return "\n\n".join(part for part in (named, "\n".join(lines)) if part)


def subject(
    changes: Sequence[Change], files: Sequence[str], source: str, restored: Sequence[str] = ()
) -> str:
    """Of one change what it is; of several how many of each, the weightiest first."""
    named = [change for change in changes if change.action is not Action.SYNC]
    if not changes and not files and restored:
        return _line(f"put back {_name_files(restored)}, which others changed here")
    if not named:
        taken = files or [of(change.key) for change in changes]
        return _line(f"sync {source}: {_name_files(taken)}" if taken else f"sync {source}")
    if len(named) == 1:
        return _line(sentence(named[0]))
    weight = {action: rank for rank, action in enumerate(Action)}
    counts = Counter(_word(change) for change in sorted(named, key=lambda change: weight[change.action]))
    return _line(", ".join(f"{count:,} {word}" for word, count in counts.items()))


def sentence(change: Change) -> str:
    """`schedule default/web-1 onto pool-a`, `default/web-1 is running`."""
    name = of(change.key)
    match change.action:
        case Action.STATUS if state_of(change):
            return f"{name} is {_word(change)}"
        case Action.STATUS:
            condition = condition_of(change)
            text = condition.message or words_of(condition) if condition is not None else change.action.noun
            return f"{name}: {text}"
        case Action.BLOCKED:
            return f"{name} is blocked"
        case Action.STOP:
            undo = change.after.undo if change.after is not None else None
            return f"stop {name}" + (f", DELETE it at {undo.until}" if undo is not None else "")
        case Action.UNSCHEDULABLE:
            return f"{name} is unschedulable"
        case action:
            where = f" {_BETWEEN[action]} {change.pool}" if action in _BETWEEN and change.pool else ""
            return f"{_VERB.get(action, action.value)} {name}{where}"


def of(key: Key) -> str:
    """Machines and machine pools are what it is mostly about, so their kind is left out."""
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return name if key.kind in (Kind.MACHINE, Kind.MACHINE_POOL) else f"{_noun(key.kind)} {name}"


def _noun(kind: Kind) -> str:
    """VolumePool: volume pool."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind.value).strip()


def _word(change: Change) -> str:
    """What a subject counts changes by: `running`, `scheduled`, `volumes pending`."""
    if change.action is not Action.STATUS:
        return change.action.noun
    if state := state_of(change):
        return state.lower()
    condition = condition_of(change)
    return words_of(condition) if condition is not None else change.action.noun


def _body(changes: Sequence[Change], files: Sequence[str], source: str) -> Iterator[str]:
    for change in changes:
        yield _line(f"- {_with_reason(change)}")
    if files and (changes or len(files) > MOST_NAMES):
        yield _line(f"- from {source}: {_name_files(files)}")


def _with_reason(change: Change) -> str:
    """The sentence and its reason; a word that ends the one and begins the other is written once."""
    text, reason, word = sentence(change), change.reason, _word(change)
    if text.endswith(word) and (reason == word or reason.startswith(f"{word},")):
        return text + reason.removeprefix(word)
    return f"{text}: {reason}" if reason else text


def _name_files(files: Sequence[str]) -> str:
    if len(files) > MOST_NAMES:
        return f"{len(files):,} files"
    return ", ".join(files)


def _line(text: str) -> str:
    """One line, without control characters, of at most LONGEST_LINE characters."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"
