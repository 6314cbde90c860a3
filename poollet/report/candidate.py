"""candidate.json: what a host says that waits beside another host's report. Pure.

Theory of operation. Only the host with the lease writes the report. One that waits acts on no assignment, and yet it has objects: those that
it had before it lost the grant, before `live` was rewound to a time before the grant, or before its hostID changed. It names them, so that the
reconciler places no object of such a name elsewhere, where it would run twice (reconciler/decide/outcome.py).

    a runtime        its objects
    lists            are named
    fails            are named by its last list
    never listed     those that this host's candidate.json on the ref has already stay named

Must never happen: an object that is on the host is not named because a runtime does not answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from poollet.decide.actions import NAMES, Ref
from poollet.decide.assignments import UID
from poollet.decide.inventory import handles, is_ours
from poollet.decide.model_to_iri import read_name
from poollet.runtimes.runtime_client import RuntimeClient
from poollet.runtimes.runtime_lists import ListFailed, ListKey
from schemas.report import CandidateReport, HeldObject


def list_held(
    fleet: str, runtimes: Iterable[RuntimeClient], before: CandidateReport | None
) -> tuple[HeldObject, ...]:
    """The objects of this fleet on all runtimes, in a stable order. `before` is what was said last."""
    found: set[HeldObject] = set()
    is_complete = True
    for runtime in runtimes:
        lists = runtime.lists
        for key in (ListKey(runtime.name, kind) for kind in runtime.kinds):
            answer = lists.get(key)
            listing = answer.last if isinstance(answer, ListFailed) else answer
            is_complete = is_complete and listing is not None
            for one in listing.objects.values() if listing is not None else ():
                if is_ours(one, key.kind, fleet):
                    uid = one.labels.get(UID_LABELS[key.kind], "")
                    namespace, name = read_name(Ref(key.kind, uid), one.labels)
                    checked = uid if UID.fullmatch(uid) else None
                    disks = handles(one) if isinstance(one, RuntimeMachine) else ()
                    held = tuple(sorted(each[:512] for each in disks)[:1024])
                    found.add(HeldObject(NAMES[key.kind], name[:253], namespace[:63], checked, held))
    found |= set() if is_complete or before is None else {*before.objects}
    return tuple(sorted(found, key=lambda one: (one.kind, one.namespace, one.name, one.uid or "")))
