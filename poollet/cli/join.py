"""`gitvirt poollet join`: the host's ssh key, its certificate for the link, and its entry in the fleet's gitvirt.yaml, printed, committed
to a branch, or proposed through the link with a token (token_join.py).

A host joins by a reviewed change: the entry permits its pools and its certificate, and people merge it. So the entry goes to a
new branch and never to the source or target branch. Without `--branch` this command calls no remote.

    entry        goes                              needs
    (default)    to the terminal                   a person who adds it
    --branch     to that branch                    a host that may push to branches, which it should not
    --token-file to a branch, by the server        a token of an operator; no right on the Git server

A second call changes nothing: existing keys and certificates are shown again, and an entry that is in the file already
stays as it is, but for a certificate that it does not list. A new entry also lists the keys that the poollet opens Secrets with (`age`): those
that poollet.yaml names, whatever --key says.

    key file named by        ssh key             certificate
    --key, repo.identity     made there          `link` of poollet.yaml, else link.key and link.crt in the folder of the ssh key
    neither                  none                `link` of poollet.yaml, else none

Must never happen: an existing key is overwritten; a private key is printed; the certificate of one host is listed for another.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from poollet.cli import settings
from poollet.cli.proposal import propose
from reconciler.cli.access import rotation
from reconciler.cli.access.key_pair import PairFiles, PairNames, ensure_pair, read_subject
from reconciler.cli.access.settings_text import change_settings, read_settings, show_entry
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import Terminal, out, printable
from schemas.edit import Value
from schemas.encryption.age_armor import IdentityError, public_half
from schemas.encryption.recipients import parse_recipient
from schemas.settings.certificate import Certificate, read_certificate
from schemas.settings.certificate_dates import day
from schemas.settings.duration import format_duration
from schemas.settings.host import PoolletSettings

# ssh-keygen asks for nothing, so a call that takes longer hangs.
KEY_SECONDS = 30
OTHER_KEY = "choose another file with --key FILE"


def run(arguments: argparse.Namespace) -> int:
    """Show the key if one is named, then print the entry, or commit it with --branch. With a token, the server proposes it."""
    if (arguments.token_file, arguments.link) != (None, None):
        from poollet.cli import token_join  # loads gRPC

        return token_join.run(arguments)
    one, terminal = only_host(arguments), out()
    key = find_key(arguments, one)
    if key is not None and (key.exists() or not arguments.dry_run):
        show_key(terminal, key, one)
    files = find_files(one, key)
    certificate = ""
    if files is not None and (files.certificate.exists() or not arguments.dry_run):
        certificate = show_certificate(terminal, files, one)
    elif files is not None:
        terminal.line(f"would create the certificate {files.certificate}, and list it in the entry")
    recipients = find_recipients(one)
    if key is not None and arguments.dry_run and not key.exists() and key.absolute() in list_own_keys(one):
        fact = f"would create the key {printable(str(key))}, and list it in the entry"
        terminal.line(f"{fact}, because the poollet opens Secrets with it")
    elif not recipients:
        note_keyless(terminal, key)
    if arguments.branch is None:
        terminal.line("its entry for gitvirt.yaml:")
        terminal.line()
        listed = entry(one, certificate, recipients)
        for line in show_entry(("poollets", one.name), listed).splitlines():
            terminal.line(printable(line))
        return Exit.OK
    change = partial(with_entry, one=one, certificate=certificate, recipients=recipients)
    propose(one, arguments, change, f"poollets: {one.name} joins")
    return Exit.OK


def only_host(arguments: argparse.Namespace) -> PoolletSettings:
    found = settings.hosts(arguments)
    if len(found) > 1:
        raise CommandError("one host joins at a time", "name one --config", Exit.USAGE)
    return found[0]


def find_key(arguments: argparse.Namespace, one: PoolletSettings) -> Path | None:
    """The ssh key."""
    named: Path | None = arguments.key
    return named or (Path(one.repo.identity) if one.repo.identity else None)


def find_files(one: PoolletSettings, key: Path | None) -> PairFiles | None:
    """Of the link. None where no file is named at all: then the caller only wants to see the entry."""
    if one.link is not None:
        return PairFiles(Path(one.link.key), Path(one.link.certificate))
    return None if key is None else PairFiles(key.with_name("link.key"), key.with_name("link.crt"))


def show_certificate(terminal: Terminal, files: PairFiles, one: PoolletSettings) -> str:
    """Make the certificate if it is not there, and say what a reviewer compares with the entry."""
    is_new = not files.certificate.exists()
    if one.link is None and not is_new:
        refuse_other_host(files, one.name)
    pem = ensure_pair(files, PairNames(one.name), datetime.now(UTC))
    found = read_certificate(pem)
    assert isinstance(found, Certificate), "it was checked when it was made or read"
    made = "created the certificate" if is_new else "the certificate"
    terminal.line(f"{made} {files.certificate}: SHA-256 {found.identity}, valid until {day(found.ends)}")
    if one.link is None:
        line = f"link: {{key: {files.key.absolute()}, certificate: {files.certificate.absolute()}}}"
        terminal.line(f"to connect to the link, add to poollet.yaml: {printable(line)}")
    terminal.line()
    return pem


def show_key(terminal: Terminal, key: Path, one: PoolletSettings) -> None:
    """Print the public half of the key and what it is for; the key is created first if it does not exist."""
    public = key.with_name(f"{key.name}.pub")
    if not key.exists():
        make_key(key, one.name)
        terminal.line(f"created the key {key}")
    try:
        text = public.read_text("utf-8").strip()
    except OSError as error:
        raise CommandError(
            f"cannot read {public}: {error.strerror}", "create it again with `ssh-keygen -y`"
        ) from None
    terminal.line("add this key to the Git server, with the right to read the repo and to write")
    terminal.line(f"only this host's report ref (docs/poollet.md): {printable(text)}")
    terminal.line()


def make_key(key: Path, name: str) -> None:
    """Without a passphrase, for this account alone: the poollet uses it unattended. A folder that is created
    for it is closed to others."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"poollet {name}", "-f", str(key)]
    try:
        key.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=KEY_SECONDS)
    except FileNotFoundError:
        raise CommandError("ssh-keygen is not installed", "install OpenSSH's client") from None
    except OSError as error:
        raise CommandError(f"cannot create the key {key}: {error.strerror}", OTHER_KEY) from None
    except subprocess.TimeoutExpired:
        cause = f"cannot create the key {key}: ssh-keygen did not end within {format_duration(KEY_SECONDS)}"
        raise CommandError(cause, OTHER_KEY) from None
    if done.returncode != 0:
        raise CommandError(f"cannot create the key {key}: {printable(done.stderr.strip())}", OTHER_KEY)


