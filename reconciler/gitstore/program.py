"""The transport by the git program: a process a call, with nobody's configuration and a deadline.

Owns how refs are listed, fetched and pushed. It never touches a ref of the mirror except by fetching it, keeps nothing
between calls, and decides who lost a race by reading the refs again, never by an error's text.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reconciler.gitstore import process
from reconciler.gitstore.access import Access, AccessError
from reconciler.gitstore.address import Address
from reconciler.gitstore.diagnosis import SERVER_CURE, WAIT_CURE, diagnose, server_words
from reconciler.gitstore.invocation import environment
from reconciler.gitstore.redaction import Redactor, redactor
from reconciler.gitstore.transport import (
    Fetched,
    Landed,
    Listed,
    ObjectId,
    RefSet,
    Refused,
    Stale,
    Transport,
    Trouble,
    Unavailable,
    Update,
)

# Between two looks at a ref that somebody else may be moving at this moment.
PAUSE_SECONDS = (0.05, 0.25)
# What git says of a ref of the mirror that another process moves at this moment, and how often it may.
REF_IS_LOCKED = "cannot lock ref"
LOCK_TRIES = 6
# Of a push's time, what is kept for finding out how it ended.
SHARE_FOR_PUSH = 0.75
# What receive-pack itself says when it is the disk or a lock, and not a rule, that stands in the way.
SERVER_REASONS = ("unpacker error", "failed to update ref", "failed to write", "cannot lock ref", "unable to")
SHALLOW_WARNING = "shallow roots are not allowed"
FOLLOWS_ANOTHER = (
    "atomic push failure",
    "atomic push failed",
    "atomic transaction failed",
    "transaction failed",
)


@dataclass(frozen=True, slots=True)
class Rejected:
    """One line of the report of a push."""

    ref: str
    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """A finished git: its raw output, and its error output fit to be shown."""

    is_fine: bool
    output: str
    words: str
    redaction: Redactor

    def rejected(self) -> tuple[Rejected, ...]:
        """From lines `!<tab>from:to<tab>[remote rejected] (reason)`, whose form git keeps stable for programs."""
        found = []
        for line in self.output.splitlines():
            parts = line.split("\t")
            if len(parts) == 3 and parts[0] == "!":
                reason = self.redaction.clean(parts[2].partition("(")[2].rpartition(")")[0])
                found.append(Rejected(parts[1].rpartition(":")[2], reason or "rejected"))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Declined:
    """The server answered with a no, and the refs stand where they stood."""

    rejected: tuple[Rejected, ...]
    words: str
    failure: Unavailable


@dataclass(frozen=True)
class GitProgram(Transport):
    mirror: Path
    address: Address
    access: Access
    ambient: Mapping[str, str]
    inherit: Sequence[int] = ()  # the lock of the mirror, held while any git works in it
    chance: random.Random = field(default_factory=random.Random)

    def list_refs(self, wanted: Sequence[str], seconds: float) -> Listed | Unavailable:
        # Outside of any repo, so that a damaged mirror does not hide what the remote has.
        said = self._git(
            ["--git-dir=/dev/null", "ls-remote", "--symref", self.address.url, "HEAD", *wanted], seconds
        )
        if isinstance(said, Unavailable):
            return said
        return _listed(said.output, wanted) if said.is_fine else diagnose(said.words)

    def fetch(self, wanted: Sequence[str], seconds: float) -> Fetched | Unavailable:
        deadline = time.monotonic() + seconds
        failure = None
        if all(name.endswith("/*") or _is_known(self.mirror, name) for name in wanted):
            failure = self._fetch(wanted, deadline)
            if failure is None:
                return Fetched()
        # One wanted name that does not exist fails the whole fetch, and so does a ref that must go before another can
        # come (a, then a/b). Only a look at the remote can tell.
        listed = self.list_refs(wanted, _left(deadline))
        if isinstance(listed, Unavailable):
            return failure or listed
        missing = tuple(name for name in wanted if not name.endswith("/*") and name not in listed.refs)
        here = self._refs_of_mirror(wanted, deadline)
        if isinstance(here, Unavailable):
            return here
        vanished = [name for name in here if name not in listed.refs]
        if failure is not None and not missing and not vanished:
            return failure
        failure = self._forget(vanished, deadline) or self._fetch(
            [name for name in wanted if name not in missing], deadline
        )
        return failure or Fetched(missing)

    def push(self, updates: Sequence[Update], seconds: float) -> Landed | Stale | Refused | Unavailable:
        deadline = time.monotonic() + seconds
        outcome = self._try_to_push(updates, deadline)
        if isinstance(outcome, Declined):
            # A ref that another push holds locked looks like a refusal, until that push is through.
            time.sleep(min(self.chance.uniform(*PAUSE_SECONDS), _left(deadline)))
            outcome = self._try_to_push(updates, deadline)
        return _verdict(outcome) if isinstance(outcome, Declined) else outcome

    def _try_to_push(
        self, updates: Sequence[Update], deadline: float
    ) -> Landed | Stale | Declined | Unavailable:
        new = {update.ref: update.new for update in updates}
        arguments = [f"--git-dir={self.mirror}", "push", *_push_arguments(self.address.url, updates)]
        said = self._git(arguments, _left(deadline) * SHARE_FOR_PUSH)
        if isinstance(said, Said) and said.is_fine:
            return Landed(new)
        failure = said if isinstance(said, Unavailable) else diagnose(said.words)
        # Without an answer the server may still be at it, whatever the refs are now.
        unknown = replace(failure, is_unknown=failure.trouble not in (Trouble.AUTH, Trouble.MIRROR))
        listed = self.list_refs([update.ref for update in updates], _left(deadline))
        if isinstance(listed, Unavailable):
            return unknown
        now = {update.ref: listed.refs.get(update.ref) for update in updates}
        if now == new:
            return Landed(new)
        if any(now[update.ref] != update.old for update in updates):
            return Stale(now)
        rejected = said.rejected() if isinstance(said, Said) else ()
        return Declined(rejected, said.words, failure) if isinstance(said, Said) and rejected else unknown

    def _fetch(self, wanted: Sequence[str], deadline: float) -> Unavailable | None:
        if not wanted:
            return None
        arguments = [
            f"--git-dir={self.mirror}",
            "fetch",
            "--atomic",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--refmap=",
            self.address.url,
            *(f"+{name}:{name}" for name in wanted),
        ]
        said = self._unhindered(arguments, deadline)
        if isinstance(said, Unavailable):
            return said
        # A shallow remote's refs are left out with a warning, and git calls that a success.
        is_whole = said.is_fine and SHALLOW_WARNING not in said.words
        return None if is_whole else diagnose(said.words)

    def _refs_of_mirror(self, wanted: Sequence[str], deadline: float) -> list[str] | Unavailable:
        patterns = [name.removesuffix("*") for name in wanted]
        arguments = [f"--git-dir={self.mirror}", "for-each-ref", "--format=%(refname)", *patterns]
        said = self._git(arguments, _left(deadline))
        if isinstance(said, Unavailable):
            return said
        if not said.is_fine:
            return diagnose(said.words)
        asked = RefSet(wanted)
        return [name for name in said.output.splitlines() if name in asked]

    def _forget(self, refs: Sequence[str], deadline: float) -> Unavailable | None:
        if not refs:
            return None
        orders = "".join(f"delete {ref}\n" for ref in refs)
        arguments = [f"--git-dir={self.mirror}", "update-ref", "--stdin"]
        said = self._unhindered(arguments, deadline, orders.encode())
        if isinstance(said, Unavailable):
            return said
        return None if said.is_fine else diagnose(said.words)

    def _unhindered(
        self, arguments: Sequence[str], deadline: float, given: bytes = b""
    ) -> Said | Unavailable:
        """Another process may move refs of the mirror at this moment: whoever removed its folder freed its lock as well."""
        for _ in range(LOCK_TRIES):
            said = self._git(arguments, _left(deadline), given)
            if isinstance(said, Unavailable) or said.is_fine or REF_IS_LOCKED not in said.words:
                return said
            time.sleep(min(self.chance.uniform(*PAUSE_SECONDS), _left(deadline)))
        return self._git(arguments, _left(deadline), given)

    def _git(self, arguments: Sequence[str], seconds: float, given: bytes = b"") -> Said | Unavailable:
        """The border: what leaves here is free of credentials."""
        try:
            surroundings = environment(self.address, self.access, self.ambient)
            redaction = redactor(self.access.secrets())
        except AccessError as error:
            return Unavailable(Trouble.AUTH, error.cause, error.cure)
        match process.run(["git", *arguments], surroundings, seconds, given, self.inherit):
            case process.Ended(status, output, _) as ended:
                text = output.decode("utf-8", "surrogateescape")
                return Said(status == 0, text, redaction.clean(ended.words), redaction)
            case process.Expired(allowed, errors):
                return _expired(allowed, redaction, errors)
            case process.Missing(reason):
                return Unavailable(Trouble.MIRROR, reason, "install git")


def _is_known(mirror: Path, ref: str) -> bool:
    """Whether the mirror has it already. A wrong answer costs a round trip, nothing else."""
    try:
        return (mirror / ref).is_file() or f" {ref}\n" in (mirror / "packed-refs").read_text(
            "utf-8", "replace"
        )
    except OSError:
        return False


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _expired(seconds: float, redaction: Redactor, errors: bytes) -> Unavailable:
    said = redaction.clean(errors.decode("utf-8", "replace")).splitlines()
    after = f"; it last said: {said[-1]}" if said else ""
    return Unavailable(Trouble.NETWORK, f"the remote did not answer within {seconds:.1f} s{after}", WAIT_CURE)


def _listed(output: str, wanted: Sequence[str]) -> Listed | Unavailable:
    refs: dict[str, ObjectId] = {}
    default, asked = None, RefSet(wanted)
    for line in output.splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: ") and name == "HEAD":
            default = value.removeprefix("ref: ")
        elif len(value) == 64:
            return Unavailable(
                Trouble.PROTOCOL,
                "the remote stores objects by SHA-256",
                "only SHA-1 repos are supported for now",
            )
        elif not wanted or name in asked:
            refs[name] = value
    return Listed(refs, default)


def _push_arguments(url: str, updates: Sequence[Update]) -> list[str]:
    arguments = ["--porcelain", "--no-verify"]
    if len(updates) > 1:
        # Alone a ref is atomic by nature, and not every server knows the word.
        arguments.append("--atomic")
    arguments += [f"--force-with-lease={update.ref}:{update.old or ''}" for update in updates]
    return [*arguments, url, *(f"{update.new or ''}:{update.ref}" for update in updates)]


def _verdict(declined: Declined) -> Refused | Unavailable:
    causes = [each for each in declined.rejected if each.reason not in FOLLOWS_ANOTHER] or list(
        declined.rejected
    )
    reasons = list(dict.fromkeys(each.reason for each in causes))
    if declined.failure.trouble is Trouble.MIRROR:
        return declined.failure
    if all(reason.startswith(SERVER_REASONS) for reason in reasons):
        is_told = declined.failure.trouble is Trouble.SERVER
        cause = declined.failure.cause if is_told else "; ".join(reasons)
        return Unavailable(Trouble.SERVER, cause, declined.failure.cure if is_told else SERVER_CURE)
    return Refused(tuple(each.ref for each in causes), server_words(declined.words, reasons))
