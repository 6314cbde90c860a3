"""How a push is given to git, so that each ref means itself, whatever else the remote has; and what git answers.

Theory of operation
-------------------
Git looks for the destination of a plain refspec by its short forms too: beside a branch or a tag that is named refs/heads/live as a whole
(refs/heads/refs/heads/live), it refuses `COMMIT:refs/heads/live` as ambiguous. Whoever may create a branch could stop every push by that. A
pattern names its destination exactly. So the commits get refs of their own in the mirror, in a folder for this push alone, which
one pattern maps to the refs of the remote:

    refs/gitvirt/outgoing/1f0c.../refs/heads/live   by   refs/gitvirt/outgoing/1f0c.../*:*   to   refs/heads/live

    scheme         command                    because
    ssh, file      git push URL PATTERN
    http, https    git remote-https URL       `git push` unfolds a pattern before it calls this helper, so the helper is called itself; the
                                              commands on its input are those of gitremote-helpers(7), and its answer is one line a ref

A push of gitvirt has a few small files and the folders that they are in. Each is like its own version before or like none, so git compares it with
its neighbors alone, in one thread: to look further costs more than all the rest of a push, and sends hardly less.

What a crash leaves in such a folder is in no later pattern; housekeeping removes it. A deletion has no commit, so it stays a plain refspec.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reconciler.gitstore.remote.address import RemoteAddress
from reconciler.gitstore.remote.transport import RefUpdate

FOLDER = "refs/gitvirt/outgoing"
_REJECTED = "rejected"
_SMALL = ("-c", "pack.window=2", "-c", "pack.threads=1")


@dataclass(frozen=True, slots=True)
class PushCommand:
    """`given` is for git's input."""

    arguments: tuple[str, ...]
    given: bytes = b""
    is_helper: bool = False

    def read_rejected(self, output: str, updates: Sequence[RefUpdate]) -> Mapping[str, str]:
        """Ref -> reason."""
        if not self.is_helper:
            return _read_porcelain(output)
        answers = (line.split(" ", 2) for line in output.splitlines())
        answered = {answer[1]: answer for answer in answers if len(answer) > 1}
        pushed = [update.ref for update in updates]
        return {
            ref: answered[ref][2].strip('"') if len(answered[ref]) > 2 else _REJECTED
            for ref in pushed
            if ref in answered and answered[ref][0] != "ok"
        }


@contextmanager
def push_command(mirror: Path, address: RemoteAddress, updates: Sequence[RefUpdate]) -> Iterator[PushCommand]:
    """Good until the end of the block. Raises OSError when the mirror cannot be written."""
    folder = f"{FOLDER}/{uuid.uuid4().hex}"
    refspecs = [f":{update.ref}" for update in updates if update.new is None]
    new = {update.ref: update.new for update in updates if update.new is not None}
    try:
        for ref, commit in new.items():
            place = mirror / folder / ref
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{commit}\n", "ascii")
        refspecs += [f"{folder}/*:*"] if new else []
        make = _by_helper if address.scheme.is_web else _by_push
        yield make(mirror, address.url, updates, refspecs)
    finally:
        shutil.rmtree(mirror / folder, ignore_errors=True)


def _by_push(mirror: Path, url: str, updates: Sequence[RefUpdate], refspecs: Sequence[str]) -> PushCommand:
    options = ["--porcelain", "--no-verify"]
    if len(updates) > 1:
        # Alone a ref is atomic by nature, and not every server knows the word.
        options.append("--atomic")
    options += [f"--force-with-lease={lease}" for lease in _leases(updates)]
    return PushCommand((*_SMALL, f"--git-dir={mirror}", "push", *options, url, *refspecs))


def _by_helper(mirror: Path, url: str, updates: Sequence[RefUpdate], refspecs: Sequence[str]) -> PushCommand:
    lines = ["option progress false", "option verbosity 0"]
    if len(updates) > 1:
        lines.append("option atomic true")
    lines += [f"option cas {lease}" for lease in _leases(updates)]
    lines += [f"push {refspec}" for refspec in refspecs]
    # An empty line ends the push, and another one ends the helper.
    given = "\n".join([*lines, "", "", ""]).encode()
    arguments = (*_SMALL, f"--git-dir={mirror}", "remote-https", url, url)
    return PushCommand(arguments, given, is_helper=True)


def _leases(updates: Sequence[RefUpdate]) -> list[str]:
    """An empty value after the colon means that the ref must not exist."""
    return [f"{update.ref}:{update.old or ''}" for update in updates]


def _read_porcelain(output: str) -> dict[str, str]:
    """From lines `!<tab>from:to<tab>[remote rejected] (reason)`, whose form git keeps stable for programs."""
    found = {}
    for line in output.splitlines():
        parts = line.split("\t")
        if len(parts) == 3 and parts[0] == "!":
            reason = parts[2].partition("(")[2].rpartition(")")[0]
            found[parts[1].rpartition(":")[2]] = reason or _REJECTED
    return found
