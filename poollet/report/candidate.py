"""candidate.json: what a host says that waits beside another host's report. Pure.

Theory of operation. Only the host with the lease writes the report. One that waits acts on no assignment, and yet it has objects: those that
it had before it lost the grant, before `live` was rewound to a time before the grant, or before its hostID changed. It names them, so that the
reconciler places no object of such a name elsewhere, where it would run twice (reconciler/decide/outcome.py).

    a runtime        its objects
    lists            are named; one that was named and is not listed, until a second list lacks it too
    fails            are named by its last list
    never listed     those that this host's candidate.json on the ref has already stay named

Must never happen: an object that is on the host is not named because a runtime does not answer, or because of one list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from iri.runtime import RuntimeKind, RuntimeObject
from poollet.decide.actions import NAMES, Ref
from poollet.decide.assignments import UID
from poollet.decide.inventory import handles, is_ours
from poollet.decide.model_to_iri import read_name
from poollet.runtimes.runtime_client import RuntimeClient
from poollet.runtimes.runtime_lists import ListFailed, ListKey
from schemas.report import CandidateReport, HeldObject

Identity = tuple[str, str, str, str | None]  # kind, namespace, name, uid


def identify(one: HeldObject) -> Identity:
    return one.kind, one.namespace, one.name, one.uid


class HeldObjects:
    """Of one run. Remembers which lists were the first that lacked an object."""

    def __init__(self) -> None:
        self._missing: dict[Identity, Mapping[ListKey, int]] = {}

    def list(
        self, fleet: str, runtimes: Iterable[RuntimeClient], before: CandidateReport | None
    ) -> tuple[HeldObject, ...]:
        """The objects of this fleet on all runtimes, in a stable order. `before` is what was said last."""
        found: dict[Identity, HeldObject] = {}
        numbers: dict[str, dict[ListKey, int]] = {}
        is_complete = True
        for runtime in runtimes:
            lists = runtime.lists
            for key in (ListKey(runtime.name, kind) for kind in runtime.kinds):
                answer = lists.get(key)
                listing = answer.last if isinstance(answer, ListFailed) else answer
                is_complete = is_complete and listing is not None
                if listing is not None:
                    numbers.setdefault(NAMES[key.kind], {})[key] = listing.number
                for one in listing.objects.values() if listing is not None else ():
                    if is_ours(one, key.kind, fleet):
                        held = describe_held(key.kind, one)
                        found[identify(held)] = held
        self._missing = {id: lists for id, lists in self._missing.items() if id not in found}
        for earlier in before.objects if before is not None else ():
            id = identify(earlier)
            if id not in found and not (is_complete and self._is_gone(id, numbers.get(earlier.kind, {}))):
                found[id] = earlier
        return tuple(found[id] for id in sorted(found, key=lambda id: (*id[:3], id[3] or "")))

    def _is_gone(self, id: Identity, lists: Mapping[ListKey, int]) -> bool:
        """Whether a second list of each runtime lacks it too."""
        first = self._missing.setdefault(id, lists)
        return all(number > first.get(key, number) for key, number in lists.items())


def describe_held(kind: RuntimeKind, one: RuntimeObject) -> HeldObject:
    uid = one.labels.get(UID_LABELS[kind], "")
    namespace, name = read_name(Ref(kind, uid), one.labels)
    checked = uid if UID.fullmatch(uid) else None
    disks = handles(one) if isinstance(one, RuntimeMachine) else ()
    held = tuple(sorted(each[:512] for each in disks)[:1024])
    return HeldObject(NAMES[kind], name[:253], namespace[:63], checked, held)
