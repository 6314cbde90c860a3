"""The history of `live` as an auditor reads it: `git log --graph`, without what chance decides.

What the reconciler wrote between two commits of people is told as one commit, since how many ticks it took is chance; so are
ids, times, scores, and the order of what happened to different objects. What happened to one object keeps its order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.repository import bare, git

FIELD, RECORD = "\x01", "\x02"  # no white space, as Python counts it
# What an object passes through, seen or not seen as the reports happen to come, and bookkeeping.
PASSING = re.compile(
    r"^- from |^- update (?!.*DataLossApprovalRequired)|^- .* (is (pending|available)\b|is unschedulable)"
    r"|: [A-Za-z]+ -> (Pending|Terminating|Available)$"
)
CHANCE = (
    (re.compile(r"(?:(?<=Gitvirt-Approve: )|(?<=gitvirt approve ))[0-9a-f]+"), "<digest>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\b(?=[0-9a-f]*[0-9])[0-9a-f]{10,40}\b"), "<commit>"),
    (re.compile(r": of the pools that fit it has the most room$"), ""),
    (re.compile(r": [A-Za-z]+ -> (?=[A-Z])"), ": "),  # from which state, is chance
)
VERBS = "adopt|announce|claim|DELETE|end the claim of|EVICT|generate|grant|hold the deletion of|release|remove|update|retain|schedule|sync|withdraw"
OBJECT = re.compile(rf"^- (?:(?:{VERBS}) )?(.*?)(?=:| is | onto | from | on |$)")


@dataclass(frozen=True)
class Commit:
    id: str
    parents: tuple[str, ...]
    author: str
    subject: str
    lines: tuple[str, ...]
    trailers: tuple[str, ...]


@dataclass
class Chapter:
    """What people wrote, and all that the reconciler did until they wrote again."""

    people: list[Commit] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    reconcilers: list[str] = field(default_factory=list)


def report(repo: Path, folder: Path, ref: str = "live") -> str:
    """`folder` gets a repo with the same history, and Git draws it."""
    place = bare(folder / "audit.git")
    tree = git(place, "mktree")
    live = people = ""
    for number, chapter in enumerate(_chapters(repo, ref)):
        for commit in chapter.people:
            parents = [people] if people else []
            text = "\n\n".join(
                filter(
                    None, (_replace_random(commit.subject), "\n".join(map(_replace_random, commit.trailers)))
                )
            )
            people = _write(place, tree, parents, commit.author, text, 2 * number)
        by = ", ".join(dict.fromkeys(chapter.reconcilers))
        text = f"on {by}\n\n" + "\n".join(_merge_lines(chapter.lines))
        live = _write(place, tree, [one for one in (live, people) if one], "gitvirt", text, 2 * number + 1)
    drawn = git(place, "log", "--graph", "--topo-order", "--format=%an: %s%n%b", live)
    return "\n".join(line.rstrip() for line in drawn.splitlines() if line.strip(" |")) + "\n"


def _write(place: Path, tree: str, parents: Sequence[str], author: str, text: str, hour: int) -> str:
    date = f"@{1_700_000_000 + 3600 * hour} +0000"
    onto = [word for parent in parents for word in ("-p", parent)]
    named = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    return git(place, "commit-tree", tree, *onto, given=text, **named)


def _chapters(repo: Path, ref: str) -> list[Chapter]:
    chapters: list[Chapter] = []
    seen: set[str] = set()
    for commit in _commits(repo, "--first-parent", "--reverse", ref):
        if commit.author != "gitvirt":
            continue
        source = next((one.split(": ")[1] for one in commit.trailers if one.startswith("Source-Commit")), "")
        known = [f"^{one}" for one in seen]
        news = list(_commits(repo, "--reverse", source, *known)) if source not in seen else []
        if chapters and not _merge_lines(chapters[-1].lines):
            chapters[-1].people += news  # synced without a word, in a tick of its own or not
        elif news or not chapters:
            chapters.append(Chapter(people=news))
        seen.add(source)
        chapters[-1].lines += commit.lines
        chapters[-1].reconcilers += [
            one.split(": ")[1] for one in commit.trailers if one.startswith("Reconciler")
        ]
    return chapters


def _commits(repo: Path, *choice: str) -> Iterator[Commit]:
    form = FIELD.join(("%H", "%P", "%an", "%s", "%b")) + RECORD
    for record in git(repo, "log", f"--format={form}", *choice).split(RECORD):
        if record := record.strip("\n"):
            id, parents, author, subject, body = record.split(FIELD)
            lines = body.splitlines()
            trailers = tuple(line for line in lines if re.match(r"^[A-Z][A-Za-z]*-?[A-Za-z]+: ", line))
            lines_of_change = tuple(line for line in lines if line.startswith("- "))
            yield Commit(id, tuple(parents.split()), author, subject, lines_of_change, trailers)


def _merge_lines(lines: Sequence[str]) -> list[str]:
    """Stable: what happened to one object stays in order. What was said twice in a row is said once."""
    kept = sorted((_replace_random(line) for line in lines if not PASSING.search(line)), key=_object)
    going = {_object(line) for line in kept if line.startswith(("- EVICT ", "- DELETE "))}
    # Who is told to go is seen to be off, or is gone before anybody looks.
    seen = [line for line in kept if not (line.endswith(": Shutdown") and _object(line) in going)]
    return [line for line, before in zip(seen, ["", *seen], strict=False) if line != before]


def _object(line: str) -> str:
    found = OBJECT.match(line)
    assert found is not None, line
    return found[1]


def _replace_random(text: str) -> str:
    for pattern, word in CHANCE:
        text = pattern.sub(word, text)
    return text