def refuse_other_host(files: PairFiles, name: str) -> None:
    """A CommandError where the files beside the ssh key are of another host that joined from here. Files that poollet.yaml names are right
    whatever their certificate says, because a name in a certificate proves nothing."""
    # A certificate that was made elsewhere may have no common name.
    holder = read_subject(files.certificate)
    if holder and holder != PairNames(name).subject:
        cause = f"{files.certificate} is the certificate of {printable(holder)}, not of {printable(name)}"
        cure = "name files of its own under `link` in poollet.yaml, or a --key in another folder"
        raise CommandError(cause, cure)


def find_recipients(one: PoolletSettings) -> tuple[str, ...]:
    """The public halves of the keys that the poollet opens Secrets with, by poollet.yaml. Of a key that it does not open them with, none: Secrets
    would be encrypted for a host that cannot open them."""
    return tuple(dict.fromkeys(each for key in list_own_keys(one) for each in read_public(key)))


def list_own_keys(one: PoolletSettings) -> list[Path]:
    """The files of the keys that the poollet opens Secrets with."""
    # A signing key may also be the fingerprint of an OpenPGP key.
    usual = [text for text in (one.repo.signing_key, one.repo.identity) if text and Path(text).is_absolute()]
    return [Path(text) for text in (one.decryption_keys if one.decryption_keys is not None else usual)]


def read_public(key: Path) -> tuple[str, ...]:
    """By the file beside an ssh key, else by the key. Empty where the key is not there yet, as in a dry run, and for one that opens no Secrets."""
    try:
        listed = parse_recipient(key.with_name(f"{key.name}.pub").read_text("utf-8"))
        return (listed,) if listed else ()
    except (OSError, UnicodeDecodeError):
        pass  # a key of age has no such file
    try:
        return tuple(one for each in public_half(key.read_bytes()) if (one := parse_recipient(each)))
    except (OSError, IdentityError):
        return ()


def note_keyless(terminal: Terminal, key: Path | None) -> None:
    """Says what lets the host open Secrets. The entry does not list a key that the poollet would not use: the reconciler would place machines
    there that never start."""
    named = f"decryptionKeys: [{key.absolute()}]" if key is not None else "decryptionKeys"
    terminal.line(f"the host can open no Secrets: poollet.yaml names no key for that; add {printable(named)}")
    terminal.line()


def list_pools(one: PoolletSettings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Machine pools and volume pools that it announces: those of the settings, else one of each kind with the host's name, as
    bootstrap.pools_of does it."""
    if not one.pools:
        return (one.name,), (one.name,)
    machines = tuple(pool.name for pool in one.pools if pool.kind == "MachinePool")
    return machines, tuple(pool.name for pool in one.pools if pool.kind == "VolumePool")


def entry(one: PoolletSettings, certificate: str, recipients: Sequence[str] = ()) -> dict[str, Value]:
    """The pools are those that it announces."""
    machines, volumes = list_pools(one)
    listed: dict[str, Value] = {"age": list(recipients)} if recipients else {}
    if certificate:
        listed["certificates"] = [certificate]
    return {"pools": list(machines), "volumePools": list(volumes), **listed}


def with_entry(text: bytes, one: PoolletSettings, certificate: str, recipients: Sequence[str] = ()) -> bytes:
    """The settings with the entry, nothing else of them moved. An entry that is there gets the certificate, and nothing else."""
    known = read_settings(text).poollets
    if one.name not in known:
        return change_settings(text, {("poollets", one.name): entry(one, certificate, recipients)})
    present = known[one.name]
    listed = present.certificates if present else ()
    wanted = rotation.add_certificate(listed, certificate) if certificate else listed
    if wanted is None:
        cause = f"poollets.{one.name} lists two other certificates already"
        raise CommandError(cause, "remove one of them from gitvirt.yaml first", Exit.PROBLEMS)
    if wanted == listed:
        return text
    return change_settings(text, {("poollets", one.name, "certificates"): list(wanted)})
