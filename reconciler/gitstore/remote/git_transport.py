"""The transport by the git program: one process a call, with a deadline and without any configuration of the person or the machine.

Owns how refs are listed, fetched and pushed. It never touches a ref of the mirror except by fetching it, keeps nothing
between calls, and decides who won by reading the refs again, never by an error's text.

# Theory of operation

A **push** is a compare-and-swap of all its refs. `--force-with-lease=REF:OLD` makes the server compare, and `--atomic` makes several refs one change. What git
answers is not enough to know how it ended: an answer can be lost after the server moved the refs, and a lock of another push looks like a
refusal. So after anything but success the refs are listed:

| refs on the remote now | git's answer | outcome |
|---|---|---|
| all at the new commits | any | RefsPushed: an answer was lost |
| one of them at a third commit | any | PushConflict |
| all as before | a rejection of the server | the same push once more; then PushRefused, or RemoteUnavailable for a full disk |
| not asked | the server knows no atomic push of several refs | PushRefused: git sent nothing |
| all as before | none, or an error on the way | RemoteUnavailable, is_unknown: the server may still be working on it (not for auth and mirror) |
| cannot be listed | any | RemoteUnavailable, is_unknown, unless git failed before it sent anything |

Of a push's seconds a part is kept back for that listing. A **fetch** moves refs of the mirror only all together (`--atomic`), and removes those that the remote
no longer has (`--prune`). A name that does not exist fails a whole fetch; then the refs are listed, and the fetch is made without it.

# Must never happen

- Two writers both learn that they moved a ref from the same commit.
- A push that may have landed is reported as one that did not.
- The configuration of a person (an alias, a hook, insteadOf) changes what a daemon does, unless the person asked for it.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reconciler.gitstore import process
from reconciler.gitstore.redaction import Redactor, build_redactor
from reconciler.gitstore.remote.access import AccessError, RemoteAccess
from reconciler.gitstore.remote.address import RemoteAddress
from reconciler.gitstore.remote.git_command import environment
from reconciler.gitstore.remote.git_errors import (
    MIRROR_CURE,
    SERVER_CURE,
    WAIT_CURE,
    diagnose,
    is_checked_out,
    server_words,
)
from reconciler.gitstore.remote.push_command import push_command
from reconciler.gitstore.remote.transport import (
    ObjectId,
    PushConflict,
    PushRefused,
    RefSet,
    RefsFetched,
    RefsListed,
    RefsPushed,
    RefUpdate,
    RemoteErrorKind,
    RemoteUnavailable,
    Transport,
)
from schemas.settings.duration import format_duration

# Between two looks at a ref that another writer may be moving.
PAUSE_SECONDS = (0.05, 0.25)
# What git says of a ref of the mirror that another process moves at this moment, and how often it may.
REF_IS_LOCKED = "cannot lock ref"
LOCK_TRIES = 6
# Of a push's time, what is kept for finding out how it ended.
SHARE_FOR_PUSH = 0.75
# Messages of receive-pack for a full disk or a lock, not for a rule.
SERVER_REASONS = ("unpacker error", "failed to update ref", "failed to write", "cannot lock ref", "unable to")
# What follows the name of a tag in the line of the object that it names; no ref has such a name.
PEELED = "^{}"
SHALLOW_WARNING = "shallow roots are not allowed"
NO_ATOMIC = "does not support --atomic"
FOLLOWS_ANOTHER = re.compile("atomic push (failure|failed)|(atomic )?transaction failed")


@dataclass(frozen=True, slots=True)
class GitResult:
    """A finished git: its raw output, and its error output fit to be shown."""

    is_fine: bool
    output: str
    words: str
    redaction: Redactor


@dataclass(frozen=True, slots=True)
class PushDeclined:
    """The server answered with a rejection, and the refs did not move."""

    rejected: Mapping[str, str]  # ref -> reason
    words: str
    failure: RemoteUnavailable


@dataclass(frozen=True)
class GitTransport(Transport):
    mirror: Path
    address: RemoteAddress
    access: RemoteAccess
    ambient: Mapping[str, str]
    inherit: Sequence[int] = ()  # the lock of the mirror, held while any git works in it
    chance: random.Random = field(default_factory=random.Random)

    def list_refs(self, needed: Sequence[str], seconds: float) -> RefsListed | RemoteUnavailable:
        # Outside of any repo, so that a damaged mirror does not hide what the remote has.
        arguments = ["--git-dir=/dev/null", "ls-remote", "--symref", self.address.url, "HEAD", *needed]
        output = self._read(arguments, seconds)
        return output if isinstance(output, RemoteUnavailable) else _parse_refs(output, needed)

    def fetch(self, needed: Sequence[str], seconds: float) -> RefsFetched | RemoteUnavailable:
        deadline = time.monotonic() + seconds
        failure = None
        if all(name.endswith("/*") or _is_known(self.mirror, name) for name in needed):
            failure = self._fetch(needed, deadline)
            if failure is None:
                return RefsFetched()
        # One needed name that does not exist fails the whole fetch, and so does a ref that must go before another can
        # come (a, then a/b). Only a look at the remote can tell.
        listed = self.list_refs(needed, _seconds_until(deadline))
        if isinstance(listed, RemoteUnavailable):
            return failure or listed
        missing = tuple(name for name in needed if not name.endswith("/*") and name not in listed.refs)
        here = self._refs_of_mirror(needed, deadline)
        if isinstance(here, RemoteUnavailable):
            return here
        vanished = [name for name in here if name not in listed.refs]
        if failure is not None and not missing and not vanished:
            return failure
        failure = self._forget(vanished, deadline) or self._fetch(
            [name for name in needed if name not in missing], deadline
        )
        return failure or RefsFetched(missing)

    def push(
        self, updates: Sequence[RefUpdate], seconds: float
    ) -> RefsPushed | PushConflict | PushRefused | RemoteUnavailable:
        deadline = time.monotonic() + seconds
        outcome = self._try_to_push(updates, deadline)
        if isinstance(outcome, PushDeclined):
            # A ref that another push holds locked looks like a refusal, until that push is through.
            time.sleep(min(self.chance.uniform(*PAUSE_SECONDS), _seconds_until(deadline)))
            outcome = self._try_to_push(updates, deadline)
        return _verdict(outcome) if isinstance(outcome, PushDeclined) else outcome

    def _try_to_push(
        self, updates: Sequence[RefUpdate], deadline: float
    ) -> RefsPushed | PushConflict | PushDeclined | PushRefused | RemoteUnavailable:
        new = {update.ref: update.new for update in updates}
        try:
            with push_command(self.mirror, self.address, updates) as command:
                seconds = _seconds_until(deadline) * SHARE_FOR_PUSH
                result = self._git(command.arguments, seconds, command.given)
        except OSError as error:
            cause = f"the mirror cannot be written: {error.strerror or error}"
            return RemoteUnavailable(RemoteErrorKind.MIRROR, cause, MIRROR_CURE)
        rejected: Mapping[str, str] = {}
        if isinstance(result, GitResult) and NO_ATOMIC in result.words:
            return PushRefused(tuple(new), "the server does not support atomic pushes")  # git sent nothing
        if isinstance(result, GitResult):
            rejected = {
                ref: result.redaction.clean(reason)
                for ref, reason in command.read_rejected(result.output, updates).items()
            }
            if result.is_fine and not rejected:
                return RefsPushed(new)
        failure = result if isinstance(result, RemoteUnavailable) else diagnose(result.words)
        # Without an answer the server may still be at it, whatever the refs are now.
        unknown = replace(
            failure, is_unknown=failure.kind not in (RemoteErrorKind.AUTH, RemoteErrorKind.MIRROR)
        )
        listed = self.list_refs([update.ref for update in updates], _seconds_until(deadline))
        if isinstance(listed, RemoteUnavailable):
            return unknown
        now = {update.ref: listed.refs.get(update.ref) for update in updates}
        if now == new:
            return RefsPushed(new)
        if any(now[update.ref] != update.old for update in updates):
            return PushConflict(now)
        if isinstance(result, GitResult) and rejected:
            return PushDeclined(rejected, result.words, failure)
        return unknown

    def _fetch(self, needed: Sequence[str], deadline: float) -> RemoteUnavailable | None:
        if not needed:
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
            *(f"+{name}:{name}" for name in needed),
        ]
        return self._change_refs(arguments, deadline)

    def _refs_of_mirror(self, needed: Sequence[str], deadline: float) -> list[str] | RemoteUnavailable:
        patterns = [name.removesuffix("*") for name in needed]
        arguments = [f"--git-dir={self.mirror}", "for-each-ref", "--format=%(refname)", *patterns]
        output = self._read(arguments, _seconds_until(deadline))
        if isinstance(output, RemoteUnavailable):
            return output
        names = RefSet(needed)
        return [name for name in output.splitlines() if name in names]

    def _forget(self, refs: Sequence[str], deadline: float) -> RemoteUnavailable | None:
        if not refs:
            return None
        orders = "".join(f"delete {ref}\n" for ref in refs)
        arguments = [f"--git-dir={self.mirror}", "update-ref", "--stdin"]
        return self._change_refs(arguments, deadline, orders.encode())

    def _change_refs(
        self, arguments: Sequence[str], deadline: float, given: bytes = b""
    ) -> RemoteUnavailable | None:
        """Another process may move refs of the mirror at this moment: whoever removed its folder freed its lock as well."""
        result = self._git(arguments, _seconds_until(deadline), given)
        for _ in range(LOCK_TRIES):
            if isinstance(result, RemoteUnavailable) or result.is_fine or REF_IS_LOCKED not in result.words:
                break
            time.sleep(min(self.chance.uniform(*PAUSE_SECONDS), _seconds_until(deadline)))
            result = self._git(arguments, _seconds_until(deadline), given)
        if isinstance(result, RemoteUnavailable):
            return result
        # A shallow remote's refs are left out with a warning, and git calls that a success.
        is_whole = result.is_fine and SHALLOW_WARNING not in result.words
        return None if is_whole else diagnose(result.words)

    def _read(self, arguments: Sequence[str], seconds: float) -> str | RemoteUnavailable:
        result = self._git(arguments, seconds)
        if isinstance(result, RemoteUnavailable):
            return result
        return result.output if result.is_fine else diagnose(result.words)

    def _git(
        self, arguments: Sequence[str], seconds: float, given: bytes = b""
    ) -> GitResult | RemoteUnavailable:
        """The border: what leaves here is free of credentials."""
        try:
            surroundings = environment(self.address, self.access, self.ambient)
            redaction = build_redactor(self.access.secrets())
        except AccessError as error:
            return RemoteUnavailable(RemoteErrorKind.AUTH, error.cause, error.cure)
        match process.run(["git", *arguments], surroundings, seconds, given, self.inherit):
            case process.Exited(status, output, _) as ended:
                text = output.decode("utf-8", "surrogateescape")
                return GitResult(status == 0, text, redaction.clean(ended.words), redaction)
            case process.ProgramTimedOut(allowed, errors):
                return _timed_out(allowed, redaction, errors)
            case process.CannotRun(reason):
                return RemoteUnavailable(RemoteErrorKind.MIRROR, reason, "install git")


def _is_known(mirror: Path, ref: str) -> bool:
    """Whether the mirror has it already. A wrong answer costs a round trip, nothing else."""
    try:
        return (mirror / ref).is_file() or f" {ref}\n" in (mirror / "packed-refs").read_text(
            "utf-8", "replace"
        )
    except OSError:
        return False


def _seconds_until(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _timed_out(seconds: float, redaction: Redactor, errors: bytes) -> RemoteUnavailable:
    result = redaction.clean(errors.decode("utf-8", "replace")).splitlines()
    after = f"; its last message: {result[-1]}" if result else ""
    return RemoteUnavailable(
        RemoteErrorKind.NETWORK,
        f"the remote did not answer within {format_duration(seconds)}{after}",
        WAIT_CURE,
        is_timeout=True,
    )


def _parse_refs(output: str, needed: Sequence[str]) -> RefsListed | RemoteUnavailable:
    refs: dict[str, ObjectId] = {}
    default, names = None, RefSet(needed)
    for line in output.splitlines():
        value, _, name = line.partition("\t")
        if value.startswith("ref: ") and name == "HEAD":
            default = value.removeprefix("ref: ")
        elif len(value) == 64:
            return RemoteUnavailable(
                RemoteErrorKind.PROTOCOL,
                "the remote stores objects by SHA-256",
                "only SHA-1 repos are supported for now",
            )
        elif (not needed or name in names) and not name.endswith(PEELED):
            refs[name] = value
    return RefsListed(refs, default)


def _verdict(declined: PushDeclined) -> PushRefused | RemoteUnavailable:
    """Whether a rule rejected it, which a person must solve, or the server could not do it just now. Of several refs in an atomic
    push, only those with a reason of their own count."""
    rejected = declined.rejected.items()
    causes = {ref: reason for ref, reason in rejected if not FOLLOWS_ANOTHER.fullmatch(reason)}
    causes = causes or dict(rejected)
    reasons = list(dict.fromkeys(causes.values()))
    if declined.failure.kind is RemoteErrorKind.MIRROR:
        return declined.failure
    if all(reason.startswith(SERVER_REASONS) for reason in reasons):
        is_server_error = declined.failure.kind is RemoteErrorKind.SERVER
        cause = declined.failure.cause if is_server_error else "; ".join(reasons)
        return RemoteUnavailable(
            RemoteErrorKind.SERVER, cause, declined.failure.cure if is_server_error else SERVER_CURE
        )
    return PushRefused(tuple(causes), server_words(declined.words, reasons), is_checked_out(reasons))
