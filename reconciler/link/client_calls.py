"""Calls of API clients from their admission to their end. Runs in the event loop's thread.

Theory of operation
-------------------
    the certificate is not listed           UNAUTHENTICATED
    it is a host's or the link's            PERMISSION_DENIED
    the client lacks the right              PERMISSION_DENIED
    too many calls, or too many open        RESOURCE_EXHAUSTED
    else                                    the body of the call runs as a task, beside a future that has the reason to end it

While a call is open, `check` looks again at all of this whenever the settings change, and every half second: who is removed from
gitvirt.yaml, or loses the right, loses the open call too. The body knows nothing of that.

Must never happen: a body runs for a client whose right was not checked; an error of one call reaches another.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn, TypeVar

import grpc

from reconciler.link.agent_calls import Context, LinkService
from reconciler.link.agent_stream import StreamEnd
from reconciler.link.callers import Caller, LinkRefusal, LinkRefusalReason, check_client, check_right
from schemas.settings.link import ANSWER_METADATA, ClientEntry, Right

log = logging.getLogger(__name__)
T = TypeVar("T")

OPEN_CALLS = 32  # of one client, by all of its connections
END_SECONDS = 3.0  # of a body that was cancelled
CALLS_PER_SECOND, CALLS_AT_ONCE = 20.0, 100.0


class CallRefusedError(Exception):
    """Raised by the body of a call: its status, and a cause with its cure for the client. `refusal` is set where a right is missing."""

    def __init__(self, status: grpc.StatusCode, words: str, refusal: LinkRefusal | None = None) -> None:
        super().__init__(words)
        self.status, self.words, self.refusal = status, words, refusal


@dataclass(eq=False)
class ClientCall:
    """One open call. `right` is None for what each listed certificate may call; `namespaces` are those that a body asked for so far."""

    caller: Caller
    right: Right | None
    entry: ClientEntry
    end: asyncio.Future[StreamEnd]
    namespaces: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.caller.name

    def may_see(self, namespace: str) -> bool:
        """By the entry as it was when the call began; `check` ends calls whose entry is another since."""
        return self.right is not None and self.entry.may(self.right, namespace)

    def permit(self, namespaces: Collection[str], right: Right | None = None) -> None:
        """Raises CallRefusedError for a namespace that the client may not call for, with this right in place of that of the call. From any
        thread. All that was permitted is looked at again while the call is open."""
        needed = right or self.right
        assert needed is not None, "a call about namespaces has a right"
        self.namespaces = self.namespaces | set(namespaces)
        if refusal := check_right(self.caller, self.entry, needed, sorted(namespaces)):
            raise CallRefusedError(refusal.status, str(refusal), refusal)

    def close(self, end: StreamEnd) -> None:
        if not self.end.done():
            self.end.set_result(end)


@dataclass
class CallAllowance:
    """How many calls may still begin at a moment: at most `at_once`, and `per_second` more with time."""

    left: float
    counted: datetime
    per_second: float = CALLS_PER_SECOND
    at_once: float = CALLS_AT_ONCE

    def take(self, now: datetime) -> bool:
        gained = (now - self.counted).total_seconds() * self.per_second
        self.left, self.counted = min(self.at_once, self.left + gained), now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class ClientCalls:
    """All open calls. `service` has the certificates that count, and logs refusals."""

    def __init__(self, service: LinkService) -> None:
        self._service = service
        self._calls: set[ClientCall] = set()
        self._open: Counter[str] = Counter()
        self._allowances: dict[str, CallAllowance] = {}

    def count(self) -> int:
        return len(self._calls)

    async def run(
        self, context: Context, right: Right | None, body: Callable[[ClientCall], Awaitable[T]]
    ) -> T:
        """What the body returns. Without a right, any listed certificate may call."""
        call = await self._admit(context, right)
        self._calls.add(call)
        self._open[call.caller.identity] += 1
        task = asyncio.ensure_future(body(call))
        ends: list[asyncio.Future[Any]] = [task, call.end]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()  # first: the client may not even read the status
                await asyncio.wait([task], timeout=END_SECONDS)  # it may still write to the call
                await _abort(context, call.end.result().status, call.end.result().words)
            return task.result()
        except CallRefusedError as refused:
            if refused.refusal is not None:
                self._service.note_refusal(refused.refusal, f"client {call.name}")
            await _abort(context, refused.status, refused.words)
        except grpc.aio.AbortError:
            raise
        except Exception:
            log.exception("a call of client %s failed", call.name)
            await _abort(
                context, grpc.StatusCode.INTERNAL, "the call failed; the log of the reconciler says why"
            )
        finally:
            task.cancel()
            self._forget(call)

    def check(self) -> None:
        """Closes calls of certificates that are not listed any more or have expired, and those whose entry does not permit them now."""
        callers, now = self._service.callers, self._service.clock()
        for call in self._calls:
            found = callers.find(call.caller.identity, now)
            if isinstance(found, Caller):
                found = self._recheck(call, found) or found
            if isinstance(found, LinkRefusal):
                self._service.note_refusal(found, f"client {call.name}")
                call.close(StreamEnd(found.status, str(found), found.reason.value))

    def close_all(self, end: StreamEnd) -> None:
        for call in self._calls:
            call.close(end)

    def _recheck(self, call: ClientCall, found: Caller) -> LinkRefusal | None:
        if call.right is None:
            return None
        entry = self._service.callers.clients.get(found.name)
        if (found.kind, found.name) != (call.caller.kind, call.caller.name) or entry is None:
            return check_client(found) or _moved(call)
        if entry != call.entry:
            narrower = check_right(call.caller, entry, call.right, sorted(call.namespaces))
            return narrower or (_changed(call) if entry.namespaces != call.entry.namespaces else None)
        return None

    async def _admit(self, context: Context, right: Right | None) -> ClientCall:
        caller = await self._service.identify(context)
        entry = self._service.callers.clients.get(caller.name) if caller.kind == "clients" else None
        refusal = None
        if right is not None:
            refusal = check_client(caller) or (
                check_right(caller, entry, right) if entry else _unlisted(caller)
            )
        refusal = refusal or self._check_limits(caller)
        if refusal is not None:
            await self._service.refuse(context, refusal)
        nothing = ClientEntry((), (), ())
        return ClientCall(caller, right, entry or nothing, asyncio.get_running_loop().create_future())

    def _check_limits(self, caller: Caller) -> LinkRefusal | None:
        now, name = self._service.steady(), f"{caller.kind}.{caller.name}"
        if name not in self._allowances:
            # Those who did not call for a while have all of it again.
            limit = CALLS_AT_ONCE / CALLS_PER_SECOND
            kept = self._allowances.items()
            self._allowances = {
                each: left for each, left in kept if (now - left.counted).total_seconds() < limit
            }
        allowance = self._allowances.setdefault(name, CallAllowance(CALLS_AT_ONCE, now))
        if self._open[caller.identity] >= OPEN_CALLS:
            cause = f"{name} has {OPEN_CALLS} calls open already"
            return _too_many(caller, cause, "end one first, or watch with one call what several watch")
        if not allowance.take(now):
            cause = f"{name} calls more than {CALLS_PER_SECOND:g} times a second"
            return _too_many(caller, cause, "call again later; a watch says what a loop of calls asks for")
        return None

    def _forget(self, call: ClientCall) -> None:
        self._calls.discard(call)
        self._open[call.caller.identity] -= 1
        if not self._open[call.caller.identity]:
            del self._open[call.caller.identity]


async def _abort(context: Context, status: grpc.StatusCode, words: str) -> NoReturn:
    await context.abort(status, words, ((ANSWER_METADATA, "1"),))
    raise AssertionError("abort raises")


def _too_many(caller: Caller, cause: str, cure: str) -> LinkRefusal:
    status = grpc.StatusCode.RESOURCE_EXHAUSTED
    return LinkRefusal(LinkRefusalReason.TOO_MANY, status, cause, cure, caller.identity)


def _unlisted(caller: Caller) -> LinkRefusal:
    cause, cure = f"client {caller.name} is not listed", f"list it in gitvirt.yaml: clients.{caller.name}"
    return LinkRefusal(
        LinkRefusalReason.UNKNOWN, grpc.StatusCode.UNAUTHENTICATED, cause, cure, caller.identity
    )


def _moved(call: ClientCall) -> LinkRefusal:
    cause = f"certificate SHA-256 {call.caller.identity} does not belong to client {call.name} any more"
    status = grpc.StatusCode.UNAUTHENTICATED
    return LinkRefusal(LinkRefusalReason.UNKNOWN, status, cause, "call again", call.caller.identity)


def _changed(call: ClientCall) -> LinkRefusal:
    """What an open call may see was settled when it began."""
    cause = f"the namespaces of client {call.name} are others now"
    status = grpc.StatusCode.ABORTED
    return LinkRefusal(LinkRefusalReason.NO_NAMESPACE, status, cause, "call again", call.caller.identity)
