"""What a change of gitvirt.yaml does to who may connect to the link, and to what API clients may do. Pure.

People read it in a pull request: an entry is a key to the fleet, and its removal ends open connections.

    certificate   before   after            finding
    new           -        listed           GV628, a notice: it lets its owner connect
    removed       listed   -                GV629: a notice where the owner has another one or is removed as a whole, else a warning,
                                            because the owner cannot connect any more
    moved         of one   of another       both

    rights of a client                      GV628 for what it may do from now on, GV629 for what it may not
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from schemas.problem import Severity, Violation, json_pointer
from schemas.settings.certificate import Certificate, read_certificate
from schemas.settings.certificate_dates import day
from schemas.settings.fleet import FleetSettings
from schemas.settings.link import CertificateEntry, ClientEntry

Listed = dict[str, tuple[CertificateEntry, Certificate]]
# The link checks the caller of each call, and closes open streams this soon after the commit.
CLOSES_WITHIN = "5s"


def compare_certificates(before: FleetSettings, after: FleetSettings) -> Iterator[Violation]:
    """In the order of the owners: first what is added, then what is revoked, then the rights of clients."""
    old, new = _list_identities(before), _list_identities(after)
    for identity, (entry, found) in new.items():
        if identity not in old or old[identity][0].owner != entry.owner:
            message = f"{entry.owner} may connect with certificate {found.short}, until {day(found.ends)}"
            yield Violation(entry.pointer, "GV628", message, severity=Severity.NOTICE)
    owners = {entry.owner for entry, _ in new.values()}
    for identity, (entry, found) in old.items():
        if identity not in new or new[identity][0].owner != entry.owner:
            yield _describe_revocation(entry, found.short, after, has_other=entry.owner in owners)
    for name in sorted(before.clients.keys() | after.clients.keys()):
        yield from _compare_client(name, before.clients.get(name), after.clients.get(name))


def _list_identities(settings: FleetSettings) -> Listed:
    read = ((entry, read_certificate(entry.pem)) for entry in settings.certificate_entries())
    return {found.identity: (entry, found) for entry, found in read if isinstance(found, Certificate)}


def _describe_revocation(
    entry: CertificateEntry, short: str, after: FleetSettings, *, has_other: bool
) -> Violation:
    message = f"REVOKES certificate {short} of {entry.owner}: its connections end within {CLOSES_WITHIN}"
    if has_other:
        message += ", and it connects again with its other certificate"
    remains = {"link": True, "poollets": entry.name in after.poollets, "clients": entry.name in after.clients}
    is_cut_off = remains[entry.kind] and not has_other
    if is_cut_off:
        message += "; it has no other one"
    severity = Severity.WARNING if is_cut_off else Severity.NOTICE
    return Violation(_where(entry, after), "GV629", message, severity=severity)


def _where(entry: CertificateEntry, after: FleetSettings) -> str:
    """The nearest place that is still there."""
    owner = entry.path[:-2]
    is_there = {
        "link": True,
        "poollets": entry.name in after.poollets,
        "clients": entry.name in after.clients,
    }
    return json_pointer(owner if is_there[entry.kind] else ())


def _compare_client(name: str, old: ClientEntry | None, new: ClientEntry | None) -> Iterator[Violation]:
    """Each right in each namespace counts: a client that gets `stop` in another namespace may do more, though no list grew twice."""
    had, has = _grants(old), _grants(new)
    where = json_pointer(("clients", name) if new else ())
    if gained := has - had:
        message = f"clients.{name} may from now on: {_words(gained)}"
        yield Violation(where, "GV628", message, severity=Severity.NOTICE)
    if lost := had - has:
        message = f"REVOKES rights of clients.{name}: {_words(lost)}"
        yield Violation(where, "GV629", message, severity=Severity.NOTICE)


def _grants(client: ClientEntry | None) -> set[tuple[str, str]]:
    """Pairs of right and namespace; without a namespace, the right to what has none."""
    if client is None:
        return set()
    return {(right, namespace) for right in client.rights for namespace in client.namespaces or ("",)}


def _words(grants: Iterable[tuple[str, str]]) -> str:
    """`stop, update in *; read in default`, rights with the same namespaces together."""
    spaces: dict[str, list[str]] = {}
    for right, namespace in sorted(grants):
        spaces.setdefault(right, []).append(namespace)
    rights: dict[tuple[str, ...], list[str]] = {}
    for right, names in spaces.items():
        rights.setdefault(tuple(names), []).append(right)
    return "; ".join(
        ", ".join(found) + (f" in {', '.join(names)}" if any(names) else " without a namespace")
        for names, found in rights.items()
    )
