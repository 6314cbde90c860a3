"""`gitvirt token`: lets one new host join the fleet unattended, within the hour, with one line of text.

The token is signed with an ssh key of the operator and is judged here as the server will judge it, so that one which would be refused is an
error of this command, with its cure. It goes to standard output, alone; what people want to know goes to standard error.

Must never happen: a token that permits more than the command says; a private key in the output.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reconciler.cli.access.proposal import read_in_force, read_source
from reconciler.cli.access.settings_text import change_settings, read_settings
from reconciler.cli.duration import parse_duration
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import add_repo, named_fleet
from reconciler.cli.terminal import err, out, printable
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.signatures.join_token import (
    JOIN_NAMESPACE,
    LONGEST,
    JoinClaim,
    JoinFacts,
    JoinFault,
    JoinRefused,
    create_token,
    judge_token,
    make_claim,
)
from reconciler.gitstore.signatures.signers import parse_signers
from reconciler.gitstore.signatures.signing import SshSigner
from reconciler.gitstore.signatures.verifier import Verifier
from schemas.edit import Value
from schemas.settings.certificate import Certificate, read_certificate
from schemas.settings.certificate_dates import day
from schemas.settings.duration import format_duration
from schemas.settings.fleet import FleetSettings

EXAMPLES = """examples:
  gitvirt token create rack-a7                                       for a host with the pools rack-a7; a person merges its entry
  gitvirt token create rack-a7 --pools gpu-7 --volume-pools ssd-7    with other pools
  gitvirt token create rack-a7 --ttl 1h --merge > rack-a7.token      no person has to merge it

Whoever has the token first can join in the place of the host: hand it over as you would a password. See docs/link.md."""

KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")  # of ~/.ssh, as ssh looks for them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_repo(parser)
    parser.add_argument("action", choices=("create",), help="create: print a token for one new host")
    parser.add_argument("name", metavar="NAME", help="the host's name, as in its poollet.yaml")
    parser.add_argument(
        "--pools",
        type=parse_pools,
        metavar="POOL,...",
        help="machine pools that it may serve (default: NAME); a trailing * matches any rest",
    )
    parser.add_argument(
        "--volume-pools",
        type=parse_pools,
        metavar="POOL,...",
        help="volume pools that it may serve (default: those of --pools)",
    )
    parser.add_argument(
        "--ttl",
        type=parse_ttl,
        default=parse_ttl("15m"),
        metavar="TIME",
        help="how long it is valid: 15m by default, 1h at most",
    )
    parser.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="ssh key to sign with, one of signatures.signers (default: the first of ~/.ssh/id_ed25519, id_ecdsa, id_rsa); "
        "the public half where an agent has the key",
    )
    parser.add_argument(
        "--certificate",
        metavar="SHA256",
        help="the certificate of the link that the host trusts, where gitvirt.yaml lists two: the first digits of its SHA-256",
    )
    parser.add_argument(
        "--merge", action="store_true", help="let the server commit the entry to the source branch itself"
    )


def parse_pools(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part for part in (each.strip() for each in text.split(",")) if part))
    if not found:
        raise argparse.ArgumentTypeError("name a pool, or several with commas in between")
    return found


def parse_ttl(text: str) -> timedelta:
    found = timedelta(seconds=parse_duration(text))
    if not timedelta(seconds=1) <= found <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 1s and 1h")
    return found


def run(arguments: argparse.Namespace) -> int:
    settings, now = read_in_force(arguments), datetime.now(UTC)
    link = choose_link(settings, arguments.certificate or "")
    pools = arguments.pools or (arguments.name,)
    volume_pools = arguments.volume_pools or pools
    refuse_unusable(arguments, arguments.name, pools, volume_pools)
    claim = make_claim(
        settings.fleet.id,
        link,
        arguments.name,
        pools,
        now + arguments.ttl,
        volume_pools=volume_pools,
        merge=arguments.merge,
    )
    key = arguments.key or find_key(Path.home())
    try:
        token = create_token(claim, SshSigner(key, os.environ, JOIN_NAMESPACE))
        verifier = Verifier(parse_signers(settings.signatures.signers), os.environ)
    except RepoError as error:
        raise CommandError(printable(error.cause), printable(error.cure)) from None
    facts = JoinFacts(settings.fleet.id, (link,), settings.poollets.keys(), (), now)
    judged = judge_token(token, arguments.name, facts, verifier)
    if isinstance(judged, JoinRefused):
        raise refuse_own(judged, key)
    out().line(token)
    show_use(claim, settings.link.addresses)
    return Exit.OK


def find_key(home: Path) -> Path:
    for name in KEYS:
        if (home / ".ssh" / name).exists():
            return home / ".ssh" / name
    raise CommandError("there is no ssh key to sign with", "name one with --key FILE", Exit.USAGE)


def choose_link(settings: FleetSettings, start: str) -> str:
    """The identity of the certificate that the host is to trust."""
    read = (read_certificate(pem) for pem in settings.link.certificates)
    listed = [each for each in read if isinstance(each, Certificate)]
    if not listed:
        cause = "gitvirt.yaml lists no certificate of the link, so a host could not recognize the server"
        raise CommandError(cause, "`gitvirt link init` makes one and lists it", Exit.PROBLEMS)
    chosen = [each for each in listed if each.identity.startswith(start.lower())]
    if len(chosen) == 1:
        return chosen[0].identity
    known = ", ".join(f"{each.short} (until {day(each.ends)})" for each in listed)
    cause = (
        f"no certificate of the link begins with {start}" if not chosen else "the link has two certificates"
    )
    cure = f"choose the one that the servers use now with --certificate: {known}"
    raise CommandError(printable(cause), cure, Exit.USAGE)


def refuse_unusable(
    arguments: argparse.Namespace, name: str, pools: Sequence[str], volume_pools: Sequence[str]
) -> None:
    """Raises CommandError where gitvirt.yaml could not have that entry: a name that has one, a name or a pool that is malformed."""
    entry: dict[str, Value] = {"pools": list(pools), "volumePools": list(volume_pools)}
    with named_fleet(arguments.repo) as fleet:
        text = read_source(fleet)
    if name in read_settings(text).poollets:
        cause = f"gitvirt.yaml has an entry poollets.{printable(name)} already"
        raise CommandError(cause, "choose another name, or remove the entry first", Exit.PROBLEMS)
    change_settings(text, {("poollets", name): entry})


def refuse_own(refused: JoinRefused, key: Path) -> CommandError:
    if refused.fault is not JoinFault.UNSIGNED:
        return CommandError(printable(refused.message), printable(refused.cure), Exit.PROBLEMS)
    cure = (
        f"list the public half of {key} under signatures.signers of gitvirt.yaml, or sign with another --key"
    )
    return CommandError(printable(refused.message), printable(cure), Exit.PROBLEMS)


def show_use(claim: JoinClaim, addresses: Sequence[str]) -> None:
    """For people, beside the token."""
    host = addresses[0].rpartition(":")[0] if addresses else "HOST"
    pools = ", ".join(claim.pools)
    lines = (
        f"valid until {claim.expiry:%Y-%m-%dT%H:%M:%SZ} ({format_duration((claim.expiry - datetime.now(UTC)).total_seconds())}), for one host"
        f" with the name {claim.name}, machine pools {pools}, volume pools {', '.join(claim.volume_pools)}",
        "its entry is merged by the server where it may: no person reviews it"
        if claim.merge
        else "its entry is proposed on a branch, which a person merges",
        f"on the host: gitvirt poollet join --token-file FILE --link {host}:PORT    (the port of `gitvirt run --join`)",
    )
    for line in lines:
        err().line(printable(line))
