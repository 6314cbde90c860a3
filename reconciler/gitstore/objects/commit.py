"""Commits as bytes, and the trailers at the end of their messages. Pure: knows the format, not where commits are kept.

Writing is strict and reading is lenient. What gitvirt writes, every Git accepts: one line for each header, UTF-8, no NUL, a time with its zone. What it reads
was written by any tool in any year: an encoding that is unknown or a time that makes no sense spoils its own field and no other. Only
a commit without a tree or a committer is malformed.

Trailers carry state between ticks (`Source-Commit`) and consent of people (`Gitvirt-Approve`). They are read as Git reads them, from the last paragraph
alone; a line that looks like one further up is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TypeAlias

from reconciler.gitstore.errors import MalformedError
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.repo import Identity

Sign: TypeAlias = Callable[[bytes], str]  # the bytes of a commit -> its armoured signature

SOURCE_TRAILER = "Source-Commit"
RECONCILER_TRAILER = "Reconciler"
REPLACED_TRAILER = "Replaced-Commit"
INPUTS_TRAILER = "Inputs-Commit"

_PERSON = re.compile(
    r"(?P<name>.*?) ?<(?P<email>[^>]*)> (?P<seconds>-?\d{1,20}) (?P<sign>[+-])(?P<zone>\d{4})", re.DOTALL
)
_TRAILER = re.compile(r"(?P<key>[A-Za-z0-9-]+)[ \t]*:(?P<value>.*)")
_BY_GIT = ("Signed-off-by: ", "(cherry picked from commit ")


@dataclass(frozen=True, slots=True)
class Commit:
    tree: ObjectId
    parents: tuple[ObjectId, ...]
    author: Identity
    time: datetime  # when it was committed, in the zone of who did
    message: str
    signature: str = ""
    is_by_one: bool = True  # author and committer are one person at one time

    @property
    def first_parent(self) -> ObjectId | None:
        """The commit before this one on its own branch; the other parents were merged."""
        return self.parents[0] if self.parents else None


def encode_commit(commit: Commit, sign: Sign | None = None) -> bytes:
    """The object's bytes; author and committer are one."""
    person = f"{_plain(commit.author.name)} <{_plain(commit.author.email)}> {_stamp(commit.time)}"
    lines = [f"tree {commit.tree}", *(f"parent {parent}" for parent in commit.parents)]
    lines += [f"author {person}", f"committer {person}"]
    body = "\n\n" + commit.message.replace("\0", "").rstrip("\n") + "\n"
    payload = ("\n".join(lines) + body).encode("utf-8", "replace")
    if sign is None:
        return payload
    armour = "gpgsig " + sign(payload).strip("\n").replace("\n", "\n ")
    return ("\n".join([*lines, armour]) + body).encode("utf-8", "replace")


def decode_commit(data: bytes) -> Commit:
    """Whoever wrote it. What cannot be understood in a name or a message never hides the rest."""
    head, _, body = data.partition(b"\n\n")
    fields: dict[str, list[bytes]] = {}
    for line in re.sub(rb"\n ", b"\0", head).split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key.decode("ascii", "replace"), []).append(value.replace(b"\0", b"\n"))
    if "tree" not in fields or "committer" not in fields:
        raise MalformedError("a commit object is malformed", "run `git fsck` to find it")
    encoding = fields.get("encoding", [b"utf-8"])[0].decode("ascii", "replace")
    _, time = _person(_text(fields["committer"][0], encoding))
    author, _ = _person(_text(fields.get("author", [b""])[0], encoding))
    return Commit(
        fields["tree"][0].decode("ascii", "replace"),
        tuple(parent.decode("ascii", "replace") for parent in fields.get("parent", [])),
        author,
        time,
        _text(body, encoding),
        fields.get("gpgsig", [b""])[0].decode("utf-8", "replace"),
        fields.get("author") == fields["committer"],
    )


def add_trailers(message: str, trailers: Sequence[tuple[str, str]]) -> str:
    """The message with a last paragraph of trailers; one that ends in trailers already is continued."""
    lines = "\n".join(f"{key}: {' '.join(value.split())}" for key, value in trailers)
    message = message.rstrip()
    if not lines:
        return message
    return message + ("\n" if parse_trailers(message) else "\n\n") + lines


def parse_trailers(message: str) -> tuple[tuple[str, str], ...]:
    """What `git interpret-trailers --parse` finds: the last paragraph, if it is made of trailers and is not the title."""
    paragraphs = re.split(r"\n[ \t]*\n", "\n" + message.rstrip().replace("\r\n", "\n"))
    lines = [line for line in paragraphs[-1].split("\n") if line]
    found: list[tuple[str, str]] = []
    others = 0
    for line in lines:
        if match := _TRAILER.fullmatch(line):
            found.append((match["key"], match["value"].strip()))
        elif line[0] in " \t" and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        elif not line.startswith(_BY_GIT):
            others += 1
    is_of_git = any(line.startswith(_BY_GIT) for line in lines)
    is_block = bool(found) and (others == 0 or (is_of_git and len(found) * 3 >= others))
    return tuple(found) if is_block and len(paragraphs) > 1 else ()


def _plain(text: str) -> str:
    """Without what would end the field."""
    return re.sub(r"[<>\n\0]", "", text).strip()


def _stamp(time: datetime) -> str:
    """Seconds since 1970 and the zone, as Git has them. A time without a zone is a mistake of the caller, not UTC."""
    if time.tzinfo is None:
        raise ValueError("the time of a commit needs a zone")
    return f"{int(time.timestamp())} {time.strftime('%z')[:5]}"


def _person(line: str) -> tuple[Identity, datetime]:
    match = _PERSON.fullmatch(line)
    if match is None:
        return Identity(line, ""), datetime.fromtimestamp(0, UTC)
    offset = timedelta(hours=int(match["zone"][:2]), minutes=int(match["zone"][2:]))
    zone = timezone(-offset if match["sign"] == "-" else offset) if offset < timedelta(hours=24) else UTC
    # A clock gone mad must not stop whoever reads the history.
    seconds = min(max(int(match["seconds"]), 0), 253_000_000_000)
    return Identity(match["name"], match["email"]), datetime.fromtimestamp(seconds, zone)


def _text(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding, "replace")
    except (LookupError, UnicodeError):  # some codecs, such as idna, replace nothing
        return data.decode("utf-8", "replace")
