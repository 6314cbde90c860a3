"""Whether a host that reports an unplaced object may get it, and whether the object may be placed elsewhere meanwhile. Pure.

Theory of operation
-------------------
A host acts only on assignments of `live`. So while `live` is whole, no honest host has an object that `live` assigns to none: who claims
one has a stolen key, or runs what another `live` ordered. A claim then moves nothing, and the object waits until people decide:

    `live`           the claim                                                  the object
    lost, rewound    on a pool that fits the object                             is adopted (outcome.adopt_reported)
    lost, rewound    against its pin, its selector or its class                 blocked: PoolDoesNotFit
    lost, rewound    on a pool that no host has now                             blocked: PoolDoesNotFit
    whole            it was claimed when `live` was lost, and blocked for one   is adopted, or blocked as in the rows above
                     of these reasons or because two hosts claimed it. An orphan
                     is such a claim too: no host has an order for it any more
    lost, rewound,   of an object that is to go: deleted, or absent from the    is adopted wherever it is, so that it goes from
    and afterwards   source                                                     there; blocked while several have it
    whole            any other                                                  blocked: ReportedWithoutAssignment
    any              in a report that is refused, or on a pool of another       blocked: ReportedByRefusedPoollet. Its deletion
                     poollet                                                    waits too, and goes on where it is once the report
                                                                                counts
    any              an object of that name on a host that waits as a           blocked: OnAnotherHost
                     candidate, or until `live` is written again
    any              it was blocked by a row of these, and a report cannot be   blocked still, for the same reason
                     read
    any              in a report of another fleet, or of a host whose pool      placed: that host does not count
                     people declared destroyed

So a stolen key gets no object. It can hold those that are unplaced and that its report names, until people remove that report. Objects
with an assignment are never concerned. A snapshot that was lost with its host is its own case (`may_return`).

Must never happen: a claim moves an object against what people declare; an object that a refused report names is placed a second time; the
document of an object is removed while a host has it that reported it when `live` was lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reconciler.decide.obstacles import Obstacle
from reconciler.decide.waiting_hosts import is_destroyed, may_hold, removal
from reconciler.gitstore.approval import commit_command
from reconciler.world.objects.object_state import ObjectState
from reconciler.world.objects.relations import POOL_OF, declared_pin
from reconciler.world.record import (
    ACCEPTED,
    DOES_NOT_FIT,
    LOST,
    MULTIPLE,
    NOT_ASSIGNED,
    ON_ANOTHER,
    REFUSED,
    is_on_a_host,
)
from reconciler.world.reports.object_report import ObjectReport
from reconciler.world.view import View
from schemas.kinds import Key, Kind
from schemas.model import Machine, Volume
from schemas.report import CandidateReport

WHEN_LOST = (MULTIPLE, DOES_NOT_FIT)  # on live they show that the object was claimed while live was lost


def was_claimed(known: ObjectState) -> bool:
    """Whether `live` says that it waits because of what hosts reported when `live` was lost."""
    accepted = known.record.condition(ACCEPTED)
    return accepted is not None and accepted.reason in WHEN_LOST


def was_refused(known: ObjectState) -> bool:
    """Whether `live` says that a refused report names it. Nothing is adopted because of that, unless it is to go."""
    accepted = known.record.condition(ACCEPTED)
    return accepted is not None and accepted.reason == REFUSED


def unread_claims(view: View, known: ObjectState) -> Iterator[Obstacle]:
    """Reports that cannot be read, of an object that waits on `live` because a host has it: no report says that it is there no more. The
    reason stays, because it says whether the object may be adopted."""
    accepted = known.record.condition(ACCEPTED)
    if accepted is None or not is_on_a_host(known.record):
        return
    for name in sorted(view.reports.unread):
        if view.may_have_host(name):
            message = f"a report said that a host has it, and that of poollet {name} cannot be read, so that host may have it still"
            cure = f"If nothing runs there, remove the report: {removal(view, name)}"
            yield Obstacle(accepted.reason, f"{message}; it is not placed a second time. {cure}")


def why_not_adopted(view: View, known: ObjectState, claims: Sequence[ObjectReport]) -> Obstacle | None:
    """Why none of these claims may be adopted, by the table above; None if they may, or if there are none."""
    for claim in claims:
        if not view.is_live_lost and not was_claimed(known):
            return Obstacle(NOT_ASSIGNED, describe_claim(view, known, claim))
        if found := why_not_granted(view, known, claim):
            return found
        if why := why_pool_differs(view, known, claim.pool):
            message = f"poollet {claim.poollet} reports it on pool {claim.pool}, and {why}"
            return Obstacle(DOES_NOT_FIT, f"{message}; change that, or remove the object from the host")
    return None


def why_not_granted(view: View, known: ObjectState, claim: ObjectReport) -> Obstacle | None:
    """A host speaks for a pool without its grant while `live` is lost: the pool is removed by this `live`, and announced by that host."""
    if view.grant(Key(POOL_OF[known.key.kind], "", claim.pool)).host:
        return None
    message = f"poollet {claim.poollet} reports it on pool {claim.pool}, which no host has now"
    return Obstacle(DOES_NOT_FIT, f"{message}; it stays there once that host has the pool again")


def list_rivals(view: View, known: ObjectState) -> Iterator[Obstacle]:
    """Reports beside an assignment of `live` that ends in this tick. In the next one they are claims, so it is not placed in between."""
    for each in view.accepted_reports(known.key).rivals:
        yield Obstacle(NOT_ASSIGNED, describe_claim(view, known, each))


def describe_claim(view: View, known: ObjectState, claim: ObjectReport) -> str:
    previous = getattr(known.record.status, "previous_assignment", None)
    fact = "live never assigned it there"
    if previous is not None and previous.pool == claim.pool:
        fact = "its assignment there ended"
    return (
        f"poollet {claim.poollet} reports it on pool {claim.pool}, and {fact}; if that host cannot be trusted, "
        f"remove its key and its report: {removal(view, claim.poollet)}"
    )


def why_pool_differs(view: View, known: ObjectState, pool: str) -> str:
    """What people declare of the object that the pool does not have; empty if it fits."""
    found, state = known.object, view.find_pool(Key(POOL_OF[known.key.kind], "", pool))
    pin = declared_pin(known)
    if pin not in ("", pool):
        return f"it is pinned to {pin}"
    if state is None:
        return "that pool is unknown"
    selector, size = {}, ""
    if isinstance(found, Machine):
        selector, size = dict(found.spec.machine_pool_selector), found.spec.machine_class_ref.name
    elif isinstance(found, Volume):
        selector = dict(found.spec.volume_pool_selector)
        size = found.spec.volume_class_ref.name if found.spec.volume_class_ref is not None else ""
    if any(state.labels.get(label) != value for label, value in selector.items()):
        return "its selector does not match that pool"
    # A poollet that was restarted, and applies no live yet, offers no class at all: that says nothing about the object.
    is_missing = bool(size and state.classes) and size not in state.classes
    return f"that pool does not offer class {size}" if is_missing else ""


def refused_claims(view: View, known: ObjectState) -> Iterator[Obstacle]:
    """Reports that do not count and say that the object is on their host."""
    for claim in (*view.reports.says(known.key), *list_orphans_named(view, known.key)):
        report, pool = view.reports.by_poollet[claim.poollet], Key(POOL_OF[known.key.kind], "", claim.pool)
        why = view.authority.is_ours(report)
        if why and report.poollet is not None and report.poollet.fleet != view.rules.settings.fleet.id:
            continue
        if not why and claim.pool and not view.authority.owns(claim.poollet, pool):
            why = f"pool {claim.pool} does not belong to that poollet"
        if why and claim.is_there and not is_destroyed(view, pool, claim.host):
            message = f"the report of poollet {claim.poollet} says that it is there, and is refused: {why}"
            cure = (
                f"correct that, or if nothing runs there, remove the report: {removal(view, claim.poollet)}"
            )
            yield Obstacle(REFUSED, f"{message}; {cure}")


def list_orphans_named(view: View, key: Key) -> Iterator[ObjectReport]:
    """Orphans of that kind and name in all reports, as claims; not the data of retained volumes, which have a document of their own."""
    for name in view.reports.orphan_index.speakers(key):
        report = view.reports.by_poollet[name]
        for each in report.orphans:
            is_named = (each.kind, each.namespace, each.name) == key
            if is_named and each.uid not in view.retained_volumes:
                yield ObjectReport(name, report.host, each.pool, each.uid or "", "", "present")


def candidate_claims(view: View, key: Key) -> Iterator[Obstacle]:
    """Hosts without the grant that have an object of that kind and name, which `live` assigns to no pool. They may run it: they had it
    before they lost the grant, or before `live` was rewound."""
    for name in view.reports.candidate_index.speakers(key):
        report = view.reports.by_poollet[name]
        waiting = report.candidate
        if waiting is None or not may_hold(view, waiting, report):
            continue
        for each in waiting.objects:
            if (each.kind, each.namespace, each.name) == key and each.uid not in view.retained_volumes:
                where = f"host {waiting.host_id} waits for the pools of poollet {name}, and has {key} (uid {each.uid or 'unknown'})"
                yield Obstacle(
                    ON_ANOTHER,
                    f"{where}; it is not placed a second time. {cure_of_candidate(view, name, waiting)}",
                )


def cure_of_candidate(view: View, name: str, waiting: CandidateReport) -> str:
    """What ends the wait: that host gets its pools, or its candidate.json goes, which no other host removes."""
    kinds = (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
    pools = [
        pool
        for pool in waiting.pools
        if any(view.authority.owns(name, Key(kind, "", pool)) for kind in kinds)
    ]
    moves = commit_command(
        f"{name}: its host is now {waiting.host_id}",
        *(f"Pool-Host: {pool}={waiting.host_id}" for pool in pools),
    )
    continues = f"If that host continues pool {', '.join(pools)}, run `{moves}` and `git push`. "
    return (
        f"{continues if pools else ''}If nothing runs there, or it is gone for good and powered off, remove the report, which the "
        f"host with the grant writes again: {removal(view, name)}"
    )


def may_return(view: View, known: ObjectState, claim: ObjectReport) -> bool:
    """Whether a snapshot that was lost is the one that its host reports: the host was declared destroyed, and is back. While `live` is
    lost, any snapshot."""
    ready = known.record.condition("Ready")
    is_lost = ready is not None and ready.reason == LOST
    pool = Key(POOL_OF[known.key.kind], "", claim.pool)
    return view.is_live_lost or (is_lost and is_destroyed(view, pool, claim.host))
