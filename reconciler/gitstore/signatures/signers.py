"""Whose signatures count, as people write it: ssh public keys, lines of an allowed_signers file, OpenPGP fingerprints. Pure.

A list that cannot be read in full is an error as a whole. To skip a line would refuse the commits of a person who may sign, and to ignore an option that
narrows a key would accept more than was meant.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from reconciler.gitstore.errors import RepoError

KEY = re.compile(
    r"(?P<before>.*?)(?:^|\s)(?P<type>(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[\w.@-]+)\s+(?P<blob>[A-Za-z0-9+/=]+)(?:\s+(?P<comment>.*))?"
)
FINGERPRINT = re.compile(r"[0-9A-Fa-f]{40}")
OPTIONS = re.compile(r'(cert-authority|[a-z-]+="[^"]*")(,(cert-authority|[a-z-]+="[^"]*"))*')


class SignersError(RepoError):
    code = "GV823"


@dataclass(frozen=True, slots=True)
class SshSignerKey:
    """`name` is what people call it: the principal, else the comment, else its type."""

    name: str
    type: str
    blob: bytes
    valid_after: datetime | None = None
    valid_before: datetime | None = None

    def is_valid(self, at: datetime) -> bool:
        is_early = self.valid_after is not None and at < self.valid_after
        is_late = self.valid_before is not None and at >= self.valid_before
        return not is_early and not is_late


@dataclass(frozen=True, slots=True)
class Signers:
    ssh: tuple[SshSignerKey, ...] = ()
    fingerprints: frozenset[str] = frozenset()


def parse_signers(lines: Iterable[str]) -> Signers:
    """Raises SignersError: a signer that is misread must not become one that is missing."""
    ssh, fingerprints = [], set()
    for line in (line.strip() for line in lines):
        if not line or line.startswith("#"):
            continue
        if FINGERPRINT.fullmatch(line):
            fingerprints.add(line.upper())
        else:
            ssh.append(_ssh(line))
    return Signers(tuple(ssh), frozenset(fingerprints))


def _ssh(line: str) -> SshSignerKey:
    match = KEY.fullmatch(line)
    if match is None:
        raise SignersError(
            f"not a signer: {line[:60]!r}", "write an ssh public key, or an OpenPGP fingerprint of 40 digits"
        )
    try:
        blob = base64.b64decode(match["blob"], validate=True)
    except binascii.Error as error:
        raise SignersError(
            f"the key of a signer is damaged: {line[:60]!r}", "copy the whole .pub line"
        ) from error
    principal, times = "", {}
    for word in match["before"].split():
        if OPTIONS.fullmatch(word) is None:
            principal = word
            continue
        for option in word.split(","):
            name, _, value = option.partition("=")
            if name == "namespaces" and value == '"git"':
                continue
            if name not in ("valid-after", "valid-before"):
                # What is not understood may be what narrows it.
                raise SignersError(
                    f"unknown option of a signer: {option[:60]}",
                    "only valid-after and valid-before are supported",
                )
            times[name] = _time(value.strip('"'))
    name = principal or match["comment"] or match["type"]
    return SshSignerKey(name, match["type"], blob, times.get("valid-after"), times.get("valid-before"))


def _time(text: str) -> datetime:
    """ssh's form, always UTC: what a fleet trusts cannot depend on a host's time zone."""
    digits = text.removesuffix("Z")
    form = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}.get(len(digits))
    try:
        return datetime.strptime(digits, form or "").replace(tzinfo=UTC)
    except ValueError as error:
        raise SignersError(f"not a time: {text!r}", "write YYYYMMDD or YYYYMMDDHHMMSS, in UTC") from error
