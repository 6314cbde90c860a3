"""That no person and no other host has the keys of a host which joins. Pure.

Of its certificate a host proves that it has the private key; of its ssh key and its keys for Secrets it cannot: one may be on a token of
hardware, and a key of age signs nothing. So whoever has a token could list a public key of another one under the name of the new host. Then
`gitvirt secret check` names the host as the reader where it is that person, and the scheduler takes the host for able to open Secrets. What
keeps that out is that a key has one owner: one that gitvirt.yaml lists anywhere is refused.

    compared    the value of a key, without type, comment and options. Each word of a listed line counts, so that a line which cannot be
                read as a key hides none
    with        signatures.signers, secrets.admins, signers and age of each poollet

Must never happen: a key of a person or of another host gets into the entry of a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.cli.controller.join_request import JoiningHost
from reconciler.link.join_desk import JoinRefusal, JoinRefusedError
from schemas.encryption.recipients import shorten
from schemas.settings.fleet import FleetSettings

CURE = "join with a key that is this host's alone: name it as signingKey or under decryptionKeys of poollet.yaml, or remove it from there first"


def refuse_listed_keys(host: JoiningHost, settings: Iterable[FleetSettings]) -> None:
    """Raises JoinRefusedError. A key that the host lists twice itself, as signer and for Secrets, is fine."""
    own = {read_value(each): each for each in (host.signer, *host.recipients) if each}
    for one in settings:
        for where, line in list_keys(one):
            for key in own.keys() & set(line.split()):
                kind, _, rest = own[key].partition(" ")
                shown = shorten(f"{kind} {key}" if rest else key)
                cause = f"gitvirt.yaml lists the key {shown} under {where} already"
                raise JoinRefusedError(JoinRefusal.KEY_TAKEN, cause, CURE)


def read_value(line: str) -> str:
    """Of a key as a request is reduced to: `TYPE VALUE ...`, or a key of age."""
    words = line.split()
    return words[min(1, len(words) - 1)]


def list_keys(settings: FleetSettings) -> Iterator[tuple[str, str]]:
    """Each line that lists a key, with its field."""
    for line in settings.signatures.signers:
        yield "signatures.signers", line
    for line in settings.secrets.admins:
        yield "secrets.admins", line
    for name, entry in sorted(settings.poollets.items()):
        if entry is not None:
            for field, lines in (("signers", entry.signers), ("age", entry.age)):
                for line in lines:
                    yield f"poollets.{name}.{field}", line
