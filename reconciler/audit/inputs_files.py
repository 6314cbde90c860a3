"""TickInputs as files, and back. The files are for programs and for people with `git show`; what did not change is the same blob as before.

    file                        content, as JSON with sorted keys
    tick.json                   format, version and digest of the rules, time, heads of source and live
    evaluated.json              the keys that were evaluated, or "all"; the files that were looked at
    offers.json                 what hosts answered to offers, by round: the key, the pool, and why it was refused; null where it was accepted
    waits.json                  whom the process waited for, and what it knew by its start, its keys and its mirror
    hosts/H/NAME.json           of one report ref: commit, writer, fault, heartbeats. H is a digit, so that one host's change makes small trees

Limits: whoever may write `live` may write inputs. So what is read is untrusted: whatever is wrong with it is an InputsError, and nothing else.

Must never happen: a name of a ref, which a host chooses, makes a path that Git refuses or that is another host's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

from reconciler.audit.rules_version import RulesVersion
from reconciler.audit.tick_inputs import TickInputs
from reconciler.decide.placement.offers import Answers, OfferAnswer, Question
from reconciler.gitstore.objects.tree import ObjectId, is_id
from reconciler.gitstore.signatures.verifier import BadSignature, SignatureFault
from reconciler.world.reports.heartbeat import Heartbeat
from reconciler.world.verdicts import HostVerdict, Verdicts
from schemas.kinds import Key, Kind
from schemas.report.objects import ReportedReason

FORMAT = 1
TICK, EVALUATED, WAITS, OFFERS, HOSTS = "tick.json", "evaluated.json", "waits.json", "offers.json", "hosts/"
Value: TypeAlias = Any


class InputsError(Exception):
    """These are not the inputs of a tick."""


class UnknownFormatError(InputsError):
    """A later version wrote them."""


def encode_inputs(inputs: TickInputs) -> dict[str, bytes]:
    """All files but those of hosts, which the line of inputs chooses (`encode_host`)."""
    return {
        TICK: _dump(
            {
                "format": FORMAT,
                "version": inputs.rules.version,
                "digest": inputs.rules.digest,
                "now": inputs.now.isoformat(),
                "source": inputs.source,
                "live": inputs.live,
                "unanswered": inputs.is_unanswered,
            }
        ),
        EVALUATED: _dump(
            {
                "keys": "all" if inputs.keys is None else sorted(map(_key_text, inputs.keys)),
                "paths": sorted(inputs.paths),
            }
        ),
        WAITS: _dump(_waits(inputs)),
        OFFERS: _dump([_round(each) for each in inputs.offers]),
    }


def _round(answers: Answers) -> Value:
    return [
        [_key_text(question.key), question.pool, None if answer.is_accepted else _reasons(answer.reasons)]
        for question, answer in sorted(answers.items())
    ]


def _reasons(reasons: Iterable[ReportedReason]) -> Value:
    return [[each.code, each.message, each.resource, each.need, each.have] for each in reasons]


def _waits(inputs: TickInputs) -> Value:
    given = inputs.verdicts
    return {
        "absent": {host: beat.value for host, beat in given.absent.items()},
        "late": given.is_late,
        "awaited": sorted(map(list, given.awaited)),
        "starting": given.is_starting,
        "gathers": list(given.gathers),
        "liveSeen": given.live_seen,
        "ours": sorted(given.ours),
        "descents": sorted(map(list, given.descents)),
        "signatures": {
            commit: None if bad is None else {"fault": bad.fault.value, "words": bad.words}
            for commit, bad in given.signatures.items()
        },
        "signers": inputs.signers,
    }


def host_path(name: str) -> str:
    """One folder less than a name has: its slashes are quoted."""
    return f"{HOSTS}{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[0]}/{quote(name, safe='', errors='surrogateescape')}.json"


def encode_host(verdict: HostVerdict) -> bytes:
    """What is as usual is left out."""
    found: dict[str, Value] = {
        "commit": verdict.commit,
        "host": verdict.host,
        "heartbeats": {host: beat.value for host, beat in verdict.heartbeats.items()},
    }
    others = {
        "fault": verdict.fault,
        "noCommit": verdict.is_no_commit,
        "unsigned": verdict.unsigned,
        "refused": verdict.is_refused,
        "disconnected": sorted(verdict.disconnected),
        "older": sorted(verdict.older),
        "ownCommit": verdict.own_commit,
        "time": verdict.time.isoformat() if verdict.time is not None else "",
    }
    return _dump(found | {name: value for name, value in others.items() if value})


def decode_inputs(files: Mapping[str, bytes]) -> TickInputs:
    """Raises InputsError."""
    try:
        tick, evaluated, waits = (json.loads(files[name]) for name in (TICK, EVALUATED, WAITS))
        offers = json.loads(files.get(OFFERS, b"[]"))  # an earlier version made none
        if tick["format"] != FORMAT:
            raise UnknownFormatError(
                f"their format is {tick['format']!r:.20}, and this version reads {FORMAT}"
            )
        keys = evaluated["keys"]
        now = datetime.fromisoformat(tick["now"])
        if now.tzinfo is None:
            raise InputsError("their time has no zone")
        return TickInputs(
            now=now,
            source=_id(tick["source"]),
            live=_id(tick["live"]),
            verdicts=_decode_verdicts(waits, _decode_hosts(files)),
            keys=None if keys == "all" else frozenset(map(_key_of, keys)),
            paths=frozenset(map(_text, evaluated["paths"])),
            is_unanswered=bool(tick["unanswered"]),
            rules=RulesVersion(_text(tick["version"]), _text(tick["digest"])),
            signers=_text(waits["signers"]),
            offers=tuple(map(_decode_round, offers)),
        )
    except InputsError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputsError(f"they cannot be read: {type(error).__name__}: {error}") from None


def _decode_round(found: Value) -> Answers:
    return {
        Question(_key_of(key), _text(pool)): OfferAnswer(
            reasons is None, tuple(ReportedReason(*map(_text, each)) for each in reasons or ())
        )
        for key, pool, reasons in found
    }


def decode_host(data: bytes) -> HostVerdict:
    """Raises InputsError."""
    try:
        return _decode_host(json.loads(data))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputsError(f"the file of a host cannot be read: {type(error).__name__}: {error}") from None


def read_signers(data: bytes) -> str:
    """Of a waits.json. Raises InputsError."""
    try:
        return _text(json.loads(data)["signers"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputsError(f"{WAITS} cannot be read: {type(error).__name__}: {error}") from None


def name_of_host(path: str) -> str:
    """The report that a file below hosts/ is about; empty for any other file."""
    folder, _, file = path.removeprefix(HOSTS).partition("/")
    is_host = path.startswith(HOSTS) and folder and file.endswith(".json") and "/" not in file
    return unquote(file.removesuffix(".json"), errors="surrogateescape") if is_host else ""


def _decode_hosts(files: Mapping[str, bytes]) -> dict[str, HostVerdict]:
    return {
        name: _decode_host(json.loads(data)) for path, data in files.items() if (name := name_of_host(path))
    }


def _decode_host(found: Value) -> HostVerdict:
    time = found.get("time")
    return HostVerdict(
        commit=_id(found["commit"]),
        host=_text(found["host"]),
        fault=_text(found.get("fault", "")),
        is_no_commit=bool(found.get("noCommit")),
        unsigned=_text(found.get("unsigned", "")),
        is_refused=bool(found.get("refused")),
        heartbeats={_text(host): Heartbeat(beat) for host, beat in found["heartbeats"].items()},
        disconnected=frozenset(map(_text, found.get("disconnected", ()))),
        older=frozenset(map(_text, found.get("older", ()))),
        own_commit=_text(found.get("ownCommit", "")),
        time=datetime.fromisoformat(time) if time else None,
    )


def _three(found: Value) -> tuple[bool, bool, bool]:
    first, second, third = found
    return bool(first), bool(second), bool(third)


def _decode_verdicts(waits: Value, hosts: dict[str, HostVerdict]) -> Verdicts:
    return Verdicts(
        hosts=hosts,
        absent={_text(host): Heartbeat(beat) for host, beat in waits["absent"].items()},
        is_late=bool(waits["late"]),
        awaited=tuple((_text(name), _text(host)) for name, host in waits["awaited"]),
        is_starting=bool(waits["starting"]),
        gathers=_three(waits["gathers"]),
        live_seen=_id(waits["liveSeen"]),
        ours=frozenset(map(_text, waits["ours"])),
        descents=frozenset((_text(one), _text(other)) for one, other in waits["descents"]),
        signatures={
            _text(commit): None
            if bad is None
            else BadSignature(SignatureFault(bad["fault"]), _text(bad["words"]))
            for commit, bad in waits["signatures"].items()
        },
    )


def _dump(value: Value) -> bytes:
    """On one line: with line breaks, json would not use its encoder in C."""
    return (json.dumps(value, sort_keys=True) + "\n").encode()


def _key_text(key: Key) -> str:
    return "/".join((key.kind.value, key.namespace, key.name))


def _key_of(text: str) -> Key:
    kind, namespace, name = _text(text).split("/")
    return Key(Kind(kind), namespace, name)


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise InputsError(f"they have {value!r:.40} where a text must be")
    return value


def _id(value: Value) -> ObjectId | None:
    if value is not None and not is_id(_text(value)):
        raise InputsError(f"they have {value!r:.60} where a commit must be")
    return value  # type: ignore[no-any-return]
